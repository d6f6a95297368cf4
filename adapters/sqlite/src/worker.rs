//! A thread with its connection. SQLite blocks, and one of its calls may not return for long: such
//! a thread is left behind with its place, while its caller and the runtime go on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc;

use store::{Code, Error};
use tokio::sync::OwnedSemaphorePermit;

use crate::pool::Pool;
use crate::session::{self, Session};
use crate::ticket::Ticket;

/// SQLite's parser recurses as deep as expressions may be.
const STACK_BYTES: usize = 4 << 20;

/// Work on a session, or on why there is none. What it answers is done when its place is free.
pub(crate) type Work = Box<dyn FnOnce(Result<&Session, Error>) -> Farewell + Send>;

/// The last thing done for a caller.
pub(crate) type Farewell = Box<dyn FnOnce() + Send>;

/// One piece of work, with all it holds while it runs.
pub(crate) struct Job {
    pub(crate) pool: Arc<Pool>,
    pub(crate) ticket: Arc<Ticket>,
    pub(crate) place: OwnedSemaphorePermit,
    pub(crate) work: Work,
}

/// The way to a thread that waits for work. The thread ends, and closes its connection, when
/// nobody can reach it any more.
pub(crate) struct Worker {
    jobs: mpsc::Sender<(Worker, Job)>,
}

impl Worker {
    /// Starts a thread.
    pub(crate) fn start() -> Result<Self, Error> {
        let (jobs, received) = mpsc::channel();
        std::thread::Builder::new()
            .name("sqlite".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || serve(&received))
            .map_err(|error| {
                Error::new(Code::Busy, format!("no thread could be started: {error}"))
                    .with_hint("try again in a moment")
            })?;
        Ok(Self { jobs })
    }

    /// Hands work over. Gives it back when the thread has ended.
    pub(crate) fn send(self, job: Job) -> Result<(), Job> {
        let jobs = self.jobs.clone();
        jobs.send((self, job)).map_err(|error| error.0.1)
    }
}

fn serve(jobs: &mpsc::Receiver<(Worker, Job)>) {
    let mut kept = None;
    while let Ok((worker, job)) = jobs.recv() {
        kept = run(kept.take(), worker, job);
    }
}

/// Runs one job and answers the session, if it may be used again.
fn run(kept: Option<Session>, worker: Worker, job: Job) -> Option<Session> {
    let Job {
        pool,
        ticket,
        place,
        work,
    } = job;
    session::wait_for_writers(&ticket, pool.settings().busy_timeout);
    let current = kept.filter(|session| session.is_current(pool.file()));
    let opened = match current {
        Some(session) => Ok(session),
        None => Session::open(pool.file()),
    };
    let (farewell, kept) = match opened {
        Ok(mut session) => {
            let attempt = catch_unwind(AssertUnwindSafe(|| {
                session.under(&ticket, |session| work(Ok(session)))
            }));
            ticket.finish();
            match attempt {
                Ok((farewell, reusable)) => (Some(farewell), reusable.then_some(session)),
                Err(_) => (None, None),
            }
        }
        Err(error) => (Some(work(Err(error))), None),
    };
    pool.done(&ticket);
    if kept.is_some() {
        pool.take_back(worker);
    } else {
        tracing::debug!("connection discarded");
        drop(worker);
    }
    drop(place);
    if let Some(farewell) = farewell {
        farewell();
    }
    kept
}
