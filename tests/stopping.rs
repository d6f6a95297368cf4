//! What runs ends in the store's server when its call is cancelled, the input ends or a signal comes.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::backends::variable;
use crate::harness::postgresql::{Database, text};
use crate::harness::raw::{Raw, call};
use crate::harness::sqlite::File;

const SLOW: &str = "select count(*) from generate_series(1, 1e10)";

/// Queries of the reader that run, or transactions that are left open.
const RUNNING: &str = "select count(*) from pg_stat_activity where usename = 'rhizodat_reader' \
                       and datname = current_database() and state <> 'idle'";

async fn until_running(database: &Database, expected: &str) {
    let mut admin = database.admin().await;
    for _ in 0..1000 {
        if text(&mut admin, RUNNING).await == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never {expected} queries running");
}

#[tokio::test]
async fn a_stop_cancels_what_runs_also_behind_a_pooler() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let pooler = variable("RHIZODAT_TEST_PGBOUNCER");
    let (address, _) = pooler.rsplit_once('/').unwrap();
    let dsn = format!("{address}/{}", database.name);
    let variables = [
        ("RHIZODAT_STORE_ERP", dsn.as_str()),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "5m"),
    ];
    for ending in ["input", "SIGTERM", "SIGINT"] {
        let mut raw = Raw::initialized(&variables).await;
        raw.send(&call(1, "query", json!({"store": "erp", "query": SLOW})))
            .await;
        until_running(&database, "1").await;
        let status = raw.end_by(ending).await;
        assert!(status.success(), "{ending}: {status}");
        // The server has no way to notice by itself: the pooler is still there.
        until_running(&database, "0").await;
    }
}

#[tokio::test]
async fn the_end_of_input_cancels_every_query_and_ends_the_server() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let (dsn, file) = (
        database.reader(),
        File::create("create table note (id integer primary key)"),
    );
    let other = file.dsn();
    let variables = [
        ("RHIZODAT_STORE_ERP", dsn.as_str()),
        ("RHIZODAT_STORE_NOTES", other.as_str()),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "5m"),
    ];
    // Killed, it can cancel nothing: the server notices by itself.
    for ending in ["input", "SIGTERM", "SIGKILL"] {
        let mut raw = Raw::initialized(&variables).await;
        let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
        raw.send(&call(1, "query", json!({"store": "erp", "query": SLOW})))
            .await;
        raw.send(&call(
            2,
            "query",
            json!({"store": "notes", "query": endless}),
        ))
        .await;
        until_running(&database, "1").await;
        let status = raw.end_by(ending).await;
        assert_eq!(status.success(), ending != "SIGKILL", "{ending}: {status}");
        until_running(&database, "0").await;
    }
}

#[tokio::test]
async fn a_cancelled_call_stops_its_query_and_no_other() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let dsn = database.reader();
    let variables = [
        ("RHIZODAT_STORE_ERP", dsn.as_str()),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "5m"),
    ];
    let mut raw = Raw::initialized(&variables).await;
    for id in [1, 2] {
        raw.send(&call(id, "query", json!({"store": "erp", "query": SLOW})))
            .await;
    }
    until_running(&database, "2").await;
    raw.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
    )
    .await;
    until_running(&database, "1").await;
    raw.send(&call(
        3,
        "query",
        json!({"store": "erp", "query": "select 3 as three"}),
    ))
    .await;
    // The cancelled call has no answer: this is the first.
    let answer = raw.receive().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["isError"]),
        (&json!(3), &json!(false)),
        "{answer}"
    );
    let again = raw.ask(&call(1, "stores", json!({}))).await;
    assert_eq!(
        (&again["id"], &again["error"]["message"]),
        (
            &json!(1),
            &json!("this `id` was used for a request that was cancelled")
        ),
        "{again}"
    );
    until_running(&database, "1").await;
}

/// How often something is tried that takes longer on a machine with much else to do.
const TRIES: usize = 5;

/// A query as the stateless protocol has it.
fn stateless(store: &str, query: &str) -> serde_json::Value {
    let mut message = call(1, "query", json!({"store": store, "query": query}));
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    message
}

#[tokio::test]
async fn what_a_pipe_asks_last_is_answered() {
    let file = File::create("create table note (id integer primary key)");
    let dsn = file.dsn();
    let mut answers = Vec::new();
    for _ in 0..TRIES {
        let mut raw = Raw::start(&[("RHIZODAT_STORE_NOTES", &dsn)]);
        raw.send(&stateless("notes", "select 7 as seven")).await;
        assert!(raw.end_input().await.success());
        let answer = raw.receive().await;
        if answer["result"]["isError"] == false {
            return;
        }
        answers.push(answer);
    }
    panic!("never answered: {answers:?}");
}

#[tokio::test]
async fn what_takes_long_ends_within_a_second_of_the_input() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let dsn = database.reader();
    let variables = [
        ("RHIZODAT_STORE_ERP", dsn.as_str()),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "5m"),
    ];
    let mut took = Vec::new();
    for _ in 0..TRIES {
        let mut raw = Raw::start(&variables);
        raw.send(&stateless("erp", SLOW)).await;
        until_running(&database, "1").await;
        let ended = Instant::now();
        assert!(raw.end_input().await.success());
        let elapsed = ended.elapsed();
        until_running(&database, "0").await;
        let answer = raw.receive().await;
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        if elapsed < Duration::from_secs(1) {
            return;
        }
        took.push(elapsed);
    }
    panic!("never within a second: {took:?}");
}
