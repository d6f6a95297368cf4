//! What the tests of this crate share: a database in a directory of its own, and a store over it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use serde_json::Value as Json;
use store::{Dsn, Error, Limits, QueryRequest, Settings, Store, Value};
use tempfile::TempDir;

use crate::adapter::SqliteStore;
use crate::file::DatabaseFile;

/// A time-out that no test reaches.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A database that lives as long as the test.
pub(crate) struct Database {
    directory: TempDir,
}

impl Database {
    /// A database made by `sql`.
    pub(crate) fn made_by(sql: &str) -> Self {
        let database = Self::missing();
        database.writer().execute_batch(sql).unwrap();
        database
    }

    /// A database without tables.
    pub(crate) fn empty() -> Self {
        Self::made_by("pragma user_version = 1")
    }

    /// A path where there is no file yet.
    pub(crate) fn missing() -> Self {
        Self {
            directory: TempDir::new().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("data.db")
    }

    /// A connection such as another program has.
    pub(crate) fn writer(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    pub(crate) fn store(&self) -> SqliteStore {
        store_at(&self.path(), Duration::from_secs(5))
    }
}

pub(crate) fn store_at(path: &Path, busy_timeout: Duration) -> SqliteStore {
    let dsn = Dsn::parse(&format!("sqlite://{}", path.display())).unwrap();
    let settings = Settings {
        busy_timeout,
        max_concurrency: 2,
        connect_timeout: LONG,
        call_timeout: Duration::from_secs(20),
    };
    let file = DatabaseFile::of(&dsn).unwrap();
    SqliteStore::new("notes", &dsn, file, settings)
}

pub(crate) fn request(text: &str) -> QueryRequest {
    QueryRequest {
        text: text.to_owned(),
        params: Vec::new(),
        limits: Limits {
            rows: 1000,
            cell_bytes: 4096,
            timeout: LONG,
        },
    }
}

/// All values of an answer.
pub(crate) async fn values(
    store: &SqliteStore,
    request: QueryRequest,
) -> Result<Vec<Vec<Value>>, Error> {
    let mut stream = store.query(request).await?;
    let mut rows = Vec::new();
    while let Some(row) = stream.next().await? {
        rows.push(row.into_iter().map(|cell| cell.value).collect());
    }
    Ok(rows)
}

/// An answer as JSON text, to compare at a glance.
pub(crate) async fn json(store: &SqliteStore, text: &str) -> String {
    let rows = values(store, request(text)).await;
    let rows = rows.unwrap_or_else(|error| panic!("{text}: {error}"));
    let lists = rows.into_iter().map(Value::List).collect();
    Value::List(lists).to_json()
}

/// The error of a text that must not be answered.
pub(crate) async fn error(store: &SqliteStore, text: &str) -> Error {
    match values(store, request(text)).await {
        Ok(rows) => panic!("{text}: answered {} rows", rows.len()),
        Err(error) => error,
    }
}

pub(crate) fn with_params(text: &str, params: &[Json]) -> QueryRequest {
    QueryRequest {
        params: params.to_vec(),
        ..request(text)
    }
}
