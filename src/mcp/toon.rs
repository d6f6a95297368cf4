//! TOON for the rows of a result: a table is its header and one line a row. What is written here
//! reads back with any TOON decoder; a nested value stands as its JSON text, which its column's
//! type tells from text.

use store::Value;

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
        text.trim() != text || text.chars().any(char::is_control)
    };
    is_literal || is_padded || (may_be_number && has_digit) || matches!(first, b'-' | b'#')
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
        ] {
            assert_eq!(decoded(&Value::Text(text.to_owned())), text, "{text:?}");
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
