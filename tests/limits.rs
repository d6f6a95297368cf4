//! Every limit cuts where it says, says so, and what is beyond it never enters the process.

use serde_json::{Value, json};

use crate::harness::backends::variable;
use crate::harness::client::Server;
use crate::harness::postgresql::Database;
use crate::harness::sqlite::File;

async fn postgresql(variables: &[(&str, &str)]) -> Server {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let dsn = database.reader();
    let mut all = vec![("RHIZODAT_STORE_ERP", dsn.as_str())];
    all.extend(variables);
    Server::start(&all).await
}

#[tokio::test]
async fn rows_and_bytes_are_bounded_by_default_and_what_cut_is_said() {
    let server = postgresql(&[]).await;
    let numbers = "select i from generate_series(1, 100000) i";
    let reply = server.query("erp", numbers).await;
    assert_eq!(reply.note("row_count"), Some("1000"));
    assert_eq!(reply.note("truncated"), Some("rows"));
    assert!(reply.note("hint").is_some());

    let exact = server
        .call(
            "query",
            json!({"store": "erp", "query": "select generate_series(1, 7)", "limit": 7}),
        )
        .await;
    assert_eq!(exact.note("truncated"), Some("false"));

    let wide = server
        .query(
            "erp",
            "select i, repeat('x', 200) from generate_series(1, 1000) i",
        )
        .await;
    assert_eq!(wide.note("truncated"), Some("bytes"));
    let shown = wide.table().rows.len();
    assert_eq!(wide.note("row_count").unwrap(), shown.to_string());
    let bytes = wide.data().len();
    assert!((65536 - 300..=65536 + 200).contains(&bytes), "{bytes}");
    // The next call finds the store as before.
    assert_eq!(server.query("erp", "select 1").await.rows(), json!([[1]]));
}

#[tokio::test]
async fn the_columns_count_to_the_bytes_of_a_result() {
    let server = postgresql(&[("RHIZODAT_MCP_MAX_BYTES", "20000")]).await;
    let named = |columns: usize| -> String {
        let column = |n: usize| format!("{n} as {}_{n}", "long_name_".repeat(5));
        (1..=columns).map(column).collect::<Vec<_>>().join(", ")
    };
    let some = format!("select {} from generate_series(1, 100)", named(100));
    let reply = server.query("erp", &some).await;
    assert_eq!(reply.note("truncated"), Some("bytes"));
    let bytes = reply.data().len();
    assert!((19_000..=20_100).contains(&bytes), "{bytes}");
    let many = server.query("erp", &format!("select {}", named(400))).await;
    assert_eq!(many.code(), "limit_exceeded", "{}", many.text);
    assert!(many.text.contains("hint: "), "{}", many.text);
    assert_eq!(server.query("erp", "select 1").await.rows(), json!([[1]]));
}

#[tokio::test]
async fn a_cell_is_cut_in_the_server_and_its_length_is_told() {
    let server = postgresql(&[("RHIZODAT_MCP_MAX_CELL_BYTES", "16")]).await;
    for (value, shown, bytes) in [
        (
            "repeat('x', 50000000)",
            json!("xxxxxxxxxxxxxxxx"),
            "50000000",
        ),
        ("repeat('é', 100)", json!("éééé"), "200"),
        ("repeat('é', 9)", json!("éééé"), "18"),
        ("rpad('x', 20)::char(20)", json!("x               "), "20"),
        (
            "'\\x000102030405060708090a0b0c0d0e0f1011'::bytea",
            json!({"base64": "AAECAwQFBgcICQoLDA0ODw=="}),
            "18",
        ),
        (
            "'{\"a\": \"0123456789\"}'::jsonb",
            json!("{\"a\": \"012345678"),
            "19",
        ),
        (
            "'{\"a\":  \"0123456789\"}'::json",
            json!("{\"a\":  \"01234567"),
            "20",
        ),
        (
            "array[1000000, 2000000, 3000000]",
            json!("{1000000,2000000"),
            "25",
        ),
        ("1e30::numeric", json!("1000000000000000"), "31"),
    ] {
        let reply = server
            .query("erp", &format!("select 1, {value} as v"))
            .await;
        assert_eq!(reply.rows(), json!([[1, shown]]), "{value}");
        assert_eq!(reply.note("cells_truncated"), Some("1"), "{value}");
        let told = format!("row 1 column 2 shows the beginning of {bytes} bytes");
        assert_eq!(reply.note("cut"), Some(told.as_str()), "{value}");
    }
    let whole = server
        .query("erp", "select repeat('x', 16), array[1, 2], 'é'::char(3)")
        .await;
    assert_eq!(whole.note("cells_truncated"), Some("0"));
    assert_eq!(whole.rows(), json!([["x".repeat(16), [1, 2], "é  "]]));
}

