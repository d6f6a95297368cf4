//! Hints for an agent's slip: the nearest variable, property, function, procedure or index to one that
//! does not exist.

use store::{Code, Error, nearest, or_list};
use tokio::time::{Instant, timeout_at};

use crate::bolt::Pack;
use crate::lexer::{Kind, tokens};
use crate::working::Working;

/// What was missed, by the server's words.
enum Missed {
    Variable(String),
    Function(String),
    Procedure(String),
    Index(String),
}

/// Adds a hint to an error that a misspelt name explains; leaves any other as it is.
pub(crate) async fn explain(
    working: &mut Working,
    text: &str,
    error: Error,
    deadline: Instant,
) -> Error {
    let Some(missed) = (error.code == Code::QueryFailed)
        .then(|| missed(&error.message))
        .flatten()
    else {
        return error;
    };
    let (name, query) = match &missed {
        Missed::Variable(name) => (name, "CALL db.propertyKeys()"),
        Missed::Function(name) => (name, "SHOW FUNCTIONS YIELD name"),
        Missed::Procedure(name) => (name, "SHOW PROCEDURES YIELD name"),
        Missed::Index(name) => (name, "SHOW INDEXES YIELD name"),
    };
    let asked = timeout_at(deadline, working.rows_after_failure(query, deadline)).await;
    let found = asked.ok().and_then(Result::ok).unwrap_or_default();
    let mut known: Vec<String> = found
        .iter()
        .filter_map(|row| row.first().and_then(Pack::as_text))
        .map(str::to_owned)
        .collect();
    if matches!(missed, Missed::Variable(_)) {
        let words = tokens(text).into_iter();
        let words = words.filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
        known.extend(words.map(|token| token.text.to_owned()));
    }
    known.sort_unstable();
    known.dedup();
    let others = known
        .iter()
        .map(String::as_str)
        .filter(|other| other != name);
    let close = nearest(name, others);
    if close.is_empty() {
        return match missed {
            Missed::Variable(_) => error.with_hint(
                "a variable is bound by MATCH, UNWIND, WITH or YIELD; a property is read as `n.name`",
            ),
            _ => error.with_hint("look at what there is with `SHOW FUNCTIONS`, `SHOW PROCEDURES` or `SHOW INDEXES`"),
        };
    }
    let hint = format!("did you mean {}?", or_list(&close));
    error.with_hint(match missed {
        Missed::Variable(_) => format!("{hint} (a property is read as `n.name`)"),
        _ => hint,
    })
}

/// Finds the name in `Variable `x` not defined`, `Unknown function 'x'` and the like.
fn missed(message: &str) -> Option<Missed> {
    let lower = message.to_lowercase();
    let name = quoted(message);
    if lower.starts_with("variable ") && lower.contains("not defined") {
        return Some(Missed::Variable(name?));
    }
    if lower.contains("unknown function") {
        return Some(Missed::Function(name?));
    }
    if lower.contains("there is no procedure") {
        return Some(Missed::Procedure(name?));
    }
    if lower.contains("there is no such") && lower.contains("index") {
        let name = message.rsplit(": ").next()?;
        return Some(Missed::Index(
            name.trim_matches(['\'', '`', ' ']).to_owned(),
        ));
    }
    None
}

/// The first name in quotes.
fn quoted(message: &str) -> Option<String> {
    let (start, quote) = message
        .char_indices()
        .find(|(_, character)| matches!(character, '\'' | '`'))?;
    let name = message.get(start + 1..)?.split(quote).next()?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_found_in_the_servers_words() {
        for (message, expected) in [
            ("variable `nots` not defined", "nots"),
            ("unknown function 'lenght'", "lenght"),
            (
                "there is no procedure with the name `db.lables` registered for this database instance",
                "db.lables",
            ),
            (
                "failed to invoke procedure `db.index.fulltext.queryNodes`: Caused by: java.lang.IllegalArgumentException: There is no such fulltext schema index: canry",
                "canry",
            ),
        ] {
            let found = match missed(message).unwrap() {
                Missed::Variable(name)
                | Missed::Function(name)
                | Missed::Procedure(name)
                | Missed::Index(name) => name,
            };
            assert_eq!(found, expected);
        }
        assert!(missed("invalid input 'x'").is_none());
    }
}
