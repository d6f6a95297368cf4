//! How a value is written: numbers, sizes, durations, switches and words.

use store::{Problem, nearest, or_list};

use super::variables::Values;

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Things: `1000`.
    One,
    /// Bytes: `65536`, `64KiB`, `1MB`.
    Byte,
    /// Milliseconds: `500ms`, `10s`, `2m`, `1h`. A bare number is refused: nobody knows its unit.
    Millisecond,
}

/// The units of sizes, in lower case.
const SIZES: [(&str, u64); 8] = [
    ("", 1),
    ("b", 1),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
];

/// The units of durations, the largest first.
const DURATIONS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// A number in its unit and bounds.
pub(super) fn number(text: &str, values: Values) -> Result<u64, Problem> {
    let Values::Number { unit, min, max } = values else {
        return Err(Problem::new("takes no number"));
    };
    let digits_end = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at(digits_end);
    let bounds = format!(
        "from `{}` to `{}`",
        show_number(min, unit),
        show_number(max, unit)
    );
    if unit == Unit::Millisecond && suffix.is_empty() && !digits.is_empty() {
        return Err(Problem::new(format!("{} has no unit", quoted(text)))
            .with_hint(format!("write `{digits}s` or `{digits}ms`, {bounds}")));
    }
    let Some(scale) = scale(suffix, unit).filter(|_| !digits.is_empty()) else {
        let (noun, written) = match unit {
            Unit::One => ("whole number", "digits alone"),
            Unit::Byte => (
                "size",
                "a whole number of bytes, or one with `KiB`, `MiB`, `kB` or `MB`",
            ),
            Unit::Millisecond => ("duration", "a whole number with `ms`, `s`, `m` or `h`"),
        };
        return Err(Problem::new(format!("{} is no {noun}", quoted(text)))
            .with_hint(format!("write {written}, {bounds}")));
    };
    // Digits that overflow are as far out of bounds as any number.
    let number = digits
        .parse::<u64>()
        .ok()
        .and_then(|count| count.checked_mul(scale))
        .filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| {
        Problem::new(format!("{} is out of bounds", quoted(text)))
            .with_hint(format!("give a value {bounds}"))
    })
}

fn scale(suffix: &str, unit: Unit) -> Option<u64> {
    let units = match unit {
        Unit::One => return suffix.is_empty().then_some(1),
        Unit::Byte => SIZES.as_slice(),
        Unit::Millisecond => DURATIONS.as_slice(),
    };
    // Sizes are written in every mixture of cases; `M` is no minute.
    let suffix = match unit {
        Unit::Byte => suffix.to_ascii_lowercase(),
        _ => suffix.to_owned(),
    };
    units
        .iter()
        .find(|(name, _)| *name == suffix)
        .map(|(_, scale)| *scale)
}

/// A number as it would be written.
pub(super) fn show_number(number: u64, unit: Unit) -> String {
    let units = match unit {
        Unit::One => return number.to_string(),
        Unit::Byte => [("MiB", 1 << 20), ("KiB", 1 << 10)].as_slice(),
        Unit::Millisecond => DURATIONS.as_slice(),
    };
    units
        .iter()
        .find(|(_, scale)| number >= *scale && number.is_multiple_of(*scale))
        .map_or_else(
            || number.to_string(),
            |(name, scale)| format!("{}{name}", number / scale),
        )
}

/// A switch: exactly `0`, `1`, `true` or `false`.
pub(super) fn switch(text: &str) -> Result<bool, Problem> {
    match text {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(Problem::new(format!("{} is no switch", quoted(text)))
            .with_hint("write `1` or `true`, `0` or `false`")),
    }
}

