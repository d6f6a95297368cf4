//! The contract's test kit: what every [`Store`] must do, written against the trait. An adapter
//! brings a [`Subject`] (a real store, and the means to look at it from outside) and runs
//! [`every_rule`]. A rule that is broken panics with what it saw.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing
)]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;

use crate::{Cell, Code, Error, Limits, QueryRequest, Row, Store, Value, schema};

/// How long a rule waits for what must happen soon.
const SOON: Duration = Duration::from_secs(10);

/// A store under test.
#[async_trait]
pub trait Subject: Send + Sync {
    /// The store. Each call opens another one, with nothing connected yet.
    fn open(&self) -> Arc<dyn Store>;

    /// How the store's language says what the rules need.
    fn dialect(&self) -> Dialect;

    /// The content of the table `canary`, as another client of the store sees it.
    async fn canary(&self) -> String;

    /// How many queries run in the store for the account under test.
    async fn running(&self) -> usize;

    /// Breaks every connection of the account under test from the store's side. Stores that have
    /// no connections do nothing.
    async fn break_connections(&self);
}

/// Texts in the store's language.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// One row: the number 7, the text `seven`, and null.
    pub constants: &'static str,
    /// The numbers from 1 to 5000 as rows of one column.
    pub five_thousand: &'static str,
    /// One row of one text of 100,000 times `x`.
    pub wide: &'static str,
    /// One row of one text of 100,000 times `é`.
    pub wide_letters: &'static str,
    /// No row, of the columns `a` and `b`.
    pub nothing: &'static str,
    /// One row of the one parameter.
    pub parameter: &'static str,
    /// Runs for minutes and answers nothing before its end.
    pub slow: &'static str,
    /// Answers a row at once, and then runs for minutes.
    pub slow_after_a_row: &'static str,
    /// Would empty the table `canary`.
    pub write: &'static str,
    /// Two statements.
    pub two_statements: &'static str,
    /// A text that is not the store's language.
    pub nonsense: &'static str,
    /// Reads a table that does not exist, whose name is nearly `canary`.
    pub missing_table: &'static str,
    /// Reads a column of `canary` that does not exist, whose name is nearly `note`.
    pub missing_column: &'static str,
}

/// Checks every rule, one after another.
pub async fn every_rule(subject: &dyn Subject) {
    values_and_columns_are_exact(subject).await;
    limits_cut_and_say_so(subject).await;
    nothing_is_written(subject).await;
    errors_have_codes_and_hints(subject).await;
    the_schema_comes_in_pages(subject).await;
    dropping_a_stream_stops_its_query(subject).await;
    dropping_a_call_stops_its_query(subject).await;
    the_time_limit_stops_the_query(subject).await;
    a_broken_connection_is_replaced(subject).await;
    closing_stops_everything(subject).await;
}

/// A request with limits that are not reached.
fn request(text: &str) -> QueryRequest {
    QueryRequest {
        text: text.to_owned(),
        params: Vec::new(),
        limits: Limits {
            rows: 10_000,
            cell_bytes: 1 << 20,
            timeout: Duration::from_secs(60),
        },
    }
}

async fn rows(store: &dyn Store, request: QueryRequest) -> Result<Vec<Row>, Error> {
    let mut stream = store.query(request).await?;
    let mut rows = Vec::new();
    while let Some(row) = stream.next().await? {
        rows.push(row);
    }
    Ok(rows)
}

async fn refusal(store: &dyn Store, text: &str) -> Error {
    match rows(store, request(text)).await {
        Err(error) => error,
        Ok(rows) => panic!("`{text}` was answered: {rows:?}"),
    }
}

