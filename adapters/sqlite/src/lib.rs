//! SQLite behind a door that cannot write.
//!
//! A text runs on a thread of its own connection, never on the runtime's: the file is opened
//! read-only, the connection is told to query only and is defensive, an authorizer admits reads and
//! nothing else, and run-time limits bound what one statement takes. See `sandbox`.

mod adapter;
mod busy;
mod cell;
mod ddl;
mod error;
mod ffi;
mod file;
mod functions;
mod hints;
mod json_patch;
mod lexer;
mod pool;
mod reading;
mod sandbox;
mod schema;
mod session;
mod statement;
mod ticket;
mod worker;

#[cfg(test)]
mod fixture;

use std::sync::Arc;

use store::{Dsn, Problem, Settings, Store};

/// A store over the database file that `dsn` names.
///
/// Only the DSN is checked here; the file is looked at on first use, and never created.
pub fn open(name: &str, dsn: &Dsn, settings: Settings) -> Result<Arc<dyn Store>, Vec<Problem>> {
    let file = file::DatabaseFile::of(dsn)?;
    Ok(Arc::new(adapter::SqliteStore::new(
        name, dsn, file, settings,
    )))
}
