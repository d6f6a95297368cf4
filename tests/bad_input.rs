//! What goes wrong for an operator or an agent: a stable code, the store's name, the server's own
//! words with their place, a hint, no secret, and the next call works.

use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;

use crate::harness::backends::variable;
use crate::harness::client::{Reply, Server};
use crate::harness::postgresql::{Database, run};

fn is_well_told(reply: &Reply, store: &str, code: &str) {
    assert!(reply.text.contains("\nhint: "), "{}", reply.text);
    is_told(reply, store, code);
}

/// The same where nobody knows better than the server's own words.
fn is_told(reply: &Reply, store: &str, code: &str) {
    assert_eq!(reply.code(), code, "{}", reply.text);
    assert!(
        reply.text.contains(&format!("store `{store}`: ")),
        "{}",
        reply.text
    );
    for secret in [
        "reader-test",
        "wr0ng-s3cret",
        "wr0ng%2Ds3cret",
        "postgres-test",
    ] {
        assert!(!reply.text.contains(secret), "{}", reply.text);
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_reached_says_why() {
    let server_dsn = variable("RHIZODAT_TEST_POSTGRESQL_15");
    let database = Database::create(&server_dsn).await;
    // A port that nobody listens on, since this listener is gone.
    let free = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    // One that takes the connection and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_at = silent.local_addr().unwrap();
    let other = variable("RHIZODAT_TEST_POSTGRESQL_18");
    let (_, other) = other.split_once('@').unwrap();
    let tls_only = format!(
        "postgresql://rhizodat_reader:reader-test@{}/tlsonly",
        database.address
    );
    let stores = [
        (
            "badly_keyed",
            database.dsn("rhizodat_reader:wr0ng%2Ds3cret"),
            "28P01",
        ),
        ("unknown_role", database.dsn("nobody:wr0ng-s3cret"), "28P01"),
        (
            "no_database",
            format!(
                "postgresql://rhizodat_reader:reader-test@{}/nowhere",
                database.address
            ),
            "3D000",
        ),
        (
            "unknown_host",
            "postgresql://u:wr0ng-s3cret@nowhere.invalid/d".to_owned(),
            "failed to lookup",
        ),
        (
            "refused",
            format!("postgresql://u:wr0ng-s3cret@{free}/d"),
            "refused",
        ),
        (
            "silent",
            format!("postgresql://u:wr0ng-s3cret@{silent_at}/d?connect_timeout=1"),
            "no connection within",
        ),
        (
            "tls_required",
            format!("{tls_only}?sslmode=disable"),
            "28000",
        ),
        (
            "tls_lacking",
            format!("postgresql://rhizodat_reader:reader-test@{other}?sslmode=require"),
            "TLS",
        ),
        (
            "tls_untrusted",
            format!("{tls_only}?sslmode=verify-full"),
            "TLS",
        ),
        (
            "no_socket",
            "postgresql://u:wr0ng-s3cret@/d?host=/nowhere".to_owned(),
            "no such file",
        ),
    ];
    let variables: Vec<(String, String)> = stores
        .iter()
        .map(|(name, dsn, _)| {
            (
                format!("RHIZODAT_STORE_{}", name.to_uppercase()),
                dsn.clone(),
            )
        })
        .collect();
    let mut variables: Vec<(&str, &str)> = variables
        .iter()
        .map(|(n, v)| (n.as_str(), v.as_str()))
        .collect();
    let good = database.reader();
    variables.push(("RHIZODAT_STORE_GOOD", &good));
    let server = Server::start(&variables).await;
    for (name, _, words) in &stores {
        let reply = server.query(name, "select 1").await;
        is_well_told(&reply, name, "store_unreachable");
        assert!(reply.text.contains(words), "{name}: {}", reply.text);
    }
    assert_eq!(server.query("good", "select 1").await.rows(), json!([[1]]));
    let listed = server.call("stores", json!({})).await;
    assert!(
        listed.data().contains("\"status\":\"down\""),
        "{}",
        listed.text
    );
    assert!(!listed.text.contains("wr0ng"), "{}", listed.text);
    drop(silent);
}

#[tokio::test]
async fn what_an_agent_gets_wrong_is_told_with_its_place() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let mut admin = database.admin().await;
    run(
        &mut admin,
        "create table secrets (id integer); create table orders (id integer, total numeric);
                     grant select on orders to rhizodat_reader",
    )
    .await;
    let dsn = database.reader();
    let server = Server::start(&[
        ("RHIZODAT_STORE_ERP", &dsn),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "2s"),
    ])
    .await;
    server.query("erp", "select 1").await;
    for (query, params, code, words) in [
        ("select * from secrets", json!([]), "not_permitted", "42501"),
        ("select pg_sleep(60)", json!([]), "timeout", "57014"),
        (
            "select * from ordrs",
            json!([]),
            "query_failed",
            "42P01, line 1 column 15",
        ),
        (
            "select *\nfrom orders\nwhere totl > 1",
            json!([]),
            "query_failed",
            "line 3 column 7",
        ),
        (
            "select totl from orders",
            json!([]),
            "query_failed",
            "did you mean `total`?",
        ),
        ("select 1 +", json!([]), "query_failed", "42601"),
        (
            "select $1::integer",
            json!(["x"]),
            "invalid_argument",
            "value 1",
        ),
        (
            "select $1::integer, $2::date",
            json!([1, "x"]),
            "invalid_argument",
            "value 2",
        ),
        (
            "select $1::integer",
            json!([]),
            "invalid_argument",
            "holds 0 values",
        ),
        ("select 1", json!([1]), "invalid_argument", "takes 0"),
        (
            "select $1::integer, $2::record",
            json!([1, "(1)"]),
            "invalid_argument",
            "such as `ROW($2::integer, …)`",
        ),
        (
            "select $1::bytea",
            json!([{"base64": "AP8"}]),
            "invalid_argument",
            "value 1 (`$1`) is for a `bytea`, and its `base64` is malformed",
        ),
        ("", json!([]), "invalid_argument", "`query` is missing"),
        (" \n", json!([]), "invalid_argument", "`query` is missing"),
        (
            "select $1::text",
            json!(["a\u{0}b"]),
            "invalid_argument",
            "NUL",
        ),
        ("select 'a\u{0}b'", json!([]), "query_rejected", "NUL"),
        ("select 1/0", json!([]), "query_failed", "22012"),
        (
            "select 1; select 2",
            json!([]),
            "query_rejected",
            "line 1 column 9",
        ),
        (
            "insert into orders values (1)",
            json!([]),
            "query_rejected",
            "`insert`",
        ),
        ("show all", json!([]), "query_rejected", "current_setting"),
        (
            "with x as (delete from orders returning *) select * from x",
            json!([]),
            "query_rejected",
            "read only",
        ),
        (
            "select * into y from orders",
            json!([]),
            "query_rejected",
            "read only",
        ),
        (
            "select nextval('missing')",
            json!([]),
            "query_failed",
            "42P01",
        ),
    ] {
        let reply = server.query_with("erp", query, params).await;
        if code == "query_failed" {
            is_told(&reply, "erp", code);
        } else {
            is_well_told(&reply, "erp", code);
        }
        assert!(reply.text.contains(words), "{query}: {}", reply.text);
        let next = server.query("erp", "select 1").await;
        assert_eq!(next.rows(), json!([[1]]), "after {query}");
    }
}

