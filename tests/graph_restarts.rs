//! A graph whose server is killed and started again, between calls and in the middle of them: only the
//! calls it was killed under are lost, each is answered, and the store is there again by itself.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::client::Server;
use crate::harness::own_neo4j::Neo4j;
use crate::harness::sqlite::File;

const SLOW: &str =
    "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN sum(a % 2 + b) AS s";

/// Asks until the store answers again.
async fn answers_again(server: &Server) {
    let asking = async {
        loop {
            let reply = server.query("graph", "RETURN 1 AS a").await;
            if !reply.is_error {
                return reply.rows();
            }
            assert_eq!(reply.code(), "store_unreachable", "{}", reply.text);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let answered = tokio::time::timeout(Duration::from_secs(60), asking).await;
    assert_eq!(answered.expect("it answers again"), json!([[1]]));
}

#[tokio::test]
async fn a_server_that_is_killed_costs_only_the_calls_it_was_killed_under() {
    let mut neo4j = Neo4j::start().await;
    let dsn = neo4j.dsn.clone();
    let server = Server::start(&[
        ("RHIZODAT_STORE_GRAPH", dsn.as_str()),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "20s"),
    ])
    .await;
    assert_eq!(
        server.query("graph", "RETURN 1 AS a").await.rows(),
        json!([[1]])
    );

    // Between calls: the first one after it meets nobody, and the store is listed as down.
    neo4j.kill().await;
    let reply = server.query("graph", "RETURN 1 AS a").await;
    assert_eq!(reply.code(), "store_unreachable", "{}", reply.text);
    assert!(
        reply.text.contains("refused") && reply.text.contains("\nhint: "),
        "{}",
        reply.text
    );
    let listed = server.call("stores", json!({})).await;
    assert!(
        listed.data().contains("\"status\":\"down\""),
        "{}",
        listed.text
    );
    neo4j.start_again().await;
    answers_again(&server).await;

    // Killed and back again between two calls: the connection that is kept is dead, and no call is lost.
    neo4j.kill().await;
    neo4j.start_again().await;
    answers_again(&server).await;

    // In the middle of a call that has not answered yet.
    let (reply, ()) = tokio::join!(server.query("graph", SLOW), async {
        tokio::time::sleep(Duration::from_millis(800)).await;
        neo4j.kill().await;
    });
    assert_eq!(reply.code(), "store_unreachable", "{}", reply.text);
    assert!(
        reply.text.contains("the connection was lost"),
        "{}",
        reply.text
    );
    neo4j.start_again().await;
    answers_again(&server).await;

    // It hangs: its calls end with their time, another store's are answered as before.
    let file = File::create("create table t (a); insert into t values (7);");
    let notes = file.dsn();
    let impatient = Server::start(&[
        ("RHIZODAT_STORE_GRAPH", dsn.as_str()),
        ("RHIZODAT_STORE_NOTES", notes.as_str()),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "2s"),
    ])
    .await;
    answers_again(&impatient).await;
    neo4j.hang().await;
    let hung = (0..8).map(|_| impatient.query("graph", "RETURN 1 AS a"));
    let mut hung = Box::pin(futures::future::join_all(hung));
    let hung = tokio::select! {
        biased;
        answered = &mut hung => panic!("hung calls were answered first: {}", answered[0].text),
        near = impatient.query("notes", "select a from t") => {
            assert_eq!(near.rows(), json!([[7]]));
            tokio::time::timeout(Duration::from_secs(20), hung).await.unwrap()
        }
    };
    for reply in hung {
        let codes = ["timeout", "busy", "store_unreachable"];
        assert!(codes.contains(&reply.code()), "{}", reply.text);
    }
    neo4j.go_on().await;
    answers_in_time(&impatient).await;
}

/// Asks until the store answers again, whatever it says meanwhile.
async fn answers_in_time(server: &Server) {
    let begun = Instant::now();
    while server.query("graph", "RETURN 1 AS a").await.is_error {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it does not answer again"
        );
    }
}
