//! Logs, to standard error alone.

use std::io::{self, IsTerminal};

use rhizodat::config::{Log, LogFormat};
use store::Problem;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{LevelFilter, ParseError};
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// Libraries that tell more than what their users want to know, and the level that is of use: rmcp
/// warns of every call that a client cancels.
const QUIET: [(&str, LevelFilter); 2] = [("sqlx", LevelFilter::WARN), ("rmcp", LevelFilter::ERROR)];

/// Why logging could not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The filter was checked, so this is a fault of the program.
    #[error("the log filter cannot be used: {0}")]
    Filter(#[from] ParseError),
    /// Something else logs already.
    #[error("logging cannot begin: {0}")]
    Begun(#[from] TryInitError),
}

/// Begins to log.
pub(crate) fn begin(log: &Log) -> Result<(), Error> {
    let Log { filter, format } = log;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(quieted(filter)?)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        // It would tell of a closed standard error on standard error, and panic.
        .log_internal_errors(false);
    match format {
        LogFormat::Text => subscriber.finish().try_init()?,
        LogFormat::Json => subscriber.json().finish().try_init()?,
    }
    Ok(())
}

/// Logs what is unwise.
pub(crate) fn warn(warnings: &[Problem]) {
    for warning in warnings {
        tracing::warn!(hint = warning.hint, "{}", warning.message);
    }
}

/// The filter with [`QUIET`] libraries kept at their level where it would let more through and does
/// not name them.
fn quieted(filter: &str) -> Result<EnvFilter, ParseError> {
    let loudest = EnvFilter::try_new(filter)?.max_level_hint();
    let mut quieted = filter.to_owned();
    for (library, level) in QUIET {
        if loudest > Some(level) && !filter.contains(library) {
            quieted.push_str(&format!(",{library}={level}"));
        }
    }
    EnvFilter::try_new(quieted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_quiet_unless_they_are_named_and_never_louder_than_asked() {
        for (filter, effective) in [
            ("off", "off"),
            ("warn", "rmcp=error,warn"),
            ("error", "error"),
            ("info", "sqlx=warn,rmcp=error,info"),
            ("debug,sqlx=trace", "sqlx=trace,rmcp=error,debug"),
        ] {
            assert_eq!(quieted(filter).unwrap().to_string(), effective);
        }
    }
}