/// `VmHWM`, the most memory the process ever had, in bytes.
pub fn peak_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes * 1024
}

#[tokio::test]
async fn neither_a_huge_value_nor_a_huge_answer_enters_the_process() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let dsn = database.reader();
    let mut raw =
        crate::harness::raw::Raw::initialized(&[("RHIZODAT_STORE_ERP", dsn.as_str())]).await;
    let process = raw.child.id().unwrap();
    let mut ask = async |id: i64, query: &str| {
        let call = crate::harness::raw::call(id, "query", json!({"store": "erp", "query": query}));
        let answer = raw.ask(&call).await;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    };
    ask(1, "select 1").await;
    let before = peak_memory(process);
    for (id, query) in [
        (2, "select repeat('x', 200000000)"),
        (
            3,
            "select array_agg(repeat('x', 1000)) from generate_series(1, 100000)",
        ),
        (
            4,
            "select repeat('x', 1000) from generate_series(1, 1000000)",
        ),
        (5, "select jsonb_agg(i) from generate_series(1, 1000000) i"),
    ] {
        ask(id, query).await;
    }
    let grown = peak_memory(process) - before;
    assert!(grown < 30_000_000, "grown by {grown} bytes");
}

#[tokio::test]
async fn statements_and_limits_out_of_bounds_are_refused() {
    let server = postgresql(&[("RHIZODAT_MCP_MAX_SQL_BYTES", "100")]).await;
    let long = format!("select '{}'", "x".repeat(100));
    let reply = server.query("erp", &long).await;
    assert_eq!(reply.code(), "limit_exceeded");
    for (limit, code) in [
        (json!(0), "invalid_argument"),
        (json!(-1), "invalid_argument"),
        (json!(1_000_000_000_000_i64), "limit_exceeded"),
        (json!("many"), "invalid_argument"),
    ] {
        let reply = server
            .call(
                "query",
                json!({"store": "erp", "query": "select 1", "limit": limit}),
            )
            .await;
        assert_eq!(reply.code(), code, "{limit}");
        assert!(
            reply.text.contains("`erp`") && reply.text.contains("\nhint: "),
            "{}",
            reply.text
        );
    }
    let reply = server
        .call(
            "query",
            json!({"store": "erp", "query": "select 1", "limit": "1", "params": null}),
        )
        .await;
    assert_eq!(reply.rows(), json!([[1]]));
}

#[tokio::test]
async fn a_store_whose_places_are_taken_holds_up_no_other() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let (dsn, file) = (database.reader(), File::create("create table t (a);"));
    let notes = file.dsn();
    let server = Server::start(&[
        ("RHIZODAT_STORE_ERP", &dsn),
        ("RHIZODAT_STORE_NOTES", &notes),
        ("RHIZODAT_MCP_MAX_CONCURRENCY", "1"),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "3s"),
    ])
    .await;
    let slow = server.query("erp", "select pg_sleep(60)");
    let queued = server.query("erp", "select 1");
    let other = server.query("notes", "select 2");
    let (slow, queued, other) = tokio::join!(slow, queued, other);
    assert_eq!(slow.code(), "timeout");
    // It had no time left by the time it had a place.
    assert_eq!(queued.code(), "busy", "{}", queued.text);
    assert_eq!(other.rows(), json!([[2]]));
}

