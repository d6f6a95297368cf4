//! The connections of one store: which server each leads to, and those that wait to be used again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use store::{Code, Dsn, Error, Settings, Span};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bolt::{Connection, Login, Server};
use crate::error::{of_own, of_refusal};
use crate::options::Options;
use crate::routing::Routes;
use crate::wall::{Wall, probe};
use crate::working::terminate;

/// A connection unused for this long is not used again.
const OLDEST_IDLE: Duration = Duration::from_secs(300);

/// How long ending a query may take before it is left to its own time limit.
pub(crate) const CLEAN_UP: Duration = Duration::from_secs(2);

/// A connection, where it leads, and what keeps writes out there.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) connection: Connection,
    pub(crate) wall: Wall,
    host: String,
    port: u16,
}

/// What a call can be found by in its server.
#[derive(Debug, Clone)]
pub(crate) struct Traces {
    /// The id in the metadata of its transaction.
    pub(crate) id: String,
    /// The connection's own address: for servers that do not keep metadata.
    pub(crate) address: String,
    host: String,
    port: u16,
}

impl Link {
    pub(crate) fn traces(&self, id: &str) -> Traces {
        Traces {
            id: id.to_owned(),
            address: self.connection.address.clone(),
            host: self.host.clone(),
            port: self.port,
        }
    }
}

/// Everything the calls of one store share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) dsn: Dsn,
    connect_timeout: Duration,
    places: Arc<Semaphore>,
    /// The one that was used last is used first.
    idle: Mutex<Vec<(Instant, Link)>>,
    /// The host that answered last, or the turn among those that a router named.
    preferred: AtomicUsize,
    pub(crate) routes: Mutex<Option<Routes>>,
    /// Owns every task that ends a query.
    pub(crate) tasks: TaskTracker,
    pub(crate) closing: CancellationToken,
    /// The calls at work, by their ids.
    pub(crate) running: Mutex<BTreeMap<String, Traces>>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(options: Options, dsn: Dsn, settings: Settings) -> Self {
        Self {
            connect_timeout: options.connect_timeout.unwrap_or(settings.connect_timeout),
            options,
            dsn,
            places: Arc::new(Semaphore::new(settings.max_concurrency.max(1) * 2)),
            idle: Mutex::default(),
            preferred: AtomicUsize::new(0),
            routes: Mutex::default(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            running: Mutex::default(),
        }
    }

    pub(crate) fn login(&self) -> Login<'_> {
        Login {
            user: self.options.user.as_deref(),
            password: self.dsn.password(),
        }
    }

    /// A place among the store's connections.
    pub(crate) async fn place(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, Error> {
        let waiting = Arc::clone(&self.places).acquire_owned();
        match timeout_at(deadline, waiting).await {
            Ok(Ok(place)) if !self.closing.is_cancelled() => Ok(place),
            Ok(_) => Err(Error::new(Code::StoreUnreachable, "the store is closed")),
            Err(_) => Err(
                Error::new(Code::Busy, "all connections of the store are in use")
                    .with_hint("call again later"),
            ),
        }
    }

    /// A connection that can be used: one that waits, or a new one.
    pub(crate) async fn link(&self, deadline: Instant) -> Result<Link, Error> {
        loop {
            let kept = lock(&self.idle).pop();
            match kept {
                Some((since, link)) if since.elapsed() < OLDEST_IDLE => {
                    if link.connection.is_alive() {
                        return Ok(link);
                    }
                    tracing::debug!("a connection was lost while it was idle");
                }
                Some(_) => {}
                None => return self.open(deadline).await,
            }
        }
    }

    /// Keeps a connection whose exchange has ended well.
    pub(crate) fn keep(&self, link: Link) {
        let mut idle = lock(&self.idle);
        if !self.closing.is_cancelled() {
            idle.push((Instant::now(), link));
        }
    }

    /// A new connection, to the first server that answers.
    pub(crate) async fn open(&self, deadline: Instant) -> Result<Link, Error> {
        let targets = if self.options.is_routed {
            self.readers(deadline).await?
        } else {
            self.options.hosts.clone()
        };
        let (first, count) = (self.preferred.load(Ordering::Relaxed), targets.len().max(1));
        let mut last = None;
        for step in 0..count {
            let index = (first + step) % count;
            let Some((host, port)) = targets.get(index) else {
                break;
            };
            match self.open_to(host, *port, deadline).await {
                Ok(link) => {
                    let next = if self.options.is_routed {
                        index + 1
                    } else {
                        index
                    };
                    self.preferred.store(next, Ordering::Relaxed);
                    return Ok(link);
                }
                Err(error) => last = Some(error),
            }
        }
        *lock(&self.routes) = None;
        Err(last.unwrap_or_else(|| {
            Error::new(Code::StoreUnreachable, "no server reads this database")
                .with_hint("check the cluster and the database of the DSN")
        }))
    }

    /// Another connection to the server of a call.
    pub(crate) async fn open_beside(
        &self,
        traces: &Traces,
        deadline: Instant,
    ) -> Result<Link, Error> {
        self.open_to(&traces.host, traces.port, deadline).await
    }

    async fn open_to(&self, host: &str, port: u16, deadline: Instant) -> Result<Link, Error> {
        let place = place(host, port);
        let opening = async {
            let mut connection = self.connect(host, port).await?;
            let wall = probe(&mut connection, &self.options).await?;
            let wall = wall.map_err(|failure| of_own(&failure, &self.dsn))?;
            tracing::debug!(agent = %connection.agent, ?wall, "connected");
            Ok(Link {
                connection,
                wall,
                host: host.to_owned(),
                port,
            })
        };
        self.in_time(opening, &place, deadline).await
    }

    /// Connects and logs in.
    pub(crate) async fn connect(&self, host: &str, port: u16) -> Result<Connection, Error> {
        let server = Server {
            host,
            port,
            tls: self.options.tls.as_ref(),
            login: self.login(),
            is_routed: self.options.is_routed,
        };
        let opened = Connection::open(&server).await;
        opened.map_err(|refused| of_refusal(&refused, &place(host, port), &self.dsn))
    }

    /// Gives connecting as long as it may take.
    pub(crate) async fn in_time<T>(
        &self,
        connecting: impl Future<Output = Result<T, Error>>,
        place: &str,
        deadline: Instant,
    ) -> Result<T, Error> {
        let begun = Instant::now();
        let until = deadline.min(begun + self.connect_timeout);
        match timeout_at(until, connecting).await {
            Ok(connected) => connected,
            Err(_) => Err(Error::new(
                Code::StoreUnreachable,
                format!("no connection to `{place}` within {}", Span(until - begun)),
            )
            .with_hint(
                "check that the server runs and that the DSN names its host and its Bolt port (7687)",
            )),
        }
    }

    /// Stops what runs, and waits for it as long as closing may take.
    pub(crate) async fn close(self: &Arc<Self>) {
        self.closing.cancel();
        lock(&self.idle).clear();
        let running: Vec<Traces> = lock(&self.running).values().cloned().collect();
        for traces in running {
            self.tasks.spawn(terminate(Arc::clone(self), traces));
        }
        self.tasks.close();
        let ended = tokio::time::timeout(CLEAN_UP, self.tasks.wait()).await;
        if ended.is_err() {
            tracing::warn!("queries may run on until their time is over");
        }
    }
}

fn place(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}
