//! Values, limits, and every way a reading ends.

use std::time::Duration;

use serde_json::json;
use store::{Cell, Code, Store as _, Value};

use crate::fixture::{Database, LONG, error, json, request, values, with_params};

/// Counts for hours, a row at a time or all at once.
const ENDLESS_ROWS: &str =
    "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n";
const ENDLESS_COUNT: &str =
    "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";

#[tokio::test]
async fn every_storage_class_keeps_its_value_and_columns_their_declared_type() {
    let database = Database::made_by(
        "create table t(i INTEGER, d DECIMAL(10, 2), s varchar(9), b BLOB, n);
         insert into t values (9223372036854775807, 1.5, 'it''s', x'00ff', null), (-1, 1e999, '', x'', 'x')",
    );
    let store = database.store();
    let stream = store
        .query(request("select *, i + 1.0 as e, i from t"))
        .await;
    let columns = stream.unwrap().columns().clone();
    let told: Vec<_> = columns
        .iter()
        .map(|column| (column.name.as_str(), column.type_name.as_str()))
        .collect();
    let declared = [
        ("i", "INTEGER"),
        ("d", "DECIMAL(10, 2)"),
        ("s", "varchar(9)"),
        ("b", "BLOB"),
        ("n", ""),
        ("e", ""),
        ("i", "INTEGER"),
    ];
    assert_eq!(told, declared);
    assert_eq!(
        json(&store, "select * from t").await,
        r#"[["9223372036854775807",1.5,"it's",{"base64":"AP8="},null],[-1,"Infinity","",{"base64":""},"x"]]"#
    );
    // The columns of an empty answer are there too.
    let empty = store.query(request("select i, s from t where false")).await;
    assert_eq!(empty.unwrap().columns().len(), 2);
}

#[tokio::test]
async fn parameters_arrive_as_their_own_type() {
    let database = Database::empty();
    let store = database.store();
    let params = [
        json!(null),
        json!(true),
        json!(-7),
        json!(0.5),
        json!("a\u{0}b"),
        json!([1, {"k": "v"}]),
    ];
    let text = "select typeof(?1), ?2, typeof(?3), ?4, length(cast(?5 as blob)), ?6 ->> '$[1].k', ?1 is null";
    let rows = values(&store, with_params(text, &params)).await.unwrap();
    let row = Value::List(rows.into_iter().next().unwrap());
    assert_eq!(row.to_json(), r#"["null",1,"integer",0.5,3,"v",1]"#);
    for (params, message) in [
        (vec![], "`params` has no value but the statement takes 2"),
        (
            vec![json!(1); 3],
            "`params` has 3 values but the statement takes 2",
        ),
        (
            vec![json!(1), json!(u64::MAX)],
            "parameter 2 is beyond the integers of SQLite, which have 64 bits",
        ),
    ] {
        let error = values(&store, with_params("select ?1, ?2", &params))
            .await
            .unwrap_err();
        assert_eq!(
            (error.code, error.message.as_str()),
            (Code::InvalidArgument, message)
        );
    }
}

#[tokio::test]
async fn the_row_limit_tells_whether_more_exist() {
    let database = Database::made_by("create table t(i); insert into t values (1), (2), (3)");
    let store = database.store();
    for (limit, answered, more) in [
        (0, 0, true),
        (2, 2, true),
        (3, 3, false),
        (u64::MAX, 3, false),
    ] {
        let mut request = request("select i from t");
        request.limits.rows = limit;
        let mut stream = store.query(request).await.unwrap();
        let mut rows = 0;
        while stream.next().await.unwrap().is_some() {
            rows += 1;
        }
        assert_eq!((rows, stream.has_more_rows()), (answered, more), "{limit}");
    }
    // One after the other, they shared one connection.
    assert_eq!(store.pool().counts(), (0, 1));
}

#[tokio::test]
async fn only_the_beginning_of_a_long_value_leaves_sqlite() {
    let database = Database::empty();
    let store = database.store();
    let mut request = request("select hex(zeroblob(10000000)), 'é', zeroblob(9), 'abc'");
    request.limits.cell_bytes = 3;
    let row = store
        .query(request)
        .await
        .unwrap()
        .next()
        .await
        .unwrap()
        .unwrap();
    let expected = [
        Cell::cut(Value::Text("000".to_owned()), 20_000_000),
        Cell::whole(Value::Text("é".to_owned())),
        Cell::cut(Value::Bytes(vec![0; 3]), 9),
        Cell::whole(Value::Text("abc".to_owned())),
    ];
    assert_eq!(row, expected);
    let broken = error(&store, "select 1, cast(x'61ff' as text) as name").await;
    assert_eq!(broken.code, Code::UndecodableValue);
    assert_eq!(broken.message, "column `name` holds text that is not UTF-8");
}

#[tokio::test]
async fn dropping_the_stream_or_the_call_stops_the_statement() {
    let database = Database::empty();
    let store = database.store();
    let mut endless = request(ENDLESS_ROWS);
    endless.limits.rows = u64::MAX;
    let mut stream = store.query(endless).await.unwrap();
    stream.next().await.unwrap();
    assert_eq!(store.pool().counts().0, 1);
    drop(stream);
    store.pool().quiet().await;
    assert_eq!(store.pool().counts().0, 0);

    let mut call = store.query(request(ENDLESS_COUNT));
    while store.pool().counts().0 == 0 {
        tokio::select! {
            _ = &mut call => panic!("answered"),
            () = tokio::task::yield_now() => {}
        }
    }
    drop(call);
    store.pool().quiet().await;
    assert_eq!(store.pool().counts().0, 0);
    assert_eq!(json(&store, "select 1").await, "[[1]]");
}

#[tokio::test]
async fn the_deadline_ends_what_runs_and_what_is_not_taken() {
    let database = Database::empty();
    let store = database.store();
    let mut count = request(ENDLESS_COUNT);
    count.limits.timeout = Duration::from_millis(50);
    assert_eq!(store.query(count).await.unwrap_err().code, Code::Timeout);
    store.pool().quiet().await;
    assert_eq!(
        store.pool().counts(),
        (0, 0),
        "an interrupted connection is kept"
    );

    let mut untaken = request(ENDLESS_ROWS);
    untaken.limits.timeout = Duration::from_millis(50);
    untaken.limits.rows = u64::MAX;
    let mut stream = store.query(untaken).await.unwrap();
    // Its place is free again although nobody takes its rows.
    store.pool().quiet().await;
    let ended = loop {
        match stream.next().await {
            Ok(row) => assert!(row.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!(ended.code, Code::Timeout);
    assert_eq!(json(&store, "select 1").await, "[[1]]");
}

#[tokio::test]
async fn closing_stops_everything() {
    let database = Database::empty();
    let store = database.store();
    let mut endless = request(ENDLESS_ROWS);
    endless.limits.rows = u64::MAX;
    let mut stream = store.query(endless).await.unwrap();
    store.close().await;
    assert_eq!(store.pool().counts(), (0, 0));
    let ended = loop {
        match stream.next().await {
            Ok(row) => assert!(row.is_some()),
            Err(error) => break error,
        }
    };
    assert_eq!(ended.code, Code::StoreUnreachable);
    assert_eq!(
        error(&store, "select 1").await.message,
        "the store is closed"
    );
    assert_eq!(
        store.probe(LONG).await.unwrap_err().code,
        Code::StoreUnreachable
    );
}
