//! TOON for the rows of a result: a table is its header and one line a row. What is written here
//! reads back with any TOON decoder; a nested value stands as its JSON text, which its column's
//! type tells from text.

use std::fmt::Write as _;

use serde_json::Value as Json;
use store::Value;
use toon_format::ToonError;

/// Any content in TOON. The library that writes it escapes the first 32 characters alone, and so the
/// other hidden ones reach it as one of those and their numbers.
pub(super) fn encode(content: &Json) -> Result<String, ToonError> {
    let mut marked = content.clone();
    if !mark(&mut marked) {
        return toon_format::encode_default(content);
    }
    Ok(unmarked(&toon_format::encode_default(&marked)?))
}

/// What stands around the number of a hidden character.
const MARK: char = '\u{1}';

/// Writes hidden characters as their numbers between marks; whether there were any.
fn mark(content: &mut Json) -> bool {
    match content {
        Json::String(text) => {
            let is_marked = text.chars().any(is_escaped);
            if is_marked {
                let mut marked = String::with_capacity(text.len() + 16);
                for character in text.chars() {
                    if is_escaped(character) {
                        _ = write!(marked, "{MARK}{:04x}{MARK}", u32::from(character));
                    } else {
                        marked.push(character);
                    }
                }
                *text = marked;
            }
            is_marked
        }
        Json::Array(elements) => mark_all(elements.iter_mut()),
        Json::Object(members) => mark_all(members.values_mut()),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

fn mark_all<'a>(parts: impl Iterator<Item = &'a mut Json>) -> bool {
    // Each of them, and not until the first.
    parts.filter_map(|part| mark(part).then_some(())).count() > 0
}

/// The marked numbers as escapes.
fn unmarked(toon: &str) -> String {
    let mut out = String::with_capacity(toon.len());
    let mut rest = toon;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let number = after
            .strip_prefix("u0001")
            .and_then(|marked| marked.split_once("\\u0001"));
        if let Some((number, behind)) = number {
            out.push_str("\\u");
            out.push_str(number);
            rest = behind;
            continue;
        }
        let mut escaped = after.chars();
        out.push('\\');
        out.extend(escaped.next());
        rest = escaped.as_str();
    }
    out.push_str(rest);
    out
}

/// Appends a value as one cell of a table with commas.
pub(super) fn write_cell(value: &Value, out: &mut String) {
    match value {
        Value::Text(text) => write_text(text, out),
        Value::Null | Value::Boolean(_) => value.write_json(out),
        Value::Integer(integer) if integer.unsigned_abs() < 1 << 53 => value.write_json(out),
        Value::Integer(_) | Value::Float(_) => {
            let json = value.to_json();
            // An integer beyond ±(2^53−1), NaN and the infinities are text in JSON, and stay so.
            match json.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
                Some(text) => write_text(text, out),
                None => out.push_str(&json),
            }
        }
        Value::Json(raw) => write_json_text(raw.get().trim(), out),
        Value::Bytes(_) | Value::List(_) | Value::Object(_) => write_quoted(&value.to_json(), out),
    }
}

/// Appends a text, in quotes where it would read as something else.
pub(super) fn write_text(text: &str, out: &mut String) {
    if needs_quotes(text) {
        write_quoted(text, out);
    } else {
        out.push_str(text);
    }
}

/// Appends a name as a key of a table's header.
pub(super) fn write_key(name: &str, out: &mut String) {
    let mut characters = name.chars();
    let is_plain = characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
    if is_plain {
        out.push_str(name);
    } else {
        write_quoted(name, out);
    }
}

/// A JSON scalar is itself; a JSON document is its text.
fn write_json_text(json: &str, out: &mut String) {
    match json.as_bytes().first() {
        Some(b'{' | b'[') => write_quoted(json, out),
        Some(b'"') => match serde_json::from_str::<String>(json) {
            Ok(text) => write_text(&text, out),
            Err(_) => write_quoted(json, out),
        },
        _ => out.push_str(json),
    }
}