#[tokio::test]
async fn a_server_out_of_space_for_temporary_files_says_so() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let mut admin = database.admin().await;
    run(
        &mut admin,
        &format!(
            "alter role rhizodat_reader in database {} set temp_file_limit = '1MB'",
            database.name
        ),
    )
    .await;
    let dsn = database.reader();
    let server = Server::start(&[("RHIZODAT_STORE_ERP", &dsn)]).await;
    let reply = server
        .query(
            "erp",
            "select md5(i::text) m from generate_series(1, 1000000) i order by m",
        )
        .await;
    is_well_told(&reply, "erp", "query_failed");
    assert!(reply.text.contains("53400"), "{}", reply.text);
    assert_eq!(server.query("erp", "select 1").await.rows(), json!([[1]]));
}

#[tokio::test]
async fn the_widest_rows_are_answered() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let dsn = database.reader();
    let server = Server::start(&[("RHIZODAT_STORE_ERP", &dsn)]).await;
    for width in [1600, 1663] {
        let columns: Vec<String> = (1..=width).map(|n| format!("'v{n}' c{n}")).collect();
        let reply = server
            .query("erp", &format!("select {}", columns.join(",")))
            .await;
        let table = reply.table();
        assert_eq!(table.columns.len(), width);
        assert_eq!(table.rows[0][width - 1].get(), format!("\"v{width}\""));
    }
    // A table of that width, each column with a default.
    let columns: Vec<String> = (1..=1600)
        .map(|n| format!("c{n} boolean default true"))
        .collect();
    let mut admin = database.admin().await;
    run(
        &mut admin,
        &format!(
            "create table widest ({}); grant select on widest to rhizodat_reader",
            columns.join(",")
        ),
    )
    .await;
    let mut asked = json!({"store": "erp", "table": "widest"});
    let mut seen = 0;
    loop {
        let page = server.call("schema", asked.clone()).await;
        seen += page.data().matches("\"name\":\"c").count();
        let Some(cursor) = page.note("cursor") else {
            break;
        };
        asked["cursor"] = json!(cursor);
    }
    assert_eq!(seen, 1600);
}

