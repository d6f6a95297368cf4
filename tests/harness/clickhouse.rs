//! ClickHouse databases made for one test, and what an administrator sees of them.

use clickhouse::Client;

use super::backends::variable;

/// May do everything that an account can.
pub const READER: &str = "rhizodat_reader:reader-test";

/// Its profile is `readonly = 2`.
pub const QUERIES: &str = "rhizodat_queries:queries-test";

/// Its profile is `readonly = 1`.
pub const FROZEN: &str = "rhizodat_frozen:frozen-test";

/// A database that goes with the server; its name is its own.
pub struct Database {
    /// `host:port`.
    pub address: String,
    pub name: String,
    admin: Client,
}

impl Database {
    /// A new database on the server of the tests.
    pub async fn create() -> Self {
        let dsn = variable("RHIZODAT_TEST_CLICKHOUSE");
        let (_, address) = dsn.rsplit_once('@').unwrap();
        let name = format!("t_{}", super::postgresql::uuid());
        let admin = Client::default()
            .with_url(format!("http://{address}"))
            .with_user("rhizodat_admin")
            .with_password("admin-test");
        let created = Self {
            address: address.to_owned(),
            admin: admin.clone(),
            name: name.clone(),
        };
        created.run(&format!("create database {name}")).await;
        Self {
            admin: admin.with_database(&name),
            ..created
        }
    }

    /// The same with the data of the corpora.
    pub async fn with_corpus() -> Self {
        let database = Self::create().await;
        let fixture = std::fs::read_to_string("tests/corpus/clickhouse/fixture.sql").unwrap();
        for statement in fixture.split(";\n") {
            let is_empty = statement
                .lines()
                .all(|line| line.is_empty() || line.starts_with("--"));
            if !is_empty {
                database.run(statement).await;
            }
        }
        database
    }

    /// A DSN with this `user:password`.
    pub fn dsn(&self, account: &str) -> String {
        format!("clickhouse://{account}@{}/{}", self.address, self.name)
    }

    /// Runs a statement of the test's own.
    pub async fn run(&self, sql: &str) {
        self.lines(sql).await;
    }

    /// The first value of the first row, as the server writes it in `TabSeparatedRaw`.
    pub async fn text(&self, sql: &str) -> String {
        let lines = self.lines(sql).await;
        lines.lines().next().unwrap_or_default().to_owned()
    }

    async fn lines(&self, sql: &str) -> String {
        let mut cursor = self
            .admin
            .query_raw(sql)
            .fetch_bytes("TabSeparatedRaw")
            .unwrap();
        let answer = cursor
            .collect()
            .await
            .unwrap_or_else(|error| panic!("{error}\n{sql}"));
        String::from_utf8_lossy(&answer).into_owned()
    }
}
