//! What is particular to ClickHouse, as an operator and an agent meet it: how it is reached, which
//! accounts serve, what goes wrong and with which words, what its limits are.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::harness::backends::variable;
use crate::harness::clickhouse::{Database, FROZEN, READER};
use crate::harness::client::{Reply, Server};

pub fn is_well_told(reply: &Reply, code: &str, words: &str) {
    assert_eq!(reply.code(), code, "{}", reply.text);
    for part in ["store `", "\nhint: ", words] {
        assert!(reply.text.contains(part), "no {part}: {}", reply.text);
    }
    for secret in ["reader-test", "wr0ng", "wr0ng%2Ds3cret"] {
        assert!(!reply.text.contains(secret), "{}", reply.text);
    }
}

/// What an HTTP port of ClickHouse says to a client that speaks TLS. The server itself is not asked:
/// 26.7 ends when such a client is gone before its whole answer is written ("Terminate called for
/// uncaught exception: I/O error: Broken pipe").
async fn refusing_tls() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let _ = client.read(&mut [0; 1024]).await;
            let refusal = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
            let _ = client.write_all(refusal).await;
        }
    });
    address
}

#[tokio::test]
async fn a_clickhouse_that_cannot_be_reached_says_why() {
    let database = Database::create().await;
    let (address, name) = (&database.address, &database.name);
    let native = variable("RHIZODAT_TEST_CLICKHOUSE_NATIVE");
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = free.local_addr().unwrap();
    drop(free);
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_at = silent.local_addr().unwrap();
    let plain_at = refusing_tls().await;
    let stores = [
        (
            "badly_keyed",
            database.dsn("rhizodat_reader:wr0ng%2Ds3cret"),
            "516",
        ),
        ("unknown_user", database.dsn("nobody:wr0ng"), "516"),
        (
            "no_database",
            format!("clickhouse://{READER}@{address}/nowhere"),
            "81",
        ),
        (
            "unknown_host",
            "clickhouse://u:wr0ng@nowhere.invalid".to_owned(),
            "failed to lookup",
        ),
        ("refused", format!("clickhouse://u:wr0ng@{gone}"), "refused"),
        (
            "silent",
            format!("clickhouse://u:wr0ng@{silent_at}?connect_timeout=1"),
            "no connection within",
        ),
        (
            "native",
            format!("clickhouse://{READER}@{native}/{name}"),
            "8123",
        ),
        (
            "tls_lacking",
            format!("clickhouses://{READER}@{plain_at}/{name}"),
            "TLS",
        ),
    ];
    let variables: Vec<(String, &str)> = stores
        .iter()
        .map(|(name, dsn, _)| {
            let variable = format!("RHIZODAT_STORE_{}", name.to_uppercase());
            (variable, dsn.as_str())
        })
        .collect();
    let good = database.dsn(READER);
    let mut variables: Vec<(&str, &str)> =
        variables.iter().map(|(n, v)| (n.as_str(), *v)).collect();
    variables.push(("RHIZODAT_STORE_GOOD", &good));
    let server = Server::start(&variables).await;
    for (name, _, words) in &stores {
        let reply = server.query(name, "select 1").await;
        is_well_told(&reply, "store_unreachable", words);
    }
    assert_eq!(server.query("good", "select 1").await.rows(), json!([[1]]));
    let listed = server.call("stores", json!({})).await;
    assert!(
        listed.data().contains("\"status\":\"down\""),
        "{}",
        listed.text
    );
    assert!(!listed.text.contains("wr0ng"), "{}", listed.text);
}

#[tokio::test]
async fn the_first_clickhouse_that_answers_serves() {
    let database = Database::create().await;
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = free.local_addr().unwrap();
    drop(free);
    let dsn = format!(
        "clickhouse://{READER}@{gone},{}/{}",
        database.address, database.name
    );
    let server = Server::start(&[("RHIZODAT_STORE_EVENTS", &dsn)]).await;
    for _ in 0..2 {
        let reply = server.query("events", "select currentDatabase()").await;
        assert_eq!(reply.rows(), json!([[database.name]]));
    }
}

#[tokio::test]
async fn what_an_agent_gets_wrong_is_told_with_its_place() {
    let database = Database::with_corpus().await;
    let dsn = database.dsn(READER);
    let server = Server::start(&[
        ("RHIZODAT_STORE_EVENTS", &dsn),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "2s"),
    ])
    .await;
    for (query, params, code, words) in [
        (
            "select * from ordrs",
            json!([]),
            "query_failed",
            "60 UNKNOWN_TABLE, line 1 column 15",
        ),
        ("select * from ordrs", json!([]), "query_failed", "orders`?"),
        (
            "select id,\n  nots from canary",
            json!([]),
            "query_failed",
            "line 2 column 3",
        ),
        (
            "select id, nots from canary",
            json!([]),
            "query_failed",
            "did you mean `note`?",
        ),
        (
            "select lenght(note) from canary",
            json!([]),
            "query_failed",
            "`length`",
        ),
        ("select 1 +", json!([]), "query_failed", "62 SYNTAX_ERROR"),
        (
            "select 'é', )",
            json!([]),
            "query_failed",
            "line 1 column 13",
        ),
        ("select throwIf(1)", json!([]), "query_failed", "395"),
        (
            "select number, throwIf(number = 3000000) from numbers(10000000) where number > 2999990",
            json!([]),
            "query_failed",
            "395",
        ),
        ("select sleep(3), sleep(3)", json!([]), "timeout", ""),
        (
            "select count() from numbers(1000000000000) where not ignore(number)",
            json!([]),
            "timeout",
            "",
        ),
        ("select {p1:UInt8}", json!(["x"]), "invalid_argument", "p1"),
        (
            "select {p1:UInt8}",
            json!([]),
            "invalid_argument",
            "holds 0 values",
        ),
        ("select 1", json!([1]), "invalid_argument", "takes 0"),
        (
            "select {name:UInt8}",
            json!([1]),
            "invalid_argument",
            "{p1:Type}",
        ),
        (
            "select 1; select 2",
            json!([]),
            "query_rejected",
            "line 1 column 9",
        ),
        (
            "select 1 format JSON",
            json!([]),
            "query_rejected",
            "`FORMAT`",
        ),
        (
            "select * from url('http://127.0.0.1:1/')",
            json!([]),
            "query_rejected",
            "`url`",
        ),
        ("show tables", json!([]), "query_rejected", "schema"),
        ("select 'a\u{0}b'", json!([]), "query_rejected", "NUL"),
    ] {
        let reply = server.query_with("events", query, params).await;
        if code == "query_failed" {
            assert_eq!(reply.code(), code, "{query}: {}", reply.text);
            assert!(reply.text.contains(words), "{query}: {}", reply.text);
        } else {
            is_well_told(&reply, code, words);
        }
        let next = server.query("events", "select 1").await;
        assert_eq!(next.rows(), json!([[1]]), "after {query}");
    }
}

