//! What the server says of a text that it parses and does not run.

use sqlx::postgres::PgRow;
use sqlx::postgres::types::Oid;
use sqlx::{
    AssertSqlSafe, Column as _, Either, Executor as _, Row as _, SqlSafeStr as _, Statement as _,
};
use store::Error;

use super::{Keeps, Session};
use crate::error::{Phase, is_huge, keeps_connection, sqlstate, translate};
use crate::params::quote;

/// What the server says of a text without running it.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    /// Names and types of the columns.
    pub(crate) columns: Vec<(String, Oid)>,
    /// Types of the parameters.
    pub(crate) params: Vec<Oid>,
}

impl Session {
    /// Has the server parse `text` alone: it is one statement, with these columns and parameters.
    /// After an error the session can only be finished.
    pub(crate) async fn describe(&mut self, text: &str) -> Result<Described, Error> {
        let described = self.parse(text).await;
        described.map_err(|error| {
            if !keeps_connection(&error) || is_huge(&error) {
                self.keeps = Keeps::Nothing;
            }
            tracing::debug!(sqlstate = ?sqlstate(&error), "a text was not parsed");
            let times = self.times();
            translate(
                &error,
                Phase::Parse { text, times },
                &self.pool.connector.dsn,
            )
        })
    }

    async fn parse(&mut self, text: &str) -> Result<Described, sqlx::Error> {
        let connection = self.connection()?;
        let parsed = connection
            .prepare(AssertSqlSafe(text.to_owned()).into_sql_str())
            .await;
        let statement = match parsed {
            Ok(statement) => statement,
            Err(error @ sqlx::Error::Database(_)) => return Err(error),
            Err(error @ (sqlx::Error::Io(_) | sqlx::Error::Protocol(_))) => return Err(error),
            // The server took the text; the driver does not know a type of it.
            Err(_) => {
                self.keeps = Keeps::Nothing;
                return self.describe_by_running_nothing(text).await;
            }
        };
        let oid = |info: &sqlx::postgres::PgTypeInfo| info.oid().unwrap_or(Oid(0));
        let params = match statement.parameters() {
            Some(Either::Left(types)) => types.iter().map(oid).collect(),
            _ => Vec::new(),
        };
        let columns = statement
            .columns()
            .iter()
            .map(|column| (column.name().to_owned(), oid(column.type_info())))
            .collect();
        Ok(Described { columns, params })
    }

    /// The same for a text with types the driver cannot look up (multiranges among them): the
    /// server has parsed it and holds it under a name, so its parameters are asked for, and its
    /// columns come with one row that the text has no part in.
    async fn describe_by_running_nothing(&mut self, text: &str) -> Result<Described, sqlx::Error> {
        let find = format!(
            "SELECT name, parameter_types::pg_catalog.oid[]::pg_catalog.text FROM pg_catalog.pg_prepared_statements \
             WHERE NOT from_sql AND statement = {} ORDER BY prepare_time DESC LIMIT 1",
            quote(text)
        );
        let held = self.own_row(&find).await?;
        let name: String = held.try_get(0)?;
        let types: String = held.try_get(1)?;
        let params: Vec<Oid> = types
            .trim_matches(['{', '}'])
            .split(',')
            .filter_map(|number| number.parse().ok().map(Oid))
            .collect();
        self.prepared
            .push(format!("\"{}\"", name.replace('"', "\"\"")));

        let probe = "rhizodat_probe";
        let nulls = vec!["NULL"; params.len()].join(", ");
        let arguments = if params.is_empty() {
            String::new()
        } else {
            format!("({nulls})")
        };
        let sql = format!(
            "PREPARE {probe} AS SELECT q.* FROM (SELECT) AS one LEFT JOIN (\n{text}\n) AS q ON false; \
             EXECUTE {probe}{arguments}; DEALLOCATE {probe}"
        );
        let row = self.own_row(&sql).await?;
        let columns = row
            .columns()
            .iter()
            .map(|column| {
                let oid = column.type_info().oid().unwrap_or(Oid(0));
                (column.name().to_owned(), oid)
            })
            .collect();
        self.keeps = Keeps::Connection;
        Ok(Described { columns, params })
    }

    async fn own_row(&mut self, sql: &str) -> Result<PgRow, sqlx::Error> {
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
            .fetch_one(self.connection()?)
            .await
    }
}
