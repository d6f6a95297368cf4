//! What an agent that slipped probably meant.

use store::{nearest, or_list};

use crate::lexer::{Kind, tokens};
use crate::session::Session;

/// More names than these are not listed; the `schema` tool has them.
const FEW: usize = 12;

/// The most names looked through for the nearest.
const MANY: i64 = 20_000;

/// A hint for SQLite's `message` about `text`, where one can be given.
pub(crate) fn hint(session: &Session, message: &str, text: &str) -> Option<String> {
    if let Some(table) = message.strip_prefix("no such table: ") {
        missing_table(session, table)
    } else if let Some(column) = message.strip_prefix("no such column: ") {
        missing_column(session, column, text)
    } else if let Some(function) = message.strip_prefix("no such function: ") {
        let known = names(
            session,
            "SELECT DISTINCT name FROM pragma_function_list LIMIT ?1",
        )?;
        let close = nearest(function, known.iter().map(String::as_str));
        did_you_mean(&close)
    } else {
        None
    }
}

fn missing_table(session: &Session, table: &str) -> Option<String> {
    let foreign = ["information_schema", "pg_catalog", "sys.", "pg_"];
    let lower = table.to_lowercase();
    if foreign.iter().any(|beginning| lower.starts_with(beginning)) {
        return Some("this is SQLite: use the `schema` tool, or read `sqlite_schema`".to_owned());
    }
    let name = lower.strip_prefix("main.").unwrap_or(&lower);
    let known = table_names(session)?;
    let close = nearest(name, known.iter().map(String::as_str));
    did_you_mean(&close).or_else(|| listed("tables", &known))
}

fn missing_column(session: &Session, column: &str, text: &str) -> Option<String> {
    // SQLite may add advice of its own after the name.
    let column = column.split(" - ").next().unwrap_or(column);
    let name = column.rsplit('.').next().unwrap_or(column);
    let tables = table_names(session)?;
    let used: Vec<String> = tokens(text)
        .filter(|token| token.kind != Kind::Mark)
        .map(|token| token.name())
        .filter_map(|word| {
            tables
                .iter()
                .find(|table| table.eq_ignore_ascii_case(&word))
        })
        .cloned()
        .collect();
    let mut known: Vec<String> = Vec::new();
    for table in &used {
        known.extend(column_names(session, table)?);
    }
    known.sort();
    known.dedup();
    let close = nearest(name, known.iter().map(String::as_str));
    did_you_mean(&close).or_else(|| listed("columns", &known))
}

fn did_you_mean(close: &[&str]) -> Option<String> {
    (!close.is_empty()).then(|| format!("did you mean {}?", or_list(close)))
}

fn listed(what: &str, known: &[String]) -> Option<String> {
    if known.is_empty() {
        return None;
    }
    if known.len() > FEW {
        return Some(format!("the `schema` tool lists the {what}"));
    }
    let quoted: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    Some(format!("the {what} are {}", quoted.join(", ")))
}

fn table_names(session: &Session) -> Option<Vec<String>> {
    names(
        session,
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'shadow' \
         AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name LIMIT ?1",
    )
}

fn column_names(session: &Session, table: &str) -> Option<Vec<String>> {
    session.watch().begin();
    let mut statement = session
        .connection()
        .prepare("SELECT name FROM pragma_table_info(?1) LIMIT ?2")
        .ok()?;
    let found = statement.query_map((table, MANY), |row| row.get(0)).ok()?;
    found.collect::<Result<_, _>>().ok()
}

fn names(session: &Session, sql: &str) -> Option<Vec<String>> {
    session.watch().begin();
    let mut statement = session.connection().prepare(sql).ok()?;
    let found = statement.query_map([MANY], |row| row.get(0)).ok()?;
    found.collect::<Result<_, _>>().ok()
}

#[cfg(test)]
mod tests {
    use store::{Code, Position};

    use crate::fixture::{Database, error};

    #[tokio::test]
    async fn a_slip_is_told_with_its_place_and_what_was_meant() {
        let database = Database::made_by(
            "create table customers(id integer primary key, surname text, city text);
             create table orders(id integer primary key, customer integer, total real);
             create virtual table notes using fts5(body);",
        );
        let store = database.store();
        for (text, column, message, hint) in [
            (
                "select é from order_s",
                None,
                "no such table: order_s",
                "did you mean `orders`?",
            ),
            (
                "select * from xyz",
                None,
                "no such table: xyz",
                "the tables are `customers`, `notes`, `orders`",
            ),
            (
                "select * from information_schema.tables",
                None,
                "no such table: information_schema.tables",
                "this is SQLite: use the `schema` tool, or read `sqlite_schema`",
            ),
            (
                "select 'é', surnam from customers",
                Some(13),
                "no such column: surnam",
                "did you mean `surname`?",
            ),
            (
                "select c.name from \"customers\" c",
                Some(8),
                "no such column: c.name",
                "did you mean `surname`?",
            ),
            (
                "select xyz from orders",
                Some(8),
                "no such column: xyz",
                "the columns are `customer`, `id`, `total`",
            ),
            (
                "select coalese(1)",
                Some(8),
                "no such function: coalese",
                "did you mean `coalesce`?",
            ),
        ] {
            let slip = error(&store, text).await;
            assert_eq!(
                (slip.code, slip.message.as_str()),
                (Code::QueryFailed, message)
            );
            assert_eq!(slip.hint.as_deref(), Some(hint), "{text}");
            assert_eq!(slip.server_code.as_deref(), Some("SQLITE_ERROR"));
            let place = column.map(|column| Position { line: 1, column });
            assert_eq!(slip.position, place, "{text}");
        }
        let syntax = error(&store, "select *\nfrom orders\nwher id = 1").await;
        assert_eq!(syntax.message, "near \"id\": syntax error");
        assert_eq!(syntax.position, Some(Position { line: 3, column: 6 }));
    }
}
