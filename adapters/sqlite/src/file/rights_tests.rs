//! Files and directories that this process has few rights on. Root would have them all, so the
//! tests run as nobody where they are started as root.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::Uid;
use store::{Code, Error, Store as _};

use crate::fixture::{Database, LONG, error, json};

const WAL: &str = "pragma journal_mode = wal; create table t(a); insert into t values (1);";

/// Runs `test` on a thread, and all threads it starts, without the rights of root.
fn as_nobody(test: impl AsyncFnOnce() + Send) {
    let run = || {
        let nobody = Uid::from_raw(65534);
        // Whoever may not do this is not root.
        let _ = rustix::thread::set_thread_res_uid(nobody, nobody, nobody);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(test());
    };
    std::thread::scope(|scope| scope.spawn(run).join()).unwrap();
}

fn allow(path: &Path, mode: u32) {
    set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Leaves only reading and entering, runs `test`, and gives the rights back for the clean-up.
fn on_read_only_directory(database: &Database, test: impl AsyncFnOnce() + Send) {
    let directory = database.path().parent().unwrap().to_owned();
    allow(&directory, 0o555);
    as_nobody(test);
    allow(&directory, 0o755);
}

async fn told(database: &Database) -> Error {
    let found = error(&database.store(), "select a from t").await;
    assert_eq!(found.code, Code::StoreUnreachable);
    assert!(found.hint.is_some(), "{found:?}");
    found
}

#[test]
fn a_file_without_permission_is_told() {
    let database = Database::made_by("create table t(a)");
    allow(&database.path(), 0o000);
    on_read_only_directory(&database, async || {
        let found = told(&database).await;
        assert_eq!(found.message, "no permission to read the database file");
    });
}

#[test]
fn a_closed_database_in_wal_mode_is_read_alone_where_nothing_can_be_written() {
    let database = Database::made_by(WAL);
    on_read_only_directory(&database, async || {
        let store = database.store();
        assert_eq!(json(&store, "select a from t").await, "[[1]]");
        let probe = store.probe(LONG).await.unwrap();
        assert_eq!(probe.findings.len(), 1);
        assert!(probe.refusal().is_none());
    });
    // Written elsewhere in the meantime: the same store sees it, alone or not.
    let store = database.store();
    database
        .writer()
        .execute_batch("insert into t values (2)")
        .unwrap();
    on_read_only_directory(&database, async || {
        assert_eq!(json(&store, "select a from t").await, "[[1],[2]]");
    });
}

#[test]
fn changes_in_a_log_that_cannot_be_shared_are_never_left_out() {
    let database = Database::made_by(WAL);
    let writer = database.writer();
    writer.execute_batch("insert into t values (2)").unwrap();
    let copy = Database::missing();
    std::fs::copy(database.path(), copy.path()).unwrap();
    std::fs::copy(
        database.path().with_extension("db-wal"),
        copy.path().with_extension("db-wal"),
    )
    .unwrap();
    on_read_only_directory(&copy, async || {
        let found = told(&copy).await;
        assert!(found.message.contains("`-wal` file"), "{found:?}");
    });
}

#[test]
fn commits_of_a_live_writer_are_seen_on_a_read_only_directory() {
    let database = Database::made_by(WAL);
    let writer = database.writer();
    writer.execute_batch("insert into t values (2)").unwrap();
    let store = database.store();
    on_read_only_directory(&database, async || {
        assert_eq!(json(&store, "select a from t").await, "[[1],[2]]");
        assert!(store.probe(LONG).await.unwrap().findings.is_empty());
    });
    writer.execute_batch("insert into t values (3)").unwrap();
    on_read_only_directory(&database, async || {
        assert_eq!(json(&store, "select count(*) from t").await, "[[3]]");
    });
}
