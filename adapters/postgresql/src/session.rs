//! One read-only transaction: begun with its limits, always rolled back, its connection kept only
//! when the exchange ended as the protocol has it.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{
    AssertSqlSafe, Column as _, Connection as _, Either, Executor as _, Row as _, SqlSafeStr as _,
    Statement as _,
};
use store::Error;
use tokio::time::Instant;

use crate::connect::{HostIndex, ServerSession, part};
use crate::error::{Phase, Times, found_dead, keeps_connection, sqlstate, translate};
use crate::frame::Frame;
use crate::params::quote;
use crate::pool::{Asked, CLEAN_UP, Lease, Origin, Pool};
use crate::settings::{begin_own_sql, begin_pooled_sql};

/// A session for one query or one look at the catalogue. Dropping it without [`Session::finish`]
/// cancels what it runs.
pub(crate) struct Session {
    lease: Option<Lease>,
    pool: Arc<Pool>,
    /// The server's process that runs the transaction, also behind a pooler.
    process: i32,
    started: Instant,
    timeout: Duration,
    stage: Stage,
    /// Statements prepared in the session, which a rollback does not remove.
    prepared: Vec<String>,
    /// Whether the session may hold something that cannot be named, so that it is closed at the end.
    keeps: Keeps,
}

/// How far the transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The message that runs the query begins it. Until then each statement is a read-only
    /// transaction of its own, by the session's default.
    NotBegun,
    Begun,
    /// Rolled back and cleaned by the message that ran the query.
    Ended,
}

/// What becomes of a session's connection once its transaction is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    Connection,
    Nothing,
}

/// What the server says of a text without running it.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    /// Names and types of the columns.
    pub(crate) columns: Vec<(String, Oid)>,
    /// Types of the parameters.
    pub(crate) params: Vec<Oid>,
}

impl Session {
    /// A session for one query. Behind a pooler the transaction begins here, so that all of the
    /// query meets one session of the server; in a session of our own it begins with the message
    /// that runs the query.
    pub(crate) async fn open(
        pool: &Arc<Pool>,
        timeout: Duration,
        lock_timeout: Duration,
    ) -> Result<Self, Error> {
        let lease = pool.lease(timeout).await?;
        let process = match lease.session {
            ServerSession::Own { process, .. } => process,
            ServerSession::Pooled => {
                return Self::begin_with(pool, lease, timeout, lock_timeout).await;
            }
        };
        Ok(Self::of(pool, lease, process, timeout, Stage::NotBegun))
    }

    /// A session in a transaction that can only read, for statements of the adapter's own.
    pub(crate) async fn begin(
        pool: &Arc<Pool>,
        timeout: Duration,
        lock_timeout: Duration,
    ) -> Result<Self, Error> {
        let lease = pool.lease(timeout).await?;
        Self::begin_with(pool, lease, timeout, lock_timeout).await
    }

    /// Begins on this connection. One found dead is replaced once: nothing of the caller's has been
    /// sent yet.
    async fn begin_with(
        pool: &Arc<Pool>,
        leased: Lease,
        timeout: Duration,
        lock_timeout: Duration,
    ) -> Result<Self, Error> {
        let search_path = pool.connector.options.search_path.as_deref();
        let pooled = || begin_pooled_sql(search_path, timeout, lock_timeout);
        let mut lease = leased;
        let mut begun = begin_on(&mut lease, timeout, pooled).await;
        if let Err(error) = &begun
            && lease.origin == Origin::Reused
            && found_dead(error)
        {
            tracing::debug!("a kept connection was dead; connecting anew");
            drop(lease);
            pool.forget_idle();
            lease = pool.lease(timeout).await?;
            begun = begin_on(&mut lease, timeout, pooled).await;
        }
        let dsn = &pool.connector.dsn;
        let process = begun.map_err(|error| translate(&error, Phase::Connect, dsn))?;
        Ok(Self::of(pool, lease, process, timeout, Stage::Begun))
    }

    fn of(pool: &Arc<Pool>, lease: Lease, process: i32, timeout: Duration, stage: Stage) -> Self {
        Self {
            lease: Some(lease),
            pool: Arc::clone(pool),
            process,
            started: Instant::now(),
            timeout,
            stage,
            prepared: Vec::new(),
            keeps: Keeps::Connection,
        }
    }