/// The rules of TOON's specification for strings in a comma-separated scope.
fn needs_quotes(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return true;
    };
    let mut has_digit = false;
    let mut may_be_number = first.is_ascii_digit() || matches!(first, b'-' | b'+' | b'.');
    for byte in bytes {
        match byte {
            b',' | b':' | b'"' | b'\\' | b'[' | b']' | b'{' | b'}' | 0x00..=0x1f | 0x7f => {
                return true;
            }
            b'0'..=b'9' => has_digit = true,
            b'.' | b'e' | b'E' | b'+' | b'-' | b'_' => {}
            _ => may_be_number = false,
        }
    }
    let is_literal = matches!(text, "true" | "false" | "null");
    // Blanks beyond ASCII, and control characters there, are rare; they are looked for where either
    // end or anything at all is not ASCII.
    let is_padded = if text.is_ascii() {
        first.is_ascii_whitespace() || last.is_ascii_whitespace()
    } else {
        text.trim() != text || text.chars().any(is_hidden)
    };
    is_literal || is_padded || (may_be_number && has_digit) || matches!(first, b'-' | b'#')
}

/// Whether a character is not seen and yet changes what is: a control character, one that turns the
/// direction of the text around it, or a line break beyond ASCII.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Whether a character is written by its number: a hidden one without a short escape.
fn is_escaped(character: char) -> bool {
    is_hidden(character) && !matches!(character, '\n' | '\r' | '\t')
}

fn write_quoted(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            hidden if is_escaped(hidden) => {
                // All of them have four hexadecimal digits. Writing to a `String` does not fail.
                _ = write!(out, "\\u{:04x}", u32::from(hidden));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a decoder that nobody here wrote reads from a cell.
    fn decoded(value: &Value) -> serde_json::Value {
        let mut table = String::from("rows[1]{a,b}:\n  ");
        write_cell(value, &mut table);
        table.push_str(",1");
        let decoded: serde_json::Value = toon_format::decode_default(&table).unwrap();
        decoded["rows"][0]["a"].clone()
    }

    #[test]
    fn every_text_reads_back_as_itself() {
        for text in [
            "",
            " a",
            "a ",
            "true",
            "null",
            "12",
            "-1",
            "1e5",
            "007",
            "a,b",
            "a: b",
            "\"q\"",
            "a\\b",
            "line\nbreak\ttab\r",
            "[x]",
            "{y}",
            "- item",
            "-",
            "#c",
            "é😀",
            "a-b",
            "1.2.3",
            "0x1f",
            "+1",
            ".5",
            "2024-01-02",
            "2024-01-02T03:04:05Z",
            "a\u{1b}[31mb",
            "\u{0}\u{7f}",
            "a\u{85}b\u{9b}",
            "user\u{202e}txt.exe\u{2066}",
            "\u{2028}\u{200f}x",
        ] {
            assert_eq!(decoded(&Value::Text(text.to_owned())), text, "{text:?}");
            let mut written = String::new();
            write_text(text, &mut written);
            assert!(!written.chars().any(is_hidden), "{written:?}");
        }
    }

    #[test]
    fn content_hides_nothing_and_reads_back() {
        for text in [
            "user\u{202e}txt.exe",
            "\u{1}202e\u{1}",
            "\\u0001202e\\u0001",
            "a\u{85}\u{7f}\n\u{0}\\",
            "plain",
        ] {
            let content = serde_json::json!({"tables": [{"name": "t", "comment": text}]});
            let written = encode(&content).unwrap();
            assert!(!written.chars().any(is_escaped), "{written:?}");
            let read: Json = toon_format::decode_default(&written).unwrap();
            assert_eq!(read, content, "{written:?}");
        }
    }

    #[test]
    fn scalars_and_documents_read_back() {
        let raw = |text: &str| {
            Value::Json(serde_json::value::RawValue::from_string(text.into()).unwrap())
        };
        for (value, json) in [
            (Value::Null, serde_json::json!(null)),
            (Value::Boolean(true), serde_json::json!(true)),
            (
                Value::Integer(9_007_199_254_740_993),
                serde_json::json!("9007199254740993"),
            ),
            (Value::Integer(-5), serde_json::json!(-5)),
            (Value::Float(0.5), serde_json::json!(0.5)),
            (Value::Float(f64::NAN), serde_json::json!("NaN")),
            (
                raw("{\"a\": [1, \"x\"]}"),
                serde_json::json!("{\"a\": [1, \"x\"]}"),
            ),
            (raw("\"text\""), serde_json::json!("text")),
            (
                Value::Bytes(vec![0]),
                serde_json::json!("{\"base64\":\"AA==\"}"),
            ),
        ] {
            assert_eq!(decoded(&value), json);
        }
    }
}
