//! How a length of time is written for people.

use std::fmt;
use std::time::Duration;

/// A length of time as people write it: `10s`, `1.5s`, `250ms`; rounded to two digits of a second
/// from one second on, and to milliseconds below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        if seconds < 0.9995 {
            return write!(f, "{}ms", (seconds * 1000.0).round());
        }
        write!(f, "{}s", (seconds * 100.0).round() / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_rounded_to_what_matters() {
        for (nanoseconds, expected) in [
            (9_999_876_543, "10s"),
            (10_000_000_000, "10s"),
            (1_500_000_000, "1.5s"),
            (999_900_000, "1s"),
            (250_400_000, "250ms"),
            (0, "0ms"),
            (300_000_000_000, "300s"),
        ] {
            assert_eq!(
                Span(Duration::from_nanos(nanoseconds)).to_string(),
                expected
            );
        }
    }
}