    /// The connection, for statements of the adapter's own.
    pub(crate) fn connection(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        match &mut self.lease {
            Some(lease) => Ok(&mut lease.connection),
            None => Err(sqlx::Error::WorkerCrashed),
        }
    }

    /// How long the session may take, and has taken.
    pub(crate) fn times(&self) -> Times {
        Times {
            allowed: self.timeout,
            taken: self.started.elapsed(),
        }
    }

    /// What stands around the statement that runs.
    pub(crate) fn frame(&self) -> Frame {
        let session = self.lease.as_ref().map(|lease| lease.session);
        match (self.stage, session) {
            (
                Stage::NotBegun,
                Some(ServerSession::Own {
                    statement_timeout, ..
                }),
            ) => Frame::whole(self.timeout, statement_timeout, self.process),
            _ => Frame::within(self.process),
        }
    }

    /// Notes that the message of [`Session::frame`] was answered to its end, without an error.
    pub(crate) fn note_framed(&mut self) {
        if self.stage == Stage::NotBegun {
            self.stage = Stage::Ended;
        }
    }

    /// Notes that the server's process was not the one that is known: an unseen pooler has given
    /// the connection another session. From now on the store is served as behind a pooler.
    pub(crate) fn note_pooler(&mut self) {
        self.keeps = Keeps::Nothing;
        self.pool.connector.note_pooler();
        self.pool.forget_idle();
    }

    /// Has the server parse `text` alone: it is one statement, with these columns and parameters.
    /// A connection found dead is replaced once: the text is parsed here, and parsing runs nothing.
    /// After an error the session can only be finished.
    pub(crate) async fn describe(&mut self, text: &str) -> Result<Described, Error> {
        let mut described = self.parse(text).await;
        if let Err(error) = &described
            && self.stage == Stage::NotBegun
            && self.is_reused()
            && found_dead(error)
        {
            tracing::debug!("a kept connection was dead; connecting anew");
            self.replace().await?;
            described = self.parse(text).await;
        }
        described.map_err(|error| {
            if !keeps_connection(&error) {
                self.keeps = Keeps::Nothing;
            }
            tracing::debug!(sqlstate = ?sqlstate(&error), "a text was not parsed");
            let times = self.times();
            translate(
                &error,
                Phase::Parse { text, times },
                &self.pool.connector.dsn,
            )
        })
    }

    fn is_reused(&self) -> bool {
        self.lease
            .as_ref()
            .is_some_and(|lease| lease.origin == Origin::Reused)
    }

    /// Another connection in place of a dead one.
    async fn replace(&mut self) -> Result<(), Error> {
        self.lease = None;
        self.pool.forget_idle();
        let left = self.timeout.saturating_sub(self.started.elapsed());
        let lease = self.pool.lease(left).await?;
        if let ServerSession::Own { process, .. } = lease.session {
            self.process = process;
            self.lease = Some(lease);
            return Ok(());
        }
        // The host that took over stands behind a pooler.
        let lock_timeout = left;
        let begun = Self::begin_with(&self.pool, lease, left, lock_timeout).await?;
        *self = begun;
        Ok(())
    }

    async fn parse(&mut self, text: &str) -> Result<Described, sqlx::Error> {
        let connection = self.connection()?;
        let parsed = connection
            .prepare(AssertSqlSafe(text.to_owned()).into_sql_str())
            .await;
        let statement = match parsed {
            Ok(statement) => statement,
            Err(error @ sqlx::Error::Database(_)) => return Err(error),
            Err(error @ (sqlx::Error::Io(_) | sqlx::Error::Protocol(_))) => return Err(error),
            // The server took the text; the driver does not know a type of it.
            Err(_) => {
                self.keeps = Keeps::Nothing;
                self.begin_now().await?;
                return self.describe_by_running_nothing(text).await;
            }
        };
        let oid = |info: &sqlx::postgres::PgTypeInfo| info.oid().unwrap_or(Oid(0));
        let params = match statement.parameters() {
            Some(Either::Left(types)) => types.iter().map(oid).collect(),
            _ => Vec::new(),
        };
        let columns = statement
            .columns()
            .iter()
            .map(|column| (column.name().to_owned(), oid(column.type_info())))
            .collect();
        Ok(Described { columns, params })
    }

