//! Values of every store in one lossless form, and their JSON encoding.
//!
//! | kind | JSON |
//! |---|---|
//! | integer | number inside ±(2^53−1), else string |
//! | decimal, money | string, all digits kept |
//! | float | number; `"NaN"`, `"Infinity"`, `"-Infinity"` |
//! | timestamp with zone | RFC 3339 in UTC |
//! | timestamp, date, time | ISO 8601 without zone |
//! | interval | ISO 8601 duration |
//! | bytes | `{"base64": "…"}` |
//! | json | itself, its text untouched |
//! | array, list, tuple | array |
//! | map, struct, composite | object |
//! | anything else | its canonical text |

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The largest integer that every JSON reader keeps exactly (2^53 − 1).
const LARGEST_EXACT: u64 = (1 << 53) - 1;

/// One value of a store.
#[derive(Debug, Clone)]
pub enum Value {
    /// The store's null.
    Null,
    /// A truth value.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// A binary floating-point number.
    Float(f64),
    /// Text, or the canonical text of a type that JSON has no form for.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A JSON document, as the store spells it.
    Json(Box<serde_json::value::RawValue>),
    /// Elements in order.
    List(Vec<Value>),
    /// Named values in order.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Appends the value's JSON encoding.
    pub fn write_json(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Boolean(true) => out.push_str("true"),
            Self::Boolean(false) => out.push_str("false"),
            Self::Integer(integer) => write_integer(*integer, out),
            Self::Float(float) => write_float(*float, out),
            Self::Text(text) => write_json_string(text, out),
            Self::Bytes(bytes) => {
                out.push_str("{\"base64\":\"");
                STANDARD.encode_string(bytes, out);
                out.push_str("\"}");
            }
            Self::Json(raw) => out.push_str(raw.get()),
            Self::List(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    element.write_json(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (name, member)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_json_string(name, out);
                    out.push(':');
                    member.write_json(out);
                }
                out.push('}');
            }
        }
    }

    /// The value's JSON encoding.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out);
        out
    }
}

/// Equal when their JSON encodings are, so that NaN equals itself and −0 differs from 0.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.to_json() == other.to_json()
    }
}

fn write_integer(integer: i64, out: &mut String) {
    use std::fmt::Write as _;
    let exact = integer.unsigned_abs() <= LARGEST_EXACT;
    let quote = if exact { "" } else { "\"" };
    // Writing to a String cannot fail.
    let _ = write!(out, "{quote}{integer}{quote}");
}

fn write_float(float: f64, out: &mut String) {
    if float.is_nan() {
        out.push_str("\"NaN\"");
    } else if float == f64::INFINITY {
        out.push_str("\"Infinity\"");
    } else if float == f64::NEG_INFINITY {
        out.push_str("\"-Infinity\"");
    } else {
        // The shortest text that reads back as the same number.
        out.push_str(&serde_json::Value::from(float).to_string());
    }
}

/// Appends `text` as a JSON string.
pub(crate) fn write_json_string(text: &str, out: &mut String) {
    use std::fmt::Write as _;
    out.push('"');
    let mut unescaped_from = 0;
    for (index, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x00..=0x1f => "",
            _ => continue,
        };
        // Every escaped byte is ASCII, so both ends are character boundaries.
        out.push_str(text.get(unescaped_from..index).unwrap_or_default());
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
        unescaped_from = index + 1;
    }
    out.push_str(text.get(unescaped_from..).unwrap_or_default());
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_leave_the_number_form_where_readers_would_round_them() {
        for (integer, json) in [
            (0, "0"),
            (9_007_199_254_740_991, "9007199254740991"),
            (-9_007_199_254_740_991, "-9007199254740991"),
            (9_007_199_254_740_992, "\"9007199254740992\""),
            (i64::MIN, "\"-9223372036854775808\""),
        ] {
            assert_eq!(Value::Integer(integer).to_json(), json);
        }
    }

    #[test]
    fn floats_keep_every_bit() {
        for (float, json) in [
            (0.1, "0.1"),
            (-0.0, "-0.0"),
            (5e-324, "5e-324"),
            (f64::NAN, "\"NaN\""),
            (f64::NEG_INFINITY, "\"-Infinity\""),
        ] {
            assert_eq!(Value::Float(float).to_json(), json);
        }
    }

    #[test]
    fn strings_are_escaped_as_serde_json_does() {
        let text = "a\"b\\c\n\r\t\u{0}\u{1f}\u{7f}é😀/";
        let written = Value::Text(text.to_owned()).to_json();
        let read: String = serde_json::from_str(&written).unwrap();
        assert_eq!(read, text);
    }
}
