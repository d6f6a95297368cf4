//! One read: what is asked, within which limits, and the stream that answers it.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;

use crate::{Column, Error, Row};

/// A read statement with its parameters and limits.
#[derive(Debug, Clone)]
pub struct QueryRequest {
    /// The statement, in the store's own language.
    pub text: String,
    /// Positional parameters, as the caller gave them.
    pub params: Vec<serde_json::Value>,
    /// How much may be answered.
    pub limits: Limits,
}

/// How much one read may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most rows answered; a store reads one more to know whether there are more.
    pub rows: u64,
    /// The most bytes of one value's text or bytes; what is longer is cut in the server.
    pub cell_bytes: u64,
    /// How long the whole read may take, from the call to its last row.
    pub timeout: Duration,
}

/// What a store's stream yields.
#[derive(Debug)]
pub enum Event {
    /// The next row.
    Row(Row),
    /// The row limit was reached and at least one more row exists. Nothing follows.
    MoreRows,
}

/// The answer to a query: its columns at once, its rows as they are asked for.
///
/// Little is read ahead of `next`, bounded in bytes; dropping the stream
/// stops the query in the server.
pub struct RowStream {
    columns: Arc<[Column]>,
    events: BoxStream<'static, Result<Event, Error>>,
    more_rows: bool,
}

impl RowStream {
    /// A stream over `events`, which end after the last row or after [`Event::MoreRows`].
    pub fn new(columns: Arc<[Column]>, events: BoxStream<'static, Result<Event, Error>>) -> Self {
        Self {
            columns,
            events,
            more_rows: false,
        }
    }

    /// The columns, also of an empty answer.
    pub fn columns(&self) -> &Arc<[Column]> {
        &self.columns
    }

    /// The next row; `None` after the last one or at the row limit.
    pub async fn next(&mut self) -> Result<Option<Row>, Error> {
        if self.more_rows {
            return Ok(None);
        }
        match self.events.next().await {
            Some(Ok(Event::Row(row))) => Ok(Some(row)),
            Some(Ok(Event::MoreRows)) => {
                self.more_rows = true;
                Ok(None)
            }
            Some(Err(error)) => Err(error),
            None => Ok(None),
        }
    }

    /// Whether the row limit ended the stream. Known once `next` has answered `None`.
    pub fn has_more_rows(&self) -> bool {
        self.more_rows
    }
}

impl std::fmt::Debug for RowStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream")
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}
