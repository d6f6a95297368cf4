//! From a caller's text and parameters to one read statement, ready to run.

use rusqlite::Statement;
use rusqlite::types::Value as Bound;
use store::{Code, Error, Position};

use crate::lexer::{Statements, statements};
use crate::sandbox::Refused;
use crate::session::Session;
use crate::ticket::Ticket;
use crate::{error, hints};

/// What this store accepts, for whoever tried something else.
pub(crate) const READ_ONLY: &str =
    "this store is read only: it takes one `SELECT`, `VALUES`, `WITH` or `EXPLAIN` statement";

/// Prepares the one statement of `text` and binds `params` to it.
pub(crate) fn prepare<'session>(
    session: &'session Session,
    text: &str,
    params: &[serde_json::Value],
    ticket: &Ticket,
) -> Result<Statement<'session>, Error> {
    let text = only_statement(text)?;
    session.watch().begin();
    let mut statement = session
        .connection()
        .prepare(text)
        .map_err(|failure| not_prepared(session, &failure, text, ticket))?;
    // What the authorizer let pass and yet is no read: a statement it made one that does nothing.
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(rejected("the statement is not a read").with_hint(READ_ONLY));
    }
    bind(&mut statement, params)?;
    Ok(statement)
}

fn only_statement(text: &str) -> Result<&str, Error> {
    if let Some(at) = text.find('\0') {
        let index = text.get(..at).unwrap_or_default().chars().count();
        return Err(rejected("the text holds a NUL character")
            .at(Some(Position::of_character(text, index)))
            .with_hint("pass text with a NUL as a parameter, or write it with `char(0)`"));
    }
    match statements(text) {
        Statements::One(statement) => Ok(statement),
        Statements::None => Err(rejected("the text holds no statement").with_hint(READ_ONLY)),
        Statements::Several(at) => {
            let index = text.get(..at).unwrap_or_default().chars().count();
            Err(rejected("the text holds more than one statement")
                .at(Some(Position::of_character(text, index)))
                .with_hint("send one statement per call"))
        }
    }
}

fn not_prepared(
    session: &Session,
    failure: &rusqlite::Error,
    text: &str,
    ticket: &Ticket,
) -> Error {
    if let Some(ended) = session.cut_short(failure, ticket) {
        return ended;
    }
    if let Some(refused) = session.watch().refused() {
        return forbidden(&refused).with_server_code("SQLITE_AUTH");
    }
    if matches!(failure, rusqlite::Error::MultipleStatement) {
        return rejected("the text holds more than one statement")
            .with_hint("send one statement per call");
    }
    let found = error::of_statement(failure).at(error::position(failure, text));
    match hints::hint(session, &found.message, text) {
        Some(hint) if found.hint.is_none() => found.with_hint(hint),
        _ => found,
    }
}

fn rejected(message: impl Into<String>) -> Error {
    Error::new(Code::QueryRejected, message)
}

fn forbidden(refused: &Refused) -> Error {
    match refused {
        Refused::Write(table) => {
            rejected(format!("writing to `{table}` is not permitted")).with_hint(READ_ONLY)
        }
        Refused::Definition => {
            rejected("changing the schema is not permitted").with_hint(READ_ONLY)
        }
        Refused::Pragma(name) => rejected(format!("`PRAGMA {name}` is not permitted")).with_hint(
            "the `schema` tool tells tables, columns, keys and indexes; so do the functions `pragma_table_list`, `pragma_table_info(…)`, `pragma_index_list(…)` in a `SELECT`",
        ),
        Refused::Attach => {
            rejected("attaching or detaching a database is not permitted").with_hint(READ_ONLY)
        }
        Refused::Transaction => rejected("transactions and savepoints are not permitted")
            .with_hint("every statement reads one consistent state by itself"),
        Refused::Function(name) => {
            rejected(format!("the function `{name}` is not permitted")).with_hint(READ_ONLY)
        }
        Refused::Other => rejected("this statement is not permitted").with_hint(READ_ONLY),
    }
}

fn bind(statement: &mut Statement<'_>, params: &[serde_json::Value]) -> Result<(), Error> {
    let expected = statement.parameter_count();
    if expected != params.len() {
        return Err(Error::new(
            Code::InvalidArgument,
            format!(
                "`params` has {} but the statement takes {}",
                count(params.len()),
                expected
            ),
        )
        .with_hint("parameters are written `?1`, `?2` … and given in that order"));
    }
    for (index, param) in params.iter().enumerate() {
        let place = index + 1;
        let value = bound(param, place)?;
        statement
            .raw_bind_parameter(place, value)
            .map_err(|failure| {
                let found = error::of_statement(&failure);
                Error {
                    message: format!("parameter {place}: {}", found.message),
                    ..found
                }
            })?;
    }
    Ok(())
}

fn count(params: usize) -> String {
    match params {
        0 => "no value".to_owned(),
        1 => "1 value".to_owned(),
        several => format!("{several} values"),
    }
}

/// What SQLite is given for a parameter: its own type, or JSON text for what it has no type for.
fn bound(param: &serde_json::Value, place: usize) -> Result<Bound, Error> {
    Ok(match param {
        serde_json::Value::Null => Bound::Null,
        serde_json::Value::Bool(truth) => Bound::Integer(i64::from(*truth)),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Bound::Integer(integer),
            (None, Some(float)) if number.is_f64() => Bound::Real(float),
            _ => {
                return Err(Error::new(
                    Code::InvalidArgument,
                    format!(
                        "parameter {place} is beyond the integers of SQLite, which have 64 bits"
                    ),
                )
                .with_hint("give it as text"));
            }
        },
        serde_json::Value::String(text) => Bound::Text(text.clone()),
        other => Bound::Text(other.to_string()),
    })
}
