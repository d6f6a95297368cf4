//! Every adapter keeps the rules of the contract, on real servers.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::postgres::PgConnection;
use store::contract::{Dialect, Subject, every_rule};
use store::{Dsn, Settings, Store};
use tokio::sync::Mutex;

use crate::harness::backends::postgresql_servers;
use crate::harness::clickhouse;
use crate::harness::graph;
use crate::harness::postgresql::{Database, run, text};
use crate::harness::sqlite;

const SETTINGS: Settings = Settings {
    busy_timeout: Duration::from_secs(3),
    max_concurrency: 2,
    connect_timeout: Duration::from_secs(5),
    call_timeout: Duration::from_secs(20),
};

struct Postgresql {
    dsn: Dsn,
    admin: Mutex<PgConnection>,
}

impl Postgresql {
    async fn ask(&self, sql: &str) -> String {
        text(&mut *self.admin.lock().await, sql).await
    }
}

#[async_trait]
impl Subject for Postgresql {
    fn open(&self) -> Arc<dyn Store> {
        postgresql::open("subject", &self.dsn, SETTINGS).unwrap()
    }

    fn dialect(&self) -> Dialect {
        Dialect {
            constants: "select 7, 'seven', null",
            five_thousand: "select i from generate_series(1, 5000) i order by i",
            wide: "select repeat('x', 100000)",
            wide_letters: "select repeat('é', 100000)",
            nothing: "select 1 as a, 2 as b where false",
            parameter: "select $1::text",
            slow: "select count(*) from generate_series(1, 1e10)",
            slow_after_a_row: "select i from generate_series(1, 2) i where i < 2 or pg_sleep(300) is not null",
            write: "delete from canary",
            two_statements: "select 1; delete from canary",
            nonsense: "select select",
            missing_table: "select * from canry",
            missing_column: "select nots from canary",
        }
    }

    async fn canary(&self) -> String {
        self.ask("select array_agg(c order by id) from canary c")
            .await
    }

    async fn running(&self) -> usize {
        let count = "select count(*) from pg_stat_activity where state = 'active' and backend_type = 'client backend' \
                     and usename = 'rhizodat_reader' and datname = current_database()";
        self.ask(count).await.parse().unwrap()
    }