/// Values, nulls and column names arrive as they are, also where there is no row.
pub async fn values_and_columns_are_exact(subject: &dyn Subject) {
    let (store, dialect) = (subject.open(), subject.dialect());
    let found = rows(&*store, request(dialect.constants)).await.unwrap();
    let expected = [
        Value::Integer(7),
        Value::Text("seven".to_owned()),
        Value::Null,
    ];
    assert_eq!(found, [expected.map(Cell::whole).to_vec()]);

    let mut empty = store.query(request(dialect.nothing)).await.unwrap();
    let names: Vec<&str> = empty.columns().iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(empty.next().await, Ok(None));
    assert!(!empty.has_more_rows());

    for text in ["it's", "\\'; --", "é😀", ""] {
        let mut asked = request(dialect.parameter);
        asked.params = vec![json!(text)];
        let found = rows(&*store, asked).await.unwrap();
        assert_eq!(found, [[Cell::whole(Value::Text(text.to_owned()))]]);
    }
    for wrong in [vec![], vec![json!(1), json!(2)]] {
        let mut asked = request(dialect.parameter);
        asked.params = wrong;
        let error = rows(&*store, asked).await.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{error}");
    }
}

/// A limit of rows leaves exactly so many; a limit of cells cuts at a character and says the length.
pub async fn limits_cut_and_say_so(subject: &dyn Subject) {
    let (store, dialect) = (subject.open(), subject.dialect());
    for (limit, found, more) in [
        (1, 1, true),
        (4999, 4999, true),
        (5000, 5000, false),
        (5001, 5000, false),
    ] {
        let mut asked = request(dialect.five_thousand);
        asked.limits.rows = limit;
        let mut stream = store.query(asked).await.unwrap();
        let mut count = 0;
        while let Some(row) = stream.next().await.unwrap() {
            count += 1;
            assert_eq!(row[0].value, Value::Integer(count));
        }
        assert_eq!(
            (count, stream.has_more_rows()),
            (found, more),
            "limit {limit}"
        );
    }
    for (text, letter, bytes) in [
        (dialect.wide, 'x', 100_000),
        (dialect.wide_letters, 'é', 200_000),
    ] {
        let mut asked = request(text);
        asked.limits.cell_bytes = 101;
        let found = rows(&*store, asked).await.unwrap();
        assert_eq!(found[0][0].cut_from, Some(bytes));
        let Value::Text(beginning) = &found[0][0].value else {
            panic!("a cut text is text: {found:?}");
        };
        assert!((25..=101).contains(&beginning.len()), "{}", beginning.len());
        assert!(beginning.chars().all(|found| found == letter));

        let whole = rows(&*store, request(text)).await.unwrap();
        assert_eq!(whole[0][0].cut_from, None);
        assert_eq!(whole[0][0].value.to_json().len() as u64, bytes + 2);
    }
}

/// What would write is rejected, and another client sees nothing of it.
pub async fn nothing_is_written(subject: &dyn Subject) {
    let (store, dialect) = (subject.open(), subject.dialect());
    let before = subject.canary().await;
    for text in [dialect.write, dialect.two_statements] {
        let error = refusal(&*store, text).await;
        assert_eq!(error.code, Code::QueryRejected, "{error}");
        assert!(error.hint.is_some(), "{error}");
    }
    assert_eq!(subject.canary().await, before);
}

/// An agent's slips get a stable code, a place or a hint; the next call works.
pub async fn errors_have_codes_and_hints(subject: &dyn Subject) {
    let (store, dialect) = (subject.open(), subject.dialect());
    let error = refusal(&*store, dialect.nonsense).await;
    assert!(
        matches!(error.code, Code::QueryFailed | Code::QueryRejected),
        "{error}"
    );
    for (text, nearest) in [
        (dialect.missing_table, "canary"),
        (dialect.missing_column, "note"),
    ] {
        let error = refusal(&*store, text).await;
        assert_eq!(error.code, Code::QueryFailed, "{error}");
        let hint = error.hint.clone().unwrap_or_default();
        assert!(hint.contains(nearest), "{error}: {hint}");
        rows(&*store, request(dialect.constants)).await.unwrap();
    }
}

