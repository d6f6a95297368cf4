//! What is particular to a graph over Bolt, as an operator and an agent meet it: how it is reached,
//! which servers serve, what goes wrong and with which words, what its limits are.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use crate::harness::backends::variable;
use crate::harness::client::{Reply, Server};
use crate::harness::graph::{Account, address, arcadedb, arcadedb_address};
use crate::harness::raw::{Raw, call};

fn is_well_told(reply: &Reply, code: &str, words: &str) {
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
    let rounded: Value = serde_json::from_str("12345678901234567890123").unwrap();
    let reply = server
        .query_with("graph", "RETURN $1", json!([rounded]))
        .await;
    assert_eq!(reply.code(), "invalid_argument");
    let reply = server
        .query_with("graph", "RETURN $1", json!([18446744073709551615_u64]))
        .await;
    assert_eq!(reply.code(), "invalid_argument");
}

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
                {"columns": "-[:KNOWS]->", "references": "Customer", "referenced_columns": ""},
                {"columns": "-[:PLACED]->", "references": "Order", "referenced_columns": ""},
            ],
            "indexes": [
                {"name": "customer_id (uniqueness)", "unique": true, "columns": "id", "condition": null},
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

async fn checked(dsn: &str) -> String {
    let checked = crate::harness::client::command(&[("RHIZODAT_STORE_GRAPH", dsn)])
        .arg("check")
        .output();
    let checked = tokio::time::timeout(Duration::from_secs(30), checked).await;
    let output = checked.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!said.contains("-test"), "{said}");
    said
}

#[tokio::test]
async fn a_server_that_does_not_enforce_read_is_refused_until_its_account_cannot_write() {
    let address = arcadedb_address();
    let reader = format!("bolt://rhizodat_reader:reader-test@{address}/graph");
    let admin = format!("bolt://root:arcadedb-test@{address}/graph?read_only_by=account");
    let account = Account::create().await;
    let said = checked(&account.dsn()).await;
    assert!(
        said.contains("graph: up") && said.contains("enforces the access mode READ"),
        "{said}"
    );
    for (dsn, words) in [
        (&reader, "does not enforce the access mode READ"),
        (&admin, "the account can write"),
    ] {
        let said = checked(dsn).await;
        assert!(
            said.contains("graph: refused") && said.contains(words),
            "{said}"
        );
        let server = Server::start(&[("RHIZODAT_STORE_GRAPH", dsn)]).await;
        for reply in [
            server.query("graph", "RETURN 1 AS a").await,
            server.call("schema", json!({"store": "graph"})).await,
        ] {
            is_well_told(&reply, "unsafe_role", words);
        }
    }
    let said = checked(&format!("{reader}?read_only_by=account")).await;
    assert!(
        said.contains("graph: up") && said.contains("account cannot write"),
        "{said}"
    );
}

