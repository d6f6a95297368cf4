//! `json_patch` with a bound. SQLite's own compares every label of one document with every label of
//! the other inside one call, where no time limit can reach it: hours on a few megabytes. What is
//! short enough is passed on to it.

use std::cell::OnceCell;

use rusqlite::functions::{Context, FunctionFlags, SubType};
use rusqlite::types::Value;
use rusqlite::{Connection, Error, Result};

/// The most that the product of two documents' lengths may be, in bytes times bytes: about a second.
const MOST: usize = 4_000_000_000;

/// The subtype of a text that is JSON (`JSON_SUBTYPE` in `src/json.c`).
const JSON: SubType = Some(74);

thread_local! {
    /// A connection that still has SQLite's own function. Each worker's thread has its own.
    static PLAIN: OnceCell<Connection> = const { OnceCell::new() };
}

/// Why two documents are not merged.
#[derive(Debug, thiserror::Error)]
#[error(
    "`json_patch` of documents this long ({first} and {second} bytes) takes longer than a query may"
)]
struct TooLong {
    first: usize,
    second: usize,
}

/// Puts the bounded functions in the place of SQLite's own.
pub(crate) fn register(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS
        | FunctionFlags::SQLITE_RESULT_SUBTYPE;
    connection.create_scalar_function("json_patch", 2, flags, |call| {
        patch(call, "SELECT json_patch(?1, ?2)", JSON)
    })?;
    connection.create_scalar_function("jsonb_patch", 2, flags, |call| {
        patch(call, "SELECT jsonb_patch(?1, ?2)", None)
    })
}

fn patch(call: &Context<'_>, sql: &str, subtype: SubType) -> Result<(Value, SubType)> {
    let documents = (call.get::<Value>(0)?, call.get::<Value>(1)?);
    let (first, second) = (length(&documents.0), length(&documents.1));
    if first.saturating_mul(second) > MOST {
        return Err(Error::UserFunctionError(Box::new(TooLong {
            first,
            second,
        })));
    }
    let merged: Value = PLAIN.with(|slot| {
        let plain = match slot.get() {
            Some(plain) => plain,
            None => {
                let opened = Connection::open_in_memory()?;
                slot.get_or_init(|| opened)
            }
        };
        plain
            .prepare(sql)?
            .query_row([documents.0, documents.1], |row| row.get(0))
    })?;
    let subtype = subtype.filter(|_| merged != Value::Null);
    Ok((merged, subtype))
}

fn length(document: &Value) -> usize {
    match document {
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
        Value::Null | Value::Integer(_) | Value::Real(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(connection: &Connection, sql: &str) -> std::result::Result<Value, String> {
        connection
            .query_row(sql, [], |row| row.get(0))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn short_documents_are_merged_as_sqlite_does_and_long_ones_refused() {
        let theirs = Connection::open_in_memory().unwrap();
        let ours = Connection::open_in_memory().unwrap();
        register(&ours).unwrap();
        for sql in [
            r#"select json_patch('{"a":1.50,"b":{"c":2}}', '{"b":{"c":null},"d":[1]}')"#,
            r#"select json_object('inner', json_patch('{"a":1}', '{"b":2}'))"#,
            r#"select typeof(jsonb_patch('{"a":1}', '{}')) || json(jsonb_patch('{"a":1}', '{"a":null}'))"#,
            "select json_patch(null, '{}')",
            "select json_patch('{}', null)",
            "select json_patch(1, 2)",
            "select json_patch('{\"a\":1}', jsonb('{\"a\":2}'))",
            "select json_patch('[1', '{}')",
            "select json_patch('{}', x'ff')",
        ] {
            assert_eq!(ask(&ours, sql), ask(&theirs, sql), "{sql}");
        }
        let long = "select json_patch(printf('%.*c', 100000, ' ') || '{}', printf('%.*c', 100000, ' ') || '{}')";
        let refused = ask(&ours, long).unwrap_err();
        assert!(refused.contains("100002 and 100002 bytes"), "{refused}");
    }
}
