//! Values as the server writes them in JSON, into values of the contract.

use serde_json::value::RawValue;
use store::Value;

use crate::json::{DEEPEST, Malformed, Reader};
use crate::scalar::{
    Undecodable, decimal, float, integer, interval, moment, text_or_bytes, unhex, utf8,
};
use crate::types::Type;

/// How the account makes the server write.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    /// Whether the settings of the text form are the gateway's own. Without them, `null` may stand
    /// for NaN, and moments are in their column's zone.
    pub(crate) is_pinned: bool,
    /// The server's zone.
    pub(crate) zone: String,
}

/// Reads a value of this type. `is_top` where it is a column's, not part of another value.
pub(crate) fn value(
    reader: &mut Reader<'_>,
    declared: &Type,
    form: &Form,
    is_top: bool,
) -> Result<Value, Undecodable> {
    nested(reader, declared, form, if is_top { 0 } else { 1 })
}

fn nested(
    reader: &mut Reader<'_>,
    declared: &Type,
    form: &Form,
    depth: usize,
) -> Result<Value, Undecodable> {
    if depth > DEEPEST {
        return Err(Undecodable("it nests too deeply"));
    }
    if reader.word("null") {
        let is_ambiguous = match declared {
            Type::Float => depth > 0,
            Type::Any => true,
            _ => false,
        };
        if is_ambiguous && !form.is_pinned {
            return Err(Undecodable(
                "the account's profile makes NaN and null the same; read its text with `toString`",
            ));
        }
        return Ok(Value::Null);
    }
    match declared {
        Type::Integer => Ok(integer(&scalar(reader)?)),
        Type::Float => float(&scalar(reader)?),
        Type::Decimal(scale) => Ok(Value::Text(decimal(&scalar(reader)?, *scale))),
        Type::Boolean => match () {
            () if reader.word("true") => Ok(Value::Boolean(true)),
            () if reader.word("false") => Ok(Value::Boolean(false)),
            () => Err(Malformed.into()),
        },
        // A column of moments is asked for in UTC where the form cannot be.
        Type::Moment(_) if depth == 0 => moment(reader.string()?, "UTC"),
        Type::Moment(zone) => moment(reader.string()?, zone.as_deref().unwrap_or(&form.zone)),
        Type::Interval(unit) => interval(&scalar(reader)?, *unit),
        Type::Bytes => Ok(text_or_bytes(reader.string()?)),
        Type::State if depth == 0 => Ok(Value::Bytes(unhex(&reader.string()?)?)),
        Type::State => Ok(Value::Bytes(reader.string()?)),
        Type::Text => match reader.peek() {
            Some(b'"') => Ok(Value::Text(utf8(reader.string()?)?)),
            _ => any(reader, depth),
        },
        Type::Json => {
            let raw = utf8(reader.raw()?.to_vec())?;
            let document = RawValue::from_string(raw).map_err(|_| Malformed)?;
            Ok(Value::Json(document))
        }
        Type::Any => any(reader, depth),
        Type::List(element) => {
            reader.expect(b'[')?;
            let mut elements = Vec::new();
            let mut failed = None;
            reader
                .items(b']', |reader| {
                    let element = nested(reader, element, form, depth + 1);
                    keep(element, &mut elements, &mut failed)
                })
                .map_err(|malformed| failed.unwrap_or(malformed.into()))?;
            Ok(Value::List(elements))
        }
        Type::Tuple(parts) => tuple(reader, parts, form, depth),
        Type::Map(member) => {
            reader.expect(b'{')?;
            let mut members = Vec::new();
            let mut failed = None;
            reader
                .items(b'}', |reader| {
                    let name = utf8(reader.string()?).map_err(|error| {
                        failed = Some(error);
                        Malformed
                    })?;
                    reader.expect(b':')?;
                    let member = nested(reader, member, form, depth + 1).map(|value| (name, value));
                    keep(member, &mut members, &mut failed)
                })
                .map_err(|malformed| failed.unwrap_or(malformed.into()))?;
            Ok(Value::Object(members))
        }
    }
}

fn keep<T>(
    read: Result<T, Undecodable>,
    into: &mut Vec<T>,
    failed: &mut Option<Undecodable>,
) -> Result<(), Malformed> {
    match read {
        Ok(value) => {
            into.push(value);
            Ok(())
        }
        Err(error) => {
            *failed = Some(error);
            Err(Malformed)
        }
    }
}

