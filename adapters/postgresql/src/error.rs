//! What the driver says, as the store's own errors.

use std::time::Duration;

use sqlx::postgres::{PgDatabaseError, PgErrorPosition};
use store::{Code, Dsn, Error, Position, without_links};

/// Where in an exchange an error arose, and so what its position counts from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Phase<'a> {
    /// Before the caller's text was sent.
    Connect,
    /// A statement of the adapter's own.
    Own {
        /// How long the session may take, and has taken.
        times: Times,
    },
    /// The text alone.
    Parse {
        /// The caller's text.
        text: &'a str,
        /// How long the session may take, and has taken.
        times: Times,
    },
    /// The text within the statement that runs.
    Run {
        /// The caller's text.
        text: &'a str,
        /// How many characters were sent before it.
        before: usize,
        /// Where the literal of each parameter begins, in characters from the start.
        literals: &'a [usize],
        /// How long the session may take, and has taken.
        times: Times,
    },
}

impl Phase<'_> {
    fn times(self) -> Option<Times> {
        match self {
            Self::Connect => None,
            Self::Own { times } | Self::Parse { times, .. } | Self::Run { times, .. } => {
                Some(times)
            }
        }
    }
}

/// How long a session may take, and has taken when an error arose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) allowed: Duration,
    pub(crate) taken: Duration,
}

impl Times {
    /// Whether the time is over, as exactly as two clocks tell it.
    fn are_over(self) -> bool {
        self.taken + Duration::from_millis(50) >= self.allowed
    }
}

/// The store's error for what the driver said. Secrets of `dsn` are masked.
pub(crate) fn translate(error: &sqlx::Error, phase: Phase<'_>, dsn: &Dsn) -> Error {
    let server = error
        .as_database_error()
        .and_then(|e| e.try_downcast_ref::<PgDatabaseError>());
    match server {
        Some(server) => from_server(server, phase, dsn),
        None => from_driver(error, dsn),
    }
}

/// Whether the connection can still be used after this error.
pub(crate) fn keeps_connection(error: &sqlx::Error) -> bool {
    match error.as_database_error() {
        // Class 57P: the server ends the session.
        Some(server) => !server.code().is_some_and(|code| code.starts_with("57P")),
        None => false,
    }
}

/// Whether the server's message is so long that what holds it should go with the connection: the
/// driver reads it whole, into a buffer that it keeps.
pub(crate) fn is_huge(error: &sqlx::Error) -> bool {
    const HUGE: usize = 64 * 1024;
    error.as_database_error().is_some_and(|server| {
        let detail = server
            .try_downcast_ref::<PgDatabaseError>()
            .and_then(PgDatabaseError::detail);
        server.message().len() + detail.map_or(0, str::len) > HUGE
    })
}

/// Whether a connection taken from the pool was found dead.
pub(crate) fn found_dead(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(server) => server
            .code()
            .is_some_and(|code| code.starts_with("57P") || code.starts_with("08")),
        _ => false,
    }
}

/// The code of the server's error, where there is one.
pub(crate) fn sqlstate(error: &sqlx::Error) -> Option<String> {
    error
        .as_database_error()
        .and_then(|server| server.code())
        .map(|code| code.into_owned())
}

fn from_driver(error: &sqlx::Error, dsn: &Dsn) -> Error {
    let message = match error {
        // The TLS library hands its own errors over as invalid data.
        sqlx::Error::Io(source) if source.kind() == std::io::ErrorKind::InvalidData => {
            format!("TLS failed: {}", without_links(&source.to_string()))
        }
        sqlx::Error::Io(source) => {
            format!(
                "the connection failed: {}",
                lower_first(&without_links(&source.to_string()))
            )
        }
        sqlx::Error::Tls(source) => {
            format!("TLS failed: {}", without_links(&source.to_string()))
        }
        other => lower_first(&dsn.redact(&without_links(&other.to_string()))),
    };
    let hint = match error {
        _ if message.starts_with("TLS failed") => {
            "check `sslmode` and `sslrootcert` of the store's DSN"
        }
        sqlx::Error::Io(_) => "check that the server runs and that the DSN names its host and port",
        _ => "call again; where it stays, the server's log may say more",
    };
    Error::new(Code::StoreUnreachable, message).with_hint(hint)
}

fn from_server(server: &PgDatabaseError, phase: Phase<'_>, dsn: &Dsn) -> Error {
    let mut message = lower_first(beginning(server.message()));
    if let Some(detail) = server.detail() {
        message.push_str("; ");
        message.push_str(&lower_first(beginning(detail).trim_end_matches('.')));
    }
    let (code, hint) = classify(server.code(), server.position().is_some(), phase);
    let error = Error::new(code, dsn.redact(&message)).with_server_code(server.code());
    let advice = server.hint().map(|hint| dsn.redact(hint));
    let error = match hint.map(str::to_owned).or(advice) {
        Some(hint) => error.with_hint(hint),
        None => error,
    };
    place(error, server, phase)
}

