//! What a session is set to: its limits, and the settings that the text form of values depends on.
//! A session of a connection's own is set up once; a pooler's is in each transaction.

use std::time::Duration;

use sqlx::Row as _;
use sqlx::postgres::PgRow;
use store::{Code, Error};

use crate::audit::Account;
use crate::params::quote;

/// The settings that the text form of values depends on, and what they are set to.
const TEXT_FORM: [(&str, &str); 5] = [
    ("TimeZone", "UTC"),
    ("DateStyle", "ISO, MDY"),
    ("IntervalStyle", "iso_8601"),
    ("bytea_output", "hex"),
    ("extra_float_digits", "1"),
];

/// How long the server waits longer than the gateway, which would rather say what timed out.
const IDLE_LIMIT: Duration = Duration::from_secs(60);

/// The statement that tells whether the text form of values was still the session's at the end.
pub(crate) fn text_form_check() -> String {
    let settings: Vec<String> = TEXT_FORM
        .iter()
        .map(|(name, _)| format!("pg_catalog.current_setting('{name}')"))
        .collect();
    format!("SELECT pg_catalog.concat_ws('|', {})", settings.join(", "))
}

/// The error of a query that moved the settings its own answer is written by.
pub(crate) fn check_text_form(row: &PgRow) -> Result<(), Error> {
    let expected: Vec<&str> = TEXT_FORM.iter().map(|(_, value)| *value).collect();
    let expected = expected.join("|");
    let found = row.try_get_raw(0).ok();
    let found = found.as_ref().and_then(|value| value.as_str().ok());
    if found == Some(expected.as_str()) {
        return Ok(());
    }
    Err(Error::new(
        Code::QueryRejected,
        "the query changed the settings that the text form of its answer depends on",
    )
    .with_hint("leave out what sets TimeZone, DateStyle, IntervalStyle, bytea_output or extra_float_digits; use `AT TIME ZONE` or `to_char`"))
}

/// What every session of ours is set to, whether once or in each transaction.
fn settings(lock_timeout: Duration) -> Vec<(&'static str, String)> {
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
    lock_timeout: Duration,
    account: &Account,
) -> String {
    let mut sql = String::from("SET default_transaction_read_only = on; ");
    for (name, value) in settings(lock_timeout) {
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

/// Begins a transaction in whatever session a pooler gives, with all it needs.
pub(crate) fn begin_pooled_sql(
    search_path: Option<&str>,
    timeout: Duration,
    lock_timeout: Duration,
) -> String {
    let mut sql = begin_own_sql(timeout);
    for (name, value) in settings(lock_timeout) {
        sql.push_str(&format!("SET LOCAL {name} = {value}; "));
    }
    if let Some(path) = search_path {
        sql.push_str(&format!(
            "SELECT pg_catalog.set_config('search_path', {}, true); ",
            quote(path)
        ));
    }
    sql.push_str("SELECT pg_catalog.pg_backend_pid()");
    sql
}

/// Begins a transaction in a session that is set up: what is left are its own limits.
pub(crate) fn begin_own_sql(timeout: Duration) -> String {
    format!(
        "BEGIN READ ONLY; SET LOCAL statement_timeout = {}; \
         SET LOCAL idle_in_transaction_session_timeout = {}; ",
        timeout.as_millis().max(1),
        (timeout + IDLE_LIMIT).as_millis(),
    )
}
