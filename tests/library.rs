//! The library is used without MCP as its quickstart shows.

use crate::harness::sqlite::File;

#[path = "../examples/quickstart.rs"]
mod quickstart;

#[tokio::test]
async fn the_quickstart_answers() {
    let file = File::create(
        "create table note (id integer primary key, body text);
         insert into note values (1, 'hello'), (2, null);",
    );
    let path = file.dsn();
    let path = path.trim_start_matches("sqlite://");
    let lines = quickstart::ask(path, "select id, body from note order by id")
        .await
        .unwrap();
    assert_eq!(lines, ["id | body", "1 | \"hello\"", "2 | null"]);
    let refused = quickstart::ask(path, "delete from note").await.unwrap_err();
    let told = quickstart::told(refused.as_ref());
    assert!(
        told.starts_with("error: ") && told.contains("\nhint: "),
        "{told}"
    );
    let refused = quickstart::ask("relative.db", "select 1")
        .await
        .unwrap_err();
    let told = quickstart::told(refused.as_ref());
    assert_eq!(told.matches("error: ").count(), 1, "{told}");
    assert!(told.contains("\nhint: "), "{told}");
}