    /// Begins the transaction by a message of its own, where it has not begun.
    async fn begin_now(&mut self) -> Result<(), sqlx::Error> {
        if self.stage == Stage::NotBegun {
            let begin = begin_own_sql(self.timeout);
            sqlx::raw_sql(AssertSqlSafe(begin))
                .execute(self.connection()?)
                .await?;
            self.stage = Stage::Begun;
        }
        Ok(())
    }

    /// The same for a text with types the driver cannot look up (multiranges among them): the
    /// server has parsed it and holds it under a name, so its parameters are asked for, and its
    /// columns come with one row that the text has no part in.
    async fn describe_by_running_nothing(&mut self, text: &str) -> Result<Described, sqlx::Error> {
        let find = format!(
            "SELECT name, parameter_types::pg_catalog.oid[]::pg_catalog.text FROM pg_catalog.pg_prepared_statements \
             WHERE NOT from_sql AND statement = {} ORDER BY prepare_time DESC LIMIT 1",
            quote(text)
        );
        let held = self.own_row(&find).await?;
        let name: String = held.try_get(0)?;
        let types: String = held.try_get(1)?;
        let params: Vec<Oid> = types
            .trim_matches(['{', '}'])
            .split(',')
            .filter_map(|number| number.parse().ok().map(Oid))
            .collect();
        self.prepared
            .push(format!("\"{}\"", name.replace('"', "\"\"")));

        let probe = "rhizodat_probe";
        let nulls = vec!["NULL"; params.len()].join(", ");
        let arguments = if params.is_empty() {
            String::new()
        } else {
            format!("({nulls})")
        };
        let sql = format!(
            "PREPARE {probe} AS SELECT q.* FROM (SELECT) AS one LEFT JOIN (\n{text}\n) AS q ON false; \
             EXECUTE {probe}{arguments}; DEALLOCATE {probe}"
        );
        let row = self.own_row(&sql).await?;
        let columns = row
            .columns()
            .iter()
            .map(|column| {
                let oid = column.type_info().oid().unwrap_or(Oid(0));
                (column.name().to_owned(), oid)
            })
            .collect();
        self.keeps = Keeps::Connection;
        Ok(Described { columns, params })
    }

    async fn own_row(&mut self, sql: &str) -> Result<PgRow, sqlx::Error> {
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
            .fetch_one(self.connection()?)
            .await
    }

    /// Notes a statement prepared under this name, to be removed afterwards.
    pub(crate) fn note_prepared(&mut self, name: &str) {
        self.prepared.push(name.to_owned());
    }

    /// Translates an error and ends the transaction.
    pub(crate) fn fail(self, error: &sqlx::Error, phase: Phase<'_>) -> Error {
        let translated = translate(error, phase, &self.pool.connector.dsn);
        let server_answered = keeps_connection(error);
        tracing::debug!(code = %translated.code, sqlstate = ?sqlstate(error), "query failed");
        if server_answered {
            self.finish();
        } else {
            self.abandon();
        }
        translated
    }

    /// Ends the transaction after the answer: the exchange is complete, the rest is clean-up.
    pub(crate) fn finish(mut self) {
        let Some(lease) = self.lease.take() else {
            return;
        };
        if self.keeps == Keeps::Nothing {
            return;
        }
        if self.stage == Stage::Ended {
            self.pool.keep(lease);
            return;
        }
        let pool = Arc::clone(&self.pool);
        let prepared = std::mem::take(&mut self.prepared);
        let runtime = lease.runtime.clone();
        self.pool
            .tasks
            .spawn_on(clean_up(pool, lease, prepared), &runtime);
    }

    /// Closes a connection that is lost or must not be used again, when nothing runs on it.
    fn abandon(mut self) {
        self.lease = None;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(lease) = self.lease.take() else {
            return;
        };
        let pool = Arc::clone(&self.pool);
        let process = self.process;
        let runtime = lease.runtime.clone();
        self.pool
            .tasks
            .spawn_on(cancel(pool, lease, process), &runtime);
    }
}

