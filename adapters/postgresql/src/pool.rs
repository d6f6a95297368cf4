//! The store's connections: made when first needed, at most so many, each audited before it is
//! used, and thrown away when an exchange on it was interrupted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _};
use store::{Code, Dsn, Error, Settings};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

use crate::audit::{self, Account};
use crate::error::{Phase, translate};
use crate::options::{Options, UnsafeRole, WantedServer};
use crate::settings::set_up_sql;

/// A connection unused for this long is closed instead of reused: firewalls forget it silently.
const OLDEST_IDLE: Duration = Duration::from_secs(300);

/// How long cancelling and cleaning up may take before the connection is simply closed.
pub(crate) const CLEAN_UP: Duration = Duration::from_secs(2);

pub(crate) struct Pool {
    options: Options,
    pub(crate) dsn: Dsn,
    connect_timeout: Duration,
    idle: Mutex<Vec<Idle>>,
    /// Whether a pooler was met: it would refuse the start-up option that tells it apart.
    meets_pooler: AtomicBool,
    settings: Settings,
    places: Arc<Semaphore>,
    /// Owns every task that cleans up or cancels.
    pub(crate) tasks: TaskTracker,
}

struct Idle {
    connection: PgConnection,
    session: ServerSession,
    since: Instant,
}

/// What stands behind a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerSession {
    /// One session of the server, this connection's own: it was set up once, and its process does
    /// not change.
    Own {
        /// The server's process.
        process: i32,
    },
    /// A pooler's, another one in each transaction.
    Pooled,
}

/// A connection in use, and its place in the pool.
pub(crate) struct Lease {
    pub(crate) connection: PgConnection,
    pub(crate) session: ServerSession,
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

impl Pool {
    pub(crate) fn new(options: Options, dsn: Dsn, settings: Settings) -> Self {
        let connect_timeout = options.connect_timeout.unwrap_or(settings.connect_timeout);
        Self {
            options,
            dsn,
            connect_timeout,
            idle: Mutex::new(Vec::new()),
            meets_pooler: AtomicBool::new(false),
            settings,
            places: Arc::new(Semaphore::new(settings.max_concurrency * 2)),
            tasks: TaskTracker::new(),
        }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
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
        let (connection, session, origin) = match self.take_idle() {
            Some(kept) => (kept.connection, kept.session, Origin::Reused),
            None => {
                let (connection, session) = self.connect(timeout).await?;
                (connection, session, Origin::New)
            }
        };
        Ok(Lease {
            connection,
            session,
            origin,
            runtime: Handle::current(),
            _place: place,
        })
    }

    /// Keeps a connection for the next lease. Only for one that is ready and outside a transaction.
    pub(crate) fn keep(&self, lease: Lease) {
        if self.tasks.is_closed() {
            return;
        }
        if let Ok(mut idle) = self.idle.lock() {
            idle.push(Idle {
                connection: lease.connection,
                session: lease.session,
                since: Instant::now(),
            });
        }
    }

