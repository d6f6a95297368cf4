//! SQLite files made for one test.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A database file in a directory of its own, which goes with it.
pub struct File {
    pub directory: TempDir,
    pub path: PathBuf,
}

impl File {
    /// A database made by this SQL.
    pub fn create(sql: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data.db");
        write(&path, sql);
        Self { directory, path }
    }

    /// The database of the corpora.
    pub fn with_corpus() -> Self {
        Self::create(&std::fs::read_to_string("tests/corpus/sqlite/fixture.sql").unwrap())
    }

    pub fn dsn(&self) -> String {
        format!("sqlite://{}", self.path.display())
    }
}

/// Runs SQL in a file, as another program would.
pub fn write(path: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap();
}
