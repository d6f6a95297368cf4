//! The tools a deployment offers: exactly these, in schemas every client can read, for few tokens.

use serde_json::{Value, json};

use crate::harness::client::Server;
use crate::harness::raw::{Raw, call};
use crate::harness::sqlite::File;

async fn list(variables: &[(&str, &str)]) -> Value {
    let file = File::create("create table t (a);");
    let dsn = file.dsn();
    let mut all = vec![("RHIZODAT_STORE_NOTES", dsn.as_str())];
    all.extend(variables);
    let mut raw = Raw::initialized(&all).await;
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    raw.ask(&request).await["result"]["tools"].clone()
}

#[tokio::test]
async fn the_default_tools_are_these() {
    insta::assert_json_snapshot!(list(&[]).await);
}

#[tokio::test]
async fn structured_results_declare_their_shape() {
    insta::assert_json_snapshot!(list(&[("RHIZODAT_MCP_STRUCTURED", "1")]).await);
}

#[tokio::test]
async fn a_tool_that_is_not_permitted_is_absent_and_cannot_be_called() {
    for (permissions, names) in [
        ("schema", vec!["stores", "schema"]),
        ("read", vec!["query"]),
        ("schema,read", vec!["stores", "schema", "query"]),
    ] {
        let variables = [("RHIZODAT_MCP_PERMISSIONS", permissions)];
        let tools = list(&variables).await;
        let found: Vec<&str> = tools
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t["name"].as_str().unwrap())
            .collect();
        assert_eq!(found, names);
    }
    let file = File::create("create table t (a);");
    let dsn = file.dsn();
    let variables = [
        ("RHIZODAT_STORE_NOTES", dsn.as_str()),
        ("RHIZODAT_MCP_PERMISSIONS", "schema"),
    ];
    let mut raw = Raw::initialized(&variables).await;
    let answer = raw
        .ask(&call(
            1,
            "query",
            json!({"store": "notes", "query": "select 1"}),
        ))
        .await;
    assert_eq!(answer["error"]["code"], -32602);
    for (permissions, is_named) in [("read", false), ("schema,read", true)] {
        let server = Server::start(&[
            ("RHIZODAT_STORE_NOTES", dsn.as_str()),
            ("RHIZODAT_MCP_PERMISSIONS", permissions),
        ])
        .await;
        let reply = server.query("notes", "pragma table_info(t)").await;
        assert_eq!(reply.text.contains("`schema`"), is_named, "{}", reply.text);
        assert!(reply.text.contains("\nhint: "), "{}", reply.text);
    }
}

#[tokio::test]
async fn the_list_costs_at_most_600_tokens() {
    let tools = list(&[]).await.to_string();
    let tokens = tiktoken_rs::o200k_base()
        .unwrap()
        .encode_ordinary(&tools)
        .len();
    assert!(tokens <= 600, "{tokens} tokens: {tools}");
}

#[tokio::test]
async fn schemas_are_flat() {
    let tools = list(&[]).await;
    for tool in tools.as_array().unwrap() {
        assert!(tool["name"].as_str().unwrap().len() <= 20);
        let schema = &tool["inputSchema"];
        let text = schema.to_string();
        for keyword in ["$ref", "anyOf", "oneOf", "allOf"] {
            assert!(!text.contains(keyword), "{text}");
        }
        assert_eq!(schema["additionalProperties"], false);
        for (_, property) in schema["properties"].as_object().unwrap() {
            assert!(property["type"].is_string(), "{text}");
        }
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        assert!(tool["title"].is_string());
    }
}

#[tokio::test]
async fn structured_content_is_the_whole_result() {
    let file = File::create(
        "create table t (a integer, b text); insert into t values (1, 'x'), (9007199254740993, null);",
    );
    let dsn = file.dsn();
    let server = Server::start(&[
        ("RHIZODAT_STORE_NOTES", &dsn),
        ("RHIZODAT_MCP_STRUCTURED", "1"),
    ])
    .await;
    let reply = server.query("notes", "select * from t order by a").await;
    assert_eq!(
        reply.structured.unwrap(),
        json!({
            "columns": [{"name": "a", "type": "INTEGER"}, {"name": "b", "type": "TEXT"}],
            "rows": [[1, "x"], ["9007199254740993", null]],
            "row_count": 2, "truncated": false, "cells_truncated": 0, "cut_cells": [],
        })
    );
    let refused = server.query("notes", "delete from t").await;
    let structured = refused.structured.unwrap();
    assert_eq!(structured["code"], "query_rejected");
    assert_eq!(structured["store"], "notes");
}

#[tokio::test]
async fn toon_is_the_default_and_any_decoder_reads_it() {
    let file = File::create(
        "create table t (a integer, b text); insert into t values (1, 'x, \"y\"'), (2, null);",
    );
    let dsn = file.dsn();
    let mut raw = Raw::initialized(&[("RHIZODAT_STORE_NOTES", &dsn)]).await;
    let answer = raw
        .ask(&call(
            1,
            "query",
            json!({"store": "notes", "query": "select * from t order by a"}),
        ))
        .await;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    let data = text
        .split_once(">\n")
        .unwrap()
        .1
        .rsplit_once("\n</")
        .unwrap()
        .0;
    let decoded: Value = toon_format::decode_default(data).unwrap();
    assert_eq!(
        decoded["rows"],
        json!([{"a": 1, "b": "x, \"y\""}, {"a": 2, "b": null}])
    );
}
