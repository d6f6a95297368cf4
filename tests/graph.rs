//! What is particular to a graph over Bolt, as an operator and an agent meet it: how it is reached,
//! what goes wrong and with which words, and what its schema tells.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::harness::backends::variable;
use crate::harness::client::{Reply, Server};
use crate::harness::graph::{Account, address, arcadedb_address};

pub fn is_well_told(reply: &Reply, code: &str, words: &str) {
    assert_eq!(reply.code(), code, "{}", reply.text);
    for part in ["store `", "\nhint: ", words] {
        assert!(reply.text.contains(part), "no {part}: {}", reply.text);
    }
    for secret in ["reader-test", "wr0ng", "neo4j-test", "arcadedb-test"] {
        assert!(!reply.text.contains(secret), "{}", reply.text);
    }
}

/// A listener that answers every connection with these bytes, and holds it open.
async fn answering(bytes: &'static [u8]) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            socket.write_all(bytes).await.unwrap();
            held.push(socket);
        }
    });
    at
}

#[tokio::test]
async fn a_graph_that_cannot_be_reached_says_why() {
    let account = Account::create().await;
    let (neo4j, name) = (address(), &account.name);
    let arcadedb = arcadedb_address();
    let http = variable("RHIZODAT_TEST_NEO4J_HTTP");
    let (_, http) = http.rsplit_once('@').unwrap();
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = free.local_addr().unwrap();
    drop(free);
    let silent = answering(b"").await;
    let old = answering(&[0, 0, 0, 0]).await;
    let wants_tls = answering(&[0x15, 3, 3, 0, 2, 2, 70]).await;
    let garbage = answering(&[0, 0, 4, 5, 0xFF, 0xFF, 0x0D, 0x0A, 0x00, 0x13, 0x37]).await;
    let huge = answering(&[
        0, 0, 4, 5, 0, 9, 0xB1, 0x70, 0xDA, 0xFF, 0xFF, 0xFF, 0xFF, 0xA0, 0xA0, 0, 0,
    ])
    .await;
    let stores = [
        (
            "badly_keyed",
            format!("bolt://{name}:wr0ng@{neo4j}"),
            "Unauthorized",
        ),
        (
            "unknown_user",
            format!("bolt://nobody:wr0ng@{neo4j}"),
            "Unauthorized",
        ),
        (
            "no_login",
            format!("bolt://{neo4j}"),
            "user and the password",
        ),
        (
            "no_database",
            format!("bolt://{name}:reader-test@{neo4j}/nowhere"),
            "DatabaseNotFound",
        ),
        (
            "unknown_host",
            "bolt://u:wr0ng@nowhere.invalid".to_owned(),
            "failed to lookup",
        ),
        ("refused", format!("bolt://u:wr0ng@{gone}"), "refused"),
        (
            "silent",
            format!("bolt://u:wr0ng@{silent}?connect_timeout=1"),
            "no connection to",
        ),
        ("http", format!("bolt://{name}:reader-test@{http}"), "7474"),
        (
            "tls_lacking",
            format!("bolt+s://u:wr0ng@{arcadedb}"),
            "without it write `bolt://`",
        ),
        (
            "tls_untrusted",
            format!("bolt+s://{name}:reader-test@{neo4j}"),
            "sslrootcert",
        ),
        (
            "tls_wanted",
            format!("bolt://u:wr0ng@{wants_tls}"),
            "bolt+s://",
        ),
        ("too_old", format!("bolt://u:wr0ng@{old}"), "too old"),
        ("garbage", format!("bolt://u:wr0ng@{garbage}"), "Bolt"),
        ("huge", format!("bolt://u:wr0ng@{huge}"), "Bolt"),
        (
            "no_router",
            format!("neo4j://rhizodat_reader:wr0ng@{gone}"),
            "refused",
        ),
    ];
    let variables: Vec<(String, &str)> = stores
        .iter()
        .map(|(name, dsn, _)| {
            (
                format!("RHIZODAT_STORE_{}", name.to_uppercase()),
                dsn.as_str(),
            )
        })
        .collect();
    let good = account.dsn();
    let mut variables: Vec<(&str, &str)> =
        variables.iter().map(|(n, v)| (n.as_str(), *v)).collect();
    variables.push(("RHIZODAT_STORE_GOOD", &good));
    let server = Server::start(&variables).await;
    for (name, _, words) in &stores {
        let reply = server.query(name, "RETURN 1").await;
        is_well_told(&reply, "store_unreachable", words);
    }
    assert_eq!(
        server.query("good", "RETURN 1 AS a").await.rows(),
        json!([[1]])
    );
    let listed = server.call("stores", json!({})).await;
    assert!(
        listed.data().contains("\"status\":\"down\""),
        "{}",
        listed.text
    );
    assert!(!listed.text.contains("wr0ng"), "{}", listed.text);
}

