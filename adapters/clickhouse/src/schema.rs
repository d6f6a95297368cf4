//! Tables, views and dictionaries, from `system.tables` and its kin.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use store::schema::{Detail, Index, Page, Request, Table, TableColumn, TableName};
use store::{Code, Error};
use tokio::time::Instant;

use crate::account::Account;
use crate::client::Shared;
use crate::error::Phase;
use crate::wrap::literal;

/// Tables of users: the server shows each account only what it may see.
pub(crate) const VISIBLE: &str = "database NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema') \
    AND NOT is_temporary AND NOT startsWith(name, '.inner')";

/// One page of the tables this account may see.
pub(crate) async fn page(
    shared: &Arc<Shared>,
    account: &Account,
    request: &Request,
) -> Result<Page, Error> {
    let deadline = Instant::now() + request.timeout;
    let ask = async |sql: String| -> Result<Vec<Vec<Json>>, Error> {
        let mut sent = account.settings(shared, deadline);
        if !sent.is_empty() {
            sent.push((
                "format_display_secrets_in_show_and_select".to_owned(),
                "0".to_owned(),
            ));
        }
        let lines = shared
            .ask(account.host, &sql, &sent, Phase::Own, deadline)
            .await?;
        lines
            .iter()
            .map(|line| {
                serde_json::from_slice(line).map_err(|_| {
                    Error::new(Code::Internal, "the server answered in an unknown form")
                })
            })
            .collect()
    };
    let rows = ask(tables_sql(request, shared.options.database.as_deref())).await?;
    let more = rows.len() > request.page;
    let mut tables: Vec<Table> = rows
        .iter()
        .take(request.page)
        .map(|row| table(row, request.detail))
        .collect();
    if request.detail != Detail::Names && !tables.is_empty() {
        let names: Vec<String> = tables.iter().map(|table| pair(&table.name)).collect();
        let among = format!("(database, table) IN ({})", names.join(", "));
        let columns = ask(format!(
            "SELECT database, table, name, type, default_kind, default_expression, comment \
             FROM system.columns WHERE {among} ORDER BY database, table, position"
        ))
        .await?;
        let indexes = ask(format!(
            "SELECT database, table, name, expr, type FROM system.data_skipping_indices WHERE {among} ORDER BY name"
        ))
        .await?;
        let mut by_name: BTreeMap<TableName, &mut Table> = tables
            .iter_mut()
            .map(|table| (table.name.clone(), table))
            .collect();
        for row in &columns {
            if let Some(table) = by_name.get_mut(&name(row)) {
                table.columns.push(column(row));
            }
        }
        for row in &indexes {
            if let Some(table) = by_name.get_mut(&name(row)) {
                table.indexes.push(Index {
                    name: format!("{} ({})", text(row, 2), text(row, 4)),
                    unique: false,
                    columns: vec![text(row, 3)],
                    condition: None,
                });
            }
        }
    }
    Ok(Page { tables, more })
}

/// With a database in the DSN, its tables alone are listed; one of another database can be named.
fn tables_sql(request: &Request, database: Option<&str>) -> String {
    let mut conditions = vec![VISIBLE.to_owned()];
    if let Some(database) = database.filter(|_| request.table.is_none()) {
        conditions.push(format!("database = {}", literal(database)));
    }
    if let Some(table) = &request.table {
        let name = literal(table);
        let within = database.map_or_else(String::new, |_| {
            " AND database = currentDatabase()".to_owned()
        });
        conditions.push(format!(
            "((name = {name}{within}) OR concat(database, '.', name) = {name})"
        ));
    }
    if let Some(like) = &request.like {
        let pattern = literal(&like.sql_like());
        conditions.push(format!(
            "(lowerUTF8(concat(database, '.', name)) LIKE {pattern} OR lowerUTF8(name) LIKE {pattern})"
        ));
    }
    if let Some(after) = &request.after {
        conditions.push(format!("(database, name) > {}", pair(after)));
    }
    // Reading its size makes a table of another server be asked: names alone do without.
    let (rows, ddl) = match request.detail {
        Detail::Names => ("NULL", "''"),
        Detail::Columns => ("total_rows", "''"),
        Detail::Full => ("total_rows", "create_table_query"),
    };
    format!(
        "SELECT database, name, engine, {rows}, comment, primary_key, {ddl} FROM system.tables \
         WHERE {} ORDER BY database, name LIMIT {}",
        conditions.join(" AND "),
        request.page.saturating_add(1)
    )
}

fn table(row: &[Json], detail: Detail) -> Table {
    let engine = text(row, 2);
    let kind = kind(&engine);
    let ddl = Some(text(row, 6)).filter(|ddl| {
        detail == Detail::Full && !ddl.is_empty() && kind != "foreign table" && kind != "dictionary"
    });
    let (row_estimate, comment) = match detail {
        Detail::Names => (None, None),
        _ => (
            row.get(3).and_then(count),
            Some(text(row, 4)).filter(|comment| !comment.is_empty()),
        ),
    };
    Table {
        row_estimate,
        comment,
        primary_key: if detail == Detail::Names {
            Vec::new()
        } else {
            key(&text(row, 5))
        },
        ddl,
        ..Table::named(name(row), kind)
    }
}

fn kind(engine: &str) -> &'static str {
    match engine {
        "View" | "LiveView" | "WindowView" => "view",
        "MaterializedView" => "materialized view",
        "Dictionary" => "dictionary",
        "Memory" | "Log" | "TinyLog" | "StripeLog" | "Set" | "Join" | "Buffer" | "Null"
        | "Merge" | "EmbeddedRocksDB" | "KeeperMap" | "GenerateRandom" | "TimeSeries" => "table",
        _ if engine.ends_with("MergeTree") => "table",
        _ => "foreign table",
    }
}

fn column(row: &[Json]) -> TableColumn {
    let type_name = text(row, 3);
    let (kind, expression) = (text(row, 4), text(row, 5));
    TableColumn {
        name: text(row, 2),
        nullable: type_name.starts_with("Nullable(")
            || type_name.starts_with("LowCardinality(Nullable(")
            || type_name.starts_with("Variant(")
            || type_name.starts_with("Dynamic"),
        type_name,
        default: match kind.as_str() {
            "" => None,
            "DEFAULT" => Some(expression),
            other => Some(format!("{}: {expression}", other.to_lowercase())),
        },
        comment: Some(text(row, 6)).filter(|comment| !comment.is_empty()),
    }
}

/// The columns and expressions of a key, by the commas outside of parentheses.
fn key(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let (mut depth, mut part) = (0_usize, String::new());
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(std::mem::take(&mut part).trim().to_owned());
                continue;
            }
            _ => {}
        }
        part.push(character);
    }
    parts.extend(Some(part.trim().to_owned()).filter(|last| !last.is_empty()));
    parts
}

fn name(row: &[Json]) -> TableName {
    TableName {
        schema: Some(text(row, 0)),
        name: text(row, 1),
    }
}

fn pair(name: &TableName) -> String {
    format!(
        "({}, {})",
        literal(name.schema.as_deref().unwrap_or_default()),
        literal(&name.name)
    )
}

fn text(row: &[Json], index: usize) -> String {
    row.get(index)
        .and_then(Json::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// A count, whether the profile writes it in quotes or not.
fn count(value: &Json) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
