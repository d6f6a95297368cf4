//! The walls of a connection, laid before its first use.
//!
//! The file is open read-only; the connection queries only, is defensive, distrusts the schema and
//! keeps temporary data in memory; run-time limits bound a statement's size, and a heap limit all
//! of them together. The authorizer admits reads. It is asked while a statement is prepared, also
//! for what SQLite prepares by itself to open a virtual table, and so tells the two apart: what a
//! statement does first is what the caller's text says.

use std::sync::{Arc, Mutex, Once, PoisonError};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, Authorization};
use rusqlite::limits::Limit;

/// The memory that all SQLite statements of this process may take together.
const HEAP_BYTES: i64 = 256 << 20;

/// What one statement may be and make. The longest value bounds what one call of a function can
/// chew on while no time limit reaches it.
const LIMITS: [(Limit, i32); 12] = [
    (Limit::SQLITE_LIMIT_LENGTH, 64 << 20),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
    (Limit::SQLITE_LIMIT_COLUMN, 2000),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 1000),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 500),
    (Limit::SQLITE_LIMIT_VDBE_OP, 1_000_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 127),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 1000),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

const SWITCHES: [(DbConfig, bool); 6] = [
    (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
    (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
    (DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false),
    (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
    // A reader leaves the write-ahead log to its writers.
    (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
];

/// Functions that reach beyond the database, in SQLite itself or in its shell's extensions.
const FORBIDDEN_FUNCTIONS: [&str; 10] = [
    "load_extension",
    "fts3_tokenizer",
    // It hands out the pointers by which tokenizers are registered.
    "fts5",
    "readfile",
    "writefile",
    "edit",
    "fsdir",
    "lsmode",
    "zipfile",
    "sqlite_log",
];

/// Pragmas that only tell, for their table-valued functions and for virtual tables that ask them.
const TELLING_PRAGMAS: [&str; 17] = [
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "function_list",
    "collation_list",
    "module_list",
    "compile_options",
    "application_id",
    "user_version",
    "encoding",
    "page_count",
    "page_size",
    "data_version",
];

/// Those of them that set something when they are given a value.
const SETTING_PRAGMAS: [&str; 4] = ["application_id", "user_version", "encoding", "page_size"];

/// What the authorizer refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A change of a table's rows.
    Write(String),
    /// A change of the schema.
    Definition,
    /// A pragma.
    Pragma(String),
    /// Another database file.
    Attach,
    /// A transaction of the caller's own.
    Transaction,
    /// A function that reaches beyond the database.
    Function(String),
    /// Anything else.
    Other,
}

/// What the authorizer sees of the statement that is being prepared.
#[derive(Default)]
pub(crate) struct Watch(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    begun: bool,
    refused: Option<Refused>,
}

impl Watch {
    /// A statement of the caller's is prepared next.
    pub(crate) fn begin(&self) {
        *self.seen() = Seen::default();
    }

    /// The first thing refused since then.
    pub(crate) fn refused(&self) -> Option<Refused> {
        self.seen().refused.clone()
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(&self, action: &AuthAction<'_>) -> Authorization {
        let mut seen = self.seen();
        let is_first = !seen.begun;
        seen.begun = true;
        match judge(action, is_first) {
            Ok(authorization) => authorization,
            Err(refused) => {
                seen.refused.get_or_insert(refused);
                Authorization::Deny
            }
        }
    }
}

fn judge(action: &AuthAction<'_>, is_first: bool) -> Result<Authorization, Refused> {
    match *action {
        AuthAction::Select | AuthAction::Recursive | AuthAction::Read { .. } => {
            Ok(Authorization::Allow)
        }
        AuthAction::Function { function_name }
            if !FORBIDDEN_FUNCTIONS
                .iter()
                .any(|name| name.eq_ignore_ascii_case(function_name)) =>
        {
            Ok(Authorization::Allow)
        }
        AuthAction::Function { function_name } => Err(Refused::Function(function_name.to_owned())),
        AuthAction::Pragma {
            pragma_name,
            pragma_value,
        } if !is_first && only_tells(pragma_name, pragma_value) => Ok(Authorization::Allow),
        AuthAction::Pragma { pragma_name, .. } => Err(Refused::Pragma(pragma_name.to_owned())),
        // An R-tree prepares the changes of its own tables when it is opened, also for reading.
        // Ignored, they become statements that do nothing.
        AuthAction::Insert { table_name }
        | AuthAction::Delete { table_name }
        | AuthAction::Update { table_name, .. }
            if !is_first && is_part_of_rtree(table_name) =>
        {
            Ok(Authorization::Ignore)
        }
        AuthAction::Insert { table_name }
        | AuthAction::Delete { table_name }
        | AuthAction::Update { table_name, .. } => {
            // A definition begins as a change of the schema's own table.
            if table_name.starts_with("sqlite_") {
                Err(Refused::Definition)
            } else {
                Err(Refused::Write(table_name.to_owned()))
            }
        }
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => Err(Refused::Attach),
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => Err(Refused::Transaction),
        AuthAction::CreateIndex { .. }
        | AuthAction::CreateTable { .. }
        | AuthAction::CreateTempIndex { .. }
        | AuthAction::CreateTempTable { .. }
        | AuthAction::CreateTempTrigger { .. }
        | AuthAction::CreateTempView { .. }
        | AuthAction::CreateTrigger { .. }
        | AuthAction::CreateView { .. }
        | AuthAction::CreateVtable { .. }
        | AuthAction::DropIndex { .. }
        | AuthAction::DropTable { .. }
        | AuthAction::DropTempIndex { .. }
        | AuthAction::DropTempTable { .. }
        | AuthAction::DropTempTrigger { .. }
        | AuthAction::DropTempView { .. }
        | AuthAction::DropTrigger { .. }
        | AuthAction::DropView { .. }
        | AuthAction::DropVtable { .. }
        | AuthAction::AlterTable { .. }
        | AuthAction::Reindex { .. }
        | AuthAction::Analyze { .. } => Err(Refused::Definition),
        _ => Err(Refused::Other),
    }
}

fn only_tells(pragma: &str, value: Option<&str>) -> bool {
    let named = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(pragma));
    named(&TELLING_PRAGMAS) && (value.is_none() || !named(&SETTING_PRAGMAS))
}

fn is_part_of_rtree(table: &str) -> bool {
    ["_node", "_rowid", "_parent"]
        .iter()
        .any(|suffix| table.ends_with(suffix))
}

/// Lays every wall but the authorizer. Nothing of a caller has reached the connection before.
pub(crate) fn lay(connection: &Connection) -> rusqlite::Result<()> {
    static HEAP: Once = Once::new();
    HEAP.call_once(|| crate::ffi::limit_heap(HEAP_BYTES));
    for (limit, most) in LIMITS {
        connection.set_limit(limit, most)?;
    }
    for (switch, on) in SWITCHES {
        connection.set_db_config(switch, on)?;
    }
    crate::ffi::forbid_extensions(connection).map_err(failure)?;
    crate::ffi::register_functions(connection).map_err(failure)?;
    crate::json_patch::register(connection)?;
    connection.execute_batch(
        "PRAGMA query_only = 1; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; \
         PRAGMA cell_size_check = 1;",
    )
}

/// Shuts the door: from now on, the authorizer is asked for everything.
pub(crate) fn shut(connection: &mut Connection) -> rusqlite::Result<Arc<Watch>> {
    let watch = Arc::new(Watch::default());
    let asked = Arc::clone(&watch);
    connection.authorizer(Some(move |context: rusqlite::hooks::AuthContext<'_>| {
        asked.decide(&context.action)
    }))?;
    Ok(watch)
}

fn failure(code: std::ffi::c_int) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)
}

#[cfg(test)]
mod tests;
