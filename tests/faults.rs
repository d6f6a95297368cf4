//! A network that fails under a store, between calls and in the middle of one: its calls are told,
//! within their time and never with half an answer; other stores answer as before; and the store is
//! back with the next call.

use std::time::Duration;

use futures::FutureExt as _;
use serde_json::json;

use crate::harness::backends::variable;
use crate::harness::clickhouse;
use crate::harness::client::{Reply, Server};
use crate::harness::graph;
use crate::harness::postgresql::{self, READER};
use crate::harness::proxy::{Fault, Proxy};
use crate::harness::sqlite::File;

/// How long a call of these tests may take.
const TIMEOUT: &str = "2s";

/// No call takes longer than this, whatever happens.
const PATIENCE: Duration = Duration::from_secs(20);

/// A store behind a proxy.
struct Network {
    proxy: Proxy,
    dsn: String,
    /// A query with an answer of some 50 KB.
    long: &'static str,
    /// A query of the number 1.
    short: &'static str,
}

async fn postgresql_network() -> Network {
    let database = postgresql::Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let proxy = Proxy::before(&database.address).await;
    let dsn = format!(
        "postgresql://{READER}@{}/{}?sslmode=disable",
        proxy.address, database.name
    );
    Network {
        proxy,
        dsn,
        long: "select i, repeat('x', 100) from generate_series(1, 500) i",
        short: "select 1",
    }
}

async fn clickhouse_network() -> Network {
    let database = clickhouse::Database::create().await;
    let proxy = Proxy::before(&database.address).await;
    let dsn = format!(
        "clickhouse://{}@{}/{}",
        clickhouse::READER,
        proxy.address,
        database.name
    );
    Network {
        proxy,
        dsn,
        long: "select number, repeat('x', 100) from numbers(500)",
        short: "select 1",
    }
}

async fn graph_network() -> Network {
    let account = graph::Account::create().await;
    let proxy = Proxy::before(&graph::address()).await;
    let dsn = account.dsn().replace(&graph::address(), &proxy.address);
    Network {
        proxy,
        dsn,
        long: "UNWIND range(1, 500) AS i RETURN i, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' AS s",
        short: "RETURN 1 AS a",
    }
}

async fn networks() -> [Network; 3] {
    [
        postgresql_network().await,
        clickhouse_network().await,
        graph_network().await,
    ]
}

impl Network {
    /// A server with this store, and one that has no network.
    async fn serve(&self, beside: &File) -> Server {
        self.serve_within(beside, TIMEOUT).await
    }

    async fn serve_within(&self, beside: &File, timeout: &str) -> Server {
        Server::start(&[
            ("RHIZODAT_STORE_FAR", &self.dsn),
            ("RHIZODAT_STORE_NEAR", &beside.dsn()),
            ("RHIZODAT_MCP_QUERY_TIMEOUT", timeout),
        ])
        .await
    }

    async fn ask(&self, server: &Server, query: &str) -> Reply {
        self.ask_as(server, "far", query).await
    }

    async fn ask_as(&self, server: &Server, name: &str, query: &str) -> Reply {
        let asked = server.query(name, query);
        let answered = tokio::time::timeout(PATIENCE, asked).await;
        answered.unwrap_or_else(|_| panic!("no answer to {query}"))
    }

    /// The store answers, whole.
    async fn is_well(&self, server: &Server) {
        self.is_well_as(server, "far").await;
    }

    async fn is_well_as(&self, server: &Server, name: &str) {
        let reply = self.ask_as(server, name, self.long).await;
        assert_eq!(reply.note("row_count"), Some("500"), "{}", reply.text);
        assert_eq!(reply.note("truncated"), Some("false"));
    }
}

/// An error that says whose it is and what to do, and no secret.
fn is_told(reply: &Reply, codes: &[&str], fault: Fault) {
    assert!(codes.contains(&reply.code()), "{fault:?}: {}", reply.text);
    assert!(
        reply.text.contains("store `far`: "),
        "{fault:?}: {}",
        reply.text
    );
    assert!(reply.text.contains("\nhint: "), "{fault:?}: {}", reply.text);
    assert!(!reply.text.contains("reader-test"), "{}", reply.text);
}

fn notes() -> File {
    File::create("create table note (id integer primary key);")
}

