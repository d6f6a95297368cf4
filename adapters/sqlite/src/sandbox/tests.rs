//! What must not pass the sandbox, and what must.

use store::Code;

use crate::fixture::{Database, error, json};

const FULL: &str = "
    create table t(a integer primary key, b text); insert into t values (1, 'one'), (2, 'two');
    create view v as select a, replace(b, 'o', '0') as c from t;
    create trigger w instead of insert on v begin insert into t values (9, 'nine'); end;
    create virtual table f using fts5(title, body); insert into f values ('moon', 'a cold stone');
    create virtual table g using fts4(body); insert into g values ('a warm stone');
    create virtual table r using rtree(id, x0, x1, +label); insert into r values (1, 0.0, 2.0, 'here');";

#[tokio::test]
async fn whatever_is_no_read_is_refused_and_changes_no_byte() {
    let database = Database::made_by(FULL);
    let before = std::fs::read(database.path()).unwrap();
    let store = database.store();
    let elsewhere = database.path().with_file_name("elsewhere.db");
    let elsewhere = elsewhere.display();
    for text in [
        "insert into t values (3, 'x')",
        "insert into t values (3, 'x') returning a",
        "with n as (select 1) insert into t select *, 'x' from n",
        "explain insert into t values (3, 'x')",
        "update t set b = 'x' returning *",
        "delete from t",
        "replace into t values (1, 'x')",
        "insert into v values (1, 'x')",
        "insert into f(f) values ('rebuild')",
        "insert into r_node values (99, x'00')",
        "delete from r_rowid returning *",
        "update sqlite_schema set sql = ''",
        "create table u(a)",
        "create temp table u(a)",
        "create table u as select * from t",
        "create virtual table u using fts5(a)",
        "drop table t",
        "alter table t add column c",
        "create index i on t(b)",
        "analyze",
        "reindex",
        "vacuum",
        &format!("vacuum into '{elsewhere}'"),
        &format!("attach '{elsewhere}' as e"),
        "detach main",
        "begin immediate",
        "commit",
        "savepoint s",
        "pragma table_info(t)",
        "pragma user_version = 5",
        "pragma writable_schema = 1",
        "pragma journal_mode = wal",
        "explain pragma page_size",
        "select * from pragma_journal_mode",
        "select * from pragma_database_list",
        "select * from pragma_user_version(7)",
        "select load_extension('x')",
        "select fts3_tokenizer('simple')",
        "select writefile('x', 'y')",
        "select 1; delete from t",
        "select 1\0; delete from t",
        "",
        "-- nothing",
    ] {
        let refused = error(&store, text).await;
        let unknown = ["no such function", "too many arguments on pragma_"]
            .iter()
            .any(|words| refused.message.starts_with(words));
        assert!(
            refused.code == Code::QueryRejected || unknown,
            "{text}: {refused:?}"
        );
    }
    assert_eq!(std::fs::read(database.path()).unwrap(), before);
    assert!(!std::path::Path::new(&elsewhere.to_string()).exists());
    assert_eq!(
        json(&store, "select count(*), changes(), total_changes() from t").await,
        "[[2,0,0]]"
    );
}

#[tokio::test]
async fn honest_reads_pass() {
    let database = Database::made_by(FULL);
    let store = database.store();
    for (text, rows) in [
        ("values (1), (2)", "[[1],[2]]"),
        (
            "with recursive n(i) as (values (1) union all select i + 1 from n where i < 3) select sum(i) from n;",
            "[[6]]",
        ),
        (
            "select 'delete from t; -- ' as \"drop\" /* ; insert */ ; -- update",
            r#"[["delete from t; -- "]]"#,
        ),
        ("select c from v order by a", r#"[["0ne"],["tw0"]]"#),
        (
            "select title, rank < 0 from f where f match 'stone'",
            r#"[["moon",1]]"#,
        ),
        (
            "select snippet(f, 1, '<', '>', '', 9) from f('cold')",
            r#"[["a <cold> stone"]]"#,
        ),
        (
            "select snippet(g) from g where g match 'warm'",
            r#"[["a <b>warm</b> stone"]]"#,
        ),
        (
            "select id, label from r where x0 < 1 and x1 > 1",
            r#"[[1,"here"]]"#,
        ),
        ("select count(*) from r_node", "[[1]]"),
        (
            "select name, pk from pragma_table_info('t')",
            r#"[["a",1],["b",0]]"#,
        ),
        (
            "select key, value from json_each('{\"a\": 1}')",
            r#"[["a",1]]"#,
        ),
        (
            "select name from sqlite_schema where type = 'trigger'",
            r#"[["w"]]"#,
        ),
        (
            "select group_concat(b, '+') filter (where a > 0) over () from t limit 1",
            r#"[["one+two"]]"#,
        ),
    ] {
        assert_eq!(json(&store, text).await, rows, "{text}");
    }
}

#[tokio::test]
async fn virtual_tables_open_again_after_another_program_changed_the_schema() {
    let database = Database::made_by(FULL);
    let store = database.store();
    let text = "select (select count(*) from f where f match 'stone'), (select count(*) from r where x0 < 9)";
    assert_eq!(json(&store, text).await, "[[1,1]]");
    database
        .writer()
        .execute_batch("alter table t add column c; insert into f values ('sun', 'no stone'); insert into r values (2, 1, 2, '')")
        .unwrap();
    assert_eq!(json(&store, text).await, "[[2,2]]");
    assert_eq!(
        json(&store, "select * from t where a = 1").await,
        r#"[[1,"one",null]]"#
    );
}

#[tokio::test]
async fn what_is_too_large_is_refused_before_it_is_made() {
    let database = Database::empty();
    let store = database.store();
    let long_pattern = format!("select 'a' like '{}'", "%a".repeat(300));
    let many_terms = format!("select 1{}", " union all select 1".repeat(600));
    let deep = format!("select {}1", "1+".repeat(1100));
    for text in [
        "select zeroblob(70000000)",
        "select hex(zeroblob(40000000))",
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 99) select group_concat(zeroblob(1000000)) from n",
        "with recursive n(i, b) as (select 1, zeroblob(1000000) union all select i + 1, zeroblob(1000000) from n) select 1 from n order by b, i",
        &long_pattern,
        &many_terms,
        &deep,
    ] {
        let refused = error(&store, text).await;
        let start: String = text.chars().take(60).collect();
        assert_eq!(refused.code, Code::LimitExceeded, "{start}: {refused:?}");
    }
}