#[tokio::test]
async fn every_scheme_reaches_the_server() {
    let account = Account::create().await;
    let authority = variable("RHIZODAT_TEST_NEO4J_CA");
    let login = account.dsn();
    let login = login.strip_prefix("bolt://").unwrap();
    for (scheme, parameters) in [
        ("bolt", "/neo4j".to_owned()),
        ("bolt+s", format!("?sslrootcert={authority}")),
        ("bolt+ssc", String::new()),
        ("neo4j", "/neo4j".to_owned()),
        ("neo4j+s", format!("/neo4j?sslrootcert={authority}")),
        ("neo4j+ssc", String::new()),
    ] {
        let dsn = format!("{scheme}://{login}{parameters}");
        let server = Server::start(&[("RHIZODAT_STORE_GRAPH", &dsn)]).await;
        for _ in 0..2 {
            let reply = server
                .query("graph", "MATCH (c:canary) RETURN c.note AS note")
                .await;
            assert_eq!(reply.rows(), json!([["alive"]]), "{scheme}");
        }
    }
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = free.local_addr().unwrap();
    drop(free);
    let (user, host) = login.split_once('@').unwrap();
    let dsn = format!("bolt://{user}@{gone},{host}");
    let server = Server::start(&[("RHIZODAT_STORE_GRAPH", &dsn)]).await;
    let reply = server.query("graph", "RETURN 1 AS a").await;
    assert_eq!(reply.rows(), json!([[1]]));
}

#[tokio::test]
async fn what_an_agent_gets_wrong_is_told_with_its_place() {
    let account = Account::create().await;
    let dsn = account.dsn();
    let server = Server::start(&[
        ("RHIZODAT_STORE_GRAPH", &dsn),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "2s"),
    ])
    .await;
    for (query, params, code, words) in [
        ("RETRN 1", json!([]), "query_failed", "line 1 column 1"),
        (
            "RETURN 1 AS a,\n  )",
            json!([]),
            "query_failed",
            "line 2 column 3",
        ),
        (
            "MATCH (c:canary)\nRETURN nots",
            json!([]),
            "query_failed",
            "line 2 column 8",
        ),
        (
            "MATCH (c:canary) RETURN nots",
            json!([]),
            "query_failed",
            "`note`",
        ),
        (
            "RETURN lenght('x')",
            json!([]),
            "query_failed",
            "did you mean `length`?",
        ),
        (
            "CALL db.lables()",
            json!([]),
            "query_failed",
            "did you mean `db.labels`?",
        ),
        (
            "CALL db.index.fulltext.queryNodes('canry', 'x') YIELD node RETURN node",
            json!([]),
            "query_failed",
            "did you mean `canary`?",
        ),
        ("RETURN 1 / 0", json!([]), "query_failed", "ArithmeticError"),
        (
            "UNWIND range(1, 3000) AS i RETURN 1 / (2500 - i)",
            json!([]),
            "truncated: rows",
            "",
        ),
        (
            "UNWIND [3, 2, 1, 0] AS i RETURN 1 / i",
            json!([]),
            "query_failed",
            "ArithmeticError",
        ),
        ("RETURN date('2024-13-01')", json!([]), "query_failed", ""),
        ("RETURN $1", json!([]), "invalid_argument", "holds 0 values"),
        ("RETURN 1", json!([1]), "invalid_argument", "takes 0"),
        ("RETURN $name", json!([1]), "invalid_argument", "`$name`"),
        (
            "RETURN 1; RETURN 2",
            json!([]),
            "query_rejected",
            "line 1 column 11",
        ),
        ("CREATE (n)", json!([]), "query_rejected", "`Create`"),
        ("PROFILE RETURN 1", json!([]), "query_rejected", "EXPLAIN"),
        (
            "CYPHER 5 EXPLAIN RETURN 1",
            json!([]),
            "query_rejected",
            "plan instead of rows",
        ),
        (
            "CALL dbms.listConfig()",
            json!([]),
            "query_rejected",
            "`dbms.listConfig`",
        ),
        ("RETURN 'a\u{0}b'", json!([]), "query_rejected", "NUL"),
        ("", json!([]), "invalid_argument", ""),
        (" // nothing", json!([]), "query_rejected", "empty"),
        (
            "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN sum(a % 2 + b)",
            json!([]),
            "timeout",
            "",
        ),
    ] {
        let reply = server.query_with("graph", query, params).await;
        if code == "truncated: rows" {
            assert_eq!(reply.note("truncated"), Some("rows"), "{}", reply.text);
        } else {
            assert_eq!(reply.code(), code, "{query}: {}", reply.text);
            assert!(reply.text.contains(words), "{query}: {}", reply.text);
        }
        let next = server.query("graph", "RETURN 1 AS a").await;
        assert_eq!(next.rows(), json!([[1]]), "after {query}");
    }
}

