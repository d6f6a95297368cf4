//! Standard output is the protocol's alone; whatever a client writes is answered as JSON-RPC has
//! it, and the server lives on until its input ends or a signal comes.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::raw::{Raw, call, initialize};
use crate::harness::sqlite::File;

fn notes() -> File {
    File::create(
        "create table note (id integer primary key, body text); insert into note values (1, 'hello');",
    )
}

#[tokio::test]
async fn what_is_no_message_gets_the_right_error_and_the_server_lives_on() {
    let file = notes();
    let dsn = file.dsn();
    let mut raw = Raw::initialized(&[("RHIZODAT_STORE_NOTES", &dsn)]).await;
    let huge = format!(
        "{{\"jsonrpc\": \"2.0\", \"id\": 9, \"method\": \"{}\"}}\n",
        "x".repeat(50_000_000)
    );
    let lines: [(&[u8], i64, Value); 19] = [
        (b"{\"jsonrpc\": \"2.0\", \n", -32700, Value::Null),
        (b"nonsense\n", -32700, Value::Null),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 5, \"method\": \"\xff\xfe\"}\n", -32700, Value::Null),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 12, \"method\": \"tools/call\", \"params\": {\"name\": \"\\ud800\"}}\n", -32700, json!(12)),
        (huge.as_bytes(), -32600, Value::Null),
        (b"[]\n", -32600, Value::Null),
        (b"[1]\n", -32600, Value::Null),
        (b"[\"abc\"]\n", -32600, Value::Null),
        (b"[{\"jsonrpc\": \"2.0\", \"id\": 3, \"method\": \"ping\"}]\n", -32600, Value::Null),
        (b"{\"jsonrpc\": \"2.0\", \"id\": {\"$serde_json::private::RawValue\": \"4\"}, \"method\": \"ping\"}\n", -32602, Value::Null),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 21, \"method\": \"tools/call\", \"params\": {\"name\": \"query\", \"arguments\": {\"$serde_json::private::RawValue\": \"{}\"}}}\n", -32602, json!(21)),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 22, \"method\": \"tools/call\", \"params\": {\"name\": \"query\", \"arguments\": {\"store\": \"notes\", \"query\": \"select ?1\", \"params\": [{\"\\u0024serde_json::private::RawValue\": \"1.0000000000000001\"}]}}}\n", -32602, json!(22)),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 23, \"method\": \"tools/call\", \"params\": {\"name\": \"query\", \"arguments\": {\"$serde_json::private::RawValue\": \"{\"}}}\n", -32602, json!(23)),
        (b"{\"$serde_json::private::RawValue\": 1, \n", -32700, Value::Null),
        (b"{\"id\": 6}\n", -32600, json!(6)),
        (b"{\"jsonrpc\": \"1.0\", \"id\": 7, \"method\": \"tools/list\"}\n", -32600, json!(7)),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 8, \"method\": \"no/such\"}\n", -32601, json!(8)),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 9, \"method\": \"tools/call\", \"params\": {\"nam\": 1}}\n", -32602, json!(9)),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 10, \"method\": \"tools/call\", \"params\": {\"name\": \"drop\"}}\n", -32602, json!(10)),
    ];
    for (line, code, id) in lines {
        raw.write(line).await;
        let answer = raw.receive().await;
        let shown = String::from_utf8_lossy(&line[..line.len().min(100)]).into_owned();
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
        assert_eq!(answer["id"], id, "{shown}: {answer}");
    }
    for method in [
        "resources/list",
        "prompts/get",
        "logging/setLevel",
        "no/such",
    ] {
        let request = json!({"jsonrpc": "2.0", "id": 13, "method": method,
            "params": {"name": "x", "level": "info"}});
        let answer = raw.ask(&request).await;
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
        let told = answer["error"]["message"].as_str().unwrap();
        assert!(
            told.starts_with(&format!("there is no method `{method}`: ")),
            "{told}"
        );
    }
    raw.write(b"\n  \r\n").await;
    let answer = raw.ask(&call(11, "stores", json!({}))).await;
    assert_eq!(answer["id"], 11);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[tokio::test]