#[tokio::test]
async fn a_lock_outlasting_a_call_is_a_time_out_wherever_it_is_met() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let mut admin = database.admin().await;
    run(
        &mut admin,
        "create table held (id integer); grant select on held to rhizodat_reader",
    )
    .await;
    let dsn = database.reader();
    let server = Server::start(&[
        ("RHIZODAT_STORE_ERP", &dsn),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "3s"),
        ("RHIZODAT_MCP_BUSY_TIMEOUT", "1m"),
    ])
    .await;
    let now = "select * from held";
    assert_eq!(server.query("erp", now).await.rows(), json!([]));
    // While the text is parsed.
    run(&mut admin, "begin; lock table held").await;
    is_well_told(&server.query("erp", now).await, "erp", "timeout");
    run(&mut admin, "rollback").await;
    assert_eq!(server.query("erp", now).await.rows(), json!([]));
    // While the catalogue is read.
    run(&mut admin, "begin; lock table pg_catalog.pg_class").await;
    let listed = server.call("schema", json!({"store": "erp"})).await;
    is_well_told(&listed, "erp", "timeout");
    assert!(!listed.text.contains("narrow"), "{}", listed.text);
    run(&mut admin, "rollback").await;
    let listed = server.call("schema", json!({"store": "erp"})).await;
    assert!(listed.text.contains("held"), "{}", listed.text);
}

#[tokio::test]
async fn a_lock_that_is_held_is_waited_for_and_then_told() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let mut admin = database.admin().await;
    run(
        &mut admin,
        "create table held (id integer); grant select on held to rhizodat_reader",
    )
    .await;
    run(&mut admin, "begin; lock table held").await;
    let dsn = database.reader();
    let server = Server::start(&[
        ("RHIZODAT_STORE_ERP", &dsn),
        ("RHIZODAT_MCP_BUSY_TIMEOUT", "200ms"),
    ])
    .await;
    let reply = tokio::time::timeout(
        Duration::from_secs(9),
        server.query("erp", "select * from held"),
    )
    .await
    .unwrap();
    is_well_told(&reply, "erp", "busy");
    run(&mut admin, "rollback").await;
    assert_eq!(
        server.query("erp", "select * from held").await.rows(),
        json!([])
    );
}
