//! The time-outs of a session: ours, or those of the account and the DSN where they are stricter.

use std::time::Duration;

/// The time-outs that somebody else has set, where they have: the account, the database, the server,
/// or the DSN.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TimeOuts {
    pub(crate) statement: Option<Duration>,
    pub(crate) lock: Option<Duration>,
    pub(crate) idle_in_transaction: Option<Duration>,
}

impl TimeOuts {
    /// Those that are the session's defaults, from what [`TimeOuts::DEFAULTS`] answers.
    pub(crate) fn of_session(text: &str) -> Self {
        let mut numbers = text.split(',').map(|number| {
            let milliseconds = number.parse().ok().filter(|&number| number > 0);
            milliseconds.map(Duration::from_millis)
        });
        Self {
            idle_in_transaction: numbers.next().flatten(),
            lock: numbers.next().flatten(),
            statement: numbers.next().flatten(),
        }
    }

    /// The session's defaults in milliseconds, by the names of the settings. Not what is in effect:
    /// behind a pooler somebody else may have set that.
    pub(crate) const DEFAULTS: &str =
        "SELECT pg_catalog.string_agg(reset_val, ',' ORDER BY name) FROM pg_catalog.pg_settings
        WHERE name IN ('idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout')";

    /// Those among the settings of the DSN's `options`, which a pooler may leave out.
    pub(crate) fn of_options(settings: &[(String, String)]) -> Self {
        let last = |name: &str| {
            let given = settings
                .iter()
                .rfind(|(given, _)| given.eq_ignore_ascii_case(name));
            given.and_then(|(_, value)| duration(value))
        };
        Self {
            statement: last("statement_timeout"),
            lock: last("lock_timeout"),
            idle_in_transaction: last("idle_in_transaction_session_timeout"),
        }
    }

    /// The stricter of each.
    pub(crate) fn stricter(self, other: Self) -> Self {
        let of =
            |one: Option<Duration>, other: Option<Duration>| one.into_iter().chain(other).min();
        Self {
            statement: of(self.statement, other.statement),
            lock: of(self.lock, other.lock),
            idle_in_transaction: of(self.idle_in_transaction, other.idle_in_transaction),
        }
    }
}

/// Ours, or the other where that is stricter.
pub(crate) fn within(ours: Duration, other: Option<Duration>) -> Duration {
    other.map_or(ours, |other| ours.min(other))
}

/// A duration as the server reads one for a setting in milliseconds; zero is none, and what it would
/// not take is left to its refusal.
fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let unit_at = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(unit_at)?;
    let seconds = match unit.trim() {
        "us" => 1e-6,
        "" | "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    let milliseconds = (number.parse::<f64>().ok()? * seconds * 1000.0).round();
    let is_one = milliseconds >= 1.0 && milliseconds <= f64::from(i32::MAX);
    is_one.then(|| Duration::from_millis(milliseconds as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn zero_is_none_and_the_stricter_counts() {
        let session = TimeOuts::of_session("0,500,1000");
        assert_eq!(session.statement, Some(SECOND));
        assert_eq!(session.lock, Some(SECOND / 2));
        assert_eq!(session.idle_in_transaction, None);
        let option = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let options = TimeOuts::of_options(&[
            option("statement_timeout", "9s"),
            option("Lock_Timeout", "1ms"),
            option("statement_timeout", "0.05min"),
            option("idle_in_transaction_session_timeout", "0"),
        ]);
        assert_eq!(options.statement, Some(3 * SECOND));
        let both = session.stricter(options);
        assert_eq!(both.statement, Some(SECOND));
        assert_eq!(both.lock, Some(SECOND / 1000));
        assert_eq!(both.idle_in_transaction, None);
        assert_eq!(within(SECOND, both.lock), SECOND / 1000);
        assert_eq!(within(SECOND, None), SECOND);
    }

    #[test]
    fn durations_are_read_as_the_server_does() {
        for (text, milliseconds) in [
            ("5", Some(5)),
            ("5ms", Some(5)),
            (" 5 s ", Some(5000)),
            ("1.5min", Some(90_000)),
            ("1h", Some(3_600_000)),
            ("1d", Some(86_400_000)),
            ("2000us", Some(2)),
            ("0", None),
            ("-1", None),
            ("5m", None),
            ("5S", None),
            ("", None),
            ("99999999d", None),
        ] {
            let expected = milliseconds.map(Duration::from_millis);
            assert_eq!(duration(text), expected, "{text}");
        }
    }
}
