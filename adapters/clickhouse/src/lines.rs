//! The lines of an answer while it arrives.

use clickhouse::query::BytesCursor;
use store::{Code, Error};

use crate::client::Shared;
use crate::error::{Phase, too_long, translate};

/// The lines of an answer, none longer than a row may be.
pub(crate) struct Lines {
    cursor: BytesCursor,
    buffer: Vec<u8>,
    /// Up to where the buffer was taken.
    taken: usize,
    longest: usize,
    is_ended: bool,
}

impl Lines {
    pub(crate) fn new(cursor: BytesCursor, longest: usize) -> Self {
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
    pub(crate) async fn next(&mut self, shared: &Shared) -> Result<Option<Vec<u8>>, Error> {
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
            match self.cursor.next().await {
                Ok(Some(chunk)) => self.buffer.extend_from_slice(&chunk),
                Ok(None) => self.is_ended = true,
                Err(error) => return Err(translate(&error, phase, &shared.dsn)),
            }
        }
    }
}
