//! A table that changes while it is read: what the columns are and what stands in them are of one
//! moment. Nothing a query moves gets past the check of its answer.

use serde_json::json;

use crate::harness::backends::postgresql_servers;
use crate::harness::client::Server;
use crate::harness::postgresql::{Database, run};

#[tokio::test]
async fn columns_and_values_are_of_one_table_while_two_are_swapped() {
    let (_, superuser) = postgresql_servers().into_iter().next().unwrap();
    let database = Database::create(&superuser).await;
    let mut admin = database.admin().await;
    run(
        &mut admin,
        "create table p (price text, name text); insert into p values ('PRICE', 'NAME');
         create table p2 (name text, price text); insert into p2 values ('NAME', 'PRICE');
         grant select on p, p2 to rhizodat_reader",
    )
    .await;
    let dsn = database.reader();
    let server = Server::start(&[("RHIZODAT_STORE_ERP", &dsn)]).await;
    let swap = "begin; alter table p rename to p3; alter table p2 rename to p; alter table p3 rename to p2; commit";
    let swapping = async {
        loop {
            run(&mut admin, swap).await;
            tokio::task::yield_now().await;
        }
    };
    let reading = async {
        for _ in 0..300 {
            let reply = server.query("erp", "select * from p").await;
            let table = reply.table();
            for (column, value) in table.columns.iter().zip(&table.rows[0]) {
                let expected = format!("\"{}\"", column.name.to_uppercase());
                assert_eq!(value.get(), expected, "{}", reply.text);
            }
        }
    };
    tokio::select! {
        () = reading => {}
        () = swapping => {}
    }
}

#[tokio::test]
async fn an_answer_that_moved_its_own_settings_is_none_also_where_bytes_cut_it() {
    for (_, superuser) in postgresql_servers() {
        let database = Database::create(&superuser).await;
        let mut admin = database.admin().await;
        run(
            &mut admin,
            "create function mv(k text, v text) returns text volatile language plpgsql as
             $$ begin return set_config(k, v, false); end $$",
        )
        .await;
        let dsn = database.reader();
        let server = Server::start(&[("RHIZODAT_STORE_ERP", &dsn)]).await;
        for rows in [3, 60] {
            let moving = format!(
                "select case when g = 1 then mv('extra_float_digits', '-10') end, (1.0 / 3)::float8, repeat('y', 3000)
                 from generate_series(1, {rows}) g"
            );
            let refused = server.query("erp", &moving).await;
            assert_eq!(refused.code(), "query_rejected", "{rows}: {}", refused.text);
        }
        // Put back before the end, where nothing would show.
        for (name, moved, own, value) in [
            ("DateStyle", "German", "ISO, MDY", "date '2024-01-02'"),
            (
                "DateStyle",
                "SQL, DMY",
                "ISO, MDY",
                "'2024-01-02 03:04'::timestamp",
            ),
            (
                "TimeZone",
                "Asia/Tokyo",
                "UTC",
                "array['2024-01-02 03:04Z'::timestamptz]",
            ),
            (
                "DateStyle",
                "Postgres, MDY",
                "ISO, MDY",
                "tsrange('2024-01-02', null)",
            ),
            ("IntervalStyle", "postgres", "iso_8601", "interval '1 year'"),
            ("bytea_output", "escape", "hex", "'x'::bytea"),
        ] {
            let moving = format!(
                "select case g when 1 then mv('{name}', '{moved}') else mv('{name}', '{own}') end, {value} as moved
                 from generate_series(1, 2) g"
            );
            let refused = server.query("erp", &moving).await;
            assert_eq!(
                refused.code(),
                "undecodable_value",
                "{name}: {}",
                refused.text
            );
            assert!(refused.text.contains("column `moved`"), "{}", refused.text);
        }
        let moving = "select mv('client_encoding', 'LATIN1')";
        let refused = server.query("erp", moving).await;
        assert_eq!(refused.code(), "query_rejected", "{}", refused.text);
        let third = server.query("erp", "select (1.0 / 3)::float8").await;
        assert_eq!(third.rows(), json!([[1.0 / 3.0]]));
    }
}

#[tokio::test]
async fn a_huge_message_of_the_server_costs_no_later_call_its_memory() {
    let (_, superuser) = postgresql_servers().into_iter().next().unwrap();
    let database = Database::create(&superuser).await;
    let dsn = database.reader();
    let server = Server::start(&[("RHIZODAT_STORE_ERP", &dsn)]).await;
    let refused = server
        .query("erp", "select (repeat('x', 50000000))::integer")
        .await;
    assert_eq!(refused.code(), "query_failed");
    assert!(refused.text.len() < 5000, "{} bytes", refused.text.len());
    assert_eq!(server.query("erp", "select 1").await.rows(), json!([[1]]));
}
