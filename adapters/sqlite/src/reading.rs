//! One query from its text to its last row: the statement runs on its worker's thread, hands over
//! a few rows at a time, and waits while the caller has not taken the last ones.

use std::pin::pin;
use std::sync::Arc;

use rusqlite::Statement;
use store::{Cell, Column, Error, Event, QueryRequest, Row, RowStream, Value};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep_until, timeout_at};

use crate::cell::cell;
use crate::error;
use crate::pool::{Pool, lost};
use crate::session::Session;
use crate::statement::prepare;
use crate::ticket::{StopOnDrop, Ticket};
use crate::worker::{Farewell, Work};

/// Batches handed over and not yet taken.
const BATCHES_BETWEEN: usize = 1;

/// Starts a query and answers its columns and its rows.
pub(crate) async fn start(pool: &Arc<Pool>, request: QueryRequest) -> Result<RowStream, Error> {
    let ticket = Ticket::new(request.limits.timeout);
    let stop = StopOnDrop(Arc::clone(&ticket));
    let (columns, announced) = oneshot::channel();
    let (batches, taken) = mpsc::channel(BATCHES_BETWEEN);
    let (outcome, ended) = oneshot::channel();
    let outlet = Outlet {
        columns: Some(columns),
        batches,
        runtime: Handle::current(),
        ticket: Arc::clone(&ticket),
    };
    let work: Work = Box::new(move |session| {
        let mut outlet = outlet;
        let result = session.and_then(|session| outlet.read(session, &request));
        let farewell: Farewell = Box::new(move || {
            // The caller may have gone. The outcome is there before the rows end.
            let _ = outcome.send(result);
            drop(outlet);
        });
        farewell
    });
    pool.submit(&ticket, work).await?;
    match timeout_at(ticket.deadline().into(), announced).await {
        Ok(Ok(columns)) => Ok(stream(columns, taken, ended, stop)),
        // It ended before there were columns, which is an error by itself.
        Ok(Err(_)) => match ended.await {
            Ok(Err(error)) => Err(error),
            _ => Err(lost()),
        },
        Err(_) => Err(ticket.ended()),
    }
}

fn stream(
    columns: Arc<[Column]>,
    mut batches: mpsc::Receiver<Vec<Row>>,
    ended: oneshot::Receiver<Result<End, Error>>,
    stop: StopOnDrop,
) -> RowStream {
    let events = async_stream::stream! {
        let mut deadline = pin!(sleep_until(stop.0.deadline().into()));
        loop {
            let batch = tokio::select! {
                biased;
                // Whatever the thread does, the caller is answered now.
                () = &mut deadline => {
                    stop.0.stop();
                    yield Err(stop.0.ended());
                    return;
                }
                batch = batches.recv() => batch,
            };
            let Some(batch) = batch else {
                break;
            };
            for row in batch {
                yield Ok(Event::Row(row));
            }
        }
        match ended.await {
            Ok(Ok(End::Whole)) => {}
            Ok(Ok(End::MoreRows)) => yield Ok(Event::MoreRows),
            Ok(Err(error)) => yield Err(error),
            Err(_) => yield Err(lost()),
        }
    };
    RowStream::new(columns, Box::pin(events))
}

/// How a reading ended.
enum End {
    Whole,
    MoreRows,
}

/// The thread's end of a reading.
struct Outlet {
    columns: Option<oneshot::Sender<Arc<[Column]>>>,
    batches: mpsc::Sender<Vec<Row>>,
    runtime: Handle,
    ticket: Arc<Ticket>,
}

impl Outlet {
    fn read(&mut self, session: &Session, request: &QueryRequest) -> Result<End, Error> {
        if self.ticket.is_over() {
            return Err(self.ticket.ended());
        }
        let mut statement = prepare(session, &request.text, &request.params, &self.ticket)?;
        let failed = |failure: rusqlite::Error| {
            session
                .cut_short(&failure, &self.ticket)
                .unwrap_or_else(|| error::of_statement(&failure))
        };
        let mut announcement = self.columns.take();
        let mut columns: Arc<[Column]> = Arc::default();
        let mut read = 0;
        let mut batch = Batch::default();
        let mut rows = statement.raw_query();
        // The columns are told after the first step: until then a change of the schema by another
        // program may still change them.
        while let Some(row) = rows.next().map_err(failed)? {
            if let Some(announcement) = announcement.take() {
                columns = columns_of(row.as_ref());
                if announcement.send(Arc::clone(&columns)).is_err() {
                    return Err(self.ticket.ended());
                }
            }
            if read == request.limits.rows {
                self.hand_over(batch.rows)?;
                return Ok(End::MoreRows);
            }
            let mut cells = Row::with_capacity(columns.len());
            for (index, column) in columns.iter().enumerate() {
                let value = row.get_ref(index).map_err(failed)?;
                cells.push(cell(value, request.limits.cell_bytes, &column.name)?);
            }
            if let Some(full) = batch.add(cells) {
                self.hand_over(full)?;
            }
            read += 1;
        }
        self.hand_over(batch.rows)?;
        drop(rows);
        if let Some(announcement) = announcement {
            // Nobody waits for it any more when this fails.
            let _ = announcement.send(columns_of(&statement));
        }
        Ok(End::Whole)
    }

    /// Waits until the rows have a place, the time is over, or nobody wants them.
    fn hand_over(&self, rows: Vec<Row>) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let rows = match self.batches.try_send(rows) {
            Ok(()) => return Ok(()),
            Err(mpsc::error::TrySendError::Full(rows)) => rows,
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(self.ticket.ended()),
        };
        let sent = async {
            let sent = timeout_at(self.ticket.deadline().into(), self.batches.send(rows));
            self.ticket.stopping().run_until_cancelled(sent).await
        };
        match self.runtime.block_on(sent) {
            Some(Ok(Ok(()))) => Ok(()),
            _ => Err(self.ticket.ended()),
        }
    }
}

/// Rows on their way. Each batch may be twice as long as the one before: the first row is not
/// waited for, and the many do not wake the caller one by one.
struct Batch {
    rows: Vec<Row>,
    bytes: usize,
    full_at: usize,
}

impl Batch {
    const MOST_ROWS: usize = 64;
    const MOST_BYTES: usize = 16 << 10;

    /// Takes a row in, and answers the whole batch once it is full.
    fn add(&mut self, row: Row) -> Option<Vec<Row>> {
        self.bytes += row.iter().map(size_of_cell).sum::<usize>();
        self.rows.push(row);
        if self.rows.len() < self.full_at && self.bytes < Self::MOST_BYTES {
            return None;
        }
        self.bytes = 0;
        self.full_at = (self.full_at * 2).min(Self::MOST_ROWS);
        let next = Vec::with_capacity(self.full_at);
        Some(std::mem::replace(&mut self.rows, next))
    }
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            bytes: 0,
            full_at: 1,
        }
    }
}

fn size_of_cell(cell: &Cell) -> usize {
    let owned = match &cell.value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    size_of::<Cell>() + owned
}

fn columns_of(statement: &Statement<'_>) -> Arc<[Column]> {
    statement
        .columns()
        .map(|column| Column {
            name: column.name().to_owned(),
            type_name: column.decl_type().unwrap_or_default().to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests;
