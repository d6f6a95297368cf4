//! The parts of a JSON text that its reader leaves no trace of: numbers as they were written, and keys
//! that serde_json keeps for itself.

/// A number of a JSON text, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number<'a> {
    pub(super) text: &'a str,
    pub(super) place: Place,
}

/// Where a part of a call's arguments stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The argument.
    pub(super) argument: String,
    /// Where that is an array, which of its elements, from zero.
    pub(super) index: Option<usize>,
}

/// What a key begins with that serde_json takes for its own: it reads the value behind one as raw
/// JSON.
const RESERVED: &str = "$serde_json::private::";

/// A key of a JSON text that its reader would take for its own, at any depth.
pub(super) fn reserved_key(json: &str) -> Option<String> {
    // Each of its characters may be escaped in six; what follows is looked at by nobody.
    const LONGEST: usize = 6 * 64;
    let mut rest = json;
    while let Some((_, string)) = rest.split_once('"') {
        let after = behind_string(string);
        rest = after;
        let is_key = after.trim_start().starts_with(':');
        let length = string.len() - after.len();
        if !is_key || length <= RESERVED.len() || length > LONGEST {
            continue;
        }
        let key = string
            .get(..length)
            .and_then(|closed| serde_json::from_str::<String>(&format!("\"{closed}")).ok());
        if let Some(key) = key.filter(|key| key.starts_with(RESERVED)) {
            return Some(key);
        }
    }
    None
}

/// The numbers in a JSON text, whose form was checked.
pub(super) fn numbers(json: &str) -> impl Iterator<Item = Number<'_>> {
    let mut rest = json;
    let mut open: Vec<Level<'_>> = Vec::new();
    std::iter::from_fn(move || {
        loop {
            let first = rest.chars().next()?;
            let from = rest;
            rest = rest.strip_prefix(first)?;
            match first {
                '{' => open.push(Level::Object("")),
                '[' => open.push(Level::Array(0)),
                '}' | ']' => _ = open.pop(),
                ',' => {
                    if let Some(Level::Array(index)) = open.last_mut() {
                        *index += 1;
                    }
                }
                '"' => {
                    let after = behind_string(rest);
                    if let Some(Level::Object(key)) = open.last_mut()
                        && after.trim_start().starts_with(':')
                    {
                        *key = rest.get(..rest.len() - after.len()).unwrap_or_default();
                    }
                    rest = after;
                }
                '-' | '0'..='9' => {
                    let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
                    let length = from.bytes().take_while(|&byte| is_part(byte)).count();
                    let (text, after) = from.split_at_checked(length)?;
                    rest = after;
                    let place = place(&open);
                    return Some(Number { text, place });
                }
                _ => {}
            }
        }
    })
}

/// An object at one of its keys, or an array at one of its elements.
enum Level<'a> {
    Object(&'a str),
    Array(usize),
}

fn place(open: &[Level<'_>]) -> Place {
    let argument = match open.first() {
        Some(Level::Object(key)) => key.trim_end_matches('"').to_owned(),
        _ => String::new(),
    };
    let index = match open.get(1) {
        Some(Level::Array(index)) => Some(*index),
        _ => None,
    };
    Place { argument, index }
}

/// What follows the string that `text` is in the middle of.
fn behind_string(text: &str) -> &str {
    let mut bytes = text.bytes().enumerate();
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => return text.get(index + 1..).unwrap_or_default(),
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_key_is_found_however_it_is_written() {
        for json in [
            r#"{"$serde_json::private::RawValue":"1"}"#,
            r#"[[{"a":{"\u0024serde_json::private::RawValue" : "1"}}]]"#,
            r#"{"a\"b":"\\","\u0024\u0073erde_json:\u003Aprivate::RawValue":0}"#,
            r#"{"$serde_json::private::Number":"1"}"#,
        ] {
            assert!(reserved_key(json).is_some(), "{json}");
        }
        for json in [
            r#"["$serde_json::private::RawValue"]"#,
            r#"{"a":"$serde_json::private::RawValue","b":1}"#,
            r#"{"a":"\"$serde_json::private::RawValue\":1"}"#,
            r#"{"serde_json::private::RawValue":1,"$serde_json":2}"#,
            "\"",
        ] {
            assert_eq!(reserved_key(json), None, "{json}");
        }
    }

    #[test]
    fn numbers_know_their_place() {
        let json = r#"{"limit":1, "params" : ["2,[", {"a": [3, -4e5]}, 6], "b": {"c": 7}}"#;
        let found: Vec<_> = numbers(json)
            .map(|n| (n.text, n.place.argument, n.place.index))
            .collect();
        let expected = [
            ("1", "limit", None),
            ("3", "params", Some(1)),
            ("-4e5", "params", Some(1)),
            ("6", "params", Some(2)),
            ("7", "b", None),
        ];
        assert_eq!(
            found,
            expected.map(|(text, argument, index)| (text, argument.to_owned(), index))
        );
        assert_eq!(numbers("1").count(), 1);
    }
}
