//! How PostgreSQL is reached: TLS, sockets, several hosts, poolers; and what happens when
//! connections are lost.

use std::str::FromStr as _;
use std::time::Duration;

use serde_json::json;
use sqlx::{ConnectOptions as _, Row as _};

use crate::harness::backends::variable;
use crate::harness::client::Server;
use crate::harness::postgresql::{Database, READER, run, text};

async fn answers(dsn: &str, query: &str) -> serde_json::Value {
    let server = Server::start(&[("RHIZODAT_STORE_ERP", dsn)]).await;
    server.query("erp", query).await.rows()
}

#[tokio::test]
async fn tls_is_used_as_sslmode_says() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let authority = variable("RHIZODAT_TEST_POSTGRESQL_15_CA");
    let encrypted = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
    for (parameters, expected) in [
        ("sslmode=disable".to_owned(), false),
        ("sslmode=require".to_owned(), true),
        (format!("sslmode=verify-full&sslrootcert={authority}"), true),
        (String::new(), true),
    ] {
        let dsn = format!("{}?{parameters}", database.reader());
        assert_eq!(
            answers(&dsn, encrypted).await,
            json!([[expected]]),
            "{parameters}"
        );
    }
}

#[tokio::test]
async fn a_unix_socket_is_a_host() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let socket = variable("RHIZODAT_TEST_POSTGRESQL_15_SOCKET");
    let (_, port) = database.address.split_once(':').unwrap();
    let by_parameter = format!(
        "postgresql://{READER}@/{}?host={socket}&port={port}",
        database.name
    );
    let encoded = socket.replace('/', "%2F");
    let by_host = format!("postgresql://{READER}@{encoded}:{port}/{}", database.name);
    for dsn in [by_parameter, by_host] {
        let address = answers(&dsn, "select inet_server_addr() is null").await;
        assert_eq!(address, json!([[true]]), "{dsn}");
    }
}

#[tokio::test]
async fn the_first_host_that_answers_serves() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let hosts = format!(
        "postgresql://{READER}@{gone},{}/{}",
        database.address, database.name
    );
    assert_eq!(answers(&hosts, "select 1").await, json!([[1]]));
    assert_eq!(
        answers(&format!("{hosts}?target_session_attrs=primary"), "select 1").await,
        json!([[1]])
    );
    let server = Server::start(&[(
        "RHIZODAT_STORE_ERP",
        &format!("{hosts}?target_session_attrs=standby"),
    )])
    .await;
    assert_eq!(
        server.query("erp", "select 1").await.code(),
        "store_unreachable"
    );
}

#[tokio::test]
async fn a_host_that_says_nothing_uses_up_only_its_share_of_the_time() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    // The system takes connections for it, and nobody answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dsn = format!(
        "postgresql://{READER}@{},{}/{}",
        silent.local_addr().unwrap(),
        database.address,
        database.name
    );
    let server = Server::start(&[
        ("RHIZODAT_STORE_ERP", &dsn),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "8s"),
    ])
    .await;
    assert_eq!(server.query("erp", "select 1").await.rows(), json!([[1]]));
    let listed = server.call("stores", json!({})).await;
    assert!(
        listed.data().contains("\"status\":\"up\""),
        "{}",
        listed.text
    );
    assert!(!listed.data().contains("problem"), "{}", listed.text);
}

#[tokio::test]
async fn a_query_is_cancelled_on_the_host_that_runs_it() {
    // Two servers: the first refuses the database, so the second runs the query.
    let first = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let second = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_18")).await;
    let dsn = format!(
        "postgresql://{READER}@{},{}/{}",
        first.address, second.address, second.name
    );
    let server = Server::start(&[
        ("RHIZODAT_STORE_ERP", &dsn),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "5m"),
    ])
    .await;
    // What is left of an answer at the byte limit is cancelled.
    let endless = "select repeat('x', 1000) from generate_series(1, 1000) i where i < 100 or pg_sleep(600) is not null";
    let cut = server.query("erp", endless).await;
    assert_eq!(cut.note("truncated"), Some("bytes"), "{}", cut.text);
    let mut admin = second.admin().await;
    let sessions = "select count(*) from pg_stat_activity where usename = 'rhizodat_reader' \
                    and datname = current_database()";
    while text(&mut admin, sessions).await != "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // A server that was not asked to stop notices by itself that its client is gone, and says so.
    let abandoned =
        "select sessions_abandoned from pg_stat_database where datname = current_database()";
    assert_eq!(text(&mut admin, abandoned).await, "0");
    assert_eq!(server.query("erp", "select 1").await.rows(), json!([[1]]));
}

#[tokio::test]
async fn settings_of_the_dsn_reach_the_server() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let mut admin = database.admin().await;
    run(&mut admin, "create schema shop; create table shop.item (id integer); grant usage on schema shop to rhizodat_reader;
                     grant select on shop.item to rhizodat_reader").await;
    let dsn = format!(
        "{}?search_path=shop,%20public&application_name=my%20app&options=-c%20work_mem%3D8MB",
        database.reader()
    );
    let query = "select current_setting('application_name'), current_setting('work_mem'), (select count(*) from item)";
    assert_eq!(answers(&dsn, query).await, json!([["my app", "8MB", 0]]));
}

