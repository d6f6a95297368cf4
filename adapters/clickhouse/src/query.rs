//! One query, from its text to its stream of rows: the server parses the text alone, describes its
//! columns, and runs it within a statement of ours.

use std::sync::Arc;

use clickhouse::query::BytesCursor;
use store::{Cell, Code, Column, Error, Event, QueryRequest, RowStream, Value};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::account::{Account, Profile};
use crate::decode::{Form, Undecodable, beginning, value};
use crate::error::{Phase, over_time, too_long, translate};
use crate::json::{Malformed, Reader, texts};
use crate::running::Running;
use crate::statement::{self, Statement};
use crate::types::{Type, Width};
use crate::verdicts::Verdict;
use crate::wrap::{Described, Wrapped, wrap};
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
    let mut running = Running::begin(Arc::clone(shared), account.host);
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
    if account.profile != Profile::Frozen {
        sent.push(("print_pretty_type_names".to_owned(), "0".to_owned()));
    }
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
            Ok(Described {
                name,
                declared: Type::parse(&type_name),
                type_name,
            })
        })
        .collect()
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

fn unread(_: Malformed) -> Error {
    Error::new(Code::Internal, "the server answered in an unknown form")
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

/// How the rows of an answer are read.
struct Plan {
    text: String,
    wrapped: Wrapped,
    verdict: Verdict,
    form: Form,
    cell_bytes: usize,
}

impl Plan {
    /// The most bytes of one row: everything that may be long is cut, and JSON writes a byte as six.
    fn longest_row(&self) -> usize {
        let cell = self.cell_bytes.saturating_mul(12).saturating_add(4096);
        self.verdict
            .len()
            .saturating_mul(cell)
            .saturating_add(1 << 16)
    }

    /// Checks the header of the answer, which has to be that of the verdict.
    fn check_header(&self, names: &[u8], types: &[u8]) -> Result<(), Error> {
        let (names, types) = (texts(names).map_err(unread)?, texts(types).map_err(unread)?);
        let own = if self.wrapped.measured.is_empty() {
            0
        } else {
            2
        };
        let has_names = self.wrapped.sql.contains(" AS rhizodat_q(");
        let fits = names.len() == self.verdict.len() + own
            && types.len() == names.len()
            && self.verdict.iter().enumerate().all(|(index, described)| {
                let name = names
                    .get(index)
                    .is_some_and(|name| has_names || *name == described.name);
                let same = types
                    .get(index)
                    .is_some_and(|found| Type::parse(found) == described.declared);
                name && (same || self.wrapped.rewritten.contains(&index))
            });
        if !fits {
            return Err(Error::new(
                Code::QueryFailed,
                "the columns of the query changed while it was read",
            )
            .with_hint("call again"));
        }
        Ok(())
    }

    fn decode(&self, line: &[u8], columns: &[Column]) -> Result<Vec<Cell>, Error> {
        let mut reader = Reader::new(line);
        reader.expect(b'[').map_err(unread)?;
        let mut cells = Vec::with_capacity(columns.len());
        for (index, (described, column)) in self.verdict.iter().zip(columns).enumerate() {
            if index > 0 {
                reader.expect(b',').map_err(unread)?;
            }
            let decoded = value(&mut reader, &described.declared, &self.form, true);
            cells.push(Cell::whole(
                decoded.map_err(|why| undecodable(column, why))?,
            ));
        }
        if !self.wrapped.measured.is_empty() {
            self.cut(&mut reader, &mut cells, columns)?;
        }
        reader.expect(b']').map_err(unread)?;
        if !reader.is_at_end() {
            return Err(unread(Malformed));
        }
        // What has no length in the server can still be longer than a small limit.
        for cell in &mut cells {
            if let Value::Text(text) = &cell.value
                && text.len() > self.cell_bytes
                && cell.cut_from.is_none()
            {
                let length = text.len() as u64;
                *cell = Cell::cut(
                    beginning(text.clone().into_bytes(), self.cell_bytes),
                    length,
                );
            }
        }
        Ok(cells)
    }

    /// Takes the lengths and beginnings from the end of a row, and puts in what was cut.
    fn cut(
        &self,
        reader: &mut Reader<'_>,
        cells: &mut [Cell],
        columns: &[Column],
    ) -> Result<(), Error> {
        let mut lengths: Vec<u64> = Vec::new();
        let mut beginnings: Vec<Vec<u8>> = Vec::new();
        reader.expect(b',').map_err(unread)?;
        reader.expect(b'[').map_err(unread)?;
        reader
            .items(b']', |reader| {
                let is_quoted = reader.peek() == Some(b'"');
                let digits = if is_quoted {
                    String::from_utf8(reader.string()?).map_err(|_| Malformed)?
                } else {
                    reader.number()?.to_owned()
                };
                lengths.push(digits.parse().map_err(|_| Malformed)?);
                Ok(())
            })
            .map_err(unread)?;
        reader.expect(b',').map_err(unread)?;
        reader.expect(b'[').map_err(unread)?;
        reader
            .items(b']', |reader| {
                beginnings.push(reader.string()?);
                Ok(())
            })
            .map_err(unread)?;
        if lengths.len() != self.wrapped.measured.len() || beginnings.len() != lengths.len() {
            return Err(unread(Malformed));
        }
        let measured = self.wrapped.measured.iter().zip(lengths).zip(beginnings);
        for ((&index, length), text) in measured {
            if length <= self.cell_bytes as u64 {
                continue;
            }
            let (Some(cell), Some(described)) = (cells.get_mut(index), self.verdict.get(index))
            else {
                continue;
            };
            *cell = match (described.declared.width(), &cell.value) {
                (Width::Json, _) => Cell::cut(beginning(text, self.cell_bytes), length),
                (_, Value::Text(text)) => Cell::cut(
                    beginning(text.clone().into_bytes(), self.cell_bytes),
                    length,
                ),
                (_, Value::Bytes(bytes)) => {
                    Cell::cut(beginning(bytes.clone(), self.cell_bytes), length)
                }
                _ => {
                    let why = Undecodable("it came without its beginning");
                    return Err(columns
                        .get(index)
                        .map_or_else(|| unread(Malformed), |column| undecodable(column, why)));
                }
            };
        }
        Ok(())
    }
}

fn undecodable(column: &Column, why: Undecodable) -> Error {
    Error::new(
        Code::UndecodableValue,
        format!("column `{}` ({}): {}", column.name, column.type_name, why.0),
    )
    .with_hint("leave the column out, or select its text with `toString` or its bytes with `hex`")
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
        let next = self.lines.next(&self.store);
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

/// The lines of an answer, none longer than a row may be.
struct Lines {
    cursor: BytesCursor,
    buffer: Vec<u8>,
    /// Up to where the buffer was taken.
    taken: usize,
    longest: usize,
    is_ended: bool,
}

impl Lines {
    fn new(cursor: BytesCursor, longest: usize) -> Self {
        Self {
            cursor,
            buffer: Vec::new(),
            taken: 0,
            longest,
            is_ended: false,
        }
    }

    /// The next line that is not empty; `None` after the last one. A line without an end is an
    /// answer that was cut.
    async fn next(&mut self, store: &Clickhouse) -> Result<Option<Vec<u8>>, Error> {
        loop {
            let rest = self.buffer.get(self.taken..).unwrap_or_default();
            if let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
                let line = rest.get(..end).unwrap_or_default().to_vec();
                self.taken += end + 1;
                if line.is_empty() {
                    continue;
                }
                return Ok(Some(line));
            }
            if rest.len() > self.longest {
                return Err(too_long());
            }
            if self.is_ended {
                return if rest.is_empty() {
                    Ok(None)
                } else {
                    Err(Error::new(
                        Code::StoreUnreachable,
                        "the answer ended in the middle of a row",
                    )
                    .with_hint("call again; the server or a proxy before it cut the connection"))
                };
            }
            self.buffer.drain(..self.taken);
            self.taken = 0;
            let phase = Phase::Text { text: "" };
            let shared = &store.shared;
            match self.cursor.next().await {
                Ok(Some(chunk)) => self.buffer.extend_from_slice(&chunk),
                Ok(None) => self.is_ended = true,
                Err(error) => return Err(translate(&error, phase, &shared.dsn)),
            }
        }
    }
}
