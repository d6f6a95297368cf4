//! What the server and the driver say, as the store's own errors.

use clickhouse::error::Error as Driver;
use store::{Code, Dsn, Error, Position, without_links};

/// Where in an exchange an error arose.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Phase<'a> {
    /// Before the caller's text was sent.
    Connect,
    /// A question of the adapter's own.
    Own,
    /// The caller's text, which begins on the second line of what was sent.
    Text {
        /// The caller's text.
        text: &'a str,
    },
}

/// The store's error for what the driver said. Secrets of `dsn` are masked.
pub(crate) fn translate(error: &Driver, phase: Phase<'_>, dsn: &Dsn) -> Error {
    match error {
        Driver::BadResponse(text) => from_server(&dsn.redact(text), phase),
        other => from_driver(other, dsn),
    }
}

/// The time of the call is over.
pub(crate) fn over_time() -> Error {
    Error::new(Code::Timeout, "the query took longer than it may").with_hint(
        "narrow the query: fewer rows, a condition on the table's key, an aggregate over less",
    )
}

/// An answer is longer than can be held.
pub(crate) fn too_long() -> Error {
    Error::new(
        Code::LimitExceeded,
        "a row of the answer is too long to be read",
    )
    .with_hint("select fewer columns, or a part of the long ones")
}

/// The server's own code of an error, without its name.
pub(crate) fn number(error: &Error) -> Option<u32> {
    error
        .server_code
        .as_deref()?
        .split(' ')
        .next()?
        .parse()
        .ok()
}

fn from_driver(error: &Driver, dsn: &Dsn) -> Error {
    let mut words = Vec::new();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        words.push(inner.to_string());
        source = inner.source();
    }
    let all = words.join(": ");
    let what = words.pop().unwrap_or_else(|| error.to_string());
    let what = dsn.redact(&without_links(&what));
    let unreachable = Error::new(
        Code::StoreUnreachable,
        format!("the connection failed: {}", lower_first(&what)),
    );
    let lower = all.to_lowercase();
    if lower.contains("certificate") || lower.contains("unknownissuer") {
        unreachable.with_hint("the server's certificate is not trusted; name its authority with `sslrootcert` in the DSN")
    } else if lower.contains("corrupt message") || lower.contains("invalidcontenttype") {
        unreachable.with_hint(
            "the port does not speak TLS; `clickhouses://` is for the HTTPS port (8443), `clickhouse://` for HTTP (8123)",
        )
    } else if lower.contains("parse") || lower.contains("http version") {
        unreachable.with_hint(
            "the port does not speak HTTP; ClickHouse's HTTP port is 8123 (8443 with `clickhouses://`), not 9000 or 9440",
        )
    } else {
        unreachable.with_hint(
            "check that the server runs and that the DSN names its host and its HTTP port",
        )
    }
}

/// An error from the server's words: `Code: 60. DB::Exception: …. (UNKNOWN_TABLE) (version 26.7.2.1)`.
fn from_server(text: &str, phase: Phase<'_>) -> Error {
    if text.contains("is for clickhouse-client program") {
        return Error::new(
            Code::StoreUnreachable,
            "the port is that of ClickHouse's native protocol, not of HTTP",
        )
        .with_hint("name the HTTP port in the DSN: 8123, or 8443 with `clickhouses://`");
    }
    let Some((number, rest)) = text
        .split_once("Code: ")
        .and_then(|(_, after)| after.split_once(". DB::Exception: "))
        .and_then(|(number, rest)| Some((number.parse::<u32>().ok()?, rest)))
    else {
        return Error::new(
            Code::StoreUnreachable,
            format!("no ClickHouse server answered: {}", beginning(text, 200)),
        )
        .with_hint("check that the DSN names the HTTP port of a ClickHouse server (8123)");
    };
    let rest = rest.split(" (version ").next().unwrap_or(rest);
    let (message, name) = match rest.rsplit_once(" (") {
        Some((message, name)) => (message, name.trim_end_matches(')')),
        None => (rest, ""),
    };
    let (message, meant) = trimmed(message);
    let mut error = Error::new(
        code(number, message, phase),
        beginning(&lower_first(message), 1000),
    )
    .with_server_code(format!("{number} {name}").trim());
    if let Some(hint) = hint(number, phase, meant) {
        error = error.with_hint(hint);
    }
    error.at(position(text, phase))
}

/// The message without what repeats the query or lists a grammar, and the names that the server
/// thinks were meant.
fn trimmed(message: &str) -> (&str, Option<&str>) {
    let meant = message
        .split_once("aybe you meant")
        .map(|(_, after)| after.trim_matches([':', ' ', '?', '.', '[', ']']));
    let mut short = message;
    for mark in [
        ". Expected one of:",
        ". Maybe you meant",
        ", maybe you meant",
        ". maybe you meant",
        ": In scope ",
        " in scope ",
        ": while processing",
        "\n",
    ] {
        short = short.split(mark).next().unwrap_or(short);
    }
    (short.trim_end_matches(['.', ' ']), meant)
}