/// Begins, and answers the server's process that runs the transaction.
async fn begin_on(
    lease: &mut Lease,
    timeout: Duration,
    pooled: impl Fn() -> String,
) -> Result<i32, sqlx::Error> {
    match lease.session {
        ServerSession::Own { process, .. } => {
            sqlx::raw_sql(AssertSqlSafe(begin_own_sql(timeout)))
                .execute(&mut lease.connection)
                .await?;
            Ok(process)
        }
        ServerSession::Pooled => {
            let rows = sqlx::raw_sql(AssertSqlSafe(pooled()))
                .fetch_all(&mut lease.connection)
                .await?;
            rows.last()
                .ok_or(sqlx::Error::RowNotFound)?
                .try_get::<i32, _>(0)
        }
    }
}

/// Rolls back, drops what a rollback keeps, and gives the connection back; closes it on any doubt.
/// Advisory locks go whatever became of the query.
async fn clean_up(pool: Arc<Pool>, lease: Lease, prepared: Vec<String>) {
    match lease.session {
        ServerSession::Own { .. } => clean_up_own(pool, lease).await,
        ServerSession::Pooled => clean_up_pooled(pool, lease, prepared).await,
    }
}

/// In a session of our own everything that was prepared goes, whoever did it.
async fn clean_up_own(pool: Arc<Pool>, mut lease: Lease) {
    let sql = "ROLLBACK; DEALLOCATE ALL; SELECT pg_catalog.pg_advisory_unlock_all()";
    let work = sqlx::raw_sql(sql).execute(&mut lease.connection);
    match tokio::time::timeout(CLEAN_UP, work).await {
        Ok(Ok(_)) => pool.keep(lease),
        Ok(Err(error)) => tracing::debug!(%error, "a connection was not clean and is closed"),
        Err(_) => tracing::debug!("a connection was not clean in time and is closed"),
    }
}

/// A pooler's session also serves others: only what is ours goes.
async fn clean_up_pooled(pool: Arc<Pool>, mut lease: Lease, prepared: Vec<String>) {
    let mut sql = String::from("ROLLBACK; ");
    for name in &prepared {
        sql.push_str(&format!("DEALLOCATE {name}; "));
    }
    // A function of the caller's database can prepare statements that nobody here knows.
    sql.push_str(
        "SELECT pg_catalog.pg_advisory_unlock_all(), \
         (SELECT pg_catalog.count(*) FROM pg_catalog.pg_prepared_statements WHERE from_sql)",
    );
    let work = async {
        // Within the transaction, so that a pooler sends it to the same server session.
        lease.connection.clear_cached_statements().await?;
        let left = sqlx::raw_sql(AssertSqlSafe(sql))
            .fetch_one(&mut lease.connection)
            .await?;
        left.try_get::<i64, _>(1)
    };
    match tokio::time::timeout(CLEAN_UP, work).await {
        Ok(Ok(0)) => pool.keep(lease),
        Ok(Ok(left)) => tracing::debug!(left, "a connection kept statements and is closed"),
        Ok(Err(error)) => tracing::debug!(%error, "a connection was not clean and is closed"),
        Err(_) => tracing::debug!("a connection was not clean in time and is closed"),
    }
}

/// Cancels what the transaction runs until the server has stopped, then closes the connection. It
/// is held until then, so that the process cannot be working for anybody else.
async fn cancel(pool: Arc<Pool>, mut lease: Lease, process: i32) {
    let host: HostIndex = lease.host;
    let work = async {
        loop {
            match pool.cancel(host, process).await {
                Ok(Asked::Told) => {}
                Ok(Asked::Gone) => return,
                Err(error) => tracing::debug!(%error, "a query could not be cancelled"),
            }
            let answered = async {
                // An error is the cancelled query's: the exchange ends with the next answer.
                while let Err(error) = lease.connection.ping().await {
                    if !keeps_connection(&error) {
                        return;
                    }
                }
            };
            let patience = Duration::from_millis(200);
            if tokio::time::timeout(patience, answered).await.is_ok() {
                return;
            }
        }
    };
    if tokio::time::timeout(CLEAN_UP, work).await.is_err() {
        tracing::warn!(process, "a query was left to its statement time-out");
    }
    part(lease.connection).await;
}
