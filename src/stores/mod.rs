//! The stores of a deployment: each by its name, each with its own places and deadlines, so that a
//! store that is slow or down costs only its own calls.

mod probing;
mod registry;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use store::{
    Code, Error, Probe, Problem, Profile, QueryRequest, Row, RowStream, Settings, Span, Store,
    and_list, nearest, or_list, schema,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::config::{Config, Problems, StoreConfig};
use probing::Probing;

/// How long a store may take longer than it was told before its call is answered without it. The
/// store's own time-out says more, so it goes first.
const GRACE: Duration = Duration::from_millis(250);

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);

/// How long an answer that was stopped at its byte limit is read on, so that its connection can be
/// kept.
const READ_ON: Duration = Duration::from_millis(100);

/// How long closing may take.
const CLOSE: Duration = Duration::from_millis(1700);

/// All stores of a deployment.
#[derive(Clone)]
pub struct Stores {
    handles: Arc<[Handle]>,
}

/// One store.
#[derive(Clone)]
pub struct Handle {
    store: Arc<dyn Store>,
    places: Arc<Semaphore>,
    probing: Probing,
    query_timeout: Duration,
}

/// What is wrong with a store's DSN, as its adapter reads it. Nothing is connected.
pub fn check(declared: &StoreConfig) -> Vec<Problem> {
    let settings = Settings {
        busy_timeout: Duration::ZERO,
        max_concurrency: 1,
        connect_timeout: CONNECT,
        call_timeout: Duration::ZERO,
    };
    match registry::open(&declared.name, &declared.dsn, settings) {
        Ok(_) => Vec::new(),
        Err(problems) => problems,
    }
}

impl Stores {
    /// Opens the stores of a configuration. Nothing is connected yet. Errors: every problem of
    /// every DSN.
    pub fn open(config: &Config) -> Result<Self, Problems> {
        let settings = Settings {
            busy_timeout: config.busy_timeout,
            max_concurrency: config.max_concurrency,
            connect_timeout: CONNECT,
            call_timeout: config.query_timeout,
        };
        let mut problems = Problems::default();
        let mut handles = Vec::new();
        for declared in &config.stores {
            match registry::open(&declared.name, &declared.dsn, settings) {
                Ok(store) => handles.push(Handle {
                    store,
                    places: Arc::new(Semaphore::new(config.max_concurrency)),
                    probing: Probing::default(),
                    query_timeout: config.query_timeout,
                }),
                Err(found) => {
                    for problem in found {
                        problems.push(&declared.variable, problem);
                    }
                }
            }
        }
        if problems.is_empty() {
            Ok(Self {
                handles: handles.into(),
            })
        } else {
            Err(problems)
        }
    }

    /// Every store, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Handle> {
        self.handles.iter()
    }

    /// The store with this name. Errors: `unknown_store`, with the nearest names.
    pub fn get(&self, name: &str) -> Result<&Handle, Error> {
        if let Some(handle) = self.iter().find(|handle| handle.profile().name == name) {
            return Ok(handle);
        }
        let names = || self.iter().map(|handle| handle.profile().name.as_str());
        let close = nearest(name, names());
        let hint = if close.is_empty() {
            format!("the stores are {}", and_list(&names().collect::<Vec<_>>()))
        } else {
            format!("did you mean {}?", or_list(&close))
        };
        Err(Error::new(Code::UnknownStore, format!("there is no store `{name}`")).with_hint(hint))
    }

    /// Closes every connection and cancels what still runs.
    pub async fn close(&self) {
        let all = futures::future::join_all(self.iter().map(|handle| handle.store.close()));
        if tokio::time::timeout(CLOSE, all).await.is_err() {
            tracing::warn!("some connections were dropped before they were clean");
        }
    }
}

impl Handle {
    /// What is known of the store without asking it.
    pub fn profile(&self) -> &Profile {
        self.store.profile()
    }

    /// Asks the store who it is, within `timeout`. Takes none of its places, so that a busy store
    /// is not one that is down; those who ask at the same time share one answer.
    pub async fn probe(&self, timeout: Duration) -> Result<Probe, Error> {
        let allowed = timeout.min(self.query_timeout);
        let deadline = Instant::now() + allowed;
        let asking = async {
            let left = deadline.saturating_duration_since(Instant::now());
            within(left, deadline, self.store.probe(left)).await
        };
        self.probing.ask(deadline, asking).await
    }

    /// One page of the store's tables. The request's time-out is the deployment's.
    pub async fn schema(&self, mut request: schema::Request) -> Result<schema::Page, Error> {
        let deadline = Instant::now() + self.query_timeout;
        let place = self.place(deadline).await?;
        request.timeout = deadline.saturating_duration_since(Instant::now());
        let page = within(self.query_timeout, deadline, self.store.schema(request)).await;
        page.map_err(|error| place.explain(error, self.query_timeout))
    }