/// One of a few words.
pub(super) fn one_of<T: Copy>(text: &str, words: &[(&'static str, T)]) -> Result<T, Problem> {
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(*value);
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let problem = Problem::new(format!("{} is none of its values", quoted(text)));
    let close = nearest(text, known.iter().copied());
    Err(if close.is_empty() {
        problem.with_hint(format!("write {}", or_list(&known)))
    } else {
        problem.with_hint(format!("did you mean {}?", or_list(&close)))
    })
}

/// A value in backticks, on one line and not too long: what is in an environment can be anything.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = text
        .chars()
        .take(LONGEST)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::variables::{MAX_BYTES, MAX_ROWS, QUERY_TIMEOUT};

    #[test]
    fn numbers_are_read_in_their_units() {
        for (values, text, number_meant) in [
            (MAX_ROWS.values, "1", 1),
            (MAX_ROWS.values, "1000000", 1_000_000),
            (MAX_BYTES.values, "65536", 65_536),
            (MAX_BYTES.values, "64KiB", 65_536),
            (MAX_BYTES.values, "64kb", 64_000),
            (MAX_BYTES.values, "64MiB", 67_108_864),
            (QUERY_TIMEOUT.values, "100ms", 100),
            (QUERY_TIMEOUT.values, "10s", 10_000),
            (QUERY_TIMEOUT.values, "2m", 120_000),
            (QUERY_TIMEOUT.values, "1h", 3_600_000),
        ] {
            assert_eq!(number(text, values), Ok(number_meant), "{text}");
        }
    }

    #[test]
    fn numbers_that_are_none_or_out_of_bounds_say_what_fits() {
        for (values, text, message, hint) in [
            (
                MAX_ROWS.values,
                "0",
                "`0` is out of bounds",
                "give a value from `1` to `1000000`",
            ),
            (
                MAX_ROWS.values,
                "-1",
                "`-1` is no whole number",
                "write digits alone, from `1` to `1000000`",
            ),
            (
                MAX_ROWS.values,
                "1e3",
                "`1e3` is no whole number",
                "write digits alone, from `1` to `1000000`",
            ),
            (
                MAX_ROWS.values,
                "99999999999999999999",
                "`99999999999999999999` is out of bounds",
                "give a value from `1` to `1000000`",
            ),
            (
                MAX_BYTES.values,
                "1GiB",
                "`1GiB` is out of bounds",
                "give a value from `1KiB` to `64MiB`",
            ),
            (
                MAX_BYTES.values,
                "18446744073709551615KiB",
                "`18446744073709551615KiB` is out of bounds",
                "give a value from `1KiB` to `64MiB`",
            ),
            (
                MAX_BYTES.values,
                "64K",
                "`64K` is no size",
                "write a whole number of bytes, or one with `KiB`, `MiB`, `kB` or `MB`, from `1KiB` to `64MiB`",
            ),
            (
                QUERY_TIMEOUT.values,
                "10",
                "`10` has no unit",
                "write `10s` or `10ms`, from `100ms` to `1h`",
            ),
            (
                QUERY_TIMEOUT.values,
                "1.5s",
                "`1.5s` is no duration",
                "write a whole number with `ms`, `s`, `m` or `h`, from `100ms` to `1h`",
            ),
            (
                QUERY_TIMEOUT.values,
                "2h",
                "`2h` is out of bounds",
                "give a value from `100ms` to `1h`",
            ),
        ] {
            let problem = number(text, values).unwrap_err();
            assert_eq!(problem.message, message);
            assert_eq!(problem.hint.as_deref(), Some(hint));
        }
    }

    #[test]
    fn switches_and_words_are_exact() {
        for (text, on) in [("0", false), ("1", true), ("true", true), ("false", false)] {
            assert_eq!(switch(text), Ok(on));
        }
        for text in ["yes", "TRUE", "on", " 1", "01"] {
            assert!(switch(text).is_err(), "{text}");
        }
        let words = [("toon", 1), ("json", 2)];
        assert_eq!(one_of("json", &words), Ok(2));
        let hint = |text| one_of(text, &words).unwrap_err().hint.unwrap();
        assert_eq!(hint("jsn"), "did you mean `json`?");
        assert_eq!(hint("xml-ish"), "write `toon` or `json`");
    }

    #[test]
    fn a_strange_value_is_shown_on_one_short_line() {
        assert_eq!(quoted("a\n\u{1b}[31m"), "`a\\n\\u{1b}[31m`");
        assert_eq!(quoted(&"x".repeat(60)), format!("`{}…`", "x".repeat(40)));
    }
}
