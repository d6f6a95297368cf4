//! New connections: the first host that answers and will do, within a share of the time for each,
//! with its account asked, and the session set up where it is the connection's own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use store::{Code, Dsn, Error, Settings, Span};
use tokio::time::Instant;

use crate::audit::{self, Account};
use crate::error::{Phase, translate};
use crate::options::{Options, UnsafeRole, WantedServer};
use crate::settings::set_up_sql;
use crate::time_outs::{TimeOuts, within};

/// How long a farewell may take before a connection is simply dropped.
const FAREWELL: Duration = Duration::from_secs(2);

/// What makes connections.
pub(crate) struct Connector {
    pub(crate) options: Options,
    pub(crate) dsn: Dsn,
    /// How long one host may take.
    for_one_host: Duration,
    settings: Settings,
    /// Whether a pooler was met: it would refuse the start-up option that tells it apart.
    meets_pooler: AtomicBool,
}

/// A connection that is ready for a transaction.
pub(crate) struct Connected {
    pub(crate) connection: PgConnection,
    pub(crate) session: ServerSession,
    /// The host it goes to.
    pub(crate) host: HostIndex,
    /// What others have set, which ours are never longer than.
    pub(crate) time_outs: TimeOuts,
}

/// A host, by its place in the DSN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HostIndex(usize);

/// What stands behind a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerSession {
    /// One session of the server, this connection's own: it was set up once, and its process does
    /// not change.
    Own {
        /// The server's process.
        process: i32,
        /// The statement time-out that the session is set to.
        statement_timeout: Duration,
    },
    /// A pooler's, another one in each transaction.
    Pooled,
}

impl Connector {
    pub(crate) fn new(options: Options, dsn: Dsn, settings: Settings) -> Self {
        Self {
            for_one_host: options.connect_timeout.unwrap_or(settings.connect_timeout),
            options,
            dsn,
            settings,
            meets_pooler: AtomicBool::new(false),
        }
    }

    /// A connection whose account may do no more than read.
    pub(crate) async fn connect(&self, timeout: Duration) -> Result<Connected, Error> {
        let (mut connection, account, host) = self.connect_and_ask(timeout).await?;
        if self.options.unsafe_role == UnsafeRole::Refuse
            && let Some(danger) = account.dangers.first()
        {
            part(connection).await;
            return Err(Error::new(Code::UnsafeRole, danger.problem.clone())
                .with_hint("`rhizodat-mcp check` prints the SQL that mends it"));
        }
        let time_outs = account.time_outs.stricter(self.options.time_outs);
        if !account.is_direct {
            return Ok(Connected {
                connection,
                session: ServerSession::Pooled,
                host,
                time_outs,
            });
        }
        let session = ServerSession::Own {
            process: account.process,
            statement_timeout: within(self.settings.call_timeout, time_outs.statement),
        };
        let set_up = set_up_sql(
            self.options.search_path.as_deref(),
            &self.settings,
            &account,
            time_outs,
        );
        let done = sqlx::raw_sql(AssertSqlSafe(set_up)).execute(&mut connection);
        match tokio::time::timeout(timeout, done).await {
            Ok(Ok(_)) => Ok(Connected {
                connection,
                session,
                host,
                time_outs,
            }),
            Ok(Err(error)) => Err(translate(&error, Phase::Connect, &self.dsn)),
            Err(_) => Err(Error::new(
                Code::Timeout,
                "the server did not take the settings of a session in time",
            )
            .with_hint("call again")),
        }
    }

    /// Notes that a pooler stands before the server that did not say so.
    pub(crate) fn note_pooler(&self) {
        self.meets_pooler.store(true, Ordering::Relaxed);
    }

    /// What a new connection says of its account, whatever that may do.
    pub(crate) async fn probe(&self, timeout: Duration) -> Result<Account, Error> {
        let (connection, account, _) = self.connect_and_ask(timeout).await?;
        part(connection).await;
        Ok(account)
    }

    /// A connection to this host, for a request to cancel.
    pub(crate) async fn reach(&self, host: HostIndex) -> Result<PgConnection, Error> {
        let Some(target) = self.options.targets.get(host.0) else {
            return Err(no_host());
        };
        let connecting = target.connect();
        match tokio::time::timeout(self.for_one_host, connecting).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(translate(&error, Phase::Connect, &self.dsn)),
            Err(_) => Err(silent(self.for_one_host)),
        }
    }

    /// Each host in turn, each with its share of the time that is left: one that says nothing must
    /// not use up the time of those after it.
    async fn connect_and_ask(
        &self,
        timeout: Duration,
    ) -> Result<(PgConnection, Account, HostIndex), Error> {
        let deadline = Instant::now() + timeout;
        let passes = self.passes();
        let hosts = self.options.targets.len();
        let mut left = passes.len() * hosts;
        let mut last = None;
        for wanted in passes {
            for (index, target) in self.options.targets.iter().enumerate() {
                let remaining = deadline.saturating_duration_since(Instant::now());
                let share = remaining / u32::try_from(left).unwrap_or(u32::MAX).max(1);
                let allowed = self.for_one_host.min(share);
                left -= 1;
                match tokio::time::timeout(allowed, self.connect_to(target, *wanted)).await {
                    Ok(Ok((connection, account))) => {
                        return Ok((connection, account, HostIndex(index)));
                    }
                    Ok(Err(error)) => last = Some(error),
                    Err(_) if hosts == 1 && timeout <= self.for_one_host => {
                        last = Some(
                            Error::new(
                                Code::Timeout,
                                format!("no connection within the {} of the call", Span(timeout)),
                            )
                            .with_hint("call again; the server may be slow to take connections"),
                        );
                    }
                    Err(_) => last = Some(silent(allowed)),
                }
            }
        }
        Err(last.unwrap_or_else(no_host))
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
}

/// Says farewell, as far as the server listens.
pub(crate) async fn part(connection: PgConnection) {
    if tokio::time::timeout(FAREWELL, connection.close())
        .await
        .is_err()
    {
        tracing::debug!("a connection was closed without a farewell");
    }
}

fn silent(allowed: Duration) -> Error {
    Error::new(
        Code::StoreUnreachable,
        format!("no connection within {}", Span(allowed)),
    )
    .with_hint("check that the server runs and that the DSN names its host and port")
}

fn no_host() -> Error {
    Error::new(Code::StoreUnreachable, "no host is named")
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
