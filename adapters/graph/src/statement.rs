//! A caller's text: one statement, with parameters by number.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use store::{Code, Error, Position};

use crate::error::READ_ONLY;
use crate::lexer::{Kind, Token, tokens};

/// What a caller wants of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Rows,
    /// How the server would find them.
    Plan,
}

/// A text that may be sent.
#[derive(Debug)]
pub(crate) struct Statement<'a> {
    /// Without the word `EXPLAIN` at its beginning, and semicolons at its end.
    pub(crate) text: &'a str,
    pub(crate) wanted: Wanted,
}

/// Checks a text and the number of its parameters.
pub(crate) fn check<'a>(text: &'a str, params: &[Json]) -> Result<Statement<'a>, Error> {
    let rejected =
        |message: &str, hint: &str| Error::new(Code::QueryRejected, message).with_hint(hint);
    if text.contains('\0') {
        return Err(rejected(
            "the query holds a NUL character",
            "leave it out; in a text write it as `\\u0000`",
        ));
    }
    let found = tokens(text);
    let Some(first) = found.first() else {
        return Err(rejected("the query is empty", READ_ONLY));
    };
    let end = found.iter().position(|token| token.is_symbol(';'));
    if let Some(end) = end
        && let Some(second) = found.iter().skip(end).find(|token| !token.is_symbol(';'))
    {
        return Err(rejected(
            "the query holds more than one statement",
            "send one statement at a time",
        )
        .at(Some(place(text, second))));
    }
    count(&found, params)?;
    // Not every server takes what may stand behind a statement.
    let end = end
        .and_then(|end| found.get(end))
        .map_or(text.len(), |end| end.start);
    let alone = text.get(..end).unwrap_or(text);
    if is_word(first, "profile") {
        return Err(rejected(
            "`PROFILE` is not served",
            "write `EXPLAIN` for the plan, or the query alone for its rows",
        ));
    }
    if is_word(first, "explain") {
        let rest = alone.get(first.start + first.text.len()..);
        return Ok(Statement {
            text: rest.unwrap_or_default(),
            wanted: Wanted::Plan,
        });
    }
    Ok(Statement {
        text: alone,
        wanted: Wanted::Rows,
    })
}

pub(crate) fn is_word(token: &Token<'_>, word: &str) -> bool {
    token.kind == Kind::Word && token.text.eq_ignore_ascii_case(word)
}

/// Where a token begins.
pub(crate) fn place(text: &str, token: &Token<'_>) -> Position {
    let before = text.get(..token.start).unwrap_or_default();
    Position::of_character(text, before.chars().count())
}

/// A parameter that is not used is as wrong as one that is missing.
fn count(found: &[Token<'_>], params: &[Json]) -> Result<(), Error> {
    let parameters = found.iter().filter(|token| token.kind == Kind::Parameter);
    let mut used = BTreeSet::new();
    for parameter in parameters {
        let number = parameter
            .text
            .parse::<usize>()
            .ok()
            .filter(|&number| number > 0);
        let Some(number) = number else {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("the parameter `${}` has no number", parameter.text),
            )
            .with_hint("write parameters as `$1`, `$2`, … and give their values in `params`"));
        };
        used.insert(number);
    }
    let most = used.last().copied().unwrap_or(0);
    if most != params.len() || used.len() != most {
        return Err(Error::new(
            Code::InvalidArgument,
            format!(
                "`params` holds {} values, and the query takes {}",
                params.len(),
                used.len().max(most)
            ),
        )
        .with_hint("give one value for each of `$1`, `$2`, … in order"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_statement_passes_whatever_its_quotes_hold() {
        for (text, alone) in [
            ("RETURN 1;", "RETURN 1"),
            ("RETURN ';' AS a ; ; // b", "RETURN ';' AS a "),
            ("/* ; x */ RETURN `a;b`", "/* ; x */ RETURN `a;b`"),
        ] {
            assert_eq!(check(text, &[]).unwrap().text, alone);
        }
        let error = check("RETURN 1;\n RETURN 2", &[]).unwrap_err();
        assert_eq!(error.code, Code::QueryRejected);
        assert_eq!(error.position, Some(Position { line: 2, column: 2 }));
        for text in ["", " // x", "RETURN 'a\0b'", "profile RETURN 1"] {
            assert_eq!(check(text, &[]).unwrap_err().code, Code::QueryRejected);
        }
        let plan = check(" explain RETURN 1", &[]).unwrap();
        assert_eq!((plan.text, plan.wanted), (" RETURN 1", Wanted::Plan));
    }

    #[test]
    fn parameters_are_counted_with_gaps() {
        assert!(check("RETURN $1 + $1 + $`2`", &[json!(1), json!(2)]).is_ok());
        for (text, params) in [
            ("RETURN $1", vec![]),
            ("RETURN 1", vec![json!(1)]),
            ("RETURN $2", vec![json!(1), json!(2)]),
            ("RETURN $name", vec![json!(1)]),
            ("RETURN $0", vec![json!(1)]),
        ] {
            assert_eq!(
                check(text, &params).unwrap_err().code,
                Code::InvalidArgument,
                "{text}"
            );
        }
    }
}