#[tokio::test]
async fn the_schema_is_cut_at_the_byte_limit_and_its_cursor_goes_on() {
    let tables: String = (0..60)
        .map(|n| {
            format!("create table t{n:02} (id integer primary key, some_column_with_a_name text);")
        })
        .collect();
    let wide: Vec<String> = (0..300)
        .map(|n| format!("column_number_{n} text"))
        .collect();
    let file = File::create(&format!(
        "{tables} create table wide ({});",
        wide.join(", ")
    ));
    let dsn = file.dsn();
    let server = Server::start(&[
        ("RHIZODAT_STORE_NOTES", &dsn),
        ("RHIZODAT_MCP_MAX_BYTES", "4096"),
    ])
    .await;
    let mut names: Vec<String> = Vec::new();
    let mut columns = 0;
    let mut cursor = Value::Null;
    loop {
        let reply = server
            .call("schema", json!({"store": "notes", "cursor": cursor}))
            .await;
        assert!(reply.data().len() <= 4096, "{}", reply.data().len());
        let data: Value = serde_json::from_str(reply.data()).unwrap();
        for table in data["tables"].as_array().unwrap() {
            let name = table["table"].as_str().unwrap().to_owned();
            if names.last() != Some(&name) {
                names.push(name);
            }
            columns += table["columns"].as_array().unwrap().len();
        }
        match reply.note("cursor") {
            Some(next) => cursor = json!(next),
            None => break,
        }
    }
    assert_eq!(names.len(), 61);
    assert!(names.is_sorted());
    assert_eq!(columns, 60 * 2 + 300);
}

#[tokio::test]
async fn a_table_larger_than_a_result_is_passed_and_what_is_left_out_is_said() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let mut admin = database.admin().await;
    let setup = "create table a (id integer); create table b (id integer, note text); create table c (id integer);
                 create view v as select repeat('a long definition', 2) as x;
                 grant select on a, b, c, v to rhizodat_reader;
                 do $$ begin
                    execute format('comment on table b is %L', repeat('x', 20000));
                    execute format('create or replace view v as select %L::text as x', repeat('y', 20000));
                 end $$";
    crate::harness::postgresql::run(&mut admin, setup).await;
    let dsn = database.reader();
    let server = Server::start(&[
        ("RHIZODAT_STORE_ERP", &dsn),
        ("RHIZODAT_MCP_MAX_BYTES", "4096"),
    ])
    .await;
    let mut shown = Vec::new();
    let mut cursor = Value::Null;
    for _ in 0..10 {
        let arguments = json!({"store": "erp", "detail": "full", "cursor": cursor});
        let reply = server.call("schema", arguments).await;
        assert!(reply.data().len() <= 4096, "{}", reply.data().len());
        let data: Value = serde_json::from_str(reply.data()).unwrap();
        shown.extend(data["tables"].as_array().unwrap().clone());
        match reply.note("cursor") {
            Some(next) => cursor = json!(next),
            None => break,
        }
    }
    let names: Vec<&str> = shown
        .iter()
        .map(|table| table["table"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["public.a", "public.b", "public.c", "public.v"]);
    assert_eq!(shown[3]["left_out"], "the DDL");
}

#[tokio::test]
async fn arguments_of_any_length_and_made_up_cursors_are_answered() {
    let server = postgresql(&[]).await;
    let long = "x".repeat(1_000_000);
    for (arguments, code) in [
        (json!({"store": "erp", "table": long}), "not_found"),
        (json!({"store": long}), "unknown_store"),
        (
            json!({"store": "erp", (long.clone()): 1}),
            "invalid_argument",
        ),
        (
            json!({"store": "erp", "table": "a\u{0}b"}),
            "invalid_argument",
        ),
        (
            json!({"store": "erp", "cursor": "nonsense"}),
            "invalid_argument",
        ),
    ] {
        let reply = server.call("schema", arguments).await;
        assert_eq!(
            reply.code(),
            code,
            "{}",
            reply.text.chars().take(200).collect::<String>()
        );
    }
    // Columns beyond counting, base64url of {"schema":"public","table":"a","columns":18446744073709551615}.
    let cursor =
        "eyJzY2hlbWEiOiJwdWJsaWMiLCJ0YWJsZSI6ImEiLCJjb2x1bW5zIjoxODQ0Njc0NDA3MzcwOTU1MTYxNX0";
    let reply = server
        .call("schema", json!({"store": "erp", "cursor": cursor}))
        .await;
    assert!(
        !reply.is_error || reply.code() == "invalid_argument",
        "{}",
        reply.text
    );
    let inner = server
        .query("erp", "select textout(repeat('x', 200000000))")
        .await;
    assert_eq!(inner.code(), "query_rejected");
}
