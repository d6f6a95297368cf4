//! What a session is set to: its limits, and the settings that the text form of values depends on.
//! A session of a connection's own is set up once; a pooler's is in each transaction.

use std::time::Duration;

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use store::{Code, Error, Settings};

use crate::audit::Account;
use crate::params::quote;
use crate::time_outs::{TimeOuts, within};

/// The settings that the text form of values depends on, and what they are set to.
const TEXT_FORM: [(&str, &str); 6] = [
    ("client_encoding", "UTF8"),
    ("TimeZone", "UTC"),
    ("DateStyle", "ISO, MDY"),
    ("IntervalStyle", "iso_8601"),
    ("bytea_output", "hex"),
    ("extra_float_digits", "1"),
];

/// How long the server waits longer than the gateway, which would rather say what timed out.
const IDLE_LIMIT: Duration = Duration::from_secs(60);

/// The statement that tells which process of the server ran a query, and whether the text form of
/// values was still the session's at its end. `more` are further items of its list.
pub(crate) fn check_sql(more: &str) -> String {
    let settings: Vec<String> = TEXT_FORM
        .iter()
        .map(|(name, _)| format!("pg_catalog.current_setting('{name}')"))
        .collect();
    format!(
        "SELECT pg_catalog.concat_ws('|', pg_catalog.pg_backend_pid(), {}){more}",
        settings.join(", ")
    )
}

/// Why an answer cannot be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mistrust {
    /// The query moved the settings that its own answer is written by.
    MovedSettings,
    /// Another process ran it than the one that was set up: a pooler that nobody sees.
    OtherProcess,
}

impl Mistrust {
    pub(crate) fn error(self) -> Error {
        match self {
            Self::MovedSettings => Error::new(
                Code::QueryRejected,
                "the query changed the settings that the text form of its answer depends on",
            )
            .with_hint("leave out what sets client_encoding, TimeZone, DateStyle, IntervalStyle, bytea_output or extra_float_digits; use `AT TIME ZONE` or `to_char`"),
            Self::OtherProcess => Error::new(
                Code::StoreUnreachable,
                "the server gave the connection another session, as a pooler does",
            )
            .with_hint("call again; the store is now served as one behind a pooler"),
        }
    }
}

/// Reads the answer to [`check_sql`].
pub(crate) fn check(row: &PgRow, process: i32) -> Result<(), Mistrust> {
    let found = row.try_get_raw(0).ok();
    let found = found.as_ref().and_then(|value| value.as_str().ok());
    let Some((ran, settings)) = found.and_then(|found| found.split_once('|')) else {
        return Err(Mistrust::MovedSettings);
    };
    if ran.parse() != Ok(process) {
        return Err(Mistrust::OtherProcess);
    }
    let expected = TEXT_FORM.iter().map(|(_, value)| *value);
    if !settings.split('|').eq(expected) {
        return Err(Mistrust::MovedSettings);
    }
    Ok(())
}

/// What every session of ours is set to, whether once or in each transaction.
fn settings(lock_timeout: Duration, others: TimeOuts) -> Vec<(&'static str, String)> {
    let lock_timeout = within(lock_timeout, others.lock);
    let mut settings = vec![
        ("lock_timeout", lock_timeout.as_millis().max(1).to_string()),
        ("standard_conforming_strings", "on".to_owned()),
        ("client_min_messages", "error".to_owned()),
    ];
    settings.extend(TEXT_FORM.map(|(name, value)| (name, format!("'{value}'"))));
    settings
}

/// Sets up a session that is a connection's own, once.
pub(crate) fn set_up_sql(
    search_path: Option<&str>,
    given: &Settings,
    account: &Account,
    others: TimeOuts,
) -> String {
    let timeout = given.call_timeout;
    let mut sql = String::from("SET default_transaction_read_only = on; ");
    for (name, milliseconds) in limits(timeout, others) {
        sql.push_str(&format!("SET {name} = {milliseconds}; "));
    }
    for (name, value) in settings(given.busy_timeout.min(timeout), others) {
        sql.push_str(&format!("SET {name} = {value}; "));
    }
    if account.notices_departure {
        // The server then looks by itself whether its client is still there: a gateway that was
        // killed cancels nothing.
        sql.push_str("SET client_connection_check_interval = '500ms'; ");
    }
    if let Some(path) = search_path {
        // One call, so that the list of schemas is read as the setting reads it.
        sql.push_str(&format!(
            "SELECT pg_catalog.set_config('search_path', {}, false); ",
            quote(path)
        ));
    }
    sql
}

/// Begins a transaction in whatever session a pooler gives, with all it needs, and asks for the
/// process.
pub(crate) fn begin_pooled_sql(
    search_path: Option<&str>,
    timeout: Duration,
    lock_timeout: Duration,
    others: TimeOuts,
) -> String {
    let mut sql = String::from("BEGIN READ ONLY; ");
    for (name, milliseconds) in limits(timeout, others) {
        sql.push_str(&format!("SET LOCAL {name} = {milliseconds}; "));
    }
    for (name, value) in settings(lock_timeout, others) {
        sql.push_str(&format!("SET LOCAL {name} = {value}; "));
    }
    if let Some(path) = search_path {
        sql.push_str(&format!(
            "SELECT pg_catalog.set_config('search_path', {}, true); ",
            quote(path)
        ));
    }
    sql.push_str(PROCESS);
    sql
}

/// Begins a transaction in a session of our own, whose time-out is `session_timeout`, and asks for
/// the process.
pub(crate) fn begin_own_sql(timeout: Duration, session_timeout: Duration) -> String {
    let (wanted, set) = (steps(timeout), steps(session_timeout));
    if wanted >= set {
        return format!("BEGIN READ ONLY; {PROCESS}");
    }
    let milliseconds = wanted * STEP;
    format!("BEGIN READ ONLY; SET LOCAL statement_timeout = {milliseconds}; {PROCESS}")
}

const PROCESS: &str = "SELECT pg_catalog.pg_backend_pid()";

/// The server's time-out need not be finer than this, in milliseconds: the gateway keeps the exact
/// one, and a query that was not kept waiting then has the session's own.
const STEP: u128 = 100;

fn steps(timeout: Duration) -> u128 {
    timeout.as_millis().div_ceil(STEP).max(1)
}

/// The time-outs of a session, in milliseconds.
fn limits(timeout: Duration, others: TimeOuts) -> [(&'static str, u128); 2] {
    let idle = within(timeout + IDLE_LIMIT, others.idle_in_transaction);
    let timeout = within(timeout, others.statement);
    [
        ("statement_timeout", timeout.as_millis().max(1)),
        (
            "idle_in_transaction_session_timeout",
            idle.as_millis().max(1),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_out_is_set_where_it_is_not_the_sessions() {
        let session = Duration::from_secs(10);
        let soon = begin_own_sql(Duration::from_micros(9_999_990), session);
        assert_eq!(soon, format!("BEGIN READ ONLY; {PROCESS}"));
        let late = begin_own_sql(Duration::from_millis(1234), session);
        assert!(
            late.contains("SET LOCAL statement_timeout = 1300; "),
            "{late}"
        );
        // The account's own, stricter than any call's.
        let strict = begin_own_sql(session, Duration::from_millis(1234));
        assert_eq!(strict, format!("BEGIN READ ONLY; {PROCESS}"));
    }
}
