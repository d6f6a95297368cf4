//! A server over Bolt that does not enforce the access mode READ: it is refused until its account
//! cannot write, and then read like any other.

use std::time::Duration;

use serde_json::json;

use crate::graph::is_well_told;
use crate::harness::client::Server;
use crate::harness::graph::{Account, arcadedb, arcadedb_address};

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
