//! Files as they are found: missing, broken, locked, written by others, on a read-only mount.

use std::os::unix::fs::symlink;
use std::time::Duration;

use rusqlite::Connection;
use store::{Code, Error, Store as _};

use crate::fixture::{Database, LONG, error, json, store_at};

const WAL: &str = "pragma journal_mode = wal; create table t(a); insert into t values (1);";

async fn refused(database: &Database) -> Error {
    let found = error(&database.store(), "select 1").await;
    assert!(found.hint.is_some(), "{found:?}");
    let shown = format!("{found:?}");
    let directory = database.path().parent().unwrap().display().to_string();
    assert!(!shown.contains(&directory), "{shown}");
    assert_eq!(
        database.store().probe(LONG).await.unwrap_err().message,
        found.message
    );
    found
}

#[tokio::test]
async fn each_file_that_is_no_readable_database_has_its_own_error() {
    let missing = Database::missing();
    let found = refused(&missing).await;
    assert_eq!(found.code, Code::StoreUnreachable);
    assert_eq!(found.message, "the database file does not exist");
    assert!(!missing.path().exists());

    let directory = Database::missing();
    std::fs::create_dir(directory.path()).unwrap();
    let found = refused(&directory).await;
    assert_eq!(
        found.message,
        "the path is a directory, not a database file"
    );

    let socket = Database::missing();
    let _listener = std::os::unix::net::UnixListener::bind(socket.path()).unwrap();
    assert_eq!(
        refused(&socket).await.message,
        "the path is no regular file"
    );

    if std::path::Path::new("/proc/self/status").exists() {
        let store = store_at(std::path::Path::new("/proc/self/status"), LONG);
        let found = error(&store, "select 1").await;
        assert_eq!(found.message, "the path is no regular file");
    }

    let other = Database::missing();
    std::fs::write(other.path(), [b'x'; 5000]).unwrap();
    let found = refused(&other).await;
    assert_eq!(found.message, "the file is not a database");
    assert_eq!(found.server_code.as_deref(), Some("SQLITE_NOTADB"));
    assert_eq!(found.code, Code::StoreUnreachable);

    let damaged = Database::made_by("create table t(a); create table u(b);");
    let mut bytes = std::fs::read(damaged.path()).unwrap();
    bytes[100..4096].fill(0x5a);
    std::fs::write(damaged.path(), bytes).unwrap();
    let found = refused(&damaged).await;
    assert_eq!(found.message, "the database file is damaged");
    assert_eq!(found.code, Code::StoreUnreachable);
}

#[tokio::test]
async fn a_file_without_a_table_is_read_and_told() {
    let empty = Database::missing();
    std::fs::write(empty.path(), "").unwrap();
    for database in [empty, Database::empty()] {
        let store = database.store();
        let probe = store.probe(LONG).await.unwrap();
        assert!(probe.refusal().is_none());
        assert_eq!(probe.findings.len(), 1);
        assert!(probe.findings[0].problem.contains("no table"));
        assert_eq!(json(&store, "select 1").await, "[[1]]");
        database
            .writer()
            .execute_batch("create view v as select 1")
            .unwrap();
        assert!(store.probe(LONG).await.unwrap().findings.is_empty());
    }
}