#[tokio::test]
async fn parameters_arrive_as_they_are() {
    let account = Account::create().await;
    let dsn = account.dsn();
    let server = Server::start(&[("RHIZODAT_STORE_GRAPH", &dsn)]).await;
    let types = "RETURN [x IN [$1, $2, $3, $4, $5, $6, $7] | valueType(x)] AS types";
    let params = json!([1, 1.5, "x", true, [1], {"a": 1}, null]);
    let reply = server.query_with("graph", types, params).await;
    let expected = json!([[[
        "INTEGER NOT NULL",
        "FLOAT NOT NULL",
        "STRING NOT NULL",
        "BOOLEAN NOT NULL",
        "LIST<INTEGER NOT NULL> NOT NULL",
        "MAP NOT NULL",
        "NULL"
    ]]]);
    assert_eq!(reply.rows(), expected);
    let given = json!([{"base64": "AP8="}, {"a": [1, {"b": "é"}]}, 9007199254740993_i64, -0.0]);
    let reply = server
        .query_with("graph", "RETURN $1, $2, $3, $4", given)
        .await;
    let expected = json!([[{"base64": "AP8="}, {"a": [1, {"b": "é"}]}, "9007199254740993", -0.0]]);
    assert_eq!(reply.rows(), expected);
    let reply = server
        .query_with("graph", "RETURN $1", json!([18446744073709551615_u64]))
        .await;
    assert_eq!(reply.code(), "invalid_argument");
}

#[tokio::test]
async fn the_schema_tells_labels_types_counts_and_what_connects_to_what() {
    let account = Account::create().await;
    let dsn = account.dsn();
    let server = Server::start(&[("RHIZODAT_STORE_GRAPH", &dsn)]).await;
    let schema = async |arguments: Value| -> Value {
        let reply = server.call("schema", arguments).await;
        serde_json::from_str(reply.data()).unwrap()
    };
    let all = schema(json!({"store": "graph", "detail": "names"})).await;
    let names: Vec<&str> = all["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| table["table"].as_str().unwrap())
        .collect();
    let expected = [
        "Customer",
        "Item",
        "Order",
        "Vip",
        "canary",
        "relationship.CONTAINS",
        "relationship.KNOWS",
        "relationship.PLACED",
    ];
    assert_eq!(names, expected);
    let customer = schema(json!({"store": "graph", "table": "Customer"})).await;
    assert_eq!(
        customer["tables"][0],
        json!({
            "table": "Customer",
            "kind": "node label",
            "row_estimate": 3,
            "columns": [
                {"name": "id", "type": "INTEGER", "nullable": false},
                {"name": "name", "type": "STRING", "nullable": false},
                {"name": "odd name", "type": "BOOLEAN", "nullable": true},
                {"name": "since", "type": "DATE", "nullable": false},
            ],
            "foreign_keys": [
                {"columns": ["-[:KNOWS]->"], "references": "Customer", "referenced_columns": []},
                {"columns": ["-[:PLACED]->"], "references": "Order", "referenced_columns": []},
            ],
            "indexes": [
                {"name": "customer_id (uniqueness)", "unique": true, "columns": ["id"], "condition": null},
            ],
        })
    );
    let item = schema(json!({"store": "graph", "table": "Item"})).await;
    assert_eq!(
        item["tables"][0]["columns"][0]["type"], "FLOAT | INTEGER",
        "{item}"
    );
    let placed = schema(json!({"store": "graph", "table": "relationship.PLACED"})).await;
    let placed = &placed["tables"][0];
    assert_eq!(placed["kind"], "relationship type");
    assert_eq!(placed["row_estimate"], 3);
    assert_eq!(placed["comment"], "(:Customer)-[:PLACED]->(:Order)");
    assert_eq!(placed["columns"][0]["type"], "ZONED DATETIME");
    assert_eq!(placed["indexes"][0]["name"], "placed_at (range)");
    let like = schema(json!({"store": "graph", "like": "rel*.p*", "detail": "names"})).await;
    assert_eq!(like["tables"].as_array().unwrap().len(), 1, "{like}");
    let missing = server
        .call("schema", json!({"store": "graph", "table": "Custmer"}))
        .await;
    assert_eq!(missing.code(), "not_found");
    assert!(missing.text.contains("`Customer`"), "{}", missing.text);
    for data in ["alive", "Ada", "invoice"] {
        let whole = server
            .call("schema", json!({"store": "graph", "detail": "full"}))
            .await;
        assert!(!whole.text.contains(data), "{}", whole.text);
    }
}