    /// Runs one read statement. The request's time-out is the deployment's.
    pub async fn query(&self, mut request: QueryRequest) -> Result<Answer, Error> {
        let deadline = Instant::now() + self.query_timeout;
        let place = self.place(deadline).await?;
        request.limits.timeout = deadline.saturating_duration_since(Instant::now());
        let asked = within(self.query_timeout, deadline, self.store.query(request)).await;
        let rows = asked.map_err(|error| place.explain(error, self.query_timeout))?;
        Ok(Answer {
            rows,
            handle: self.clone(),
            deadline,
            place,
        })
    }

    async fn place(&self, deadline: Instant) -> Result<Place, Error> {
        let begun = Instant::now();
        let waiting = Arc::clone(&self.places).acquire_owned();
        match timeout_at(deadline, waiting).await {
            Ok(Ok(permit)) => Ok(Place {
                _permit: permit,
                waited: begun.elapsed(),
            }),
            _ => Err(Error::new(
                Code::Busy,
                "all places of the store were taken until the time was over",
            )
            .with_hint("wait for the calls that are running, or call again later")),
        }
    }
}

/// A place in a store, held until it is dropped.
struct Place {
    _permit: OwnedSemaphorePermit,
    /// How long it was waited for.
    waited: Duration,
}

impl Place {
    /// A time-out as what it is: where most of the time went by before the call had a place, there
    /// is nothing to be narrowed.
    fn explain(&self, error: Error, allowed: Duration) -> Error {
        if error.code != Code::Timeout || self.waited * 2 < allowed {
            return error;
        }
        let message = format!(
            "all places of the store were taken for {} of the {} of the call",
            Span(self.waited),
            Span(allowed)
        );
        Error::new(Code::Busy, message)
            .with_hint("wait for the calls that are running, or call again later")
    }
}

/// Answers without the store where it takes longer than it was told.
async fn within<T>(
    allowed: Duration,
    deadline: Instant,
    work: impl Future<Output = Result<T, Error>> + Send,
) -> Result<T, Error> {
    match timeout_at(deadline + GRACE, work).await {
        Ok(done) => done,
        Err(_) => Err(
            Error::new(Code::Timeout, format!("no answer within {}", Span(allowed)))
                .with_hint("the store may be slow or hang; other stores answer as before"),
        ),
    }
}

/// How an answer ended of which enough was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Its end was read, and the store stands by it.
    Checked,
    /// It was stopped before its end.
    Unchecked,
}

/// The answer to a query: its place in the store is held until it is dropped or abandoned.
pub struct Answer {
    rows: RowStream,
    handle: Handle,
    deadline: Instant,
    place: Place,
}

impl Answer {
    /// The columns, also of an empty answer.
    pub fn columns(&self) -> &Arc<[store::Column]> {
        self.rows.columns()
    }

    /// The next row; `None` after the last one or at the row limit.
    pub async fn next(&mut self) -> Result<Option<Row>, Error> {
        let next = self.rows.next();
        let allowed = self.handle.query_timeout;
        let next = match timeout_at(self.deadline + GRACE, next).await {
            Ok(next) => next,
            Err(_) => Err(Error::new(
                Code::Timeout,
                format!("not all rows within {}", Span(allowed)),
            )
            .with_hint("narrow the query: fewer rows or columns")),
        };
        next.map_err(|error| self.place.explain(error, allowed))
    }

    /// Whether the row limit ended the answer.
    pub fn has_more_rows(&self) -> bool {
        self.rows.has_more_rows()
    }

    /// Reads on for a moment when enough was read, to hear whether the store stands by its answer:
    /// some things, such as settings that a query moved, are only known at its end. What is longer
    /// is cancelled in the server. Errors: the store rejects its own answer.
    pub async fn settle(mut self) -> Result<Settled, Error> {
        let read_on = async {
            while self.rows.next().await?.is_some() {}
            Ok::<(), Error>(())
        };
        match tokio::time::timeout(READ_ON, read_on).await {
            Ok(Ok(())) => Ok(Settled::Checked),
            Ok(Err(error)) if error.code == Code::QueryRejected => Err(error),
            // A later row failed, or the rest takes long: what was read is what there was until then.
            Ok(Err(_)) | Err(_) => Ok(Settled::Unchecked),
        }
    }

    /// Lets go of an answer of which enough was read. What is left is usually little, and reading
    /// it for a moment keeps the connection; whatever is longer is cancelled in the server.
    pub async fn abandon(mut self) {
        let read_on = async { while let Ok(Some(_)) = self.rows.next().await {} };
        let in_time = tokio::time::timeout(READ_ON, read_on).await.is_ok();
        tracing::trace!(in_time, "an answer was abandoned");
        drop(self.rows);
        drop(self.place);
    }
}
