//! SQLite's errors in the gateway's terms.

use std::ffi::c_int;

use rusqlite::ffi;
use store::{Code, Error, Position};

/// The extended result code of an error, `SQLITE_ERROR` for one of rusqlite's own.
pub(crate) fn extended_code(error: &rusqlite::Error) -> c_int {
    match error {
        rusqlite::Error::SqliteFailure(failure, _)
        | rusqlite::Error::SqlInputError { error: failure, .. } => failure.extended_code,
        _ => ffi::SQLITE_ERROR,
    }
}

/// SQLite's own words.
pub(crate) fn message(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        rusqlite::Error::SqliteFailure(failure, None) => {
            ffi::code_to_str(failure.extended_code).to_owned()
        }
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

/// Where in the statement's text SQLite saw the error.
pub(crate) fn position(error: &rusqlite::Error, text: &str) -> Option<Position> {
    let rusqlite::Error::SqlInputError { offset, .. } = error else {
        return None;
    };
    let before = text.get(..usize::try_from(*offset).ok()?)?;
    Some(Position::of_character(text, before.chars().count()))
}

/// The error of a statement that was prepared or run, without what needs the statement's text.
pub(crate) fn of_statement(error: &rusqlite::Error) -> Error {
    let extended = extended_code(error);
    let words = message(error);
    let found = match extended & 0xff {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => Error::new(Code::Busy, words)
            .with_hint("another program is writing this database; try again in a moment"),
        ffi::SQLITE_TOOBIG => Error::new(
            Code::LimitExceeded,
            format!("{words}: a value, a row or the statement is longer than is allowed"),
        )
        .with_hint("read a part of it, for instance with `substr(column, 1, 1000)`"),
        ffi::SQLITE_NOMEM => Error::new(
            Code::LimitExceeded,
            "the statement needs more memory than is allowed",
        )
        .with_hint("sort, group or concatenate fewer rows, or use a `LIMIT`"),
        ffi::SQLITE_ERROR if is_limit(&words) => Error::new(Code::LimitExceeded, words)
            .with_hint("split the statement into simpler ones"),
        ffi::SQLITE_CORRUPT => Error::new(Code::QueryFailed, words).with_hint(
            "the database file is damaged where this statement reads; other tables may still be readable",
        ),
        ffi::SQLITE_NOTADB | ffi::SQLITE_CANTOPEN | ffi::SQLITE_IOERR | ffi::SQLITE_PERM => {
            Error::new(Code::StoreUnreachable, words)
                .with_hint("the database file cannot be read any more; its operator has to look at it")
        }
        ffi::SQLITE_READONLY | ffi::SQLITE_AUTH => {
            Error::new(Code::QueryRejected, words).with_hint(crate::statement::READ_ONLY)
        }
        // SQLite sees these before it asks the authorizer.
        ffi::SQLITE_ERROR
            if words.ends_with("may not be modified") || words.starts_with("cannot modify") =>
        {
            Error::new(Code::QueryRejected, words).with_hint(crate::statement::READ_ONLY)
        }
        _ => Error::new(Code::QueryFailed, words),
    };
    found.with_server_code(code_name(extended))
}

/// Whether SQLite's words are about one of the limits on a statement's shape.
fn is_limit(words: &str) -> bool {
    [
        "Expression tree is too large",
        "LIKE or GLOB pattern too complex",
        "parser stack overflow",
        "too many",
    ]
    .iter()
    .any(|beginning| words.starts_with(beginning))
        // Of a table-valued function, whose number of arguments is its own.
        && !words.contains(" - max ")
}

/// The name of a result code.
pub(crate) fn code_name(extended: c_int) -> String {
    const NAMES: [&str; 29] = [
        "SQLITE_OK",
        "SQLITE_ERROR",
        "SQLITE_INTERNAL",
        "SQLITE_PERM",
        "SQLITE_ABORT",
        "SQLITE_BUSY",
        "SQLITE_LOCKED",
        "SQLITE_NOMEM",
        "SQLITE_READONLY",
        "SQLITE_INTERRUPT",
        "SQLITE_IOERR",
        "SQLITE_CORRUPT",
        "SQLITE_NOTFOUND",
        "SQLITE_FULL",
        "SQLITE_CANTOPEN",
        "SQLITE_PROTOCOL",
        "SQLITE_EMPTY",
        "SQLITE_SCHEMA",
        "SQLITE_TOOBIG",
        "SQLITE_CONSTRAINT",
        "SQLITE_MISMATCH",
        "SQLITE_MISUSE",
        "SQLITE_NOLFS",
        "SQLITE_AUTH",
        "SQLITE_FORMAT",
        "SQLITE_RANGE",
        "SQLITE_NOTADB",
        "SQLITE_NOTICE",
        "SQLITE_WARNING",
    ];
    let detail = match extended {
        ffi::SQLITE_BUSY_RECOVERY | ffi::SQLITE_READONLY_RECOVERY => "_RECOVERY",
        ffi::SQLITE_BUSY_SNAPSHOT => "_SNAPSHOT",
        ffi::SQLITE_BUSY_TIMEOUT => "_TIMEOUT",
        ffi::SQLITE_LOCKED_SHAREDCACHE => "_SHAREDCACHE",
        ffi::SQLITE_READONLY_CANTLOCK => "_CANTLOCK",
        ffi::SQLITE_READONLY_ROLLBACK => "_ROLLBACK",
        ffi::SQLITE_READONLY_DBMOVED => "_DBMOVED",
        ffi::SQLITE_READONLY_CANTINIT => "_CANTINIT",
        ffi::SQLITE_READONLY_DIRECTORY => "_DIRECTORY",
        ffi::SQLITE_IOERR_READ => "_READ",
        ffi::SQLITE_IOERR_SHORT_READ => "_SHORT_READ",
        ffi::SQLITE_IOERR_FSTAT => "_FSTAT",
        ffi::SQLITE_IOERR_ACCESS => "_ACCESS",
        ffi::SQLITE_IOERR_LOCK | ffi::SQLITE_IOERR_RDLOCK => "_LOCK",
        ffi::SQLITE_IOERR_SHMOPEN => "_SHMOPEN",
        ffi::SQLITE_IOERR_SHMMAP => "_SHMMAP",
        ffi::SQLITE_CORRUPT_VTAB => "_VTAB",
        ffi::SQLITE_CORRUPT_INDEX => "_INDEX",
        ffi::SQLITE_CANTOPEN_ISDIR => "_ISDIR",
        ffi::SQLITE_CANTOPEN_FULLPATH => "_FULLPATH",
        ffi::SQLITE_CANTOPEN_SYMLINK => "_SYMLINK",
        ffi::SQLITE_ERROR_MISSING_COLLSEQ => "_MISSING_COLLSEQ",
        _ => "",
    };
    let name = usize::try_from(extended & 0xff)
        .ok()
        .and_then(|primary| NAMES.get(primary))
        .unwrap_or(&"SQLITE_ERROR");
    format!("{name}{detail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_their_names() {
        for (code, name) in [
            (ffi::SQLITE_ERROR, "SQLITE_ERROR"),
            (ffi::SQLITE_NOTADB, "SQLITE_NOTADB"),
            (ffi::SQLITE_AUTH, "SQLITE_AUTH"),
            (ffi::SQLITE_TOOBIG, "SQLITE_TOOBIG"),
            (ffi::SQLITE_READONLY_ROLLBACK, "SQLITE_READONLY_ROLLBACK"),
        ] {
            assert_eq!(code_name(code), name);
        }
    }
}
