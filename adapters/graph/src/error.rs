//! What the server and the connection say, as the store's own errors.

use std::io;

use store::{Code, Dsn, Error, Position, without_links};

use crate::bolt::{Broken, Failure, Malformed, Refused};

/// What this store takes.
pub(crate) const READ_ONLY: &str =
    "this store is read only: it takes one Cypher query that reads, such as `MATCH … RETURN …`";

/// What a caller can do about a query that takes too long.
const NARROW: &str =
    "narrow the query: a label and an indexed property to start from, fewer hops, a smaller limit";

/// Where in what was sent the caller's text begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begins {
    /// It was sent alone.
    AtStart,
    /// Behind so many characters of ours.
    Behind(usize),
}

/// The server failed a caller's text.
pub(crate) fn of_text(failure: &Failure, begins: Begins, dsn: &Dsn) -> Error {
    let (message, position) = plain(&failure.message, begins);
    let code = code(failure);
    let mut error = Error::new(code, dsn.redact(&message))
        .with_server_code(failure.code.clone())
        .at(position);
    if let Some(hint) = hint(code, failure) {
        error = error.with_hint(hint);
    }
    error
}

/// The server failed what the adapter asked by itself.
pub(crate) fn of_own(failure: &Failure, dsn: &Dsn) -> Error {
    of_text(failure, Begins::AtStart, dsn).at(None)
}

/// The connection failed.
pub(crate) fn of_connection(broken: &Broken) -> Error {
    match broken {
        Broken::Lost(error) => Error::new(
            Code::StoreUnreachable,
            format!("the connection was lost: {}", words(error)),
        )
        .with_hint("call again; the server may have been restarted"),
        Broken::Malformed => Error::new(
            Code::StoreUnreachable,
            "the connection was lost: what came is no Bolt",
        )
        .with_hint("call again; check what stands between here and the server"),
        Broken::TooLong => Error::new(
            Code::LimitExceeded,
            "a row of the answer is too long to be read",
        )
        .with_hint("return fewer columns, or a part of long lists (`list[..100]`); or UNWIND them"),
    }
}

/// There is no connection.
pub(crate) fn of_refusal(refused: &Refused, place: &str, dsn: &Dsn) -> Error {
    let unreachable =
        |message: String, hint: &str| Error::new(Code::StoreUnreachable, message).with_hint(hint);
    match refused {
        Refused::Unreachable(error) => unreachable(
            format!("no connection to `{place}`: {}", words(error)),
            "check that the server runs and that the DSN names its host and its Bolt port (7687)",
        ),
        Refused::Tls(error) => {
            let said = words(error);
            let hint = if said.contains("certificate") {
                "the server's certificate is not trusted; name its authority with `sslrootcert`, or accept any with `+ssc`"
            } else {
                "the port may not speak TLS; without it write `bolt://` or `neo4j://`"
            };
            unreachable(format!("no TLS with `{place}`: {said}"), hint)
        }
        Refused::NoBolt(first) => {
            let hint = match first {
                b"HTTP" => "this is an HTTP port (7474 or 7473); Bolt's is 7687",
                [0x15, 3, ..] => "the server wants TLS: write `bolt+s://` or `neo4j+s://`",
                [0, 0, 0, 0] | [0, 0, _, 1..=4] => {
                    "the server is too old: Bolt 5 came with Neo4j 5"
                }
                _ => "check that the DSN names the Bolt port (7687)",
            };
            unreachable(format!("`{place}` does not speak Bolt 5"), hint)
        }
        Refused::Broken(Broken::Lost(error)) => unreachable(
            format!("`{place}` closed the connection: {}", words(error)),
            "check that the DSN names the Bolt port (7687), and whether the server wants TLS (`bolt+s://`)",
        ),
        Refused::Broken(_) => unreachable(
            format!("`{place}` does not speak Bolt 5"),
            "check that the DSN names the Bolt port (7687)",
        ),
        Refused::Login(failure) => {
            let hint = if failure.code.ends_with("AuthenticationRateLimit") {
                "the server counts too many wrong passwords; wait, and check the DSN"
            } else if failure.code.ends_with("CredentialsExpired") {
                "the account has to change its password first: `ALTER CURRENT USER SET PASSWORD FROM … TO …`"
            } else {
                "check the user and the password of the DSN"
            };
            let said = plain(&failure.message, Begins::AtStart).0;
            unreachable(dsn.redact(&said), hint).with_server_code(failure.code.clone())
        }
    }
}

/// The time of the call is over.
pub(crate) fn over_time() -> Error {
    Error::new(Code::Timeout, "the query took longer than it may").with_hint(NARROW)
}

/// What the server sent cannot be understood.
pub(crate) fn unread(_: Malformed) -> Error {
    Error::new(Code::Internal, "the server answered in an unknown form")
        .with_hint("report it with the server's version")
}

fn code(failure: &Failure) -> Code {
    let said = &failure.message;
    match failure.code.as_str() {
        "Neo.ClientError.Statement.AccessMode" => Code::QueryRejected,
        "Neo.ClientError.Statement.SyntaxError" if said.contains("exactly one statement") => {
            Code::QueryRejected
        }
        "Neo.ClientError.Statement.ArgumentError" if said.contains("execution mode") => {
            Code::QueryRejected
        }
        "Neo.ClientError.Statement.ParameterMissing" => Code::InvalidArgument,
        "Neo.ClientError.Statement.ExternalResourceFailed" => Code::QueryRejected,
        "Neo.ClientError.Database.DatabaseNotFound" => Code::StoreUnreachable,
        name if name.contains(".Security.Forbidden") => Code::NotPermitted,
        name if name.contains(".Security.") => Code::StoreUnreachable,
        name if name.contains("TimedOut") => Code::Timeout,
        name if name.contains("OutOfMemory") || name.contains("StackOverFlow") => {
            Code::LimitExceeded
        }
        name if name.ends_with("DatabaseUnavailable") => Code::StoreUnreachable,
        name if name.contains("Deadlock") || name.contains("LockAcquisition") => Code::Busy,
        name if name.ends_with("MaximumTransactionLimitReached") => Code::Busy,
        _ => Code::QueryFailed,
    }
}

