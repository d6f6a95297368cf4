//! The numbers of a request as its client wrote them: JSON numbers are read as doubles, and one that
//! a double does not hold is found here, before its digits are gone.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::tokens::{Place, numbers};

/// A number of a call's arguments that a double does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rounded {
    /// As it was written.
    pub(super) text: String,
    /// Where it stands.
    pub(super) place: Place,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// The first number in the arguments of the call in `line` that would be rounded.
pub(super) fn rounded(line: &[u8]) -> Option<Rounded> {
    let text = std::str::from_utf8(line).ok()?;
    let arguments = match serde_json::from_str::<Message<'_>>(text) {
        Ok(message) => message.params.arguments?.get(),
        // Nothing is known of its parts, so none is passed over.
        Err(_) => text,
    };
    numbers(arguments)
        .find(|number| !is_held(number.text))
        .map(|number| Rounded {
            text: number.text.to_owned(),
            place: number.place,
        })
}

/// Whether what a number is read as has all its digits: an integer of 64 bits, or the double whose
/// shortest text is the same number.
fn is_held(number: &str) -> bool {
    if number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return true;
    }
    let Ok(double) = number.parse::<f64>() else {
        return false;
    };
    double.is_finite() && Decimal::of(number) == Decimal::of(&format!("{double:e}"))
}

/// A decimal number without the zeros around it: its digits, of which the first stands `exponent`
/// places left of the point. The sign needs no comparing.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Reads a JSON number; `None` where its exponent is beyond all sense.
    fn of(number: &str) -> Option<Self> {
        let number = number.trim_start_matches('-');
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let exponent = exponent.parse::<i32>().ok()?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        let zeros = all.len() - significant.len();
        let digits = significant.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self {
                digits,
                exponent: 0,
            });
        }
        let left = i64::try_from(whole.len()).ok()? - i64::try_from(zeros).ok()?;
        Some(Self {
            digits,
            exponent: left + i64::from(exponent),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_double_holds_is_told_by_its_digits() {
        for held in [
            "0",
            "-0",
            "-0.0",
            "0e7",
            "1",
            "-1",
            "10.10",
            "0.1",
            "1e22",
            "1E+22",
            "2.5e-7",
            "100000000000000000000",
            "9223372036854775807",
            "-9223372036854775808",
            "18446744073709551615",
            "9007199254740993",
            "1.7976931348623157e308",
            "5e-324",
            "0.30000000000000004",
            "123456789.12345678",
            "1000000000000000000000.000",
        ] {
            assert!(is_held(held), "{held}");
        }
        for rounded in [
            "100000000000000000001",
            "99999999999999999999",
            "1.0000000000000001",
            "18446744073709551616.5",
            "18446744073709551617",
            "-9223372036854775809",
            "0.1234567890123456789",
            "9007199254740993.0",
            "0.1000000000000000055511151231257827",
            "1e400",
            "-1e400",
            "1e-400",
            "4e-324",
            "1e99999999999",
            "0.30000000000000001",
        ] {
            assert!(!is_held(rounded), "{rounded}");
        }
    }

    #[test]
    fn only_numbers_of_the_arguments_are_looked_at() {
        let line = |arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"query","arguments":{arguments},"_meta":{{"progressToken":99999999999999999999}}}}}}"#
            )
        };
        for (arguments, found) in [
            (r#"{"params":["99999999999999999999","\"1e400",1]}"#, None),
            (r#"{"99999999999999999999":"\\"}"#, None),
            (r#"{"params":[[{"a\\":1e400}]]}"#, Some("1e400")),
            (
                r#"{"params":[1.0000000000000001,2]}"#,
                Some("1.0000000000000001"),
            ),
            (
                r#"{"limit":1.0000000000000001}"#,
                Some("1.0000000000000001"),
            ),
            ("null", None),
        ] {
            let number = rounded(line(arguments).as_bytes()).map(|rounded| rounded.text);
            assert_eq!(number.as_deref(), found, "{arguments}");
        }
    }
}
