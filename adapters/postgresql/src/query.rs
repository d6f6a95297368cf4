//! One query, from its text to its stream of rows.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt as _;
use sqlx::postgres::PgRow;
use sqlx::postgres::types::Oid;
use sqlx::{AssertSqlSafe, Either, Row as _};
use store::{Cell, Code, Column, Error, Event, Limits, QueryRequest, RowStream, Value};

use crate::Postgresql;
use crate::error::{Phase, Times};
use crate::fence::{self, Statement};
use crate::frame::Frame;
use crate::session::Described;
use crate::settings::{Mistrust, check};
use crate::types::{Form, Type, Width};
use crate::wrap::{MOST_COLUMNS, Wrapped, wrap};
use crate::{decode, hints, params};

/// Runs a query. The answer's columns are known when this returns; its rows follow.
pub(crate) async fn run(store: &Postgresql, request: QueryRequest) -> Result<RowStream, Error> {
    let statement = fence::check(&request.text)?;
    let mut session = store.begin(request.limits.timeout).await?;
    let text = statement.text.as_str();

    let described = match session.describe(text).await {
        Ok(described) => described,
        Err(failed) => {
            session.finish();
            return Err(explained(store, text, failed, request.limits.timeout).await);
        }
    };
    let oids = described.columns.iter().map(|(_, oid)| *oid);
    let wanted = oids.chain(described.params.iter().copied());
    let resolved = match session.connection() {
        Ok(connection) => store.types.resolve(connection, wanted).await,
        Err(error) => Err(error),
    };
    let types = match resolved {
        Ok(types) => types,
        Err(error) => {
            let times = session.times();
            return Err(session.fail(&error, Phase::Own { times }));
        }
    };
    let plan = match Plan::new(statement, &request, &described, types, &session.frame()) {
        Ok(plan) => plan,
        Err(error) => {
            session.finish();
            return Err(error);
        }
    };
    let columns = Arc::clone(&plan.columns);
    let events = async_stream::stream! {
        let mut session = session;
        let mut end = End::Complete;
        let mut statements_done = 0;
        {
            let connection = match session.connection() {
                Ok(connection) => connection,
                Err(error) => {
                    yield Err(session.fail(&error, Phase::Connect));
                    return;
                }
            };
            let mut results = sqlx::raw_sql(AssertSqlSafe(plan.sql.clone())).fetch_many(connection);
            let mut seen = 0;
            loop {
                match results.try_next().await {
                    Ok(None) => break,
                    Ok(Some(Either::Left(_))) => statements_done += 1,
                    Ok(Some(Either::Right(row))) if statements_done > plan.rows_of_statement => {
                        if let Err(mistrust) = check(&row, plan.process) {
                            end = End::Mistrusted(mistrust);
                        }
                    }
                    Ok(Some(Either::Right(_))) if seen == plan.limits.rows => end = End::MoreRows,
                    Ok(Some(Either::Right(row))) => {
                        seen += 1;
                        match plan.decode(&row) {
                            Ok(row) => yield Ok(Event::Row(row)),
                            Err(error) => {
                                end = End::Refused(error);
                                break;
                            }
                        }
                    }
                    Err(error) => {
                        end = End::Failed(error);
                        break;
                    }
                }
            }
        }
        if let Some(name) = plan.prepared.as_deref().filter(|_| statements_done > 0) {
            session.note_prepared(name);
        }
        if matches!(end, End::Complete | End::MoreRows) {
            session.note_framed();
        }
        match end {
            End::Complete => session.finish(),
            End::MoreRows => {
                session.finish();
                yield Ok(Event::MoreRows);
            }
            End::Mistrusted(mistrust) => {
                if mistrust == Mistrust::OtherProcess {
                    session.note_pooler();
                }
                drop(session);
                yield Err(mistrust.error());
            }
            // Rows may still be on their way: dropping the session stops them.
            End::Refused(error) => {
                drop(session);
                yield Err(error);
            }
            End::Failed(error) => {
                let times = session.times();
                yield Err(session.fail(&error, plan.phase(times)));
            }
        }
    };
    Ok(RowStream::new(columns, Box::pin(events)))
}

/// How the rows ended.
enum End {
    Complete,
    MoreRows,
    Refused(Error),
    Mistrusted(Mistrust),
    Failed(sqlx::Error),
}

/// What runs, and how its rows are read.
struct Plan {
    statement: Statement,
    wrapped: Wrapped,
    limits: Limits,
    sql: String,
    characters_before: usize,
    literals: Vec<usize>,
    /// The name the text is prepared under, where it has parameters.
    prepared: Option<String>,
    /// How many statements of `sql` end before the one whose rows are the answer's.
    rows_of_statement: usize,
    /// The server's process that is to have run it.
    process: i32,
    columns: Arc<[Column]>,
    /// The types of the columns.
    declared: Vec<Type>,
    types: Arc<HashMap<Oid, Type>>,
}

