//! Every type of every store, its edge values, and the JSON they give. The expected values are the
//! servers' own text forms.

use serde::Deserialize;
use serde_json::Value;

use crate::harness::backends::postgresql_servers;
use crate::harness::clickhouse;
use crate::harness::client::{Reply, Server};
use crate::harness::corpus::cases;
use crate::harness::postgresql::{Database, text};
use crate::harness::sqlite;

#[derive(Deserialize)]
struct Golden {
    #[serde(rename = "type")]
    type_name: Option<String>,
    expr: String,
    text: Option<String>,
    json: Option<String>,
    error: Option<String>,
    since: Option<u32>,
    needs: Option<String>,
}

/// The difference between an answer and what it should be.
fn difference(golden: &Golden, reply: &Reply) -> Option<String> {
    if let Some(code) = &golden.error {
        let is_expected = reply.is_error && reply.code() == code;
        return (!is_expected).then(|| format!("{}: {}", golden.expr, reply.text));
    }
    if reply.is_error {
        return Some(format!("{}: {}", golden.expr, reply.text));
    }
    let table = reply.table();
    let found_type = &table.columns[0].type_name;
    if golden
        .type_name
        .as_ref()
        .is_some_and(|wanted| wanted != found_type)
    {
        return Some(format!("{}: type {found_type}", golden.expr));
    }
    let found = table.rows[0][0].get();
    let wanted = golden.json.as_deref().unwrap();
    let is_document = matches!(golden.type_name.as_deref(), Some("json" | "jsonb" | "JSON"));
    let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
    let same = if is_document {
        found == wanted
    } else {
        parsed(found) == parsed(wanted)
    };
    (!same).then(|| format!("{}: {found}, not {wanted}", golden.expr))
}

#[tokio::test]
async fn postgresql_values_are_exact() {
    for (major, superuser) in postgresql_servers() {
        let database = Database::with_corpus(&superuser).await;
        let mut admin = database.admin().await;
        let has_xml = text(
            &mut admin,
            "SELECT count(*) FROM pg_catalog.pg_config WHERE setting LIKE '%with-libxml%'",
        )
        .await
            != "0";
        let dsn = database.reader();
        let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
        let mut failures = Vec::new();
        let mut checked = 0;
        for golden in cases::<Golden>("postgresql/golden.toml") {
            let too_new = golden.since.is_some_and(|since| since > major);
            let lacks = golden.needs.as_deref() == Some("xml") && !has_xml;
            if too_new || lacks {
                continue;
            }
            checked += 1;
            let reply = server
                .query("target", &format!("SELECT {}", golden.expr))
                .await;
            failures.extend(difference(&golden, &reply));
        }
        assert!(checked >= 100, "only {checked} values were checked");
        assert!(
            failures.is_empty(),
            "PostgreSQL {major}:\n{}",
            failures.join("\n")
        );
    }
}

#[tokio::test]
async fn sqlite_values_are_exact() {
    let file = sqlite::File::with_corpus();
    let dsn = file.dsn();
    let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
    let mut failures = Vec::new();
    for golden in cases::<Golden>("sqlite/golden.toml") {
        assert!(golden.text.is_some() || golden.json.is_some() || golden.error.is_some());
        let query = format!("SELECT {}", golden.expr);
        let reply = server.query("target", &query).await;
        failures.extend(difference(&golden, &reply));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[tokio::test]
async fn clickhouse_values_are_exact() {
    let database = clickhouse::Database::with_corpus().await;
    for account in [clickhouse::READER, clickhouse::QUERIES] {
        let dsn = database.dsn(account);
        let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
        let mut failures = Vec::new();
        let mut checked = 0;
        for golden in cases::<Golden>("clickhouse/golden.toml") {
            assert!(golden.text.is_some() || golden.error.is_some());
            checked += 1;
            let query = format!("SELECT {}", golden.expr);
            let reply = server.query("target", &query).await;
            failures.extend(difference(&golden, &reply));
        }
        assert!(checked >= 100, "only {checked} values were checked");
        assert!(failures.is_empty(), "{account}:\n{}", failures.join("\n"));
    }
}

/// An account whose profile is `readonly = 1` cannot be told how to write: its values are the same,
/// or an error that names the column.
#[tokio::test]
async fn clickhouse_values_are_exact_or_told_under_a_frozen_profile() {
    let database = clickhouse::Database::with_corpus().await;
    let dsn = database.dsn(clickhouse::FROZEN);
    let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
    let mut failures = Vec::new();
    let mut told = Vec::new();
    for golden in cases::<Golden>("clickhouse/golden.toml") {
        // What a document holds has no type of its own here: moments are in the server's zone.
        let type_name = golden.type_name.as_deref().unwrap_or_default();
        if matches!(type_name, "Dynamic" | "JSON") || type_name.starts_with("Variant") {
            continue;
        }
        let query = format!("SELECT {}", golden.expr);
        let reply = server.query("target", &query).await;
        if reply.is_error && reply.code() == "undecodable_value" {
            told.push(golden.expr.clone());
            continue;
        }
        failures.extend(difference(&golden, &reply));
    }
    // Within an array, NaN would be null, and a moment would be in its column's zone.
    let unreadable = [
        "[nan, 1.5]",
        "[toDateTime64('2020-01-01 00:00:00', 3, 'Asia/Tokyo')]",
    ];
    assert_eq!(told, unreadable);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
