//! Whatever text and parameters are given, a store answers or errs, and nothing is written.

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::harness::backends::variable;
use crate::harness::clickhouse;
use crate::harness::client::Server;
use crate::harness::graph;
use crate::harness::postgresql::{Database, text};
use crate::harness::sqlite::File;

/// Pieces that break parsers when they meet.
const PIECES: [&str; 56] = [
    "select",
    "from",
    "canary",
    "1",
    "*",
    ";",
    "--",
    "/*",
    "*/",
    "'",
    "\"",
    "$$",
    "$a$",
    "(",
    ")",
    "commit",
    "rollback",
    "begin",
    "insert into canary values (9, 'x')",
    "delete from canary",
    "drop table canary",
    "update canary set note = 'x'",
    "with x as (delete from canary returning *)",
    "union all",
    "values (1)",
    "into y",
    "for update",
    "E'\\''",
    "U&\"\\0061\"",
    "::",
    "$1",
    "?1",
    "\n",
    "\\",
    "attach 'x' as y",
    "pragma query_only = 0",
    "set_config('transaction_read_only', 'off', false)",
    "vacuum",
    "returning *",
    "limit 1",
    "copy canary from stdin",
    "create table z (a)",
    "\u{0}",
    "é\u{200b}",
    "settings readonly = 0",
    "format RawBLOB",
    "into outfile '/tmp/rhizodat-any-text'",
    "url('http://127.0.0.1:1/')",
    "numbers(3)",
    "truncate table canary",
    "insert into function null('a UInt8')",
    "graph = 1",
    "{p1:String}",
    "{p1:Identifier}",
    "explain",
    "parallel with",
];

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => proptest::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
        1 => proptest::collection::vec(any::<char>(), 0..6).prop_map(|letters| letters.into_iter().collect()),
    ];
    proptest::collection::vec(piece, 1..14).prop_map(|pieces| pieces.join(" "))
}

fn params() -> impl Strategy<Value = Value> {
    let one = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        Just(json!("'; delete from canary; --")),
        Just(json!([1, "x"])),
    ];
    proptest::collection::vec(one, 0..3).prop_map(Value::from)
}

/// Asks `count` generated texts; a failure names the text that led to it.
async fn ask(server: &Server, count: usize, written: impl AsyncFnMut() -> Option<String>) {
    ask_of(server, count, texts(), written).await;
}

async fn ask_of(
    server: &Server,
    count: usize,
    texts: impl Strategy<Value = String>,
    mut written: impl AsyncFnMut() -> Option<String>,
) {
    let mut runner = TestRunner::deterministic();
    for _ in 0..count {
        let text = texts.new_tree(&mut runner).unwrap().current();
        let params = params().new_tree(&mut runner).unwrap().current();
        let reply = server.query_with("target", &text, params.clone()).await;
        let is_sound = !reply.is_error || reply.code() != "internal";
        assert!(is_sound, "{text:?} {params}: {}", reply.text);
        if let Some(found) = written().await {
            panic!("{text:?} {params} wrote: {found}");
        }
    }
}

const TABLE: &str = "create table canary (id integer primary key, note text); insert into canary values (1, 'alive');";

#[tokio::test]
async fn postgresql_answers_or_errs_and_writes_nothing() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let mut admin = database.admin().await;
    let grant =
        "grant all on canary to rhizodat_reader; grant create on schema public to rhizodat_reader";
    crate::harness::postgresql::run(&mut admin, &format!("{TABLE} {grant}")).await;
    let dsn = database.reader();
    let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
    let state =
        "select concat((select array_agg(c) from canary c), (select count(*) from pg_class))";
    let expected = text(&mut admin, state).await;
    ask(&server, 600, async || {
        let found = text(&mut admin, state).await;
        (found != expected).then_some(found)
    })
    .await;
}

#[tokio::test]
async fn sqlite_answers_or_errs_and_writes_nothing() {
    let file = File::create(TABLE);
    let dsn = file.dsn();
    let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
    let expected = std::fs::read(&file.path).unwrap();
    ask(&server, 1500, async || {
        let entries = std::fs::read_dir(file.directory.path()).unwrap().count();
        let same = entries == 1 && std::fs::read(&file.path).unwrap() == expected;
        (!same).then(|| format!("{entries} files"))
    })
    .await;
}

#[tokio::test]
async fn clickhouse_answers_or_errs_and_writes_nothing() {
    let database = clickhouse::Database::create().await;
    for sql in [
        "create table canary (id UInt32, note String) engine = MergeTree order by id",
        "insert into canary values (1, 'alive')",
    ] {
        database.run(sql).await;
    }
    let dsn = database.dsn(clickhouse::READER);
    let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
    let state = "select toString(((select groupArray((id, note)) from canary), \
                 (select groupArray(name) from system.tables where database = currentDatabase())))";
    let expected = database.text(state).await;
    ask(&server, 600, async || {
        let found = database.text(state).await;
        (found != expected).then_some(found)
    })
    .await;
    assert!(!std::path::Path::new("/tmp/rhizodat-any-text").exists());
}

/// Pieces of Cypher that break parsers when they meet.
const CYPHER: [&str; 44] = [
    "MATCH (c:canary)",
    "RETURN 1 AS a",
    "RETURN c",
    "WITH c",
    "WITH 1 AS a",
    "UNWIND [1, 2] AS x",
    "CREATE (:canary)",
    "MERGE (:canary {id: 1})",
    "SET c.note = 'x'",
    "DETACH DELETE c",
    "REMOVE c.note",
    "FOREACH (x IN [1] | CREATE (:canary))",
    "CALL {",
    "}",
    "CALL db.labels()",
    "CALL db.createLabel('forged')",
    "YIELD label",
    "LOAD CSV FROM 'http://127.0.0.1:1/' AS l",
    "L\\u004fAD CSV FROM $1 AS l",
    "IN TRANSACTIONS",
    "EXPLAIN",
    "PROFILE",
    "CYPHER 5",
    "USE system",
    "SHOW TRANSACTIONS",
    "TERMINATE TRANSACTIONS 'x'",
    "COMMIT",
    "ROLLBACK",
    ";",
    "//",
    "/*",
    "*/",
    "'",
    "\"",
    "`",
    "$1",
    "$`1`",
    "\\u0027",
    "(",
    ")",
    "{a: 1}",
    "UNION ALL",
    "WHERE EXISTS {",
    "DROP CONSTRAINT customer_id",
];

fn cypher_texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        12 => proptest::sample::select(CYPHER.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
    ];
    proptest::collection::vec(piece, 1..9).prop_map(|pieces| pieces.join(" "))
}

#[tokio::test]
async fn a_graph_answers_or_errs_and_writes_nothing() {
    let account = graph::Account::create().await;
    let dsn = account.dsn();
    let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn)]).await;
    let state = "MATCH (n) WITH labels(n) AS l, properties(n) AS p ORDER BY toString(elementId(n)) WITH collect([l, p]) AS nodes \
                 CALL db.labels() YIELD label WITH nodes, label ORDER BY label RETURN nodes, collect(label)";
    let expected = graph::cypher(state).await;
    ask_of(&server, 600, cypher_texts(), async || {
        let found = graph::cypher(state).await;
        (found != expected).then(|| found.to_string())
    })
    .await;
}