/// The stable code of an SQLSTATE (PostgreSQL documentation, appendix A), and what to do about it.
fn classify(sqlstate: &str, has_position: bool, phase: Phase<'_>) -> (Code, Option<&'static str>) {
    match (sqlstate, phase) {
        ("28P01" | "28000", _) => (
            Code::StoreUnreachable,
            Some(
                "check the user, password and TLS of the store's DSN against the server's `pg_hba.conf`",
            ),
        ),
        ("3D000", _) => (
            Code::StoreUnreachable,
            Some("the database is the path of the store's DSN"),
        ),
        ("53300", _) => (
            Code::Busy,
            Some("the server has no connection left; call again later"),
        ),
        ("57P03", _) => (
            Code::StoreUnreachable,
            Some("the server is starting; call again in a moment"),
        ),
        (state, _) if state.starts_with("08") || state.starts_with("57P") => (
            Code::StoreUnreachable,
            Some("the connection was lost; call again"),
        ),
        ("42704" | "22023" | "42501", Phase::Connect) => (
            Code::StoreUnreachable,
            Some("check the settings in `options` of the store's DSN"),
        ),
        (_, Phase::Connect) => (
            Code::StoreUnreachable,
            Some("check the store's DSN against what the server says"),
        ),
        ("57014", Phase::Run { times, .. }) if times.are_over() => (
            Code::Timeout,
            Some("narrow the query: fewer rows, an indexed filter, or an aggregate over less"),
        ),
        ("57014", _) if phase.times().is_some_and(Times::are_over) => (
            Code::Timeout,
            Some(
                "another session may hold a lock on a table, or the server be busy; call again later",
            ),
        ),
        ("57014", _) => (
            Code::QueryFailed,
            Some("something else cancelled the query in the server; call again"),
        ),
        ("55P03", _) => (
            Code::Busy,
            Some("another session holds a lock on a table of this query; call again later"),
        ),
        ("42501", _) => (
            Code::NotPermitted,
            Some("the store's account may not read this; ask for what it may read with `schema`"),
        ),
        ("25006" | "25001" | "25P01", _) => (Code::QueryRejected, Some(READ_ONLY)),
        ("42601" | "42P10", Phase::Run { .. }) => (Code::QueryRejected, Some(READ_ONLY)),
        // What the wrapped text may not be is refused when it is analysed, which has a position; what
        // a function or a setting lacks while it runs has none.
        ("0A000", Phase::Run { .. }) if has_position => (Code::QueryRejected, Some(READ_ONLY)),
        ("42P18" | "42P02", _) => (
            Code::InvalidArgument,
            Some("say the parameter's type in the query, such as `$1::integer`"),
        ),
        (state, _) if state.starts_with("53") => (
            Code::QueryFailed,
            Some("the query needs more than the server gives; narrow it"),
        ),
        (state, _) if state.starts_with("54") => (
            Code::QueryFailed,
            Some("the message names a limit of the server's own; ask for what is within it"),
        ),
        _ => (Code::QueryFailed, None),
    }
}

/// What a text that is no read is told.
pub(crate) const READ_ONLY: &str = "this store is read only: a query is one SELECT, VALUES, TABLE or WITH statement that changes nothing";

/// Where in the caller's text, or which parameter.
fn place(error: Error, server: &PgDatabaseError, phase: Phase<'_>) -> Error {
    let Some(PgErrorPosition::Original(position)) = server.position() else {
        return error;
    };
    let Some(index) = position.checked_sub(1) else {
        return error;
    };
    match phase {
        Phase::Connect | Phase::Own { .. } => error,
        Phase::Parse { text, .. } => error.at(Some(Position::of_character(text, index))),
        Phase::Run {
            text,
            before,
            literals,
            ..
        } => {
            let length = text.chars().count();
            if let Some(within) = index.checked_sub(before).filter(|&within| within < length) {
                return error.at(Some(Position::of_character(text, within)));
            }
            let parameter = literals.iter().rposition(|&start| start <= index);
            match parameter {
                Some(parameter) => of_parameter(parameter + 1, error),
                None => error,
            }
        }
    }
}

/// The error of a value that its type does not read.
fn of_parameter(number: usize, error: Error) -> Error {
    let hint = match error.server_code.as_deref() {
        Some("0A000") => Some(format!(
            "PostgreSQL reads no value of that type from outside; give its parts, such as `ROW(${number}::integer, …)` or `ARRAY[${number}::integer, …]`, or name a type of its own"
        )),
        _ => error.hint.filter(|hint| hint != READ_ONLY),
    };
    Error {
        code: Code::InvalidArgument,
        message: format!("`params`: value {number} (`${number}`): {}", error.message),
        hint,
        ..error
    }
}

/// A server repeats the value it could not read, however long that is.
fn beginning(message: &str) -> &str {
    const LONGEST: usize = 2000;
    match message.char_indices().nth(LONGEST) {
        Some((end, _)) => message.get(..end).unwrap_or_default(),
        None => message,
    }
}

/// Messages of rhizodat begin in lower case; words in capitals stay as they are.
fn lower_first(message: &str) -> String {
    let mut characters = message.chars();
    match (characters.next(), characters.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => message.to_owned(),
    }
}
