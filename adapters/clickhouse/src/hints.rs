//! Hints for an agent's slip, where the server itself has none: the nearest tables to one that is
//! missing, the nearest columns of the tables a query names; and where a name stands.

use std::collections::BTreeSet;

use store::{Code, Error, nearest, or_list};
use tokio::time::Instant;

use crate::Clickhouse;
use crate::account::Account;
use crate::error::{Phase, number};
use crate::json::texts;
use crate::lexer::{Kind, tokens};
use crate::schema::VISIBLE;
use crate::statement::place;
use crate::wrap::literal;

/// Adds a hint and a place to an error that a misspelt name explains; leaves any other as it is.
pub(crate) async fn explain(
    store: &Clickhouse,
    account: &Account,
    text: &str,
    error: Error,
    deadline: Instant,
) -> Error {
    if error.code != Code::QueryFailed || !matches!(number(&error), Some(60 | 47 | 46 | 81)) {
        return error;
    }
    let Some(missing) = quoted(&error.message) else {
        return error;
    };
    let last = missing.rsplit('.').next().unwrap_or(&missing).to_owned();
    let found = tokens(text);
    let spot = found.iter().find(|token| {
        matches!(token.kind, Kind::Word | Kind::QuotedName)
            && token.text.trim_matches(['`', '"']) == last
    });
    let error = match spot {
        Some(token) if error.position.is_none() => error.at(place(text, token)),
        _ => error,
    };
    if error.hint.is_some() {
        return error;
    }
    let sql = match number(&error) {
        Some(47) => {
            let names: BTreeSet<String> = found
                .iter()
                .filter(|token| matches!(token.kind, Kind::Word | Kind::QuotedName))
                .map(|token| literal(token.text.trim_matches(['`', '"'])))
                .take(200)
                .collect();
            let names: Vec<String> = names.into_iter().collect();
            format!(
                "SELECT DISTINCT name FROM system.columns WHERE table IN ({}) LIMIT 2000",
                names.join(", ")
            )
        }
        Some(46) => "SELECT name FROM system.functions".to_owned(),
        _ => format!(
            "SELECT if(database = currentDatabase(), name, concat(database, '.', name)) FROM system.tables WHERE {VISIBLE} LIMIT 2000"
        ),
    };
    let sent = account.settings(&store.shared, deadline);
    let asked = store
        .shared
        .ask(account.host, &sql, &sent, Phase::Own, deadline);
    let Ok(lines) = asked.await else {
        return error;
    };
    let known: Vec<String> = lines
        .iter()
        .filter_map(|line| texts(line).ok()?.into_iter().next())
        .collect();
    let wanted = if number(&error) == Some(60) {
        &missing
    } else {
        &last
    };
    let close = nearest(wanted, known.iter().map(String::as_str));
    if close.is_empty() {
        error.with_hint("look at the tables and their columns with `schema`")
    } else {
        error.with_hint(format!("did you mean {}?", or_list(&close)))
    }
}

/// The first name in quotes of a server's message.
fn quoted(message: &str) -> Option<String> {
    let (start, quote) = message
        .char_indices()
        .find(|(_, character)| matches!(character, '\'' | '`'))?;
    let after = message.get(start + 1..)?;
    let name = after.split(quote).next()?;
    Some(name.split('(').next().unwrap_or(name).to_owned())
}
