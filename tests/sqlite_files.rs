//! SQLite files in every state an operator finds them in: each is read, or refused with its own
//! clear error, and none is ever created or changed.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::harness::client::Server;
use crate::harness::sqlite::{File, write};

const ROWS: &str = "create table t (a integer); insert into t values (1), (2);";

async fn server(path: &Path) -> Server {
    let dsn = format!("sqlite://{}", path.display());
    Server::start(&[
        ("RHIZODAT_STORE_NOTES", &dsn),
        ("RHIZODAT_MCP_BUSY_TIMEOUT", "200ms"),
    ])
    .await
}

#[tokio::test]
async fn a_database_of_a_living_writer_is_read_with_its_commits() {
    let file = File::create(&format!("pragma journal_mode = wal; {ROWS}"));
    let writer = rusqlite::Connection::open(&file.path).unwrap();
    writer.execute_batch("insert into t values (3)").unwrap();
    let server = server(&file.path).await;
    let count = "select count(*) from t";
    assert_eq!(server.query("notes", count).await.rows(), json!([[3]]));
    writer
        .execute_batch("begin; insert into t values (4)")
        .unwrap();
    assert_eq!(server.query("notes", count).await.rows(), json!([[3]]));
    writer.execute_batch("commit").unwrap();
    assert_eq!(server.query("notes", count).await.rows(), json!([[4]]));
    // A reader must not hold up the writer's checkpoint.
    let busy: i64 = writer
        .query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0))
        .unwrap();
    assert_eq!(busy, 0);
}

#[tokio::test]
async fn a_locked_database_is_busy_until_it_is_free() {
    let file = File::create(ROWS);
    let writer = rusqlite::Connection::open(&file.path).unwrap();
    let server = server(&file.path).await;
    writer
        .execute_batch("begin exclusive; insert into t values (3)")
        .unwrap();
    let reply = server.query("notes", "select count(*) from t").await;
    assert_eq!(reply.code(), "busy", "{}", reply.text);
    assert!(reply.text.contains("\nhint: "), "{}", reply.text);
    writer.execute_batch("rollback").unwrap();
    assert_eq!(
        server.query("notes", "select count(*) from t").await.rows(),
        json!([[2]])
    );
}

#[tokio::test]
async fn what_is_no_database_is_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::write(
        at("text.db"),
        "these are no pages of a database\n".repeat(200),
    )
    .unwrap();
    // Encrypted pages look like noise: a xorshift generator's will do.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    })
    .take(8192)
    .collect();
    std::fs::write(at("noise.db"), noise).unwrap();
    std::fs::create_dir(at("directory.db")).unwrap();
    let mut told = Vec::new();
    for name in ["missing.db", "text.db", "noise.db", "directory.db"] {
        let server = server(&at(name)).await;
        let reply = server.query("notes", "select 1 from sqlite_schema").await;
        assert_eq!(reply.code(), "store_unreachable", "{name}: {}", reply.text);
        assert!(reply.text.contains("\nhint: "), "{name}: {}", reply.text);
        told.push(reply.text);
    }
    told.sort();
    told.dedup();
    assert_eq!(told.len(), 4, "{told:#?}");
    assert!(
        told.iter().any(|text| text.contains("encrypted")),
        "{told:#?}"
    );
    assert!(!at("missing.db").exists());
}

#[tokio::test]
async fn a_read_only_mount_is_read() {
    for journal in ["delete", "wal"] {
        let file = File::create(&format!("pragma journal_mode = {journal}; {ROWS}"));
        let place = tempfile::tempdir().unwrap();
        let mount = |arguments: &[&str]| {
            let status = Command::new("mount")
                .args(arguments)
                .status()
                .expect("`mount` runs");
            assert!(
                status.success(),
                "tests of mounts run as root: mount {arguments:?}"
            );
        };
        let (from, to) = (
            file.directory.path().to_str().unwrap(),
            place.path().to_str().unwrap(),
        );
        mount(&["--bind", from, to]);
        mount(&["-o", "remount,bind,ro", to]);
        let server = server(&place.path().join("data.db")).await;
        let reply = server.query("notes", "select count(*) from t").await;
        drop(server);
        let unmounted = Command::new("umount")
            .arg("--lazy")
            .arg(to)
            .status()
            .unwrap();
        assert!(unmounted.success());
        assert_eq!(reply.rows(), json!([[2]]), "{journal}");
        assert_eq!(
            std::fs::read_dir(file.directory.path()).unwrap().count(),
            1,
            "{journal}"
        );
    }
}

#[tokio::test]
async fn a_change_of_the_file_by_others_is_seen() {
    let file = File::create(ROWS);
    let server = server(&file.path).await;
    assert_eq!(
        server
            .query("notes", "select * from t order by a")
            .await
            .rows(),
        json!([[1], [2]])
    );
    write(
        &file.path,
        "alter table t add column b text; update t set b = 'x' || a;",
    );
    assert_eq!(
        server
            .query("notes", "select * from t order by a")
            .await
            .rows(),
        json!([[1, "x1"], [2, "x2"]])
    );
}
