//! The store's connections: made when first needed, at most so many, and thrown away when an
//! exchange on them was interrupted.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use store::{Code, Error};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

use crate::connect::{Connected, Connector, HostIndex, ServerSession, part};
use crate::error::{Phase, translate};
use crate::time_outs::TimeOuts;

/// A connection unused for this long is closed instead of reused: firewalls forget it silently.
const OLDEST_IDLE: Duration = Duration::from_secs(300);

/// How long cancelling and cleaning up may take before the connection is simply closed.
pub(crate) const CLEAN_UP: Duration = Duration::from_secs(2);

pub(crate) struct Pool {
    pub(crate) connector: Connector,
    idle: Mutex<Vec<Idle>>,
    places: Arc<Semaphore>,
    /// Owns every task that cleans up or cancels.
    pub(crate) tasks: TaskTracker,
}

struct Idle {
    connected: Connected,
    since: Instant,
}

/// A connection in use, and its place in the pool.
pub(crate) struct Lease {
    pub(crate) connection: PgConnection,
    pub(crate) session: ServerSession,
    pub(crate) host: HostIndex,
    pub(crate) time_outs: TimeOuts,
    pub(crate) origin: Origin,
    pub(crate) runtime: Handle,
    _place: OwnedSemaphorePermit,
}

/// Where a leased connection came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Made for this lease.
    New,
    /// Used before: the server may have closed it since.
    Reused,
}

/// Whether a server was working where it was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The process was told.
    Told,
    /// There is no such process any more.
    Gone,
}

impl Pool {
    /// A pool of at most `most` connections. Nothing is connected yet.
    pub(crate) fn new(connector: Connector, most: usize) -> Self {
        Self {
            connector,
            idle: Mutex::new(Vec::new()),
            places: Arc::new(Semaphore::new(most)),
            tasks: TaskTracker::new(),
        }
    }

    /// A connection that is ready for a transaction.
    pub(crate) async fn lease(&self, timeout: Duration) -> Result<Lease, Error> {
        let place = tokio::time::timeout(timeout, Arc::clone(&self.places).acquire_owned());
        let Ok(Ok(place)) = place.await else {
            return Err(
                Error::new(Code::Busy, "all connections of the store are in use")
                    .with_hint("call again later"),
            );
        };
        let (connected, origin) = match self.take_idle(|_| true) {
            Some(kept) => (kept, Origin::Reused),
            None => (self.connector.connect(timeout).await?, Origin::New),
        };
        Ok(Lease {
            connection: connected.connection,
            session: connected.session,
            host: connected.host,
            time_outs: connected.time_outs,
            origin,
            runtime: Handle::current(),
            _place: place,
        })
    }

    /// Keeps a connection for the next lease. Only for one that is ready and outside a transaction.
    pub(crate) fn keep(&self, lease: Lease) {
        self.put_idle(Connected {
            connection: lease.connection,
            session: lease.session,
            host: lease.host,
            time_outs: lease.time_outs,
        });
    }

    /// Drops every idle connection: one was found dead, so the server has likely restarted.
    pub(crate) fn forget_idle(&self) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.clear();
        }
    }

    fn put_idle(&self, connected: Connected) {
        if self.tasks.is_closed() {
            return;
        }
        if let Ok(mut idle) = self.idle.lock() {
            idle.push(Idle {
                connected,
                since: Instant::now(),
            });
        }
    }

    /// The idle connection used last among those that will do.
    fn take_idle(&self, will_do: impl Fn(&Connected) -> bool) -> Option<Connected> {
        let mut idle = self.idle.lock().ok()?;
        idle.retain(|kept| kept.since.elapsed() < OLDEST_IDLE);
        let found = idle.iter().rposition(|kept| will_do(&kept.connected))?;
        Some(idle.remove(found).connected)
    }

    /// Stops what the server process `process` of `host` does for this account, from another
    /// connection.
    pub(crate) async fn cancel(&self, host: HostIndex, process: i32) -> Result<Asked, Error> {
        let kept = self.take_idle(|connected| connected.host == host);
        if let Some(mut kept) = kept
            && let Ok(asked) = ask_to_stop(&mut kept.connection, process).await
        {
            self.put_idle(kept);
            return Ok(asked);
        }
        let mut connection = self.connector.reach(host).await?;
        let asked = ask_to_stop(&mut connection, process).await;
        part(connection).await;
        asked.map_err(|error| translate(&error, Phase::Connect, &self.connector.dsn))
    }

    /// Waits for what is being cleaned up, then closes the idle connections.
    pub(crate) async fn close(&self) {
        self.tasks.close();
        let work = async {
            self.tasks.wait().await;
            let idle = match self.idle.lock() {
                Ok(mut idle) => std::mem::take(&mut *idle),
                Err(_) => Vec::new(),
            };
            let farewells = idle
                .into_iter()
                .map(|kept| kept.connected.connection.close());
            futures::future::join_all(farewells).await;
        };
        if tokio::time::timeout(CLEAN_UP, work).await.is_err() {
            tracing::warn!("connections were dropped before they were clean");
        }
    }
}

async fn ask_to_stop(connection: &mut PgConnection, process: i32) -> Result<Asked, sqlx::Error> {
    let sql = format!("SELECT pg_catalog.pg_cancel_backend({process})");
    let row = sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_one(connection)
        .await?;
    Ok(if row.try_get::<bool, _>(0)? {
        Asked::Told
    } else {
        Asked::Gone
    })
}
