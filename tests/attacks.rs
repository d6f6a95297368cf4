//! Texts that try to write, to leave something behind or to take too much: each is refused or
//! harmless, and after each the database is asked itself whether anything changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::Connection as _;
use sqlx::postgres::PgConnection;

use crate::harness::backends::postgresql_servers;
use crate::harness::clickhouse;
use crate::harness::client::Server;
use crate::harness::corpus::{self, cases};
use crate::harness::graph;
use crate::harness::postgresql::{Database, run, text};
use crate::harness::sqlite;

#[derive(Deserialize)]
struct Attack {
    name: String,
    query: String,
    params: Option<String>,
    #[serde(default)]
    expect: Expect,
}

#[derive(Deserialize, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Expect {
    #[default]
    Refused,
    Harmless,
}

/// Short, since some attacks run until their time is over.
const TIMEOUT: (&str, &str) = ("RHIZODAT_MCP_QUERY_TIMEOUT", "1s");

/// The longest an attack may go unanswered: its time, and the gateway's own patience.
const ANSWERED_WITHIN: Duration = Duration::from_secs(20);

async fn attempt(server: &Server, attack: &Attack) -> Result<(), String> {
    let mut arguments = json!({"store": "target", "query": attack.query});
    if let Value::Array(params) = corpus::json(attack.params.as_ref()) {
        arguments["params"] = Value::Array(params);
    }
    let call = server.call("query", arguments);
    let Ok(reply) = tokio::time::timeout(ANSWERED_WITHIN, call).await else {
        return Err(format!("{}: not answered", attack.name));
    };
    if attack.expect == Expect::Refused && !reply.is_error {
        return Err(format!("{}: answered\n{}", attack.name, reply.text));
    }
    if reply.is_error && reply.code() == "internal" {
        return Err(format!("{}: {}", attack.name, reply.text));
    }
    Ok(())
}

/// What the superuser sees of everything that an attack could have changed. Roles named `t_…` are
/// other tests'.
const STATE: &str = "SELECT concat_ws('|',
    (SELECT array_agg(c ORDER BY id) FROM canary c),
    (SELECT last_value::text || is_called FROM canary_seq),
    (SELECT array_agg(n::text ORDER BY n::text) FROM archive.notes n),
    (SELECT count(*) FROM pg_class WHERE relpersistence <> 't'), (SELECT count(*) FROM pg_proc),
    (SELECT count(*) FROM pg_type), (SELECT count(*) FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'),
    (SELECT array_agg(a::text ORDER BY oid) FROM pg_authid a WHERE rolname !~ '^t_'), (SELECT count(*) FROM pg_largeobject_metadata),
    (SELECT array_agg(s::text) FROM pg_db_role_setting s
        WHERE setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))), (SELECT count(*) FROM pg_replication_slots),
    (SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()), (SELECT count(*) FROM pg_trigger),
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())),
    (SELECT relchecks::text || relrowsecurity || relacl::text || relowner FROM pg_class WHERE oid = 'canary'::regclass),
    (SELECT pid FROM pg_stat_activity WHERE application_name = 'bystander' AND datname = current_database()))";

async fn postgresql(superuser: &str) -> Vec<String> {
    let database = Database::with_corpus(superuser).await;
    let mut admin = database.admin().await;
    // A session of the same account, which an attack must not end.
    let bystander = format!("{}?application_name=bystander", database.reader());
    let mut bystander = PgConnection::connect(&bystander).await.unwrap();
    run(&mut bystander, "SELECT 1").await;
    let dsn = database.reader();
    let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn), TIMEOUT]).await;
    let mut expected = text(&mut admin, STATE).await;

    let mut failures = Vec::new();
    for attack in cases::<Attack>("postgresql/attacks.toml") {
        failures.extend(attempt(&server, &attack).await.err());
        // Locks of an answered call go while its connection is cleaned up.
        let state = settled(&mut admin, &expected).await;
        if state != expected {
            failures.push(format!("{}: changed\n{expected}\n{state}", attack.name));
            // What one attack changed is told once.
            expected = state;
        }
        let left = "SELECT count(*) FROM pg_prepared_statements WHERE from_sql";
        let mut answered = server.query("target", left).await;
        // What an attack left running may hold up the next call, never for good.
        for _ in 0..20 {
            if !answered.is_error {
                break;
            }
            answered = server.query("target", left).await;
        }
        let left = answered;
        if left.rows() != json!([[0]]) {
            failures.push(format!("{}: left {}", attack.name, left.text));
        }
    }
    // Both answer whether there was anything left to do, and do it: asked last.
    for left_to_do in [
        "SELECT brin_summarize_new_values('reader_owned_seen_brin') > 0",
        "SELECT gin_clean_pending_list('reader_owned_words_gin') > 0",
    ] {
        if text(&mut admin, left_to_do).await != "t" {
            failures.push(format!("an attack already did {left_to_do}"));
        }
    }
    failures
}

