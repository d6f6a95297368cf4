//! What is logged, and how it is written.

use store::{Problem, nearest, or_list};
use tracing_subscriber::EnvFilter;

use super::values::quoted;

/// What is logged to standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// A checked filter in the language of `tracing`: `warn`, `info,sqlx=debug`.
    pub filter: String,
    /// How it is written.
    pub format: LogFormat,
}

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// JSON Lines.
    Json,
}

/// How the formats are written.
pub(super) const LOG_FORMATS: [(&str, LogFormat); 2] =
    [("text", LogFormat::Text), ("json", LogFormat::Json)];

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Checks a filter.
pub(super) fn filter(text: &str) -> Result<String, Problem> {
    for directive in text.split(',').map(str::trim) {
        let problem = match directive.rsplit_once('=') {
            _ if directive.is_empty() => {
                "holds a comma with nothing before or behind it".to_owned()
            }
            Some((_, "")) => format!("{} has no level behind its `=`", quoted(directive)),
            Some(("", _)) => format!("{} has no target before its `=`", quoted(directive)),
            _ => continue,
        };
        return Err(Problem::new(problem).with_hint(
            "write a level such as `info`, or targets with levels such as `warn,rhizodat=debug`",
        ));
    }
    // `tracing` takes any word that is no level for a target, and then logs nothing else: a
    // misspelt level would silence the log.
    let bare_word = text.split(',').map(str::trim).find(|directive| {
        !directive.is_empty()
            && directive.chars().all(|character| {
                character.is_alphanumeric() || matches!(character, '_' | '-' | ':')
            })
            && !LEVELS
                .iter()
                .any(|level| level.eq_ignore_ascii_case(directive))
    });
    if let Some(word) = bare_word {
        let problem = Problem::new(format!("{} is no log level", quoted(word)));
        let close = nearest(word, LEVELS);
        return Err(if close.is_empty() {
            problem.with_hint(format!(
                "write {}, or a target with one, such as `rhizodat=debug`",
                or_list(&LEVELS)
            ))
        } else {
            problem.with_hint(format!("did you mean {}?", or_list(&close)))
        });
    }
    match EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(
            Problem::new(format!("{} is no log filter: {error}", quoted(text)))
                .with_hint("write a level such as `info`, or targets with levels such as `warn,rhizodat=debug`, without blanks"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_would_silence_the_log_by_a_slip_is_refused() {
        for text in [
            "warn",
            "INFO",
            "warn,rhizodat=debug",
            "off",
            "info,sqlx=trace",
        ] {
            assert_eq!(filter(text).as_deref(), Ok(text));
        }
        for (text, message) in [
            ("wran", "`wran` is no log level"),
            ("verbose", "`verbose` is no log level"),
            ("rhizodat=", "`rhizodat=` has no level behind its `=`"),
            ("=debug", "`=debug` has no target before its `=`"),
            (",", "holds a comma with nothing before or behind it"),
            (
                "warn,,rhizodat=debug",
                "holds a comma with nothing before or behind it",
            ),
            ("warn,", "holds a comma with nothing before or behind it"),
            (
                "rhizodat=loud",
                "`rhizodat=loud` is no log filter: error parsing level filter: expected one of \"off\", \"error\", \"warn\", \"info\", \"debug\", \"trace\", or a number 0-5",
            ),
        ] {
            let problem = filter(text).unwrap_err();
            assert_eq!(problem.message, message);
            assert!(problem.hint.is_some());
        }
    }
}
