//! A store whose server is killed and started again, between calls and in the middle of them: only the
//! calls it was killed under are lost, each is answered, and the store is there again by itself.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::client::Server;
use crate::harness::own_server::OwnServer;
use crate::harness::sqlite::File;

/// What is asked of a kind of store.
struct Texts {
    one: &'static str,
    slow: &'static str,
}

/// Asks until the store answers again.
async fn answers_again(server: &Server, texts: &Texts) {
    let asking = async {
        loop {
            let reply = server.query("target", texts.one).await;
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

async fn a_killed_server_costs_only_its_calls(mut own: OwnServer, dsn: &str, texts: &Texts) {
    let server = Server::start(&[
        ("RHIZODAT_STORE_TARGET", dsn),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "20s"),
    ])
    .await;
    answers_again(&server, texts).await;

    // Between calls: the first one after it meets nobody, and the store is listed as down.
    own.kill().await;
    let reply = server.query("target", texts.one).await;
    assert_eq!(reply.code(), "store_unreachable", "{}", reply.text);
    assert!(reply.text.contains("\nhint: "), "{}", reply.text);
    let listed = server.call("stores", json!({})).await;
    assert!(
        listed.data().contains("\"status\":\"down\""),
        "{}",
        listed.text
    );
    own.start_again().await;
    answers_again(&server, texts).await;

    // Killed and back again between two calls: the connection that is kept is dead, and no call is lost.
    own.kill().await;
    own.start_again().await;
    answers_again(&server, texts).await;

    // In the middle of a call that has not answered yet.
    let (reply, ()) = tokio::join!(server.query("target", texts.slow), async {
        tokio::time::sleep(Duration::from_millis(800)).await;
        own.kill().await;
    });
    assert_eq!(reply.code(), "store_unreachable", "{}", reply.text);
    own.start_again().await;
    answers_again(&server, texts).await;

    // It hangs: its calls end with their time, another store's are answered as before.
    let file = File::create("create table t (a); insert into t values (7);");
    let notes = file.dsn();
    let impatient = Server::start(&[
        ("RHIZODAT_STORE_TARGET", dsn),
        ("RHIZODAT_STORE_NOTES", notes.as_str()),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "2s"),
    ])
    .await;
    answers_again(&impatient, texts).await;
    own.hang().await;
    let hung = (0..8).map(|_| impatient.query("target", texts.one));
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
    own.go_on().await;
    answers_in_time(&impatient, texts).await;
}

/// Asks until the store answers again, whatever it says meanwhile.
async fn answers_in_time(server: &Server, texts: &Texts) {
    let begun = Instant::now();
    while server.query("target", texts.one).await.is_error {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it does not answer again"
        );
    }
}

#[tokio::test]
async fn a_postgresql_that_is_killed_costs_only_the_calls_it_was_killed_under() {
    let own = OwnServer::start("postgresql-15", "RHIZODAT_TEST_POSTGRESQL_15").await;
    let dsn = own
        .dsn
        .replace("postgres:postgres-test", "rhizodat_reader:reader-test");
    let texts = Texts {
        one: "select 1 as a",
        slow: "select count(*) from generate_series(1, 1e10)",
    };
    a_killed_server_costs_only_its_calls(own, &dsn, &texts).await;
}

#[tokio::test]
async fn a_clickhouse_that_is_killed_costs_only_the_calls_it_was_killed_under() {
    let own = OwnServer::start("clickhouse", "RHIZODAT_TEST_CLICKHOUSE").await;
    let dsn = own.dsn.clone();
    let texts = Texts {
        one: "select 1 as a",
        slow: "select count() from numbers(1e13) where number % 3 = 5",
    };
    a_killed_server_costs_only_its_calls(own, &dsn, &texts).await;
}

#[tokio::test]
async fn a_graph_that_is_killed_costs_only_the_calls_it_was_killed_under() {
    let own = OwnServer::start("neo4j", "RHIZODAT_TEST_NEO4J").await;
    let dsn = own.dsn.clone();
    let texts = Texts {
        one: "RETURN 1 AS a",
        slow: "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN sum(a % 2 + b) AS s",
    };
    a_killed_server_costs_only_its_calls(own, &dsn, &texts).await;
}