    async fn break_connections(&self) {
        self.ask(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity \
             where usename = 'rhizodat_reader' and datname = current_database()",
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_keeps_the_contract() {
    for (_, superuser) in postgresql_servers() {
        let database = Database::create(&superuser).await;
        let mut admin = database.admin().await;
        run(
            &mut admin,
            "create table canary (id integer primary key, note text); insert into canary values (1, 'alive');
             create table other (id integer); grant select, delete on canary, other to rhizodat_reader",
        )
        .await;
        every_rule(&Postgresql {
            dsn: Dsn::parse(&database.reader()).unwrap(),
            admin: Mutex::new(admin),
        })
        .await;
    }
}

struct Sqlite {
    file: sqlite::File,
}

#[async_trait]
impl Subject for Sqlite {
    fn open(&self) -> Arc<dyn Store> {
        let dsn = Dsn::parse(&self.file.dsn()).unwrap();
        ::sqlite::open("subject", &dsn, SETTINGS).unwrap()
    }

    fn dialect(&self) -> Dialect {
        Dialect {
            constants: "select 7, 'seven', null",
            five_thousand: "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) select i from n",
            wide: "select replace(hex(zeroblob(50000)), '0', 'x')",
            wide_letters: "select replace(hex(zeroblob(50000)), '0', 'é')",
            nothing: "select 1 as a, 2 as b where false",
            parameter: "select ?1",
            slow: "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n",
            slow_after_a_row: "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n where i = 1",
            write: "delete from canary",
            two_statements: "select 1; delete from canary",
            nonsense: "select select",
            missing_table: "select * from canry",
            missing_column: "select nots from canary",
        }
    }

    async fn canary(&self) -> String {
        let connection = rusqlite::Connection::open(&self.file.path).unwrap();
        connection
            .query_row("select group_concat(id || note) from canary", [], |row| {
                row.get(0)
            })
            .unwrap()
    }

    /// The adapter's threads that are at work, as the system shows them.
    async fn running(&self) -> usize {
        std::fs::read_dir("/proc/self/task")
            .unwrap()
            .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("stat")).ok())
            .filter(|stat| stat.contains("(sqlite) R"))
            .count()
    }

    async fn break_connections(&self) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_the_contract() {
    let file = sqlite::File::create(
        "create table canary (id integer primary key, note text); insert into canary values (1, 'alive');
         create table other (id integer);",
    );
    every_rule(&Sqlite { file }).await;
}

struct Clickhouse {
    database: clickhouse::Database,
    account: &'static str,
}

#[async_trait]
impl Subject for Clickhouse {
    fn open(&self) -> Arc<dyn Store> {
        let dsn = Dsn::parse(&self.database.dsn(self.account)).unwrap();
        clickhouse_store::open("subject", &dsn, SETTINGS).unwrap()
    }

    fn dialect(&self) -> Dialect {
        Dialect {
            constants: "select 7, 'seven', null",
            five_thousand: "select number + 1 from numbers(5000) order by number",
            wide: "select repeat('x', 100000)",
            wide_letters: "select repeat('é', 100000)",
            nothing: "select 1 as a, 2 as b where false",
            parameter: "select {p1:String}",
            slow: "select count() from numbers(1000000000000) where not ignore(number)",
            slow_after_a_row: "select number from numbers(1000000000000) where number < 1 or cityHash64(number) = 1",
            write: "delete from canary where true",
            two_statements: "select 1; truncate table canary",
            nonsense: "select select from",
            missing_table: "select * from canry",
            missing_column: "select nots from canary",
        }
    }

    async fn canary(&self) -> String {
        self.database
            .text("select toString(groupArray((id, note))) from canary")
            .await
    }

    async fn running(&self) -> usize {
        let count = format!(
            "select toString(count()) from system.processes where current_database = '{}' \
             and user <> 'rhizodat_admin' and query not ilike 'kill%'",
            self.database.name
        );
        self.database.text(&count).await.parse().unwrap()
    }

    /// Its connections are those of HTTP, which the driver replaces by itself.
    async fn break_connections(&self) {}
}

/// As an account that may do everything, and as accounts whose profiles are read-only already.
#[tokio::test(flavor = "multi_thread")]
async fn clickhouse_keeps_the_contract() {
    for account in [clickhouse::READER, clickhouse::QUERIES, clickhouse::FROZEN] {
        let database = clickhouse::Database::create().await;
        for sql in [
            "create table canary (id UInt32, note String) engine = MergeTree order by id",
            "insert into canary values (1, 'alive')",
            "create table other (id UInt32) engine = Memory",
        ] {
            database.run(sql).await;
        }
        every_rule(&Clickhouse { database, account }).await;
    }
}

struct Graph {
    account: graph::Account,
}

/// A text of 100 letters, which Cypher has no function to repeat.
macro_rules! hundred {
    ($letter:literal) => {
        concat!(
            "RETURN reduce(s = '', i IN range(1, 1000) | s + '", hundred!(@ten $letter),
            hundred!(@ten $letter), hundred!(@ten $letter), hundred!(@ten $letter), hundred!(@ten $letter),
            hundred!(@ten $letter), hundred!(@ten $letter), hundred!(@ten $letter), hundred!(@ten $letter),
            hundred!(@ten $letter), "') AS s"
        )
    };
    (@ten $letter:literal) => {
        concat!($letter, $letter, $letter, $letter, $letter, $letter, $letter, $letter, $letter, $letter)
    };
}

#[async_trait]
impl Subject for Graph {
    fn open(&self) -> Arc<dyn Store> {
        let dsn = Dsn::parse(&self.account.dsn()).unwrap();
        ::graph::open("subject", &dsn, SETTINGS).unwrap()
    }

    fn dialect(&self) -> Dialect {
        Dialect {
            constants: "RETURN 7 AS a, 'seven' AS b, null AS c",
            five_thousand: "UNWIND range(1, 5000) AS i RETURN i",
            wide: hundred!("x"),
            wide_letters: hundred!("é"),
            nothing: "UNWIND [] AS x RETURN 1 AS a, 2 AS b",
            parameter: "RETURN $1 AS p",
            slow: "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN sum(a % 2 + b)",
            slow_after_a_row: "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b WITH a, b WHERE a + b < 3 OR a + b > 3000000 RETURN a",
            write: "MATCH (c:canary) DETACH DELETE c",
            two_statements: "RETURN 1; MATCH (c:canary) DETACH DELETE c",
            nonsense: "RETURN RETURN",
            missing_table: "CALL db.index.fulltext.queryNodes('canry', 'x') YIELD node RETURN node",
            missing_column: "MATCH (c:canary) RETURN nots",
        }
    }

    async fn canary(&self) -> String {
        graph::cypher("MATCH (c:canary) RETURN collect(properties(c))")
            .await
            .to_string()
    }

    async fn running(&self) -> usize {
        self.account.running().await
    }

    async fn break_connections(&self) {
        self.account.break_connections().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_keeps_the_contract() {
    every_rule(&Graph {
        account: graph::Account::create().await,
    })
    .await;
}