async fn settled(admin: &mut PgConnection, expected: &str) -> String {
    let mut state = text(admin, STATE).await;
    for _ in 0..100 {
        if state == expected {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        state = text(admin, STATE).await;
    }
    state
}

#[tokio::test]
async fn no_text_changes_postgresql() {
    for (major, superuser) in postgresql_servers() {
        let failures = postgresql(&superuser).await;
        assert!(
            failures.is_empty(),
            "PostgreSQL {major}:\n{}",
            failures.join("\n")
        );
    }
}

#[tokio::test]
async fn no_text_changes_sqlite() {
    let file = sqlite::File::with_corpus();
    let files = |directory: &std::path::Path| -> Vec<(String, Vec<u8>)> {
        let mut files: Vec<_> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.display().to_string(), std::fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    };
    let expected = files(file.directory.path());
    let dsn = file.dsn();
    let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn), TIMEOUT]).await;
    let mut failures = Vec::new();
    for attack in cases::<Attack>("sqlite/attacks.toml") {
        failures.extend(attempt(&server, &attack).await.err());
        if files(file.directory.path()) != expected {
            failures.push(format!("{}: changed the files", attack.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What the administrator sees of everything that an attack could have changed.
const CLICKHOUSE_STATE: &str = "SELECT concat_ws('|',
    (SELECT toString(groupArray((id, note))) FROM canary), (SELECT toString(count()) FROM canary_sink),
    (SELECT toString(groupArray(name)) FROM (SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name)),
    (SELECT toString(count()) FROM system.databases WHERE name = currentDatabase()),
    (SELECT toString(count()) FROM system.functions WHERE origin = 'SQLUserDefined'),
    (SELECT toString(groupArray(name)) FROM (SELECT name FROM system.users ORDER BY name)),
    (SELECT toString(count()) FROM system.grants WHERE user_name = 'rhizodat_frozen'),
    (SELECT toString(count()) FROM system.mutations WHERE database = currentDatabase()),
    (SELECT toString(count()) FROM system.parts WHERE database = currentDatabase() AND table = 'canary' AND active))";

#[tokio::test]
async fn no_text_changes_clickhouse_or_leaves_it() {
    let database = clickhouse::Database::with_corpus().await;
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("secret.txt"), "secret").unwrap();
    let canary = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let canary_address = canary.local_addr().unwrap().to_string();
    let reached = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&reached);
    let listener = tokio::spawn(async move {
        while canary.accept().await.is_ok() {
            counting.fetch_add(1, Ordering::SeqCst);
        }
    });
    let place = |text: &str| {
        text.replace("{canary}", &canary_address)
            .replace("{directory}", &directory.path().display().to_string())
            .replace("{database}", &database.name)
            .replace("{address}", &database.address)
    };
    let expected = database.text(CLICKHOUSE_STATE).await;
    assert!(expected.contains("alive"), "{expected}");
    let mut failures = Vec::new();
    for account in [clickhouse::READER, clickhouse::FROZEN] {
        let dsn = database.dsn(account);
        let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn), TIMEOUT]).await;
        for mut attack in cases::<Attack>("clickhouse/attacks.toml") {
            attack.query = place(&attack.query);
            attack.params = attack.params.as_deref().map(place);
            failures.extend(attempt(&server, &attack).await.err());
            let state = database.text(CLICKHOUSE_STATE).await;
            if state != expected {
                failures.push(format!("{}: changed\n{expected}\n{state}", attack.name));
            }
            let files = std::fs::read_dir(directory.path()).unwrap().count();
            if files != 1 {
                failures.push(format!("{}: {files} files", attack.name));
            }
            if reached.swap(0, Ordering::SeqCst) > 0 {
                failures.push(format!("{}: left the server", attack.name));
            }
            let next = server.query("target", "SELECT 1").await;
            if next.is_error {
                failures.push(format!("{}: then {}", attack.name, next.text));
            }
        }
    }
    listener.abort();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What the administrator sees of everything that an attack could have changed. Accounts named `t_…`
