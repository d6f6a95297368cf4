//! One query, from its text to its stream of rows: the server parses the text alone, describes its
//! columns, and runs it within a statement of ours.

use std::sync::Arc;

use store::{Code, Column, Error, Event, QueryRequest, RowStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::account::{Account, Profile};
use crate::decode::Form;
use crate::error::{Phase, over_time, translate};
use crate::json::{Malformed, Reader, texts};
use crate::lines::Lines;
use crate::plan::{Plan, unread};
use crate::running::Running;
use crate::statement::{self, Statement};
use crate::types::Type;
use crate::verdicts::Verdict;
use crate::wrap::{Described, wrap};
use crate::{Clickhouse, ast, hints, params};

/// Runs a query. The answer's columns are known when this returns; its rows follow.
pub(crate) async fn run(store: &Clickhouse, request: QueryRequest) -> Result<RowStream, Error> {
    let deadline = Instant::now() + request.limits.timeout;
    let statement = statement::check(&request.text)?;
    let values = params::settings(&request.params, &statement)?;
    let shared = &store.shared;
    let place = Arc::clone(&shared.places).acquire_owned();
    let place = match tokio::time::timeout_at(deadline, place).await {
        Ok(Ok(place)) => place,
        _ => {
            return Err(
                Error::new(Code::Busy, "all connections of the store are in use")
                    .with_hint("call again later"),
            );
        }
    };
    let account = store.account(deadline).await?;
    let key = format!("{}\0{values:?}", statement.text);
    let verdict = match store.verdicts.get(&key) {
        Some(verdict) => verdict,
        None => {
            let judged = judge(store, &account, &statement, &values, deadline).await;
            let verdict = match judged {
                Ok(verdict) => verdict,
                Err(error) => {
                    return Err(failed(store, &account, &statement.text, error, deadline).await);
                }
            };
            store.verdicts.keep(key.clone(), Arc::clone(&verdict));
            verdict
        }
    };

    let limits = request.limits;
    let form = Form {
        is_pinned: account.profile != Profile::Frozen,
        zone: account.zone.clone(),
    };
    let rows = limits.rows.saturating_add(1);
    let wrapped = wrap(
        &statement.text,
        &verdict,
        rows,
        limits.cell_bytes,
        form.is_pinned,
    );
    let running = Running::begin(Arc::clone(shared), account.host);
    let mut sent = account.settings(shared, deadline);
    sent.extend(values);
    sent.push(("query_id".to_owned(), running.id().to_owned()));
    let plan = Plan {
        text: statement.text.clone(),
        wrapped,
        verdict,
        form,
        cell_bytes: usize::try_from(limits.cell_bytes).unwrap_or(usize::MAX),
    };
    let format = "JSONCompactEachRowWithNamesAndTypes";
    let phase = Phase::Text { text: "" };
    let cursor = shared
        .begin(account.host, &plan.wrapped.sql, format, &sent)
        .map_err(|error| translate(&error, phase, &shared.dsn))?;
    // The columns are known before the first byte: a server sends its header with its first rows.
    let columns: Arc<[Column]> = plan
        .verdict
        .iter()
        .map(|described| Column {
            name: described.name.clone(),
            type_name: described.type_name.clone(),
        })
        .collect();
    let reading = Reading {
        store: store.clone(),
        account,
        key,
        lines: Lines::new(cursor, plan.longest_row()),
        running,
        plan,
        columns: Arc::clone(&columns),
        most: limits.rows,
        deadline,
        _place: place,
    };
    Ok(RowStream::new(columns, Box::pin(reading.events())))
}

/// Has the text parsed and described by the server.
async fn judge(
    store: &Clickhouse,
    account: &Account,
    statement: &Statement,
    values: &[(String, String)],
    deadline: Instant,
) -> Result<Verdict, Error> {
    let shared = &store.shared;
    let phase = Phase::Text {
        text: &statement.text,
    };
    let mut sent = account.settings(shared, deadline);
    sent.extend(values.iter().cloned());
    let tree = format!("EXPLAIN AST\n{}\n", statement.text);
    let tree = shared
        .ask(account.host, &tree, &sent, phase, deadline)
        .await?;
    let tree = first_texts(&tree)?;
    ast::judge(&tree, &account.table_functions, &shared.options.allowed)?;

    let describe = format!("DESCRIBE (\n{}\n)", statement.text);
    let described = shared
        .ask(account.host, &describe, &sent, phase, deadline)
        .await?;
    described
        .iter()
        .map(|line| {
            let row = texts(line).map_err(unread)?;
            let mut fields = row.into_iter();
            let (Some(name), Some(type_name)) = (fields.next(), fields.next()) else {
                return Err(unread(Malformed));
            };
            let type_name = on_one_line(&type_name);
            Ok(Described {
                name,
                declared: Type::parse(&type_name),
                type_name,
            })
        })
        .collect()
}

/// A type's name as it is without the line breaks that the server may write it with.
fn on_one_line(type_name: &str) -> String {
    let mut whole = String::with_capacity(type_name.len());
    for line in type_name.split('\n') {
        if whole.ends_with(',') {
            whole.push(' ');
        }
        whole.push_str(line.trim_start());
    }
    whole
}

fn first_texts(lines: &[Vec<u8>]) -> Result<Vec<String>, Error> {
    lines
        .iter()
        .map(|line| {
            // A literal of the text may hold bytes that are no UTF-8.
            let mut reader = Reader::new(line);
            reader.expect(b'[').map_err(unread)?;
            let text = reader.string().map_err(unread)?;
            Ok(String::from_utf8_lossy(&text).into_owned())
        })
        .collect()
}

/// The error with a hint on misspelt names; a lost connection makes the account asked again.
async fn failed(
    store: &Clickhouse,
    account: &Account,
    text: &str,
    error: Error,
    deadline: Instant,
) -> Error {
    if error.code == Code::StoreUnreachable {
        store.forget_account();
        return error;
    }
    hints::explain(store, account, text, error, deadline).await
}

/// An answer that is being read.
struct Reading {
    store: Clickhouse,
    account: Arc<Account>,
    /// What the verdict is kept under.
    key: String,
    lines: Lines,
    running: Running,
    plan: Plan,
    columns: Arc<[Column]>,
    most: u64,
    deadline: Instant,
    _place: OwnedSemaphorePermit,
}

impl Reading {
    fn events(mut self) -> impl futures::Stream<Item = Result<Event, Error>> + Send {
        async_stream::stream! {
            if let Err(error) = self.header().await {
                self.store.verdicts.forget(&self.key);
                yield Err(self.fail(error).await);
                return;
            }
            let mut seen = 0;
            loop {
                let line = match self.line().await {
                    Ok(Some(line)) => line,
                    Ok(None) => {
                        self.running.finish();
                        return;
                    }
                    Err(error) => {
                        yield Err(self.fail(error).await);
                        return;
                    }
                };
                if seen == self.most {
                    // Nothing follows the row beyond the limit but the end.
                    if let Ok(None) = self.line().await {
                        self.running.finish();
                    }
                    yield Ok(Event::MoreRows);
                    return;
                }
                seen += 1;
                match self.plan.decode(&line, &self.columns) {
                    Ok(row) => yield Ok(Event::Row(row)),
                    Err(error) => {
                        yield Err(error);
                        return;
                    }
                }
            }
        }
    }

    async fn header(&mut self) -> Result<(), Error> {
        let (names, types) = (self.line().await?, self.line().await?);
        match (names, types) {
            (Some(names), Some(types)) => self.plan.check_header(&names, &types),
            _ => Err(
                Error::new(Code::StoreUnreachable, "the answer ended before its header")
                    .with_hint("call again; the server or a proxy before it cut the connection"),
            ),
        }
    }

    async fn line(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let next = self.lines.next(&self.store.shared);
        match tokio::time::timeout_at(self.deadline, next).await {
            Ok(next) => next,
            Err(_) => Err(over_time()),
        }
    }

    /// An error of the running query, told as well as it can be.
    async fn fail(&mut self, error: Error) -> Error {
        if error.server_code.is_some() {
            self.running.finish();
        }
        failed(
            &self.store,
            &self.account,
            &self.plan.text,
            error,
            self.deadline,
        )
        .await
    }
}
