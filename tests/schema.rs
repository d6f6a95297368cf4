//! `schema` says of PostgreSQL's tables what their makers declared, and nothing the server made of it;
//! and what a pattern that finds nothing may lack.

use serde_json::{Value, json};

use crate::harness::backends::postgresql_servers;
use crate::harness::client::Server;
use crate::harness::postgresql::{Database, run};
use crate::harness::sqlite::File;

#[tokio::test]
async fn a_key_to_a_partitioned_table_is_one_key() {
    for (_, superuser) in postgresql_servers() {
        let database = Database::create(&superuser).await;
        let mut admin = database.admin().await;
        run(
            &mut admin,
            "create table parent (a integer, b integer, primary key (a, b)) partition by list (a);
             create table parent_1 partition of parent for values in (1);
             create table parent_2 partition of parent for values in (2);
             create table child (x integer, y integer default 7, foreign key (x, y) references parent (a, b));
             grant select on all tables in schema public to rhizodat_reader",
        )
        .await;
        let dsn = database.reader();
        let server = Server::start(&[("RHIZODAT_STORE_ERP", &dsn)]).await;
        let asked = json!({"store": "erp", "detail": "full"});
        let reply = server.call("schema", asked).await;
        let told: Value = serde_json::from_str(reply.data()).unwrap();
        let tables = told["tables"].as_array().unwrap();
        let names: Vec<&Value> = tables.iter().map(|table| &table["table"]).collect();
        assert_eq!(names, ["public.child", "public.parent"], "{}", reply.text);
        let keys = tables[0]["foreign_keys"].as_array().unwrap();
        assert_eq!(keys.len(), 1, "{}", reply.text);
        assert!(
            keys[0].to_string().contains("public.parent\""),
            "{}",
            reply.text
        );
        assert!(reply.text.contains("\"default\":\"7\""), "{}", reply.text);
    }
}

#[tokio::test]
async fn a_pattern_of_another_language_that_finds_nothing_is_told() {
    let file = File::create("create table note (id integer)");
    let dsn = file.dsn();
    let server = Server::start(&[("RHIZODAT_STORE_NOTES", &dsn)]).await;
    for (like, count, is_hinted) in [("n%", "0", true), ("n*", "1", false), ("x*", "0", false)] {
        let asked = json!({"store": "notes", "like": like});
        let reply = server.call("schema", asked).await;
        assert_eq!(reply.note("table_count"), Some(count), "{}", reply.text);
        let hint = reply.note("hint");
        assert_eq!(hint.is_some_and(|h| h.contains("`*`")), is_hinted, "{like}");
    }
}
