//! Values that hold no other: their text as the server writes it, into values of the contract.

use store::Value;

use crate::json::Malformed;
use crate::types::Unit;

/// Why a value cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Undecodable(pub(crate) &'static str);

impl From<Malformed> for Undecodable {
    fn from(_: Malformed) -> Self {
        Self("it is not in the form of its type")
    }
}

pub(crate) fn integer(digits: &str) -> Value {
    match digits.parse::<i64>() {
        Ok(integer) => Value::Integer(integer),
        Err(_) => Value::Text(digits.to_owned()),
    }
}

pub(crate) fn float(digits: &str) -> Result<Value, Undecodable> {
    // Also `nan`, `inf` and `-inf`.
    Ok(Value::Float(digits.parse().map_err(|_| Malformed)?))
}

/// All digits of a decimal: a profile may leave its last zeros out.
pub(crate) fn decimal(digits: &str, scale: usize) -> String {
    let behind = digits.split_once('.').map_or(0, |(_, behind)| behind.len());
    if behind >= scale {
        return digits.to_owned();
    }
    let point = if behind == 0 { "." } else { "" };
    format!("{digits}{point}{}", "0".repeat(scale - behind))
}

/// A moment in UTC: as the gateway has it written, or as it is where its zone is UTC.
pub(crate) fn moment(text: Vec<u8>, zone: &str) -> Result<Value, Undecodable> {
    let text = utf8(text)?;
    if text.ends_with('Z') {
        return Ok(Value::Text(text));
    }
    if !matches!(zone, "UTC" | "Etc/UTC" | "GMT" | "Etc/GMT" | "Zulu") {
        return Err(Undecodable(
            "the account's profile writes moments in another zone than UTC; read it with `toTimeZone(…, 'UTC')`",
        ));
    }
    match text.split_once(' ') {
        Some((date, time)) => Ok(Value::Text(format!("{date}T{time}Z"))),
        None => Err(Malformed.into()),
    }
}

pub(crate) fn interval(digits: &str, unit: Unit) -> Result<Value, Undecodable> {
    let number: i64 = digits.parse().map_err(|_| Malformed)?;
    Ok(Value::Text(match unit {
        Unit::Whole {
            prefix,
            factor,
            designator,
        } => format!(
            "{prefix}{}{designator}",
            i128::from(number) * i128::from(factor)
        ),
        Unit::Fraction(places) => {
            let sign = if number < 0 { "-" } else { "" };
            let digits = format!("{:0>width$}", number.unsigned_abs(), width = places + 1);
            let (whole, fraction) = digits.split_at(digits.len() - places);
            format!("PT{sign}{whole}.{fraction}S")
        }
    }))
}

/// Text where the bytes are UTF-8, else bytes.
pub(crate) fn text_or_bytes(bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) => Value::Text(text),
        Err(error) => Value::Bytes(error.into_bytes()),
    }
}

/// The beginning of a text of at most `longest` bytes, no character torn.
pub(crate) fn beginning(mut bytes: Vec<u8>, longest: usize) -> Value {
    bytes.truncate(longest);
    match std::str::from_utf8(&bytes) {
        Err(error) if error.error_len().is_none() => bytes.truncate(error.valid_up_to()),
        _ => {}
    }
    text_or_bytes(bytes)
}

/// The bytes of hexadecimal digits.
pub(crate) fn unhex(digits: &[u8]) -> Result<Vec<u8>, Undecodable> {
    digits
        .chunks(2)
        .map(|pair| {
            let pair = std::str::from_utf8(pair).map_err(|_| Malformed)?;
            u8::from_str_radix(pair, 16).map_err(|_| Malformed.into())
        })
        .collect()
}

pub(crate) fn utf8(bytes: Vec<u8>) -> Result<String, Undecodable> {
    String::from_utf8(bytes).map_err(|_| Undecodable("it is no UTF-8; read it with `hex`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_ends_at_a_character() {
        assert_eq!(beginning("ééé".into(), 3), Value::Text("é".to_owned()));
        assert_eq!(
            beginning(vec![0xff, 0xfe, 0xfd], 2),
            Value::Bytes(vec![0xff, 0xfe])
        );
    }
}
