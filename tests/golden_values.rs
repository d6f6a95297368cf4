//! Every type of every store, its edge values, and the JSON they give. The expected values are the
//! servers' own text forms.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::harness::backends::{postgresql_servers, variable};
use crate::harness::clickhouse;
use crate::harness::client::{Reply, Server};
use crate::harness::corpus::cases;
use crate::harness::graph;
use crate::harness::postgresql::{Database, run, text};
use crate::harness::raw::Raw;
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
    // As numbers, the two zeros are the same.
    let is_negative_zero = |text: &str| text.parse() == Ok(0.0) && text.starts_with('-');
    let same = if is_document {
        found == wanted
    } else {
        parsed(found) == parsed(wanted) && is_negative_zero(found) == is_negative_zero(wanted)
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

/// The same number of fields with other names and types decodes all too well from what was known.
#[tokio::test]
async fn a_type_that_was_altered_is_read_as_it_is_now() {
    for (_, superuser) in postgresql_servers() {
        let database = Database::create(&superuser).await;
        let mut admin = database.admin().await;
        let dsn = database.reader();
        let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
        for (alter, value, type_name, json) in [
            (
                "create type pair as (a text, b integer)",
                "row('007', 1)::pair",
                "pair",
                json!({"a": "007", "b": 1}),
            ),
            (
                "alter type pair rename attribute a to z",
                "row('007', 1)::pair",
                "pair",
                json!({"z": "007", "b": 1}),
            ),
            (
                "alter type pair drop attribute b; alter type pair add attribute n text",
                "row('007', '0010')::pair",
                "pair",
                json!({"z": "007", "n": "0010"}),
            ),
            (
                "alter type pair rename to two",
                "array[row('x', 'y')::two]",
                "two[]",
                json!([{"z": "x", "n": "y"}]),
            ),
        ] {
            run(&mut admin, alter).await;
            let reply = server.query("target", &format!("select {value}")).await;
            assert_eq!(reply.rows(), json!([[json]]), "{alter}");
            assert_eq!(reply.table().columns[0].type_name, type_name, "{alter}");
        }
    }
}

/// A JSON number that lost digits on its way is refused, never rounded.
#[tokio::test]
async fn parameters_are_exact_or_refused() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let (dsn, file) = (
        database.reader(),
        sqlite::File::create("create table t (a);"),
    );
    let notes = file.dsn();
    let mut server = Raw::initialized(&[
        ("RHIZODAT_STORE_ERP", &dsn),
        ("RHIZODAT_STORE_NOTES", &notes),
        ("RHIZODAT_MCP_FORMAT", "json"),
    ])
    .await;
    let mut id = 10;
    for (store, query) in [("erp", "select $1::numeric"), ("notes", "select ?1")] {
        let mut ask = async |params: &str| {
            id += 1;
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"query","arguments":{{"store":"{store}","query":"{query}","params":{params}}}}}}}"#
            );
            server.write(format!("{line}\n").as_bytes()).await;
            let answer = server.receive().await;
            assert_eq!(answer["id"], id, "{answer}");
            answer["result"]["content"][0]["text"]
                .as_str()
                .unwrap_or_else(|| panic!("{params}: {answer}"))
                .to_owned()
        };
        // Written as both stores write them, so that the answer shows every digit.
        for exact in [
            "9007199254740993",
            "-9223372036854775808",
            "0.1",
            "0.30000000000000004",
        ] {
            let reply = ask(&format!("[{exact}]")).await;
            let row = [format!("[\"{exact}\"]"), format!("[{exact}]")];
            assert!(
                row.iter().any(|row| reply.contains(row)),
                "{exact}: {reply}"
            );
        }
        for rounded in [
            "12345678901234567890123",
            "0.1234567890123456789",
            "18446744073709551617",
            "99999999999999999999",
            "100000000000000000001",
            "1.0000000000000001",
            "9007199254740993.0",
        ] {
            for params in [
                format!("[{rounded}]"),
                format!("[\"a\",{{\"a\":[{rounded}]}}]"),
            ] {
                let reply = ask(&params).await;
                assert!(reply.starts_with("error: invalid_argument: "), "{reply}");
                assert!(reply.contains(rounded), "{reply}");
            }
            let text = ask(&format!("[\"{rounded}\"]")).await;
            assert!(text.contains(&format!("[\"{rounded}\"]")), "{text}");
        }
    }
    server.write(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"query\",\"arguments\":{\"params\":[1e400]}}}\n").await;
    let answer = server.receive().await;
    assert_eq!(answer["id"], 1, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("pass it as a string"), "{message}");
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

#[tokio::test]
async fn values_of_a_graph_are_exact() {
    let account = graph::Account::create().await;
    let dsn = account.dsn();
    let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
    let mut failures = Vec::new();
    let mut checked = 0;
    for golden in cases::<Golden>("graph/golden.toml") {
        checked += 1;
        let query = format!("RETURN {} AS v", golden.expr);
        let reply = server.query("target", &query).await;
        failures.extend(difference(&golden, &reply));
        if let Some(text) = &golden.text {
            let told = graph::cypher(&format!("RETURN toString({}) AS v", golden.expr)).await;
            assert_eq!(told, json!([[text]]), "{}", golden.expr);
        }
    }
    assert!(checked >= 35, "only {checked} values were checked");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Nodes, relationships and paths, with the ids that the server itself tells.
#[tokio::test]
async fn nodes_relationships_and_paths_are_whole() {
    let account = graph::Account::create().await;
    let dsn = account.dsn();
    let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
    let path = "MATCH p = (a:Customer {id: 1})-[r:PLACED]->(o:Order {id: 1001})";
    let told = graph::cypher(&format!(
        "{path} RETURN elementId(a), elementId(r), elementId(o)"
    ))
    .await;
    let (customer, placed, order) = (&told[0][0], &told[0][1], &told[0][2]);
    let node = json!({"id": customer, "labels": ["Customer"], "properties": {"id": 1, "name": "Ada", "since": "2015-03-01"}});
    let relationship = json!({"id": placed, "type": "PLACED", "start": customer, "end": order,
                              "properties": {"at": "2024-05-01T08:00:00Z"}});
    let other = json!({"id": order, "labels": ["Order"],
                       "properties": {"id": 1001, "total": 9.5, "note": "please CREATE an invoice"}});
    let reply = server
        .query(
            "target",
            &format!("{path} RETURN a, r, p, [a, r] AS l, {{n: o}} AS m"),
        )
        .await;
    let expected = json!([[node, relationship, [node, relationship, other], [node, relationship], {"n": other}]]);
    assert_eq!(reply.rows(), expected);
    // Against its direction, a relationship of a path keeps its own start and end.
    let back = "MATCH p = (:Order {id: 1001})<-[:PLACED]-(:Customer) RETURN p";
    let reply = server.query("target", back).await;
    assert_eq!(reply.rows(), json!([[[other, relationship, node]]]));
    let alone = server
        .query(
            "target",
            "MATCH p = (:canary) RETURN [n IN nodes(p) | n.id] AS ids, length(p) AS l",
        )
        .await;
    assert_eq!(alone.rows(), json!([[[1], 0]]));
}
