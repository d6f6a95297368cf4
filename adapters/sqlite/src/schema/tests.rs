//! Schemas as they are told.

use store::Store as _;
use store::schema::Pattern;

use crate::fixture::{Database, LONG};

use super::*;

const SHOP: &str = "
    create table customer(id integer primary key, email text not null unique, joined text default (date('now')));
    create table \"order\"(id int primary key, customer integer references customer, net decimal(10, 2) not null,
        gross as (net * 1.19) stored, foreign key (id, net) references line(a, b));
    create index big on \"order\"(customer, abs(net) desc) where net > 1000;
    create table line(a, b, primary key (b, a)) without rowid;
    create view totals as select customer, sum(net) as total from \"order\" group by customer;
    create view broken as select * from gone;
    create virtual table note using fts5(body);
    insert into customer(email) values ('a'), ('b'); analyze;";

fn request() -> Request {
    Request {
        table: None,
        like: None,
        detail: Detail::Full,
        after: None,
        page: 100,
        timeout: LONG,
    }
}

async fn names(database: &Database, request: Request) -> (Vec<String>, bool) {
    let page = database.store().schema(request).await.unwrap();
    let names = page.tables.into_iter().map(|table| table.name.name);
    (names.collect(), page.more)
}

#[tokio::test]
async fn tables_are_told_with_their_keys_indexes_and_generation() {
    let database = Database::made_by(SHOP);
    let page = database.store().schema(request()).await.unwrap();
    let kinds: Vec<_> = page
        .tables
        .iter()
        .map(|table| (table.name.name.as_str(), table.kind))
        .collect();
    let expected = [
        ("broken", "view"),
        ("customer", "table"),
        ("line", "table"),
        ("note", "virtual table"),
        ("order", "table"),
        ("totals", "view"),
    ];
    assert_eq!(kinds, expected);
    let [broken, customer, line, note, order, totals] = page.tables.as_slice() else {
        panic!("{}", page.tables.len());
    };
    assert!(broken.columns.is_empty() && broken.ddl.is_some());
    assert_eq!(customer.row_estimate, Some(2));
    let nullable: Vec<bool> = customer
        .columns
        .iter()
        .map(|column| column.nullable)
        .collect();
    assert_eq!(nullable, [false, false, true]);
    assert_eq!(customer.columns[2].default.as_deref(), Some("date('now')"));
    assert!(customer.indexes[0].unique);
    assert_eq!(customer.indexes[0].columns, ["email"]);
    assert_eq!(line.primary_key, ["b", "a"]);
    assert!(line.columns.iter().all(|column| !column.nullable));
    assert_eq!(note.columns.len(), 1);
    assert_eq!(totals.columns.len(), 2);
    // A primary key that is no `INTEGER` may hold null in SQLite.
    assert!(order.columns[0].nullable);
    assert_eq!(order.columns[2].type_name, "decimal(10, 2)");
    assert_eq!(
        order.columns[3].default.as_deref(),
        Some("generated always as (net * 1.19) stored")
    );
    assert_eq!(order.foreign_keys.len(), 2);
    assert_eq!(order.foreign_keys[0].references.name, "customer");
    assert!(order.foreign_keys[0].referenced_columns.is_empty());
    assert_eq!(order.foreign_keys[1].columns, ["id", "net"]);
    assert_eq!(order.foreign_keys[1].referenced_columns, ["a", "b"]);
    assert_eq!(order.indexes.len(), 1);
    assert_eq!(order.indexes[0].columns, ["customer", "abs(net) desc"]);
    assert_eq!(order.indexes[0].condition.as_deref(), Some("net > 1000"));
}

#[tokio::test]
async fn pages_follow_each_other_and_can_be_narrowed() {
    let database = Database::made_by(SHOP);
    let first = Request {
        page: 2,
        detail: Detail::Names,
        ..request()
    };
    assert_eq!(
        names(&database, first.clone()).await,
        (vec!["broken".into(), "customer".into()], true)
    );
    let after = TableName {
        schema: None,
        name: "note".into(),
    };
    let last = Request {
        after: Some(after),
        ..first.clone()
    };
    assert_eq!(
        names(&database, last).await,
        (vec!["order".into(), "totals".into()], false)
    );
    for table in ["ORDER", "main.order"] {
        let one = Request {
            table: Some(table.into()),
            ..first.clone()
        };
        assert_eq!(names(&database, one).await, (vec!["order".into()], false));
    }
    let like = Request {
        like: Some(Pattern::new("*o*e*")),
        ..request()
    };
    assert_eq!(
        names(&database, like).await,
        (
            vec![
                "broken".into(),
                "customer".into(),
                "note".into(),
                "order".into()
            ],
            false
        )
    );
    let none = Request {
        table: Some("note_data".into()),
        ..request()
    };
    assert_eq!(names(&database, none).await, (vec![], false));
}
