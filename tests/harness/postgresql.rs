//! A database of its own for a test, and what its superuser sees.

use std::str::FromStr as _;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _};

/// The reader that `scripts/backends` makes on every server.
pub const READER: &str = "rhizodat_reader:reader-test";

/// A database that is dropped with the server; its name is its own.
pub struct Database {
    /// `host:port`.
    pub address: String,
    pub name: String,
    admin: PgConnectOptions,
}

impl Database {
    /// A new database on the server of this superuser's DSN.
    pub async fn create(superuser: &str) -> Self {
        let server = PgConnectOptions::from_str(superuser).unwrap();
        let name = format!("t_{}", uuid());
        let mut connection = server
            .connect()
            .await
            .expect("the server of the test answers");
        run(&mut connection, &format!("CREATE DATABASE {name}")).await;
        connection.close().await.unwrap();
        Self {
            address: format!("{}:{}", server.get_host(), server.get_port()),
            admin: server.database(&name),
            name,
        }
    }

    /// The same with the data of the corpora.
    pub async fn with_corpus(superuser: &str) -> Self {
        let database = Self::create(superuser).await;
        let fixture = std::fs::read_to_string("tests/corpus/postgresql/fixture.sql").unwrap();
        let mut admin = database.admin().await;
        run(&mut admin, &fixture).await;
        admin.close().await.unwrap();
        database
    }

    /// The reader's DSN.
    pub fn reader(&self) -> String {
        self.dsn(READER)
    }

    /// A DSN with this `user:password`.
    pub fn dsn(&self, account: &str) -> String {
        format!("postgresql://{account}@{}/{}", self.address, self.name)
    }

    /// A superuser's connection.
    pub async fn admin(&self) -> PgConnection {
        self.admin.connect().await.unwrap()
    }
}

/// Runs statements of the test's own.
pub async fn run(connection: &mut PgConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .execute(connection)
        .await
        .unwrap_or_else(|error| panic!("{error}\n{sql}"));
}

/// The first value of the first row, as text.
pub async fn text(connection: &mut PgConnection, sql: &str) -> String {
    let row: PgRow = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
        .fetch_one(connection)
        .await
        .unwrap_or_else(|error| panic!("{error}\n{sql}"));
    row.try_get_raw(0)
        .unwrap()
        .as_str()
        .unwrap_or("NULL")
        .to_owned()
}

pub fn uuid() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}