/// Pages of one table each add up to the page of all, in order.
pub async fn the_schema_comes_in_pages(subject: &dyn Subject) {
    let store = subject.open();
    let asked = |page, after| schema::Request {
        table: None,
        like: None,
        detail: schema::Detail::Names,
        after,
        page,
        timeout: Duration::from_secs(30),
    };
    let all = store.schema(asked(1000, None)).await.unwrap();
    assert!(!all.more && all.tables.len() >= 2);
    let mut names = Vec::new();
    loop {
        let page = store.schema(asked(1, names.last().cloned())).await.unwrap();
        names.extend(page.tables.into_iter().map(|table| table.name));
        if !page.more {
            break;
        }
    }
    let expected: Vec<_> = all.tables.into_iter().map(|table| table.name).collect();
    assert_eq!(names, expected);
    assert!(names.iter().any(|table| table.name == "canary"));
}

/// A stream dropped between rows takes its query with it.
pub async fn dropping_a_stream_stops_its_query(subject: &dyn Subject) {
    let (store, dialect) = (subject.open(), subject.dialect());
    let mut stream = store
        .query(request(dialect.slow_after_a_row))
        .await
        .unwrap();
    // The first row may not be answered before the query's end; waiting for it is what is dropped.
    let first = tokio::time::timeout(Duration::from_millis(500), stream.next()).await;
    assert!(!matches!(first, Ok(Err(_) | Ok(None))), "{first:?}");
    until(subject, "the query runs", |running| running > 0).await;
    drop(stream);
    until(subject, "the query of a dropped stream stops", |running| {
        running == 0
    })
    .await;
    rows(&*store, request(dialect.constants)).await.unwrap();
}

/// A call dropped before it answered takes its query with it.
pub async fn dropping_a_call_stops_its_query(subject: &dyn Subject) {
    let (store, dialect) = (subject.open(), subject.dialect());
    let asking = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { rows(&*store, request(dialect.slow)).await })
    };
    until(subject, "the query runs", |running| running > 0).await;
    asking.abort();
    until(subject, "the query of a dropped call stops", |running| {
        running == 0
    })
    .await;
    rows(&*store, request(dialect.constants)).await.unwrap();
}

/// A query that takes longer than it may ends with `timeout`, in the store too.
pub async fn the_time_limit_stops_the_query(subject: &dyn Subject) {
    let (store, dialect) = (subject.open(), subject.dialect());
    rows(&*store, request(dialect.constants)).await.unwrap();
    let mut asked = request(dialect.slow);
    asked.limits.timeout = Duration::from_millis(500);
    let answered = tokio::time::timeout(SOON, rows(&*store, asked)).await;
    let error = answered.expect("a time limit ends a query").unwrap_err();
    assert_eq!(error.code, Code::Timeout, "{error}");
    until(subject, "the query past its time stops", |running| {
        running == 0
    })
    .await;
    rows(&*store, request(dialect.constants)).await.unwrap();
}

/// A connection that broke while it was idle costs no call.
pub async fn a_broken_connection_is_replaced(subject: &dyn Subject) {
    let (store, dialect) = (subject.open(), subject.dialect());
    for _ in 0..3 {
        rows(&*store, request(dialect.constants)).await.unwrap();
        subject.break_connections().await;
    }
    rows(&*store, request(dialect.constants)).await.unwrap();
}

/// Closing a store cancels what it runs.
pub async fn closing_stops_everything(subject: &dyn Subject) {
    let (store, dialect) = (subject.open(), subject.dialect());
    let asking = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { rows(&*store, request(dialect.slow)).await })
    };
    until(subject, "the query runs", |running| running > 0).await;
    asking.abort();
    store.close().await;
    until(subject, "closing stops the query", |running| running == 0).await;
}

async fn until(subject: &dyn Subject, what: &str, holds: impl Fn(usize) -> bool) {
    let waiting = async {
        while !holds(subject.running().await) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    if tokio::time::timeout(SOON, waiting).await.is_err() {
        panic!("not within {SOON:?}: {what}");
    }
}