fn hint(code: Code, failure: &Failure) -> Option<&'static str> {
    Some(match code {
        Code::QueryRejected => READ_ONLY,
        Code::InvalidArgument => "give one value for each of `$1`, `$2`, … in order",
        Code::NotPermitted => "the store's account may not do this",
        Code::Timeout => NARROW,
        Code::LimitExceeded => {
            "aggregate over less, or filter earlier; the memory of one query is bounded"
        }
        Code::Busy => "call again later",
        Code::StoreUnreachable if failure.code.ends_with("DatabaseNotFound") => {
            "check the database of the DSN: `…@host:7687/database`"
        }
        Code::StoreUnreachable if failure.code.contains(".Security.") => {
            "check the user and the password of the DSN"
        }
        Code::StoreUnreachable => "call again later; the database may be starting",
        _ if failure.code.ends_with("SyntaxError") => {
            "the store takes Cypher; the place is where the server stopped reading"
        }
        _ => return None,
    })
}

/// A message without the copy of the query behind it, and the place that it names.
fn plain(message: &str, begins: Begins) -> (String, Option<Position>) {
    let told: Vec<&str> = message
        .lines()
        .take_while(|line| !line.starts_with('"'))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let told = told.join(" ");
    let mut position = None;
    let mut said = told.as_str();
    if let Some((before, place)) = told.rsplit_once(" (line ") {
        position = place_of(place, begins);
        said = before;
    }
    let said = said.split(": expected ").next().unwrap_or(said);
    let mut short: String = said.trim_end_matches('.').chars().take(1000).collect();
    // Messages of rhizodat begin in lower case; words in capitals stay as they are.
    let mut letters = short.chars();
    if let (Some(first), Some(second)) = (letters.next(), letters.next())
        && first.is_uppercase()
        && second.is_lowercase()
    {
        short = first.to_lowercase().chain(short.chars().skip(1)).collect();
    }
    (short, position)
}

/// The place in `1, column 8 (offset: 7))`.
fn place_of(text: &str, begins: Begins) -> Option<Position> {
    let (line, rest) = text.split_once(", column ")?;
    let column = rest.split([' ', ')']).next()?.parse::<usize>().ok()?;
    let line = line.parse::<usize>().ok()?;
    let column = match begins {
        Begins::Behind(before) if line == 1 => column.checked_sub(before)?,
        _ => column,
    };
    (line > 0 && column > 0).then_some(Position { line, column })
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it was closed".to_owned(),
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "it was reset".to_owned(),
        _ => {
            let said = error.to_string();
            without_links(said.split(" (os error").next().unwrap_or(&said))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: &str, message: &str) -> Failure {
        Failure {
            code: code.to_owned(),
            message: message.to_owned(),
        }
    }

    #[test]
    fn the_servers_words_become_a_code_a_place_and_a_hint() {
        let dsn = Dsn::parse("bolt://u:s3cret@h").unwrap();
        let said = failure(
            "Neo.ClientError.Statement.SyntaxError",
            "Invalid input 'RETRN': expected 'FOREACH', 'CALL' or 's3cret' (line 1, column 19 (offset: 18))\n\"EXPLAIN …\"\n ^",
        );
        let error = of_text(&said, Begins::Behind(8), &dsn);
        assert_eq!(error.code, Code::QueryFailed);
        assert_eq!(error.message, "invalid input 'RETRN'");
        assert_eq!(
            error.position,
            Some(Position {
                line: 1,
                column: 11
            })
        );
        let several =
            "Expected exactly one statement per query but got: 2 (line 0, column 0 (offset: 8))";
        let said = failure("Neo.ClientError.Statement.SyntaxError", several);
        let error = of_text(&said, Begins::Behind(8), &dsn);
        assert_eq!((error.code, error.position), (Code::QueryRejected, None));
        for (name, code) in [
            ("Neo.ClientError.Statement.AccessMode", Code::QueryRejected),
            (
                "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
                Code::Timeout,
            ),
            (
                "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
                Code::LimitExceeded,
            ),
            (
                "Neo.TransientError.Transaction.LockAcquisitionTimeout",
                Code::Busy,
            ),
            ("Neo.ClientError.Security.Forbidden", Code::NotPermitted),
            (
                "Neo.ClientError.Security.Unauthorized",
                Code::StoreUnreachable,
            ),
        ] {
            let error = of_text(&failure(name, "x"), Begins::AtStart, &dsn);
            assert_eq!(error.code, code, "{name}");
            assert!(error.hint.is_some(), "{name}");
        }
    }

    #[test]
    fn who_answers_without_bolt_is_told_apart() {
        let dsn = Dsn::parse("bolt://h").unwrap();
        for (first, words) in [
            (*b"HTTP", "7474"),
            ([0x15, 3, 3, 0], "bolt+s"),
            ([0; 4], "too old"),
        ] {
            let error = of_refusal(&Refused::NoBolt(first), "h:7687", &dsn);
            assert!(error.hint.unwrap().contains(words));
        }
    }
}
