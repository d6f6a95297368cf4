//! Honest queries that look like attacks are answered, with exactly the rows they ask for.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::harness::backends::{postgresql_servers, variable};
use crate::harness::clickhouse;
use crate::harness::client::Server;
use crate::harness::corpus::{self, cases};
use crate::harness::graph;
use crate::harness::postgresql::Database;
use crate::harness::sqlite;

#[derive(Deserialize)]
struct Honest {
    name: String,
    query: String,
    params: Option<String>,
    columns: String,
    rows: Option<String>,
    since: Option<u32>,
    needs: Option<String>,
}

async fn ask(server: &Server, honest: &Honest) -> Result<(), String> {
    let mut arguments = json!({"store": "target", "query": honest.query});
    if let Value::Array(params) = corpus::json(honest.params.as_ref()) {
        arguments["params"] = Value::Array(params);
    }
    let reply = server.call("query", arguments).await;
    if reply.is_error {
        return Err(format!("{}: {}", honest.name, reply.text));
    }
    let columns: Vec<Value> = reply
        .table()
        .columns
        .into_iter()
        .map(|column| Value::String(column.name))
        .collect();
    let expected = corpus::json(Some(&honest.columns));
    if Value::Array(columns.clone()) != expected {
        return Err(format!(
            "{}: columns {columns:?}, not {expected}",
            honest.name
        ));
    }
    let Some(rows) = &honest.rows else {
        return Ok(());
    };
    let expected = corpus::json(Some(rows));
    if reply.rows() != expected {
        return Err(format!(
            "{}:\n  {}\n  {expected}",
            honest.name,
            reply.rows()
        ));
    }
    Ok(())
}

async fn ask_all(server: &Server, corpus: &str, major: u32) {
    ask_those(server, corpus, major, |_| true).await;
}

async fn ask_those(server: &Server, corpus: &str, major: u32, asked: fn(&Honest) -> bool) {
    let mut failures = Vec::new();
    for honest in cases::<Honest>(corpus) {
        if honest.since.is_none_or(|since| since <= major) && asked(&honest) {
            failures.extend(ask(server, &honest).await.err());
        }
    }
    assert!(failures.is_empty(), "{major}:\n{}", failures.join("\n"));
}

#[tokio::test]
async fn postgresql_answers_every_honest_query() {
    for (major, superuser) in postgresql_servers() {
        let database = Database::with_corpus(&superuser).await;
        let dsn = database.reader();
        let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
        ask_all(&server, "postgresql/honest.toml", major).await;
    }
}

/// Behind a pooler in transaction mode, each transaction may run in another server session.
#[tokio::test]
async fn a_pooler_in_transaction_mode_changes_no_answer() {
    let database = Database::with_corpus(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let pooler = variable("RHIZODAT_TEST_PGBOUNCER");
    let (address, _) = pooler.rsplit_once('/').unwrap();
    let dsn = format!("{address}/{}", database.name);
    let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
    ask_all(&server, "postgresql/honest.toml", 15).await;
}

#[tokio::test]
async fn sqlite_answers_every_honest_query() {
    let file = sqlite::File::with_corpus();
    let dsn = file.dsn();
    let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
    ask_all(&server, "sqlite/honest.toml", 0).await;
}

#[tokio::test]
async fn clickhouse_answers_every_honest_query() {
    let database = clickhouse::Database::with_corpus().await;
    for account in [clickhouse::READER, clickhouse::QUERIES, clickhouse::FROZEN] {
        let dsn = database.dsn(account);
        let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
        let asked: fn(&Honest) -> bool = match account {
            clickhouse::READER => |_| true,
            clickhouse::QUERIES => |honest| honest.needs.as_deref() != Some("grants"),
            _ => |honest| honest.needs.is_none(),
        };
        ask_those(&server, "clickhouse/honest.toml", 0, asked).await;
        // Again, now that the texts were judged before.
        ask_those(&server, "clickhouse/honest.toml", 0, asked).await;
    }
}

#[tokio::test]
async fn a_graph_answers_every_honest_query() {
    let account = graph::Account::create().await;
    let dsn = account.dsn();
    let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
    ask_all(&server, "graph/honest.toml", 0).await;
    // Again, now that the texts were judged before.
    ask_all(&server, "graph/honest.toml", 0).await;
}