/// A tuple with names is an object, one without is an array. A profile may have it otherwise.
fn tuple(
    reader: &mut Reader<'_>,
    parts: &[(Option<String>, Type)],
    form: &Form,
    depth: usize,
) -> Result<Value, Undecodable> {
    let is_object = reader.peek() == Some(b'{');
    let end = if is_object { b'}' } else { b']' };
    reader.expect(if is_object { b'{' } else { b'[' })?;
    let mut wanted = parts.iter();
    let mut members = Vec::new();
    let mut failed = None;
    reader
        .items(end, |reader| {
            let (name, part) = wanted.next().ok_or(Malformed)?;
            if is_object {
                reader.string()?;
                reader.expect(b':')?;
            }
            let member = nested(reader, part, form, depth + 1);
            keep(
                member.map(|value| (name.clone(), value)),
                &mut members,
                &mut failed,
            )
        })
        .map_err(|malformed| failed.unwrap_or(malformed.into()))?;
    if wanted.next().is_some() {
        return Err(Malformed.into());
    }
    let is_named = !parts.is_empty() && parts.iter().all(|(name, _)| name.is_some());
    Ok(if is_named {
        let named = members.into_iter();
        Value::Object(
            named
                .map(|(name, value)| (name.unwrap_or_default(), value))
                .collect(),
        )
    } else {
        Value::List(members.into_iter().map(|(_, value)| value).collect())
    })
}

/// A value without a declared type: whatever its text shows.
fn any(reader: &mut Reader<'_>, depth: usize) -> Result<Value, Undecodable> {
    if depth > DEEPEST {
        return Err(Undecodable("it nests too deeply"));
    }
    match reader.peek() {
        Some(b'"') => Ok(text_or_bytes(reader.string()?)),
        Some(b'[' | b'{') => {
            let raw = utf8(reader.raw()?.to_vec())?;
            Ok(Value::Json(
                RawValue::from_string(raw).map_err(|_| Malformed)?,
            ))
        }
        _ if reader.word("true") => Ok(Value::Boolean(true)),
        _ if reader.word("false") => Ok(Value::Boolean(false)),
        _ => {
            let digits = reader.number()?;
            if !digits.contains(['.', 'e', 'E']) && digits != "-0" {
                return Ok(integer(digits));
            }
            // A decimal whose digits a float would change is text.
            let float: f64 = digits.parse().map_err(|_| Malformed)?;
            let same = format!("{float:?}") == digits
                || format!("{float}") == digits
                || digits.contains('e');
            Ok(if same {
                Value::Float(float)
            } else {
                Value::Text(digits.to_owned())
            })
        }
    }
}

/// A number, whether it stands in quotes or not.
fn scalar(reader: &mut Reader<'_>) -> Result<String, Undecodable> {
    if reader.peek() == Some(b'"') {
        return utf8(reader.string()?);
    }
    // A profile may write booleans and numbers alike.
    Ok(reader.number()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(json: &str, type_name: &str, is_pinned: bool) -> Result<String, Undecodable> {
        let form = Form {
            is_pinned,
            zone: "Europe/Zurich".to_owned(),
        };
        let mut reader = Reader::new(json.as_bytes());
        value(&mut reader, &Type::parse(type_name), &form, true).map(|value| value.to_json())
    }

    #[test]
    fn values_are_exact() {
        for (json, type_name, expected) in [
            ("18446744073709551615", "UInt64", "\"18446744073709551615\""),
            ("\"-7\"", "Int64", "-7"),
            ("1.1", "Decimal(9, 3)", "\"1.100\""),
            ("3", "Decimal(9, 2)", "\"3.00\""),
            ("-0", "Float64", "-0.0"),
            ("\"nan\"", "Float32", "\"NaN\""),
            (
                "[\"-inf\",null]",
                "Array(Nullable(Float64))",
                "[\"-Infinity\",null]",
            ),
            ("-2", "IntervalQuarter", "\"P-6M\""),
            ("-1500", "IntervalMillisecond", "\"PT-1.500S\""),
            (
                "{\"a\":1,\"b\":\"x\"}",
                "Tuple(a UInt8, b String)",
                "{\"a\":1,\"b\":\"x\"}",
            ),
            ("[1,\"x\"]", "Tuple(UInt8, String)", "[1,\"x\"]"),
            ("{\"a\":1.50}", "JSON", "{\"a\":1.50}"),
            ("1.10", "Dynamic", "\"1.10\""),
            ("1.5", "Dynamic", "1.5"),
            (
                "\"2020-01-01T00:00:00Z\"",
                "DateTime",
                "\"2020-01-01T00:00:00Z\"",
            ),
            (
                "\"2020-01-01 00:00:00\"",
                "DateTime('UTC')",
                "\"2020-01-01T00:00:00Z\"",
            ),
        ] {
            assert_eq!(
                decoded(json, type_name, true).as_deref(),
                Ok(expected),
                "{json} {type_name}"
            );
        }
    }

    #[test]
    fn what_a_profile_leaves_open_is_an_error_never_null() {
        for (json, type_name) in [
            ("[null]", "Array(Float64)"),
            ("null", "Dynamic"),
            ("[\"2020-01-01 00:00:00\"]", "Array(DateTime)"),
            ("[1", "Array(UInt8)"),
            ("[1,2]", "Tuple(UInt8)"),
        ] {
            assert!(
                decoded(json, type_name, false).is_err(),
                "{json} {type_name}"
            );
        }
        assert_eq!(
            decoded("null", "Nullable(Float64)", false).as_deref(),
            Ok("null")
        );
    }
}