impl Plan {
    fn new(
        statement: Statement,
        request: &QueryRequest,
        described: &Described,
        types: Arc<HashMap<Oid, Type>>,
        frame: &Frame,
    ) -> Result<Self, Error> {
        refuse_unbounded(described)?;
        let literals = params::literals(&request.params, &described.params, &types)?;
        let unknown = Type {
            name: "unknown".to_owned(),
            form: Form::Text,
            width: Width::Output,
        };
        let column_types: Vec<&Type> = described
            .columns
            .iter()
            .map(|(_, oid)| types.get(oid).unwrap_or(&unknown))
            .collect();
        let columns = described
            .columns
            .iter()
            .zip(&column_types)
            .map(|((name, _), declared)| Column {
                name: name.clone(),
                type_name: declared.name.clone(),
            })
            .collect();
        let limits = request.limits;
        let rows = limits.rows.saturating_add(1);
        let wrapped = wrap(&statement.text, &column_types, rows, limits.cell_bytes);

        // A text with parameters is prepared; one without runs as it is, in one step less.
        // A fresh name each time: behind a pooler, another's session may hold an old one.
        let prepared =
            (!literals.is_empty()).then(|| format!("rhizodat_{}", uuid::Uuid::new_v4().simple()));
        let prefix = prepared
            .as_ref()
            .map(|name| format!("PREPARE {name} AS "))
            .unwrap_or_default();
        let mut sql = format!("{prefix}{}; ", wrapped.sql);
        let mut starts = Vec::new();
        if let Some(name) = &prepared {
            let (call, within) = params::execute(name, &literals);
            let offset = sql.chars().count();
            starts = within.into_iter().map(|start| start + offset).collect();
            sql.push_str(&call);
            sql.push_str("; ");
        }
        sql.push_str(&frame.closing);
        Ok(Self {
            characters_before: prefix.len() + wrapped.characters_before,
            statement,
            wrapped,
            limits,
            sql,
            literals: starts,
            rows_of_statement: usize::from(prepared.is_some()),
            process: frame.process,
            prepared,
            columns,
            declared: column_types.into_iter().cloned().collect(),
            types,
        })
    }

    fn phase(&self, times: Times) -> Phase<'_> {
        Phase::Run {
            text: &self.statement.text,
            before: self.characters_before,
            literals: &self.literals,
            times,
        }
    }

    fn decode(&self, row: &PgRow) -> Result<Vec<Cell>, Error> {
        let lengths = self.lengths(row)?;
        let mut cells = Vec::with_capacity(self.declared.len());
        for (index, (declared, column)) in self.declared.iter().zip(self.columns.iter()).enumerate()
        {
            let undecodable = |why: &dyn std::fmt::Display| {
                Error::new(
                    Code::UndecodableValue,
                    format!("column `{}` ({}): {why}", column.name, column.type_name),
                )
                .with_hint("leave the column out, or select its text with a cast such as `encode(convert_to(…))`")
            };
            let raw = row
                .try_get_raw(index)
                .map_err(|error| undecodable(&error))?;
            if sqlx::ValueRef::is_null(&raw) {
                cells.push(Cell::whole(Value::Null));
                continue;
            }
            let text = raw.as_str().map_err(|error| undecodable(&error))?;
            let cut_from = lengths.get(&index).copied();
            let is_text = declared.form != Form::Bytes;
            let cell = match cut_from {
                // The beginning of a value has only its text.
                Some(length) if is_text => Cell::cut(Value::Text(text.to_owned()), length),
                _ => Cell {
                    value: decode::decode(text, declared, &self.types)
                        .map_err(|error| undecodable(&error))?,
                    cut_from,
                },
            };
            cells.push(cell);
        }
        Ok(cells)
    }

    /// The true lengths of the values of this row that were cut, by column.
    fn lengths(&self, row: &PgRow) -> Result<HashMap<usize, u64>, Error> {
        if self.wrapped.measured.is_empty() {
            return Ok(HashMap::new());
        }
        let raw = row.try_get_raw(self.declared.len());
        let array = match &raw {
            Ok(value) if sqlx::ValueRef::is_null(value) => return Ok(HashMap::new()),
            Ok(value) => value.as_str().ok(),
            Err(_) => None,
        };
        let array = array.ok_or_else(|| {
            Error::new(
                Code::Internal,
                "the row came without the lengths of its values",
            )
        })?;
        Ok(array
            .trim_matches(['{', '}'])
            .split(',')
            .zip(&self.wrapped.measured)
            .filter_map(|(length, &index)| Some((index, length.parse::<u64>().ok()?)))
            .filter(|(_, length)| *length > self.limits.cell_bytes)
            .collect())
    }
}

/// Refuses answers whose values no limit could cut in the server: text of the server's inner form
/// (`cstring`), and rows without room for the lengths of their values.
fn refuse_unbounded(described: &Described) -> Result<(), Error> {
    const CSTRING: Oid = Oid(2275);
    let inner = described.columns.iter().find(|(_, oid)| *oid == CSTRING);
    if let Some((name, _)) = inner {
        let message = format!("column `{name}` is a `cstring`, which is no type of an answer");
        return Err(Error::new(Code::QueryRejected, message).with_hint(
            "leave out the call of an output function; values come as text by themselves",
        ));
    }
    if described.columns.len() >= MOST_COLUMNS {
        let message = format!("the answer has {} columns", described.columns.len());
        return Err(
            Error::new(Code::LimitExceeded, message).with_hint("select fewer than 1664 columns")
        );
    }
    Ok(())
}

/// The error with a hint on misspelt names, which takes another look at the catalogue.
async fn explained(store: &Postgresql, text: &str, error: Error, timeout: Duration) -> Error {
    if !hints::has_hint(error.server_code.as_deref()) {
        return error;
    }
    let Ok(mut session) = store.begin(timeout).await else {
        return error;
    };
    let hinted = match session.connection() {
        Ok(connection) => hints::explain(connection, text, error.clone()).await,
        Err(_) => return error,
    };
    match hinted {
        Ok(hinted) => {
            session.finish();
            hinted
        }
        Err(_) => error,
    }
}
