//! A caller's text, made ready: its trailing semicolon taken off, its first word looked at, its
//! parameters counted. The server's own parser has the last word on all of it.

use std::collections::BTreeSet;

use store::{Code, Error, Position};

use crate::lexer::{Kind, Token, tokens};

/// What takes one read statement.
pub(crate) const READ_ONLY: &str = "this store is read only: it takes one `SELECT`, `WITH`, `FROM` or `EXPLAIN` statement; look at tables with `schema`";

/// A text that may be sent to be parsed.
#[derive(Debug)]
pub(crate) struct Statement {
    /// The text without what may follow its end.
    pub(crate) text: String,
    /// The numbers of its parameters `{p1:Type}`.
    pub(crate) params: BTreeSet<usize>,
}

/// Words a read begins with.
const READS: [&str; 5] = ["select", "with", "from", "explain", "("];

/// Checks a text as far as its words go. The beginning matters beyond better words: behind `EXPLAIN
/// AST`, `name = value` would be read as a setting of `EXPLAIN`.
pub(crate) fn check(text: &str) -> Result<Statement, Error> {
    if text.contains('\0') {
        return Err(rejected("the text holds a NUL character").with_hint(READ_ONLY));
    }
    let mut found = tokens(text);
    let mut end = text.len();
    while let Some(token) = found.pop_if(|token| token.text == ";") {
        end = token.start;
    }
    let text = text.get(..end).unwrap_or_default();
    let Some(first) = found.first() else {
        return Err(rejected("the text holds no statement").with_hint(READ_ONLY));
    };
    let word = first.text.to_ascii_lowercase();
    if first.kind == Kind::QuotedName || !READS.contains(&word.as_str()) {
        return Err(
            rejected(format!("`{}` does not begin a read", beginning(first.text)))
                .with_hint(READ_ONLY)
                .at(place(text, first)),
        );
    }
    if let Some(second) = found.get(1).filter(|t| is_foreign(t)) {
        return Err(
            rejected(format!("`{}` cannot follow `{}`", second.text, first.text))
                .with_hint(READ_ONLY)
                .at(place(text, second)),
        );
    }
    if let Some(semicolon) = found.iter().find(|token| token.text == ";") {
        return Err(rejected("the text holds more than one statement")
            .with_hint("send one statement at a time")
            .at(place(text, semicolon)));
    }
    Ok(Statement {
        text: text.to_owned(),
        params: params(&found)?,
    })
}

/// Whether a token behind the first word could make that word a setting's name: an equals sign, or a
/// sign that the server may take for something else than it looks here.
fn is_foreign(token: &Token<'_>) -> bool {
    token.kind == Kind::Sign && (matches!(token.text, "=" | ".") || !token.text.is_ascii())
}

/// The numbers of `{pN:Type}`.
fn params(found: &[Token<'_>]) -> Result<BTreeSet<usize>, Error> {
    let mut numbers = BTreeSet::new();
    for window in found.windows(3) {
        let [open, name, colon] = window else {
            continue;
        };
        if open.text != "{" || name.kind != Kind::Word || colon.text != ":" {
            continue;
        }
        let number = name.text.strip_prefix('p').and_then(|n| n.parse().ok());
        match number.filter(|&number| number > 0) {
            Some(number) => numbers.insert(number),
            None => {
                return Err(Error::new(
                    Code::InvalidArgument,
                    format!(
                        "the parameter `{{{}:…}}` has no position",
                        beginning(name.text)
                    ),
                )
                .with_hint("write the values of `params` as `{p1:Type}`, `{p2:Type}`, …"));
            }
        };
    }
    Ok(numbers)
}

/// Where a token stands in the caller's text.
pub(crate) fn place(text: &str, token: &Token<'_>) -> Option<Position> {
    let before = text.get(..token.start)?.chars().count();
    Some(Position::of_character(text, before))
}

fn rejected(message: impl Into<String>) -> Error {
    Error::new(Code::QueryRejected, message)
}

fn beginning(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_loses_its_end_and_keeps_its_text() {
        for (text, kept) in [
            ("select 1", "select 1"),
            ("  (select 1) ; -- done", "  (select 1) "),
            ("-- ;\nWITH 1 AS x SELECT x;;", "-- ;\nWITH 1 AS x SELECT x"),
            ("select ';' -- ;", "select ';' -- ;"),
        ] {
            assert_eq!(check(text).unwrap().text, kept);
        }
    }

    #[test]
    fn what_is_no_read_is_told_with_its_place() {
        for (text, place) in [
            ("insert into t values (1)", "line 1 column 1"),
            ("/* x */\n graph = 1 select 1", "line 2 column 2"),
            ("select = 1 select 1", "line 1 column 8"),
            ("select \u{2212}\u{2212}x\n= 1 select 1", "line 1 column 8"),
            ("select 1; drop table t", "line 1 column 9"),
            ("`select` 1", "line 1 column 1"),
        ] {
            let error = check(text).unwrap_err();
            assert_eq!(error.code, Code::QueryRejected);
            assert_eq!(error.position.unwrap().to_string(), place, "{text}");
        }
        for text in ["", " -- x", "; ;", "select '\0'"] {
            assert_eq!(check(text).unwrap_err().code, Code::QueryRejected);
        }
    }

    #[test]
    fn parameters_are_counted_by_their_numbers() {
        let found = check("select {p1:String}, { p2 : Array(UInt8) }, '{p3:X}', {p1:String}");
        assert_eq!(found.unwrap().params, BTreeSet::from([1, 2]));
        let error = check("select {name:String}").unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
    }
}