#[tokio::test]
async fn arcadedb_is_read_and_nothing_of_it_changes() {
    let label = format!("T{}", crate::harness::postgresql::uuid());
    arcadedb(&format!(
        "CREATE (:{label} {{id: 1, note: 'alive'}})-[:KNOWS {{since: 3}}]->(:{label} {{id: 2}})"
    ))
    .await;
    let dsn = format!(
        "bolt://rhizodat_reader:reader-test@{}/graph?read_only_by=account",
        arcadedb_address()
    );
    let server = Server::start(&[
        ("RHIZODAT_STORE_GRAPH", &dsn),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "2s"),
    ])
    .await;
    let place = |text: &str| text.replace("{L}", &label);
    let state = async || {
        arcadedb(&place("MATCH (n:{L}) OPTIONAL MATCH (n)-[r]->(m) RETURN n.id AS id, n.note AS note, type(r) AS t, r.since AS s ORDER BY id")).await
    };
    let expected = state().await;
    assert!(expected.to_string().contains("alive"), "{expected}");
    for (query, rows) in [
        (
            "MATCH (n:{L}) RETURN n.id AS id ORDER BY id",
            json!([[1], [2]]),
        ),
        (
            "MATCH (n:{L} {id: 1})-[r:KNOWS]->(m) RETURN n.note AS note, r.since AS since, m.id AS id",
            json!([["alive", 3, 2]]),
        ),
        (
            "RETURN 'SET; COMMIT' AS `create`, {set: 1}.set AS a; // DROP",
            json!([["SET; COMMIT", 1]]),
        ),
        ("MATCH (n:{L}) RETURN count(n) AS c", json!([[2]])),
        (
            "UNWIND [1, 2] AS x WITH x WHERE x > 1 RETURN x",
            json!([[2]]),
        ),
        (
            "RETURN date('2020-02-29') AS d, datetime('2020-01-01T00:00:00+02:00') AS t, duration('P1DT2S') AS u",
            json!([["2020-02-29", "2019-12-31T22:00:00Z", "P1DT2S"]]),
        ),
        (
            "RETURN [1, {a: null}] AS l, 1.5 AS f, true AS b, null AS n",
            json!([[[1, {"a": null}], 1.5, true, null]]),
        ),
    ] {
        let reply = server.query("graph", &place(query)).await;
        assert_eq!(reply.rows(), rows, "{query}");
    }
    let reply = server
        .query_with(
            "graph",
            &place("MATCH (n:{L}) WHERE n.id = $1 RETURN n.note AS note"),
            json!([1]),
        )
        .await;
    assert_eq!(reply.rows(), json!([["alive"]]));
    for attack in [
        "CREATE (:{L} {id: 9})",
        "MERGE (:{L} {id: 1})",
        "MATCH (n:{L}) SET n.note = 'dead' RETURN n.note AS x",
        "MATCH (n:{L}) REMOVE n.note RETURN n",
        "MATCH (n:{L}) DETACH DELETE n",
        "MATCH (n:{L}) FOREACH (x IN [1] | SET n.note = 'dead') RETURN n",
        "COMMIT",
        "ROLLBACK",
        "BEGIN",
        " commit ; ",
        "UNWIND [1] AS x CALL { WITH x MATCH (n:{L}) SET n.note = 'dead' RETURN n } RETURN n.note AS x",
        "RETURN COLLECT { MATCH (n:{L}) SET n.note = 'dead' RETURN n.note } AS x",
        "LOAD CSV FROM 'file:///etc/passwd' AS l RETURN l",
        "RETURN COLLECT { LOAD CSV FROM 'file:///etc/passwd' AS l RETURN l } AS x",
        "CALL { LOAD CSV FROM 'file:///etc/passwd' AS l RETURN l } RETURN l",
        "SHOW USERS",
        "SHOW TRANSACTIONS",
        "TERMINATE TRANSACTIONS 'q1'",
        "CREATE USER forged SET PASSWORD 'password'",
        "DROP USER root",
        "CREATE INDEX forged FOR (n:{L}) ON (n.id)",
        "CALL db.create('x')",
        "CALL algo.x()",
        "RETURN 1; COMMIT",
        "EXPLAIN COMMIT",
        "PROFILE CREATE (:{L} {id: 9})",
    ] {
        let reply = server.query("graph", &place(attack)).await;
        assert_eq!(reply.code(), "query_rejected", "{attack}: {}", reply.text);
        assert_eq!(state().await, expected, "{attack}");
    }
    let slow = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b WITH a + b AS c WHERE c < 0 RETURN count(*) AS {L}";
    assert_eq!(server.query("graph", &place(slow)).await.code(), "timeout");
    // ArcadeDB ends nothing by itself: it was told by another connection.
    let begun = std::time::Instant::now();
    loop {
        let shown = arcadedb("SHOW TRANSACTIONS").await.to_string();
        if !shown.contains(&label) {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(2), "runs on: {shown}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let schema = server
        .call("schema", json!({"store": "graph", "table": label}))
        .await;
    assert!(schema.text.contains("\"note\""), "{}", schema.text);
}
