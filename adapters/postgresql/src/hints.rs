//! Hints for an agent's slip: the nearest tables to one that is missing, the nearest columns of the
//! tables a query names.

use std::collections::BTreeSet;

use sqlx::postgres::PgConnection;
use store::schema::TableName;
use store::{Error, and_list, nearest, or_list};

use crate::lexer::{Kind, tokens};
use crate::schema::{column_names, table_names};

/// Adds a hint to an error that a misspelt name explains; leaves any other as it is.
pub(crate) async fn explain(
    connection: &mut PgConnection,
    text: &str,
    error: Error,
) -> Result<Error, sqlx::Error> {
    match error.server_code.as_deref() {
        Some("42P01") => missing_table(connection, error).await,
        Some("42703") => missing_column(connection, text, error).await,
        _ => Ok(error),
    }
}

/// Whether [`explain`] has something to say on errors with this code of the server.
pub(crate) fn has_hint(server_code: Option<&str>) -> bool {
    matches!(server_code, Some("42P01" | "42703"))
}

async fn missing_table(connection: &mut PgConnection, error: Error) -> Result<Error, sqlx::Error> {
    let Some(missing) = quoted_name(&error.message) else {
        return Ok(error);
    };
    let missing = missing.rsplit('.').next().unwrap_or(&missing).to_owned();
    let tables = table_names(connection).await?;
    let names: BTreeSet<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    let close = nearest(&missing, names);
    if close.is_empty() {
        return Ok(error.with_hint("list what there is with `schema`"));
    }
    let full: Vec<String> = tables
        .iter()
        .filter(|table| close.contains(&table.name.as_str()))
        .take(3)
        .map(TableName::to_string)
        .collect();
    let full: Vec<&str> = full.iter().map(String::as_str).collect();
    Ok(error.with_hint(format!("did you mean {}?", or_list(&full))))
}

async fn missing_column(
    connection: &mut PgConnection,
    text: &str,
    error: Error,
) -> Result<Error, sqlx::Error> {
    let Some(missing) = quoted_name(&error.message).or_else(|| bare_name(&error.message)) else {
        return Ok(error);
    };
    let missing = missing.rsplit('.').next().unwrap_or(&missing).to_owned();
    let columns = column_names(connection, &names_in(text)).await?;
    let close = nearest(&missing, columns.iter().map(String::as_str));
    if !close.is_empty() {
        return Ok(error.with_hint(format!("did you mean {}?", or_list(&close))));
    }
    let mut all: Vec<&str> = columns.iter().map(String::as_str).collect();
    all.sort_unstable();
    if all.is_empty() || all.len() > 30 {
        return Ok(error.with_hint("look at the table's columns with `schema`"));
    }
    Ok(error.with_hint(format!("the tables of this query have {}", and_list(&all))))
}

/// Every name a text could mean a table by.
fn names_in(text: &str) -> Vec<String> {
    let names: BTreeSet<String> = tokens(text)
        .into_iter()
        .filter_map(|token| match token.kind {
            Kind::Word => Some(token.text.to_lowercase()),
            Kind::QuotedName => Some(token.text.trim_matches('"').replace("\"\"", "\"")),
            _ => None,
        })
        .collect();
    names.into_iter().take(200).collect()
}

/// The first name in double quotes of a server's message, whatever its language.
fn quoted_name(message: &str) -> Option<String> {
    let (_, after) = message.split_once('"')?;
    let (name, _) = after.split_once('"')?;
    Some(name.to_owned())
}

/// The name of "column t.x does not exist", which the server leaves unquoted when it is qualified.
fn bare_name(message: &str) -> Option<String> {
    message
        .split_whitespace()
        .find(|word| word.contains('.'))
        .map(str::to_owned)
}