/// The server has answered 200 and many rows by the time it fails.
#[tokio::test]
async fn an_error_in_the_middle_of_the_rows_is_an_error() {
    let database = Database::create().await;
    for account in [READER, FROZEN] {
        let settings = store::Settings {
            busy_timeout: Duration::from_secs(3),
            max_concurrency: 2,
            connect_timeout: Duration::from_secs(5),
            call_timeout: Duration::from_secs(20),
        };
        let dsn = store::Dsn::parse(&database.dsn(account)).unwrap();
        let store = clickhouse_store::open("events", &dsn, settings).unwrap();
        let request = store::QueryRequest {
            text: "select number, throwIf(number = 600000) from numbers(2000000)".to_owned(),
            params: Vec::new(),
            limits: store::Limits {
                rows: 20_000_000,
                cell_bytes: 4096,
                timeout: Duration::from_secs(60),
            },
        };
        let mut rows = store.query(request).await.unwrap();
        let mut seen = 0_u64;
        let error = loop {
            match rows.next().await {
                Ok(Some(_)) => seen += 1,
                Ok(None) => panic!("ended well after {seen} rows"),
                Err(error) => break error,
            }
        };
        assert!(seen > 0, "{error}");
        assert_eq!(error.code, store::Code::QueryFailed, "{error}");
        assert!(error.to_string().contains("395"), "{error}");
    }
}

#[tokio::test]
async fn a_function_that_leaves_the_server_is_allowed_by_its_name_alone() {
    let database = Database::with_corpus().await;
    let (address, name) = (&database.address, &database.name);
    let dsn = format!("{}?allow_table_functions=url", database.dsn(READER));
    let server = Server::start(&[("RHIZODAT_STORE_EVENTS", &dsn)]).await;
    let url = format!(
        "select * from url('http://{address}/?user=rhizodat_frozen&password=frozen-test&database={name}&query=select+42', TSV, 'a UInt8')"
    );
    assert_eq!(server.query("events", &url).await.rows(), json!([[42]]));
    let refused = server.query("events", "select file('/etc/passwd')").await;
    assert_eq!(refused.code(), "query_rejected");
}

#[tokio::test]
async fn the_schema_tells_tables_views_keys_and_comments() {
    let database = Database::with_corpus().await;
    database
        .run("alter table orders comment column total 'with tax'")
        .await;
    let dsn = database.dsn(READER);
    let server = Server::start(&[("RHIZODAT_STORE_EVENTS", &dsn)]).await;
    let schema = async |arguments: Value| -> Value {
        let reply = server.call("schema", arguments).await;
        serde_json::from_str(reply.data()).unwrap()
    };
    let orders = schema(
        json!({"store": "events", "table": format!("{}.orders", database.name), "detail": "full"}),
    )
    .await;
    let table = &orders["tables"][0];
    assert_eq!(
        table["primary_key"],
        json!(["customer_id", "id"]),
        "{orders}"
    );
    assert_eq!(table["columns"][2]["type"], "Decimal(12, 2)", "{orders}");
    assert_eq!(table["columns"][2]["comment"], "with tax", "{orders}");
    assert!(
        table["ddl"].as_str().unwrap().contains("MergeTree"),
        "{orders}"
    );
    let like = format!("{}.order*", database.name);
    let names = schema(json!({"store": "events", "like": like, "detail": "names"})).await;
    let kinds: Vec<&str> = names["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| table["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["view", "table", "view"], "{names}");
}

#[tokio::test]
async fn what_the_account_may_beyond_reading_is_told() {
    let database = Database::create().await;
    for (account, words) in [
        (READER, "may do more than read"),
        (FROZEN, "`readonly = 1`"),
    ] {
        let dsn = database.dsn(account);
        let checked = crate::harness::client::command(&[("RHIZODAT_STORE_EVENTS", dsn.as_str())])
            .arg("check")
            .output();
        let checked = tokio::time::timeout(Duration::from_secs(30), checked)
            .await
            .unwrap();
        let output = checked.unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            said.contains("ClickHouse 2") && said.contains(words),
            "{said}"
        );
        assert!(!said.contains("-test"), "{said}");
    }
}
