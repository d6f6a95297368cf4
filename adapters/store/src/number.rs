//! The text of a JSON number, for stores that read numbers from text.

/// The shortest plain spelling of a number: `100` for `1e2` and `100.0`, and `-0` keeps its sign.
/// What has more than 21 digits before the point, or six zeros behind it, has an exponent.
pub fn number_text(number: &serde_json::Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    if float == 0.0 || (1e-6..1e21).contains(&float.abs()) {
        float.to_string()
    } else {
        format!("{float:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spelt_plainly() {
        for (json, text) in [
            ("-0", "-0"),
            ("-0.0", "-0"),
            ("0.0", "0"),
            ("1e2", "100"),
            ("10.0", "10"),
            ("0.1", "0.1"),
            ("-2.5e-7", "-2.5e-7"),
            ("1e20", "100000000000000000000"),
            ("1e300", "1e300"),
            ("5e-324", "5e-324"),
            ("18446744073709551615", "18446744073709551615"),
        ] {
            let number: serde_json::Number = serde_json::from_str(json).unwrap();
            assert_eq!(number_text(&number), text, "{json}");
            let read: f64 = text.parse().unwrap();
            assert_eq!(Some(read.to_bits()), number.as_f64().map(f64::to_bits));
        }
    }
}
