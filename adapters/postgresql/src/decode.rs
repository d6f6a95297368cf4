//! The server's text form of a value, into [`Value`]. A text that does not fit its type is an
//! error, never null.

use std::collections::HashMap;

use serde_json::value::RawValue;
use sqlx::postgres::types::Oid;
use store::Value;

use crate::literal::{Element, array_elements, composite_fields};
use crate::time;
use crate::types::{Form, Type};

/// How deep arrays and composites may nest in one another.
const DEEPEST: usize = 64;

/// Why a text is no value of its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the text of a `{type_name}` is not understood")]
pub(crate) struct Undecodable {
    type_name: String,
}

/// Decodes `text`, a value of the type `declared`, whose parts are among `types`.
pub(crate) fn decode(
    text: &str,
    declared: &Type,
    types: &HashMap<Oid, Type>,
) -> Result<Value, Undecodable> {
    decode_as(text, declared, types, DEEPEST)
}

fn decode_within(
    text: &str,
    oid: Oid,
    types: &HashMap<Oid, Type>,
    depth: usize,
) -> Result<Value, Undecodable> {
    match types.get(&oid) {
        Some(declared) => decode_as(text, declared, types, depth),
        None => Ok(Value::Text(text.to_owned())),
    }
}

fn decode_as(
    text: &str,
    declared: &Type,
    types: &HashMap<Oid, Type>,
    depth: usize,
) -> Result<Value, Undecodable> {
    let undecodable = || Undecodable {
        type_name: declared.name.clone(),
    };
    let depth = depth.checked_sub(1).ok_or_else(undecodable)?;
    let value = match &declared.form {
        Form::Text => Some(Value::Text(text.to_owned())),
        Form::Boolean => match text {
            "t" => Some(Value::Boolean(true)),
            "f" => Some(Value::Boolean(false)),
            _ => None,
        },
        Form::Integer => text.parse().ok().map(Value::Integer),
        Form::Float => float(text).map(Value::Float),
        Form::Bytes => bytes(text).map(Value::Bytes),
        Form::Json => RawValue::from_string(text.to_owned()).ok().map(Value::Json),
        Form::Date => time::date(text).map(Value::Text),
        Form::Time => time::time(text).map(Value::Text),
        Form::TimeWithZone => time::time_with_zone(text).map(Value::Text),
        Form::Timestamp => time::timestamp(text).map(Value::Text),
        Form::TimestampWithZone => time::timestamp_with_zone(text).map(Value::Text),
        Form::Interval => time::interval(text).map(Value::Text),
        Form::Range(bound) => time::range(text, *bound).map(Value::Text),
        Form::Domain { base } => return decode_within(text, *base, types, depth),
        Form::Array { element, delimiter } => {
            return array(text, *element, *delimiter, types, depth, &undecodable);
        }
        Form::Composite { fields } => {
            return composite(text, fields, types, depth, &undecodable);
        }
        Form::Record => return record(text, &undecodable),
    };
    value.ok_or_else(undecodable)
}

/// Digits, or one of the three words that the server has for what has none.
fn float(text: &str) -> Option<f64> {
    let is_written = match text.strip_prefix('-').unwrap_or(text) {
        "Infinity" => true,
        "NaN" => !text.starts_with('-'),
        number => {
            number.starts_with(|first: char| first.is_ascii_digit())
                && number
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b".e+-".contains(&b))
        }
    };
    is_written.then(|| text.parse().ok()).flatten()
}

/// `\x` and two hexadecimal digits a byte.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    if digits.len() % 2 != 0 {
        return None;
    }
    digits
        .chunks_exact(2)
        .map(|pair| match pair {
            [high, low] => Some(hex(*high)? << 4 | hex(*low)?),
            _ => None,
        })
        .collect()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

fn array(
    text: &str,
    element: Oid,
    delimiter: char,
    types: &HashMap<Oid, Type>,
    depth: usize,
    undecodable: &dyn Fn() -> Undecodable,
) -> Result<Value, Undecodable> {
    // Bounds that do not begin at one have no place in a JSON array: the canonical text keeps them.
    if text.starts_with('[') {
        return Ok(Value::Text(text.to_owned()));
    }
    let elements = array_elements(text, delimiter).ok_or_else(undecodable)?;
    elements_to_list(elements, element, types, depth)
}

fn elements_to_list(
    elements: Vec<Element>,
    element: Oid,
    types: &HashMap<Oid, Type>,
    depth: usize,
) -> Result<Value, Undecodable> {
    let values: Result<Vec<Value>, Undecodable> = elements
        .into_iter()
        .map(|item| match item {
            Element::Null => Ok(Value::Null),
            Element::Text(text) => decode_within(&text, element, types, depth),
            Element::Nested(inner) => elements_to_list(inner, element, types, depth),
        })
        .collect();
    values.map(Value::List)
}

fn composite(
    text: &str,
    fields: &[(String, Oid)],
    types: &HashMap<Oid, Type>,
    depth: usize,
    undecodable: &dyn Fn() -> Undecodable,
) -> Result<Value, Undecodable> {
    let mut texts = composite_fields(text).ok_or_else(undecodable)?;
    // `()` is both no field and one null field.
    if fields.is_empty() && texts == [None] {
        texts.clear();
    }
    if texts.len() != fields.len() {
        return Err(undecodable());
    }
    let members: Result<Vec<(String, Value)>, Undecodable> = fields
        .iter()
        .zip(texts)
        .map(|((name, oid), field)| {
            let value = match field {
                None => Value::Null,
                Some(field) => decode_within(&field, *oid, types, depth)?,
            };
            Ok((name.clone(), value))
        })
        .collect();
    members.map(Value::Object)
}

fn record(text: &str, undecodable: &dyn Fn() -> Undecodable) -> Result<Value, Undecodable> {
    let fields = composite_fields(text).ok_or_else(undecodable)?;
    let members = fields
        .into_iter()
        .enumerate()
        .map(|(index, field)| {
            let value = field.map_or(Value::Null, Value::Text);
            (format!("f{}", index + 1), value)
        })
        .collect();
    Ok(Value::Object(members))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_is_written_as_the_server_does() {
        for (text, value) in [
            ("0.1", 0.1),
            ("-0", -0.0),
            ("1e+300", 1e300),
            ("5e-324", 5e-324),
            ("-Infinity", f64::NEG_INFINITY),
        ] {
            assert_eq!(float(text).map(f64::to_bits), Some(value.to_bits()));
        }
        assert!(float("NaN").is_some_and(f64::is_nan));
        for text in [
            "", "inf", "nan", "-NaN", "+1", ".5", "1,5", "infinity", "1e",
        ] {
            assert_eq!(float(text), None, "{text}");
        }
    }
}