/// are other tests'.
async fn graph_state(bystander: &str) -> Value {
    let mut state = Vec::new();
    for asked in [
        "MATCH (n) WITH labels(n) AS l, properties(n) AS p ORDER BY toString(elementId(n)) RETURN collect([l, p])",
        "MATCH (a)-[r]->(b) WITH a, r, b ORDER BY elementId(r) RETURN collect([elementId(a), type(r), properties(r), elementId(b)])",
        "SHOW INDEXES YIELD name, state RETURN name, state ORDER BY name",
        "SHOW CONSTRAINTS YIELD name RETURN name ORDER BY name",
        "CALL db.labels() YIELD label WITH label ORDER BY label RETURN collect(label)",
        "CALL db.relationshipTypes() YIELD relationshipType AS name WITH name ORDER BY name RETURN collect(name)",
        "CALL db.propertyKeys() YIELD propertyKey AS name WITH name ORDER BY name RETURN collect(name)",
        "SHOW USERS YIELD user WHERE NOT user STARTS WITH 't_' RETURN user ORDER BY user",
        "SHOW DATABASES YIELD name, currentStatus RETURN name, currentStatus ORDER BY name",
    ] {
        state.push(graph::cypher(asked).await);
    }
    // A transaction that was ended answers an error.
    let alive = json!({"statements": [{"statement": "RETURN 'it lives'"}]});
    let alive = graph::transaction(bystander, &alive).await;
    state.push(json!([alive["results"], alive["errors"]]));
    Value::Array(state)
}

#[tokio::test]
async fn no_text_changes_a_graph_or_leaves_it() {
    let account = graph::Account::create().await;
    let canary = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let canary_address = canary.local_addr().unwrap().to_string();
    let reached = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&reached);
    let listener = tokio::spawn(async move {
        while canary.accept().await.is_ok() {
            counting.fetch_add(1, Ordering::SeqCst);
        }
    });
    // Another session's transaction, which an attack must not end.
    let begun = json!({"statements": [{"statement": "RETURN 1 AS bystander"}]});
    let begun = graph::transaction("/db/neo4j/tx", &begun).await;
    let commit = begun["commit"].as_str().unwrap();
    let bystander = format!("/db/neo4j/tx/{}", commit.split('/').rev().nth(1).unwrap());
    // Of those that are idle it is the newest.
    let idle = "SHOW TRANSACTIONS YIELD transactionId, username, currentQuery, startTime WHERE currentQuery = '' AND username = 'neo4j' \
                RETURN transactionId ORDER BY startTime DESC";
    let idle = graph::cypher(idle).await;
    let bystander_id = idle[0][0]
        .as_str()
        .expect("the bystander's transaction")
        .to_owned();
    let place = |text: &str| {
        text.replace("{canary}", &canary_address)
            .replace("{bystander}", &bystander_id)
    };
    let dsn = account.dsn();
    let server = Server::start(&[("RHIZODAT_STORE_TARGET", &dsn), TIMEOUT]).await;
    let expected = graph_state(&bystander).await;
    for sign in ["alive", "it lives"] {
        assert!(expected.to_string().contains(sign), "{expected}");
    }
    let mut failures = Vec::new();
    for mut attack in cases::<Attack>("graph/attacks.toml") {
        attack.query = place(&attack.query);
        attack.params = attack.params.as_deref().map(place);
        failures.extend(attempt(&server, &attack).await.err());
        let state = graph_state(&bystander).await;
        if state != expected {
            failures.push(format!("{}: changed\n{expected}\n{state}", attack.name));
        }
        if reached.load(Ordering::SeqCst) > 0 {
            failures.push(format!("{}: left the server", attack.name));
            reached.store(0, Ordering::SeqCst);
        }
        let next = server.query("target", "RETURN 1 AS one").await;
        if next.rows() != json!([[1]]) {
            failures.push(format!("{}: the next call: {}", attack.name, next.text));
        }
    }
    listener.abort();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