async fn calls_before_initialize_are_refused_and_the_session_can_still_begin() {
    let file = notes();
    let dsn = file.dsn();
    let mut raw = Raw::start(&[("RHIZODAT_STORE_NOTES", &dsn)]);
    raw.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    let early = raw.ask(&call(1, "stores", json!({}))).await;
    assert_eq!(early["error"]["code"], -32600, "{early}");
    let told = early["error"]["message"].as_str().unwrap();
    assert!(told.contains("send `initialize` first"), "{told}");
    // What belongs to no session ends no server either, and neither does a bad beginning.
    for stray in [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "id": 7, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -1, "message": "x"}}),
    ] {
        raw.send(&stray).await;
    }
    let malformed = json!({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {"protocolVersion": 1}});
    let refused = raw.ask(&malformed).await;
    assert_eq!(
        (&refused["id"], refused["error"]["code"].is_i64()),
        (&json!(3), true),
        "{refused}"
    );
    raw.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    let begun = raw.ask(&initialize("2025-06-18")).await;
    assert_eq!(begun["result"]["protocolVersion"], "2025-06-18");
    let answer = raw.ask(&call(2, "stores", json!({}))).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused_and_free_again_after_its_answer() {
    let file = notes();
    let dsn = file.dsn();
    let mut raw = Raw::initialized(&[("RHIZODAT_STORE_NOTES", &dsn)]).await;
    let endless =
        "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";
    let slow = json!({"store": "notes", "query": endless});
    raw.send(&call(1, "query", slow.clone())).await;
    let second = raw.ask(&call(1, "query", slow)).await;
    assert_eq!(second["error"]["code"], -32600, "{second}");
    for _ in 0..2 {
        let answer = raw.ask(&call(2, "stores", json!({}))).await;
        assert_eq!(
            (&answer["id"], &answer["result"]["isError"]),
            (&json!(2), &json!(false)),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn every_version_with_initialize_is_spoken_and_the_stateless_one() {
    let file = notes();
    let dsn = file.dsn();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut raw = Raw::start(&[("RHIZODAT_STORE_NOTES", &dsn)]);
        let begun = raw.ask(&initialize(version)).await;
        assert_eq!(begun["result"]["protocolVersion"], version);
    }
    let mut raw = Raw::start(&[("RHIZODAT_STORE_NOTES", &dsn)]);
    let mut message = call(
        1,
        "query",
        json!({"store": "notes", "query": "select body from note"}),
    );
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let answer = raw.ask(&message).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
}

#[tokio::test]
async fn many_calls_in_flight_are_each_answered_once() {
    let file = notes();
    let dsn = file.dsn();
    let mut raw = Raw::initialized(&[("RHIZODAT_STORE_NOTES", &dsn)]).await;
    for id in 1..=64 {
        let query = format!("select {id}");
        raw.send(&call(
            id,
            "query",
            json!({"store": "notes", "query": query}),
        ))
        .await;
    }
    let mut answered = BTreeSet::new();
    for _ in 1..=64 {
        let answer = raw.receive().await;
        let id = answer["id"].as_i64().unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(&format!("\n  {id}\n")), "{id}: {text}");
        assert!(answered.insert(id), "{id} was answered twice");
    }
}

#[tokio::test]
async fn logs_go_to_standard_error_in_the_form_asked_for() {
    let file = notes();
    let dsn = file.dsn();
    let variables = [
        ("RHIZODAT_STORE_NOTES", dsn.as_str()),
        ("RHIZODAT_LOG", "trace"),
        ("RHIZODAT_LOG_FORMAT", "json"),
    ];
    let mut raw = Raw::initialized(&variables).await;
    // `receive` fails on a line of standard output that is no JSON-RPC.
    let answer = raw
        .ask(&call(
            1,
            "query",
            json!({"store": "notes", "query": "select 1"}),
        ))
        .await;
    assert_eq!(answer["jsonrpc"], "2.0");
    raw.end_input().await;
    let log = raw.errors().await;
    assert!(!log.is_empty());
    for line in log.lines() {
        let entry: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(entry["level"].is_string(), "{line}");
    }
}

#[tokio::test]
async fn a_client_that_writes_and_does_not_read_is_not_read_on() {
    use std::process::Stdio;
    use tokio::io::AsyncWriteExt as _;
    let file = notes();
    let dsn = file.dsn();
    let mut child = crate::harness::client::command(&[("RHIZODAT_STORE_NOTES", &dsn)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let begin = format!("{}\n", initialize("2025-06-18"));
    input.write_all(begin.as_bytes()).await.unwrap();
    // Far more than the server may take without an answer being read, and than the pipe holds.
    let writing = async {
        for id in 1..=200_000 {
            let ping = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
            input.write_all(ping.as_bytes()).await.unwrap();
        }
    };
    let written = tokio::time::timeout(Duration::from_secs(5), writing).await;
    assert!(written.is_err(), "all of it was taken");
    // Nothing is lost of what was: the answers come when they are read.
    let output = child.stdout.take().unwrap();
    let mut lines = tokio::io::BufReader::new(output).lines();
    use tokio::io::AsyncBufReadExt as _;
    for id in 0..=500 {
        let line = tokio::time::timeout(Duration::from_secs(20), lines.next_line());
        let line = line.await.unwrap().unwrap().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert!(answer["result"].is_object(), "{id}: {answer}");
    }
}

#[tokio::test]
async fn a_client_that_reads_no_more_ends_the_server() {
    use std::process::Stdio;
    use tokio::io::AsyncWriteExt as _;
    let file = notes();
    let dsn = file.dsn();
    let mut child = crate::harness::client::command(&[("RHIZODAT_STORE_NOTES", &dsn)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    drop(child.stdout.take());
    let line = format!("{}\n", initialize("2025-06-18"));
    input.write_all(line.as_bytes()).await.unwrap();
    // The input stays open: what ends the server is that its answer cannot be written.
    let ended = tokio::time::timeout(Duration::from_secs(20), child.wait()).await;
    assert!(ended.expect("the server ends").unwrap().success());
    drop(input);
}
