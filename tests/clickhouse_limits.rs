//! What bounds an answer of ClickHouse, in the server and on the way.

use serde_json::json;

use crate::clickhouse::is_well_told;
use crate::harness::clickhouse::{Database, FROZEN, QUERIES, READER};
use crate::harness::client::Server;

#[tokio::test]
async fn limits_cut_in_the_server_and_what_cut_is_said() {
    let database = Database::create().await;
    for account in [READER, QUERIES, FROZEN] {
        let dsn = database.dsn(account);
        let server = Server::start(&[
            ("RHIZODAT_STORE_EVENTS", dsn.as_str()),
            ("RHIZODAT_MCP_MAX_CELL_BYTES", "16"),
        ])
        .await;
        for (value, shown, bytes) in [
            ("repeat('x', 900000)", json!("xxxxxxxxxxxxxxxx"), "900000"),
            ("repeat('é', 100)", json!("éééééééé"), "200"),
            (
                "materialize(toNullable(repeat('é', 9)))",
                json!("éééééééé"),
                "18",
            ),
            (
                "toFixedString(repeat('x', 20), 20)",
                json!("xxxxxxxxxxxxxxxx"),
                "20",
            ),
            (
                "repeat(unhex('ff'), 18)",
                json!({"base64": "/////////////////////w=="}),
                "18",
            ),
            ("range(1000)", json!("[0,1,2,3,4,5,6,7"), "3891"),
            ("[repeat('x', 30)]", json!("[\"xxxxxxxxxxxxxx"), "34"),
            (
                "toInt256('-12345678901234567890')",
                json!("-123456789012345"),
                "21",
            ),
        ] {
            let query = format!("select 1, {value} as v");
            let reply = server.query("events", &query).await;
            assert_eq!(reply.rows(), json!([[1, shown]]), "{account} {value}");
            let told = format!("row 1 column 2 shows the beginning of {bytes} bytes");
            assert_eq!(reply.note("cut"), Some(told.as_str()), "{account} {value}");
        }
        let whole = server
            .query("events", "select repeat('x', 16), [1, 2], 'é'")
            .await;
        assert_eq!(whole.note("cells_truncated"), Some("0"));
        assert_eq!(whole.rows(), json!([["x".repeat(16), [1, 2], "é"]]));
        let many = server
            .query("events", "select number from numbers(100000)")
            .await;
        assert_eq!(many.note("truncated"), Some("rows"));
    }
}

#[tokio::test]
async fn neither_a_huge_value_nor_a_huge_answer_enters_the_process() {
    let database = Database::create().await;
    let dsn = database.dsn(READER);
    let mut raw =
        crate::harness::raw::Raw::initialized(&[("RHIZODAT_STORE_EVENTS", dsn.as_str())]).await;
    let process = raw.child.id().unwrap();
    let mut ask = async |id: i64, query: &str| {
        let call =
            crate::harness::raw::call(id, "query", json!({"store": "events", "query": query}));
        let answer = raw.ask(&call).await;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    };
    ask(1, "select 1").await;
    let before = crate::limits::peak_memory(process);
    for (id, query) in [
        (
            2,
            "select repeat('x', 1000000), repeat(repeat('x', 1000000), 100)",
        ),
        (
            3,
            "select groupArray(repeat('x', 1000)) from numbers(30000)",
        ),
        (4, "select repeat('x', 1000) from numbers(10000000)"),
        (5, "select number from numbers(100000000)"),
    ] {
        ask(id, query).await;
    }
    let grown = crate::limits::peak_memory(process) - before;
    assert!(grown < 40_000_000, "grown by {grown} bytes");
}

#[tokio::test]
async fn the_memory_of_a_query_is_bounded_by_the_dsn() {
    let database = Database::create().await;
    let dsn = format!("{}?max_memory_usage=50MiB", database.dsn(READER));
    let server = Server::start(&[("RHIZODAT_STORE_EVENTS", &dsn)]).await;
    for settings in ["", " settings max_memory_usage = 0"] {
        let query = format!("select length(groupArray(number)) from numbers(100000000){settings}");
        let reply = server.query("events", &query).await;
        is_well_told(&reply, "limit_exceeded", "241");
    }
}
