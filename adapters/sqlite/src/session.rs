//! One connection in its sandbox, and the work it does.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ffi};
use store::Error;

use crate::file::{DatabaseFile, Identity, Stamp, Unreadable};
use crate::sandbox::{self, Watch};
use crate::ticket::Ticket;
use crate::{busy, error};

/// How many steps of SQLite's machine lie between two looks at the clock.
const STEPS_BETWEEN_LOOKS: i32 = 1000;

/// A connection that is ready for a caller's text.
pub(crate) struct Session {
    connection: Connection,
    watch: Arc<Watch>,
    identity: Identity,
    /// For a database that is read alone: the state in which it was opened.
    alone: Option<Stamp>,
    journal_mode: String,
    interrupted: Cell<bool>,
}

impl Session {
    /// Opens the file and lays the sandbox.
    pub(crate) fn open(file: &DatabaseFile) -> Result<Self, Error> {
        let identity = file.identity()?;
        match Self::over(file.connect()?, identity, None) {
            Ok(session) => Ok(session),
            Err(failure) => match file.unreadable(&failure) {
                Unreadable::Error(error) => Err(error),
                Unreadable::ReadAlone => {
                    let stamp = file.stamp();
                    Self::over(file.connect_immutable()?, identity, stamp)
                        .map_err(|failure| error::of_statement(&failure))
                }
            },
        }
    }

    fn over(
        mut connection: Connection,
        identity: Identity,
        alone: Option<Stamp>,
    ) -> rusqlite::Result<Self> {
        busy::install(&mut connection)?;
        sandbox::lay(&connection)?;
        // The first read: whether this is a database, and its whole schema is well-formed.
        let _: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        let journal_mode =
            connection.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0))?;
        let watch = sandbox::shut(&mut connection)?;
        tracing::debug!(journal_mode, alone = alone.is_some(), "connection opened");
        Ok(Self {
            connection,
            watch,
            identity,
            alone,
            journal_mode,
            interrupted: Cell::new(false),
        })
    }

    /// Whether the file at the path is still the one that was opened, in the state that was
    /// promised not to change.
    pub(crate) fn is_current(&self, file: &DatabaseFile) -> bool {
        let same = file.identity().is_ok_and(|now| now == self.identity);
        same && self.alone.is_none_or(|opened| file.stamp() == Some(opened))
    }

    /// Does work under a ticket, and answers whether the connection may be used again.
    pub(crate) fn under<T>(
        &mut self,
        ticket: &Arc<Ticket>,
        work: impl FnOnce(&Self) -> T,
    ) -> (T, bool) {
        let watched = Arc::clone(ticket);
        let tick = move || watched.is_over();
        let guarded = self
            .connection
            .progress_handler(STEPS_BETWEEN_LOOKS, Some(tick))
            .is_ok();
        ticket.begin(self.connection.get_interrupt_handle());
        let done = work(self);
        ticket.finish();
        let reusable = guarded && !self.interrupted.get() && self.connection.is_autocommit();
        (done, reusable)
    }

    /// The connection itself.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// What the authorizer saw of the latest statement.
    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// The journal mode when it was opened.
    pub(crate) fn journal_mode(&self) -> &str {
        &self.journal_mode
    }

    /// Whether the database is read as if nobody changed it.
    pub(crate) fn is_alone(&self) -> bool {
        self.alone.is_some()
    }

    /// Takes note of an error, and answers why the work under `ticket` was cut short if it was.
    pub(crate) fn cut_short(&self, failure: &rusqlite::Error, ticket: &Ticket) -> Option<Error> {
        let interrupted = error::extended_code(failure) & 0xff == ffi::SQLITE_INTERRUPT;
        if interrupted {
            self.interrupted.set(true);
        }
        interrupted.then(|| ticket.ended())
    }
}

/// How long a session waits for a writer while it is opened and used on this thread.
pub(crate) fn wait_for_writers(ticket: &Arc<Ticket>, longest: Duration) {
    busy::wait_under(ticket, longest);
}