    /// Drops every idle connection: one was found dead, so the server has likely restarted.
    pub(crate) fn forget_idle(&self) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.clear();
        }
    }

    fn take_idle(&self) -> Option<Idle> {
        let mut idle = self.idle.lock().ok()?;
        idle.retain(|kept| kept.since.elapsed() < OLDEST_IDLE);
        idle.pop()
    }

    /// A new connection to the first host that answers and will do, its account audited.
    async fn connect(&self, timeout: Duration) -> Result<(PgConnection, ServerSession), Error> {
        let (mut connection, account) = self.connect_and_ask(timeout).await?;
        if self.options.unsafe_role == UnsafeRole::Refuse
            && let Some(danger) = account.dangers.first()
        {
            self.part(connection).await;
            return Err(Error::new(Code::UnsafeRole, danger.problem.clone())
                .with_hint("`rhizodat-mcp check` prints the SQL that makes a reader"));
        }
        if !account.is_direct {
            return Ok((connection, ServerSession::Pooled));
        }
        let process = account.process;
        let set_up = set_up_sql(
            self.options.search_path.as_deref(),
            self.settings.busy_timeout,
            &account,
        );
        let done = sqlx::raw_sql(AssertSqlSafe(set_up)).execute(&mut connection);
        match tokio::time::timeout(timeout, done).await {
            Ok(Ok(_)) => Ok((connection, ServerSession::Own { process })),
            Ok(Err(error)) => Err(translate(&error, Phase::Connect, &self.dsn)),
            Err(_) => Err(Error::new(
                Code::Timeout,
                "the server did not take the settings of a session in time",
            )
            .with_hint("call again")),
        }
    }

    /// What a new connection says of its account, whatever that may do.
    pub(crate) async fn probe(&self, timeout: Duration) -> Result<Account, Error> {
        let (connection, account) = self.connect_and_ask(timeout).await?;
        self.part(connection).await;
        Ok(account)
    }

    async fn connect_and_ask(&self, timeout: Duration) -> Result<(PgConnection, Account), Error> {
        let allowed = self.connect_timeout.min(timeout);
        let attempt = async {
            let mut last = None;
            for wanted in self.passes() {
                for target in &self.options.targets {
                    match self.connect_to(target, *wanted).await {
                        Ok(connected) => return Ok(connected),
                        Err(error) => last = Some(error),
                    }
                }
            }
            Err(last.unwrap_or_else(|| Error::new(Code::StoreUnreachable, "no host is named")))
        };
        match tokio::time::timeout(allowed, attempt).await {
            Ok(connected) => connected,
            Err(_) if timeout <= self.connect_timeout => Err(Error::new(
                Code::Timeout,
                format!("no connection within the {timeout:?} of the call"),
            )
            .with_hint("call again; the server may be slow to take connections")),
            Err(_) => Err(Error::new(
                Code::StoreUnreachable,
                format!("no connection within {allowed:?}"),
            )
            .with_hint("check that the server runs and that the DSN names its host and port")),
        }
    }

    /// Says farewell, as far as the server listens.
    async fn part(&self, connection: PgConnection) {
        if tokio::time::timeout(CLEAN_UP, connection.close())
            .await
            .is_err()
        {
            tracing::debug!("a connection was closed without a farewell");
        }
    }

    /// What to look for, in turn.
    fn passes(&self) -> &'static [WantedServer] {
        match self.options.wanted {
            WantedServer::Any => &[WantedServer::Any],
            WantedServer::Primary => &[WantedServer::Primary],
            WantedServer::Standby => &[WantedServer::Standby],
            WantedServer::PreferStandby => &[WantedServer::Standby, WantedServer::Any],
        }
    }

    /// Opens a connection so that a session of its own can be told from a pooler's. A pooler
    /// refuses the option that tells; it is then asked without.
    async fn open(&self, target: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
        if !self.meets_pooler.load(Ordering::Relaxed) {
            let telling = target
                .clone()
                .options([(audit::DIRECT, "on")])
                // Nothing is prepared to be used again, and the clean-up drops what was.
                .statement_cache_capacity(0);
            match telling.connect().await {
                Ok(connection) => return Ok(connection),
                Err(error) if !refuses_options(&error) => return Err(error),
                Err(_) => self.meets_pooler.store(true, Ordering::Relaxed),
            }
        }
        target.connect().await
    }

    async fn connect_to(
        &self,
        target: &PgConnectOptions,
        wanted: WantedServer,
    ) -> Result<(PgConnection, Account), Error> {
        let failed = |error: sqlx::Error| translate(&error, Phase::Connect, &self.dsn);
        let mut connection = self.open(target).await.map_err(failed)?;
        let account = audit::account(&mut connection).await.map_err(failed)?;
        let fits = match wanted {
            WantedServer::Any | WantedServer::PreferStandby => true,
            WantedServer::Primary => !account.in_recovery,
            WantedServer::Standby => account.in_recovery,
        };
        if !fits {
            return Err(Error::new(
                Code::StoreUnreachable,
                "no host is of the kind that `target_session_attrs` asks for",
            ));
        }
        tracing::debug!(server = %account.version, "connected");
        Ok((connection, account))
    }

    /// Stops what the server process `process` does for this account, from another connection.
    pub(crate) async fn cancel(&self, process: i32) -> Result<(), Error> {
        let failed = |error: sqlx::Error| translate(&error, Phase::Connect, &self.dsn);
        let sql = format!("SELECT pg_catalog.pg_cancel_backend({process})");
        if let Some(mut kept) = self.take_idle() {
            let asked = sqlx::raw_sql(AssertSqlSafe(sql.clone()))
                .execute(&mut kept.connection)
                .await;
            if asked.is_ok() {
                if let Ok(mut idle) = self.idle.lock() {
                    idle.push(kept);
                }
                return Ok(());
            }
        }
        let mut last = None;
        for target in &self.options.targets {
            let mut connection = match target.connect().await {
                Ok(connection) => connection,
                Err(error) => {
                    last = Some(failed(error));
                    continue;
                }
            };
            let asked = sqlx::raw_sql(AssertSqlSafe(sql.clone()))
                .fetch_one(&mut connection)
                .await;
            match asked.and_then(|row| row.try_get::<bool, _>(0)) {
                Ok(true) => {
                    let _ = connection.close().await;
                    return Ok(());
                }
                // Another host's process, or one that is gone.
                Ok(false) => {}
                Err(error) => last = Some(failed(error)),
            }
        }
        last.map_or(Ok(()), Err)
    }

    /// Closes the idle connections and waits for what is being cleaned up.
    pub(crate) async fn close(&self) {
        self.tasks.close();
        let idle = match self.idle.lock() {
            Ok(mut idle) => std::mem::take(&mut *idle),
            Err(_) => Vec::new(),
        };
        let farewells = idle.into_iter().map(|kept| kept.connection.close());
        let work = async {
            futures::future::join_all(farewells).await;
            self.tasks.wait().await;
        };
        if tokio::time::timeout(CLEAN_UP, work).await.is_err() {
            tracing::warn!("connections were dropped before they were clean");
        }
    }
}

/// Whether a pooler refused a start-up option (`08P01`, or another code with a session ended at
/// once) where a server would have taken it.
fn refuses_options(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(server) => server
            .code()
            .is_some_and(|code| code.starts_with("08") || code == "0A000"),
        sqlx::Error::Protocol(_) => true,
        _ => false,
    }
}