#[tokio::test]
async fn a_fault_in_an_answer_is_told_and_the_next_call_is_well() {
    for network in networks().await {
        let beside = notes();
        let server = network.serve(&beside).await;
        network.is_well(&server).await;
        for (fault, codes) in [
            (Fault::CutAfter(0), &["store_unreachable"][..]),
            (Fault::CutAfter(1), &["store_unreachable"]),
            (Fault::CutAfter(20_000), &["store_unreachable"]),
            (Fault::SilentAfter(20_000), &["timeout"]),
            (Fault::GarbageAfter(0), &["store_unreachable"]),
            (
                Fault::GarbageAfter(20_000),
                // Garbage may announce more than ever comes.
                &[
                    "store_unreachable",
                    "undecodable_value",
                    "query_failed",
                    "timeout",
                ],
            ),
            (Fault::Drip, &["timeout", "store_unreachable"]),
        ] {
            network.proxy.choose(fault);
            let reply = network.ask(&server, network.long).await;
            is_told(&reply, codes, fault);
            network.proxy.choose(Fault::None);
            network.is_well(&server).await;
        }
    }
}

#[tokio::test]
async fn a_store_that_hangs_holds_up_no_other() {
    for network in networks().await {
        let beside = notes();
        let server = network.serve(&beside).await;
        network.is_well(&server).await;
        network.proxy.choose(Fault::SilentAfter(0));
        let far = (0..32).map(|_| network.ask(&server, network.short));
        let mut far = Box::pin(futures::future::join_all(far));
        assert!((&mut far).now_or_never().is_none());
        let near = (0..32).map(|_| server.query("near", "select 1"));
        let near = futures::future::join_all(near);
        // All of the one before any of the other.
        let hung = tokio::select! {
            biased;
            hung = &mut far => panic!("hung calls were answered first: {}", hung[0].text),
            answered = near => {
                for reply in answered {
                    assert_eq!(reply.rows(), json!([[1]]));
                }
                far.await
            }
        };
        for reply in hung {
            is_told(
                &reply,
                &["timeout", "busy", "store_unreachable"],
                Fault::SilentAfter(0),
            );
        }
        network.proxy.choose(Fault::None);
        network.is_well(&server).await;
    }
}

#[tokio::test]
async fn a_store_that_comes_back_is_not_run_down() {
    for network in networks().await {
        let beside = notes();
        network.proxy.choose(Fault::CutAfter(0));
        // Long enough for 64 calls by turns, also on a slow machine.
        let server = network.serve_within(&beside, "20s").await;
        let down = network.ask(&server, network.short).await;
        is_told(&down, &["store_unreachable"], Fault::CutAfter(0));
        network.proxy.choose(Fault::None);
        let before = network.proxy.connections();
        let calls = (0..64).map(|_| network.ask(&server, network.short));
        for reply in futures::future::join_all(calls).await {
            assert_eq!(reply.rows(), json!([[1]]));
        }
        // At most one for each of the four places, and as many that are being cleaned up.
        let made = network.proxy.connections() - before;
        assert!(made <= 8, "{made} connections");
    }
}

/// All kinds in one gateway, 64 calls in flight over them, and each kind hanging once.
#[tokio::test]
async fn a_hung_store_of_many_costs_its_own_calls_alone() {
    let networks = networks().await;
    let file = notes();
    let beside = file.dsn();
    let names = ["erp", "events", "graph"];
    let variables = ["ERP", "EVENTS", "GRAPH"].map(|name| format!("RHIZODAT_STORE_{name}"));
    let mut settings: Vec<(&str, &str)> = variables
        .iter()
        .map(String::as_str)
        .zip(networks.iter().map(|network| network.dsn.as_str()))
        .collect();
    settings.push(("RHIZODAT_STORE_NEAR", &beside));
    // Long enough for 16 calls of a store by turns, also on a slow machine.
    settings.push(("RHIZODAT_MCP_QUERY_TIMEOUT", "6s"));
    let server = Server::start(&settings).await;
    let asked = || {
        names
            .into_iter()
            .zip(networks.iter().map(|network| network.short))
            .chain([("near", "select 1")])
    };
    for (name, query) in asked() {
        assert_eq!(server.query(name, query).await.rows(), json!([[1]]));
    }
    for (hung, network) in names.into_iter().zip(&networks) {
        network.proxy.choose(Fault::SilentAfter(0));
        let calls = (0..16)
            .flat_map(|_| asked())
            .map(async |(name, query)| (name, server.query(name, query).await));
        let all = tokio::time::timeout(PATIENCE, futures::future::join_all(calls));
        for (name, reply) in all.await.expect("every call is answered") {
            if name == hung {
                let codes = ["timeout", "busy", "store_unreachable"];
                assert!(codes.contains(&reply.code()), "{}", reply.text);
            } else {
                assert_eq!(reply.rows(), json!([[1]]), "{name} beside {hung}");
            }
        }
        network.proxy.choose(Fault::None);
        network.is_well_as(&server, hung).await;
    }
}
