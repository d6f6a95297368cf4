//! The places in which work runs, and the workers that wait for some.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{Code, Error, Settings};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout_at;

use crate::file::DatabaseFile;
use crate::session::Session;
use crate::ticket::{StopOnDrop, Ticket};
use crate::worker::{Job, Work, Worker};

/// How long closing waits for what still runs.
const LAST_WAIT: Duration = Duration::from_millis(500);

/// All connections of one store.
pub(crate) struct Pool {
    file: DatabaseFile,
    settings: Settings,
    places: Arc<Semaphore>,
    /// The place that was left last is taken first: its cache is warm.
    idle: Mutex<Vec<Worker>>,
    running: Mutex<Vec<Arc<Ticket>>>,
    closed: AtomicBool,
}

impl Pool {
    /// No connection yet.
    pub(crate) fn new(file: DatabaseFile, settings: Settings) -> Arc<Self> {
        Arc::new(Self {
            file,
            settings,
            places: Arc::new(Semaphore::new(Self::size(&settings))),
            idle: Mutex::default(),
            running: Mutex::default(),
            closed: AtomicBool::new(false),
        })
    }

    /// Twice the operations at once: a thread that outlives its caller does not keep the next out.
    fn size(settings: &Settings) -> usize {
        settings.max_concurrency.max(1).saturating_mul(2)
    }

    /// The file the connections are of.
    pub(crate) fn file(&self) -> &DatabaseFile {
        &self.file
    }

    /// What the store was told.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Hands work to a connection, once there is a place.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        ticket: &Arc<Ticket>,
        work: Work,
    ) -> Result<(), Error> {
        self.check_open()?;
        let waiting = Arc::clone(&self.places).acquire_owned();
        let Ok(Ok(place)) = timeout_at(ticket.deadline().into(), waiting).await else {
            return Err(
                Error::new(Code::Busy, "every connection of this store is in use")
                    .with_hint("wait for the queries that run, or try again in a moment"),
            );
        };
        lock(&self.running).push(Arc::clone(ticket));
        // Looked at again after the ticket can be seen: closing either stops it or is seen here.
        self.check_open().inspect_err(|_| self.done(ticket))?;
        let mut job = Job {
            pool: Arc::clone(self),
            ticket: Arc::clone(ticket),
            place,
            work,
        };
        loop {
            let idle = lock(&self.idle).pop();
            let worker = match idle {
                Some(worker) => worker,
                None => Worker::start().inspect_err(|_| self.done(ticket))?,
            };
            match worker.send(job) {
                Ok(()) => return Ok(()),
                Err(returned) => job = returned,
            }
        }
    }

    /// Asks one question and waits for its answer, no longer than `allowed`.
    pub(crate) async fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        allowed: Duration,
        question: impl FnOnce(&Session, &Ticket) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let ticket = Ticket::new(allowed);
        let _stop = StopOnDrop(Arc::clone(&ticket));
        let (answer, answered) = oneshot::channel();
        let asked = Arc::clone(&ticket);
        let work: Work = Box::new(move |session| {
            let result = session.and_then(|session| question(session, &asked));
            Box::new(move || {
                // Nobody waits for it any more when this fails.
                let _ = answer.send(result);
            })
        });
        self.submit(&ticket, work).await?;
        match timeout_at(ticket.deadline().into(), answered).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(lost()),
            Err(_) => Err(ticket.ended()),
        }
    }

    /// The work of a ticket has ended.
    pub(crate) fn done(&self, ticket: &Arc<Ticket>) {
        lock(&self.running).retain(|running| !Arc::ptr_eq(running, ticket));
    }

    /// A worker waits for work again.
    pub(crate) fn take_back(&self, worker: Worker) {
        let mut idle = lock(&self.idle);
        if !self.closed.load(Ordering::SeqCst) {
            idle.push(worker);
        }
    }

    /// Stops what runs and lets every connection go.
    pub(crate) async fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        lock(&self.idle).clear();
        for ticket in lock(&self.running).iter() {
            ticket.stop();
        }
        let all = u32::try_from(Self::size(&self.settings)).unwrap_or(u32::MAX);
        let everything = self.places.acquire_many(all);
        if tokio::time::timeout(LAST_WAIT, everything).await.is_err() {
            tracing::warn!("a statement does not stop; its thread is left behind");
        }
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.closed.load(Ordering::SeqCst) {
            Err(Error::new(Code::StoreUnreachable, "the store is closed"))
        } else {
            Ok(())
        }
    }

    /// How many statements run, and how many connections wait for one.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (usize, usize) {
        (lock(&self.running).len(), lock(&self.idle).len())
    }

    /// Returns when nothing runs.
    #[cfg(test)]
    pub(crate) async fn quiet(&self) {
        let all = u32::try_from(Self::size(&self.settings)).unwrap();
        drop(self.places.acquire_many(all).await.unwrap());
    }
}

/// The error for a worker that ended without a word.
pub(crate) fn lost() -> Error {
    Error::new(
        Code::Internal,
        "the thread that read the database ended unexpectedly",
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use crate::fixture::{Database, LONG, json};

    use super::*;

    #[tokio::test]
    async fn a_call_that_does_not_return_is_left_behind_with_its_place() {
        let database = Database::empty();
        let store = database.store();
        let pool = store.pool();
        let moment = Duration::from_millis(1);
        let mut held = Vec::new();
        for _ in 0..Pool::size(pool.settings()) {
            // It stands for one call of SQLite that looks at no clock.
            let (release, released) = mpsc::channel::<()>();
            held.push(release);
            let stuck = pool.ask(moment, move |_, _| {
                let _ = released.recv();
                Ok(())
            });
            assert_eq!(stuck.await.unwrap_err().code, Code::Timeout);
        }
        let next = pool.ask(moment, |_, _| Ok(()));
        assert_eq!(next.await.unwrap_err().code, Code::Busy);
        drop(held);
        pool.quiet().await;
        assert_eq!(json(&store, "select 1").await, "[[1]]");
    }

    #[tokio::test]
    async fn a_panic_ends_its_call_and_its_connection_alone() {
        let database = Database::empty();
        let store = database.store();
        let broken = store
            .pool()
            .ask::<()>(LONG, |_, _| panic!("a test of panics"));
        assert_eq!(broken.await.unwrap_err().code, Code::Internal);
        store.pool().quiet().await;
        assert_eq!(store.pool().counts(), (0, 0));
        assert_eq!(json(&store, "select 1").await, "[[1]]");
    }
}