#[tokio::test]
async fn a_lost_connection_costs_no_call_and_an_interrupted_one_is_told() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let mut admin = database.admin().await;
    let dsn = database.reader();
    let server = Server::start(&[
        ("RHIZODAT_STORE_ERP", &dsn),
        ("RHIZODAT_MCP_QUERY_TIMEOUT", "1m"),
    ])
    .await;
    let end_all = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
                   where usename = 'rhizodat_reader' and datname = current_database()";
    for _ in 0..3 {
        assert_eq!(server.query("erp", "select 1").await.rows(), json!([[1]]));
        text(&mut admin, end_all).await;
    }
    let running = "select count(*) from pg_stat_activity where state = 'active' and usename = 'rhizodat_reader' \
                   and datname = current_database()";
    let slow = server.query("erp", "select pg_sleep(60)");
    let ending = async {
        while text(&mut admin, running).await != "1" {
            tokio::task::yield_now().await;
        }
        text(&mut admin, end_all).await;
    };
    let (interrupted, ()) = tokio::join!(slow, ending);
    assert_eq!(
        interrupted.code(),
        "store_unreachable",
        "{}",
        interrupted.text
    );
    assert_eq!(server.query("erp", "select 1").await.rows(), json!([[1]]));
}

#[tokio::test]
async fn a_pooler_gets_back_sessions_without_a_trace() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let pooler = variable("RHIZODAT_TEST_PGBOUNCER");
    let (address, _) = pooler.rsplit_once('/').unwrap();
    let dsn = format!("{address}/{}", database.name);
    let server = Server::start(&[("RHIZODAT_STORE_ERP", &dsn)]).await;
    for number in 0..20 {
        let reply = server
            .query_with(
                "erp",
                "select $1::integer, '{[1,2)}'::int4multirange",
                json!([number]),
            )
            .await;
        assert_eq!(reply.rows(), json!([[number, "{[1,2)}"]]));
        server.query("erp", "select 1/0").await;
    }
    let left = "select (select count(*) from pg_prepared_statements), (select count(*) from pg_locks where locktype = 'advisory'),
                current_setting('TimeZone') = 'UTC', current_setting('statement_timeout')";
    // Within its own transaction, the text itself is the one prepared statement.
    let reply = server.query("erp", left).await;
    assert_eq!(reply.rows()[0][0], 1, "{}", reply.text);
    assert_eq!(reply.rows()[0][1], 0, "{}", reply.text);

    // The pooler's sessions, seen by another client of it.
    let other = sqlx::postgres::PgConnectOptions::from_str(&dsn).unwrap();
    let mut other = other.extra_float_digits(None).connect().await.unwrap();
    let row = sqlx::raw_sql("select (select count(*) from pg_prepared_statements), current_setting('statement_timeout')")
        .fetch_one(&mut other)
        .await
        .unwrap();
    assert_eq!(
        (row.get::<i64, _>(0), row.get::<String, _>(1)),
        (0, "0".to_owned())
    );
}

#[tokio::test]
async fn time_outs_of_the_account_and_the_dsn_count_where_they_are_stricter() {
    let database = Database::create(&variable("RHIZODAT_TEST_POSTGRESQL_15")).await;
    let mut admin = database.admin().await;
    let direct = database.reader();
    let pooler = variable("RHIZODAT_TEST_PGBOUNCER");
    let (address, _) = pooler.rsplit_once('/').unwrap();
    let pooled = format!("{address}/{}", database.name);
    let options = format!("{direct}?options=-c%20statement_timeout=700ms%20-c%20lock_timeout=2min");
    let shown = "select current_setting('statement_timeout'), current_setting('lock_timeout'),
                 current_setting('idle_in_transaction_session_timeout')";
    for (settings, dsn, expected) in [
        ([0, 0, 0], &direct, ["10s", "3s", "70s"]),
        ([0, 0, 0], &options, ["700ms", "3s", "70s"]),
        ([900, 400, 5000], &direct, ["900ms", "400ms", "5s"]),
        ([900, 400, 5000], &options, ["700ms", "3s", "5s"]),
        ([900, 400, 5000], &pooled, ["900ms", "400ms", "5s"]),
        ([900_000, 900_000, 900_000], &pooled, ["10s", "3s", "70s"]),
    ] {
        let names = [
            "statement_timeout",
            "lock_timeout",
            "idle_in_transaction_session_timeout",
        ];
        for (name, milliseconds) in names.iter().zip(settings) {
            let set = format!(
                "alter role rhizodat_reader in database {} set {name} = {milliseconds}",
                database.name
            );
            run(&mut admin, &set).await;
        }
        // The pooler's sessions of before have the settings of before.
        run(
            &mut admin,
            "select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and usename = 'rhizodat_reader'",
        )
        .await;
        let server = Server::start(&[("RHIZODAT_STORE_ERP", dsn.as_str())]).await;
        let rows = server.query("erp", shown).await.rows();
        // A time-out of a call, behind a pooler, is what is left of it.
        let found = rows[0].as_array().unwrap().iter();
        for (found, expected) in found.zip(expected) {
            let is_ours = expected == "10s" || expected == "70s";
            let found = found.as_str().unwrap();
            assert!(found == expected || is_ours && dsn == &pooled, "{rows}");
        }
        if expected[0].ends_with("ms") {
            let begun = std::time::Instant::now();
            let slow = server.query("erp", "select pg_sleep(5)").await;
            assert_eq!(slow.code(), "timeout", "{}", slow.text);
            assert!(begun.elapsed() < Duration::from_secs(3));
        }
    }
}