#[tokio::test]
async fn damage_in_one_table_leaves_the_others_readable() {
    let database = Database::made_by(
        "create table good(a); insert into good values (1);
         create table bad(a); insert into bad values (1);",
    );
    let page: i64 = database
        .writer()
        .query_row(
            "select rootpage from sqlite_schema where name = 'bad'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let mut bytes = std::fs::read(database.path()).unwrap();
    let start = usize::try_from(page - 1).unwrap() * 4096;
    bytes[start..start + 4096].fill(0x5a);
    std::fs::write(database.path(), bytes).unwrap();
    let store = database.store();
    let found = error(&store, "select * from bad").await;
    assert_eq!(found.code, Code::QueryFailed);
    assert!(
        found
            .server_code
            .as_deref()
            .is_some_and(|code| code.starts_with("SQLITE_CORRUPT"))
    );
    assert_eq!(json(&store, "select * from good").await, "[[1]]");
}

#[tokio::test]
async fn a_half_written_transaction_of_a_dead_writer_is_told() {
    let database = Database::made_by("create table t(a); insert into t values (1);");
    let writer = database.writer();
    // With a cache of one page and enough rows, the file itself is changed before the commit.
    writer
        .execute_batch(
            "pragma cache_size = 1; pragma cache_spill = 1; begin;
             with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
             insert into t select randomblob(500) from n",
        )
        .unwrap();
    let copy = Database::missing();
    for end in ["", "-journal"] {
        let named = |path: std::path::PathBuf| {
            let mut name = path.into_os_string();
            name.push(end);
            name
        };
        std::fs::copy(named(database.path()), named(copy.path())).unwrap();
    }
    let found = refused(&copy).await;
    assert_eq!(found.code, Code::StoreUnreachable);
    assert_eq!(
        found.server_code.as_deref(),
        Some("SQLITE_READONLY_ROLLBACK")
    );
}

#[tokio::test]
async fn a_lock_is_waited_for_and_then_told() {
    let database = Database::made_by("create table t(a); insert into t values (1);");
    let store = store_at(&database.path(), Duration::from_millis(30));
    assert_eq!(json(&store, "select a from t").await, "[[1]]");
    let writer = database.writer();
    writer.execute_batch("begin exclusive").unwrap();
    let found = error(&store, "select a from t").await;
    assert_eq!(found.code, Code::Busy);
    assert_eq!(found.message, "database is locked");
    // A store that first opens the file then says the same.
    let fresh = store_at(&database.path(), Duration::from_millis(30));
    assert_eq!(error(&fresh, "select a from t").await.code, Code::Busy);
    writer.execute_batch("commit").unwrap();
    assert_eq!(json(&store, "select a from t").await, "[[1]]");
}

#[tokio::test]
async fn commits_of_a_live_writer_in_wal_mode_are_seen() {
    let database = Database::made_by(WAL);
    let writer = database.writer();
    writer
        .execute_batch("pragma wal_autocheckpoint = 0; insert into t values (2)")
        .unwrap();
    let store = database.store();
    assert_eq!(json(&store, "select a from t").await, "[[1],[2]]");
    writer
        .execute_batch("begin immediate; insert into t values (3)")
        .unwrap();
    assert_eq!(json(&store, "select count(*) from t").await, "[[2]]");
    writer.execute_batch("commit").unwrap();
    assert_eq!(json(&store, "select count(*) from t").await, "[[3]]");
    let probe = store.probe(LONG).await.unwrap();
    assert!(probe.version.ends_with("journal mode wal"));
    assert!(probe.findings.is_empty());
}

#[tokio::test]
async fn a_file_put_in_its_place_is_read_from_then_on() {
    let database = Database::made_by("create table t(a); insert into t values ('old');");
    let store = database.store();
    assert_eq!(json(&store, "select a from t").await, r#"[["old"]]"#);
    let next = database.path().with_extension("next");
    Connection::open(&next)
        .unwrap()
        .execute_batch("create table t(a); insert into t values ('new');")
        .unwrap();
    std::fs::rename(&next, database.path()).unwrap();
    assert_eq!(json(&store, "select a from t").await, r#"[["new"]]"#);
    std::fs::remove_file(database.path()).unwrap();
    let found = error(&store, "select a from t").await;
    assert_eq!(found.message, "the database file does not exist");
}

#[tokio::test]
async fn odd_names_and_links_are_paths_and_no_uris() {
    let database = Database::made_by("create table t(a); insert into t values (1);");
    let odd = database.path().with_file_name("file:x?mode=rwc%20&#.db");
    std::fs::copy(database.path(), &odd).unwrap();
    let link = database.path().with_file_name("link.db");
    symlink(&odd, &link).unwrap();
    assert_eq!(
        json(&store_at(&link, LONG), "select a from t").await,
        "[[1]]"
    );
    let file = crate::file::DatabaseFile::at(&odd);
    let alone = file.connect_immutable().unwrap();
    let rows: i64 = alone
        .query_row("select a from t", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rows, 1);
}
