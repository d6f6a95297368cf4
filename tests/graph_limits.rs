//! What a graph answers is bounded while it arrives, and whatever ends a call ends it in the server.

use std::time::Duration;

use serde_json::json;

use crate::graph::is_well_told;
use crate::harness::client::Server;
use crate::harness::graph::Account;
use crate::harness::raw::{Raw, call};

#[tokio::test]
async fn limits_cut_what_arrives_and_what_cut_is_said() {
    let account = Account::create().await;
    let dsn = account.dsn();
    let server = Server::start(&[
        ("RHIZODAT_STORE_GRAPH", dsn.as_str()),
        ("RHIZODAT_MCP_MAX_CELL_BYTES", "16"),
    ])
    .await;
    for (value, shown, bytes) in [
        (
            "reduce(s = 'x', i IN range(1, 20) | s + s)",
            json!("xxxxxxxxxxxxxxxx"),
            "1048576",
        ),
        (
            "reduce(s = 'é', i IN range(1, 6) | s + s)",
            json!("éééééééé"),
            "128",
        ),
        (
            "'xé' + reduce(s = 'é', i IN range(1, 6) | s + s)",
            json!("xééééééé"),
            "131",
        ),
        ("range(1, 1000)", json!("[1,2,3,4,5,6,7,8"), "3894"),
        (
            "[reduce(s = '\"', i IN range(1, 5) | s + s)]",
            json!("[\"\\\"\\\"\\\"\\\"\\\"\\\"\\\""),
            "68",
        ),
        (
            "{a: 'a longer text', b: 1}",
            json!("{\"a\":\"a longer t"),
            "27",
        ),
        (
            "datetime('2024-05-01T00:00:00.123456789Z')",
            json!("2024-05-01T00:00:00.123456789Z"),
            "",
        ),
    ] {
        let query = format!("RETURN 1 AS a, {value} AS v, 2 AS b");
        let reply = server.query("graph", &query).await;
        assert_eq!(reply.rows(), json!([[1, shown, 2]]), "{value}");
        let told = format!("row 1 column 2 shows the beginning of {bytes} bytes");
        let expected = Some(told.as_str()).filter(|_| !bytes.is_empty());
        assert_eq!(reply.note("cut"), expected, "{value}");
    }
    let bytes = json!([{"base64": "AAECAwQFBgcICQoLDA0ODxAR"}]);
    let reply = server.query_with("graph", "RETURN $1 AS v", bytes).await;
    assert_eq!(
        reply.rows(),
        json!([[{"base64": "AAECAwQFBgcICQoLDA0ODw=="}]])
    );
    assert_eq!(
        reply.note("cut"),
        Some("row 1 column 1 shows the beginning of 18 bytes")
    );
    let many = server
        .query("graph", "UNWIND range(1, 100000) AS i RETURN i")
        .await;
    assert_eq!(many.note("truncated"), Some("rows"));
    assert_eq!(many.note("row_count"), Some("1000"));
    let exact = json!({"store": "graph", "query": "UNWIND range(1, 7) AS i RETURN i", "limit": 7});
    assert_eq!(
        server.call("query", exact).await.note("truncated"),
        Some("false")
    );
    let long = server.query("graph", "RETURN range(1, 5000000) AS x").await;
    is_well_told(&long, "limit_exceeded", "too long");
}

#[tokio::test]
async fn neither_a_huge_value_nor_a_huge_answer_enters_the_process() {
    let account = Account::create().await;
    let dsn = account.dsn();
    let mut raw = Raw::initialized(&[("RHIZODAT_STORE_GRAPH", dsn.as_str())]).await;
    let process = raw.child.id().unwrap();
    let mut ask = async |id: i64, query: &str| {
        let asked = call(id, "query", json!({"store": "graph", "query": query}));
        raw.ask(&asked).await["result"].clone()
    };
    ask(1, "RETURN 1").await;
    let before = crate::limits::peak_memory(process);
    for (id, query) in [
        (2, "RETURN reduce(s = 'x', i IN range(1, 25) | s + s) AS x"),
        (
            3,
            "UNWIND range(1, 1000000) AS i RETURN [i, 'x', {a: i}] AS x",
        ),
        (4, "RETURN [x IN range(1, 1000) | range(1, 1000)] AS x"),
        (5, "UNWIND range(1, 100000000) AS i RETURN i"),
    ] {
        let answer = ask(id, query).await;
        assert_eq!(answer["isError"], false, "{answer}");
    }
    let answer = ask(6, "RETURN range(1, 20000000) AS x").await;
    assert_eq!(answer["isError"], true, "{answer}");
    let grown = crate::limits::peak_memory(process) - before;
    assert!(grown < 40_000_000, "grown by {grown} bytes");
}

/// Until an account has nothing in the server, no longer than the two seconds that are promised.
async fn stopped(account: &Account, what: &str) {
    let begun = std::time::Instant::now();
    while account.running().await > 0 {
        assert!(begun.elapsed() < Duration::from_secs(2), "{what} runs on");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn runs(account: &Account) {
    while account.running().await == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn whatever_ends_a_call_ends_it_in_the_server() {
    let account = Account::create().await;
    let dsn = account.dsn();
    let slow = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN sum(a % 2 + b)";
    let asked =
        |id: &str, query: &str| call(id, "query", json!({"store": "graph", "query": query}));
    let variables = [
        ("RHIZODAT_STORE_GRAPH", dsn.as_str()),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "30s"),
    ];
    let mut raw = Raw::initialized(&variables).await;
    raw.send(&asked("a", slow)).await;
    runs(&account).await;
    raw.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}}))
        .await;
    stopped(&account, "a query that its client cancelled").await;

    for query in [
        "UNWIND range(1, 1000000000) AS i RETURN i",
        "UNWIND range(1, 1000000000) AS i RETURN 'x' + i + reduce(s = 'x', i IN range(1, 8) | s + s) AS x",
    ] {
        raw.send(&asked("b", query)).await;
        while raw.receive().await["id"] != "b" {}
        stopped(&account, query).await;
    }

    raw.send(&asked("c", slow)).await;
    runs(&account).await;
    assert!(raw.end_input().await.success());
    stopped(&account, "a query whose client has gone").await;

    let mut raw = Raw::initialized(&variables).await;
    raw.send(&asked("d", slow)).await;
    runs(&account).await;
    raw.child.start_kill().unwrap();
    stopped(&account, "a query whose gateway was killed").await;

    let variables = [variables[0], ("RHIZODAT_MCP_QUERY_TIMEOUT", "500ms")];
    let server = Server::start(&variables).await;
    assert_eq!(server.query("graph", slow).await.code(), "timeout");
    stopped(&account, "a query past its time").await;
}