fn code(number: u32, message: &str, phase: Phase<'_>) -> Code {
    match number {
        62 if message.contains("Multi-statements") => Code::QueryRejected,
        164 | 482 => Code::QueryRejected,
        497 | 291 | 492 => Code::NotPermitted,
        192..=195 | 516 | 746 => Code::StoreUnreachable,
        81 if matches!(phase, Phase::Connect) => Code::StoreUnreachable,
        159 | 160 => Code::Timeout,
        158 | 191 | 201 | 241 | 307 | 396 => Code::LimitExceeded,
        202 => Code::Busy,
        456 | 457 => Code::InvalidArgument,
        _ if message.contains("for query parameter") => Code::InvalidArgument,
        _ => Code::QueryFailed,
    }
}

fn hint(number: u32, phase: Phase<'_>, meant: Option<&str>) -> Option<String> {
    if let Some(meant) = meant {
        let names: Vec<&str> = meant
            .split(',')
            .map(|name| name.trim_matches([' ', '\'', '`', '[', ']']))
            .filter(|name| !name.is_empty())
            .take(3)
            .collect();
        if !names.is_empty() {
            return Some(format!("did you mean {}?", store::or_list(&names)));
        }
    }
    let words = match number {
        62 if matches!(phase, Phase::Text { .. }) => {
            "send one statement of ClickHouse's SQL; its place is where the server stopped reading"
        }
        164 | 482 => crate::statement::READ_ONLY,
        497 | 291 | 492 => "the store's account may not read this; `schema` lists what it may",
        192..=195 | 516 | 746 => "check the user and the password of the DSN",
        81 if matches!(phase, Phase::Connect) => "check the database of the DSN",
        159 | 160 => {
            "narrow the query: fewer rows, a condition on the table's key, an aggregate over less"
        }
        241 => "aggregate over less, or filter earlier; the memory of one query is bounded",
        158 | 191 | 201 | 307 | 396 => "filter or aggregate; the account's limits are reached",
        202 => "call again later",
        456 | 457 => {
            "give one value for each of `{p1:Type}`, `{p2:Type}`, … that reads as its type"
        }
        452 | 115 => {
            "the account's profile does not take the gateway's limits; an operator gives it one that does"
        }
        _ => return None,
    };
    Some(words.to_owned())
}

/// The place of a syntax error, which counts lines of what was sent: the text begins on the second.
fn position(message: &str, phase: Phase<'_>) -> Option<Position> {
    let Phase::Text { text } = phase else {
        return None;
    };
    let (_, after) = message.split_once("(line ")?;
    let (line, after) = after.split_once(", col ")?;
    let (column, _) = after.split_once(')')?;
    let line = line.parse::<usize>().ok()?.checked_sub(1)?;
    let column = column.parse::<usize>().ok()?;
    let within = text.lines().nth(line.checked_sub(1)?)?;
    // The server counts bytes.
    let characters = within
        .char_indices()
        .take_while(|(index, _)| index + 1 < column)
        .count();
    Some(Position {
        line,
        column: characters + 1,
    })
}

fn beginning(text: &str, longest: usize) -> String {
    text.trim().chars().take(longest).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_words_become_a_code_a_place_and_a_hint() {
        let text = "select é, )";
        let phase = Phase::Text { text };
        let error = from_server(
            "Code: 62. DB::Exception: Syntax error: failed at position 24 ()) (line 2, col 12): ). Expected one of: x, y. (SYNTAX_ERROR) (version 26.7.2.1)",
            phase,
        );
        assert_eq!(error.code, Code::QueryFailed);
        assert_eq!(error.server_code.as_deref(), Some("62 SYNTAX_ERROR"));
        assert_eq!(
            error.position,
            Some(Position {
                line: 1,
                column: 11
            })
        );
        assert!(!error.message.contains("Expected"), "{error}");
        for (words, hint) in [
            (
                "identifier `nots` in scope SELECT nots FROM canary. Maybe you meant: ['note', 'b']",
                "did you mean `note` or `b`?",
            ),
            (
                "identifier 'canry' in scope SELECT. Maybe you meant t.canary?",
                "did you mean `t.canary`?",
            ),
        ] {
            let said = format!(
                "Code: 47. DB::Exception: Unknown {words}. (UNKNOWN_IDENTIFIER) (version 1)"
            );
            let error = from_server(&said, phase);
            assert_eq!(error.hint.as_deref(), Some(hint));
            assert!(error.message.starts_with("unknown identifier"), "{error}");
            assert!(!error.message.contains("scope"), "{error}");
        }
    }

    #[test]
    fn a_native_port_is_told() {
        let error = from_server(
            "Port 9000 is for clickhouse-client program\nYou must use port 8123 for HTTP.",
            Phase::Connect,
        );
        assert_eq!(error.code, Code::StoreUnreachable);
        assert!(error.hint.unwrap().contains("8123"));
    }
}
