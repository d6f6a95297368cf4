//! One piece of work's leave to run: until its deadline, or until someone stops it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::InterruptHandle;
use store::{Code, Error};
use tokio_util::sync::CancellationToken;

/// Stands for "no deadline" where a caller's time-out is too long for the clock.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// Leave to run until a deadline.
pub(crate) struct Ticket {
    allowed: Duration,
    deadline: Instant,
    /// Read on every tick of a statement; `stopping` wakes whoever waits.
    stopped: AtomicBool,
    stopping: CancellationToken,
    /// The connection the work runs on. Held only while it runs, so that a late stop cannot hit
    /// the next work of the same connection.
    interrupt: Mutex<Option<InterruptHandle>>,
}

impl Ticket {
    /// Leave for `allowed` from now on.
    pub(crate) fn new(allowed: Duration) -> Arc<Self> {
        let now = Instant::now();
        let deadline = now.checked_add(allowed).unwrap_or(now + FAR);
        Arc::new(Self {
            allowed,
            deadline,
            stopped: AtomicBool::new(false),
            stopping: CancellationToken::new(),
            interrupt: Mutex::new(None),
        })
    }

    /// When the time allowed is over.
    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether the work has to end now.
    pub(crate) fn is_over(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }

    /// Told when the work is stopped from outside.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// The work begins on the connection of this handle.
    pub(crate) fn begin(&self, handle: InterruptHandle) {
        *self.handle() = Some(handle);
        if self.stopped.load(Ordering::Relaxed) {
            self.stop();
        }
    }

    /// The work has left its connection.
    pub(crate) fn finish(&self) {
        *self.handle() = None;
    }

    /// Stops the work, wherever it is.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.stopping.cancel();
        if let Some(handle) = self.handle().as_ref() {
            handle.interrupt();
        }
    }

    /// Why work under this ticket was cut short.
    pub(crate) fn ended(&self) -> Error {
        if Instant::now() >= self.deadline {
            Error::new(
                Code::Timeout,
                format!("not finished within the {} allowed", store::Span(self.allowed)),
            )
            .with_hint("narrow the query: a condition on an indexed column, an aggregate, a smaller limit; `EXPLAIN QUERY PLAN` shows what is scanned")
        } else {
            Error::new(Code::StoreUnreachable, "the reading was stopped")
        }
    }

    fn handle(&self) -> std::sync::MutexGuard<'_, Option<InterruptHandle>> {
        self.interrupt
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops the work when it is dropped: the caller has gone.
pub(crate) struct StopOnDrop(pub(crate) Arc<Ticket>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}
