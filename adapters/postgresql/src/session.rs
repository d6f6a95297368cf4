//! One read-only transaction: begun with its limits, always rolled back, its connection kept only
//! when the exchange ended as the protocol has it.

mod describe;
mod ending;

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Row as _};
use store::Error;
use tokio::time::Instant;

use crate::connect::ServerSession;
use crate::error::{Phase, Times, found_dead, is_huge, keeps_connection, sqlstate, translate};
use crate::frame::Frame;
use crate::pool::{Lease, Origin, Pool};
use crate::settings::{begin_own_sql, begin_pooled_sql};
use crate::time_outs::within;
pub(crate) use describe::Described;
use ending::{cancel, clean_up};

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

impl Session {
    /// Begins a transaction that can only read. A connection found dead is replaced once: nothing
    /// of the caller's has been sent yet.
    ///
    /// The text is parsed within it, so that the locks which parsing takes hold until the rows are
    /// read: else what the columns are could change in between.
    pub(crate) async fn begin(
        pool: &Arc<Pool>,
        timeout: Duration,
        lock_timeout: Duration,
    ) -> Result<Self, Error> {
        let mut lease = pool.lease(timeout).await?;
        let mut begun = begin_on(pool, &mut lease, timeout, lock_timeout).await;
        if let Err(error) = &begun
            && lease.origin == Origin::Reused
            && found_dead(error)
        {
            tracing::debug!("a kept connection was dead; connecting anew");
            drop(lease);
            pool.forget_idle();
            lease = pool.lease(timeout).await?;
            begun = begin_on(pool, &mut lease, timeout, lock_timeout).await;
        }
        let dsn = &pool.connector.dsn;
        let allowed = within(timeout, lease.time_outs.statement);
        let process = begun.map_err(|error| translate(&error, Phase::Connect, dsn))?;
        Ok(Self {
            lease: Some(lease),
            pool: Arc::clone(pool),
            process,
            started: Instant::now(),
            timeout: allowed,
            stage: Stage::Begun,
            prepared: Vec::new(),
            keeps: Keeps::Connection,
        })
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

    /// What stands after the statement that runs.
    pub(crate) fn frame(&self) -> Frame {
        match self.lease.as_ref().map(|lease| lease.session) {
            Some(ServerSession::Own { .. }) => Frame::ending(self.process),
            _ => Frame::open(self.process),
        }
    }

    /// Notes that the message of [`Session::frame`] was answered to its end, without an error.
    pub(crate) fn note_framed(&mut self) {
        let session = self.lease.as_ref().map(|lease| lease.session);
        if let Some(ServerSession::Own { .. }) = session {
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

    /// Notes a statement prepared under this name, to be removed afterwards.
    pub(crate) fn note_prepared(&mut self, name: &str) {
        self.prepared.push(name.to_owned());
    }

    /// Translates an error and ends the transaction.
    pub(crate) fn fail(self, error: &sqlx::Error, phase: Phase<'_>) -> Error {
        let translated = translate(error, phase, &self.pool.connector.dsn);
        let server_answered = keeps_connection(error) && !is_huge(error);
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

/// Begins, and answers the server's process that runs the transaction. Where it is not the one that
/// was set up, a pooler that nobody saw has given the connection another session: it is served as
/// behind a pooler from now on, and nothing of a caller's has met a session that is not set up.
async fn begin_on(
    pool: &Pool,
    lease: &mut Lease,
    timeout: Duration,
    lock_timeout: Duration,
) -> Result<i32, sqlx::Error> {
    let search_path = pool.connector.options.search_path.as_deref();
    let pooled = begin_pooled_sql(search_path, timeout, lock_timeout, lease.time_outs);
    let begin = match lease.session {
        ServerSession::Own {
            statement_timeout, ..
        } => begin_own_sql(timeout, statement_timeout),
        ServerSession::Pooled => pooled.clone(),
    };
    let ran = begun_by(lease, begin).await?;
    match lease.session {
        ServerSession::Own { process, .. } if process != ran => {
            tracing::warn!("the server gave a connection another session, as a pooler does");
            pool.connector.note_pooler();
            lease.session = ServerSession::Pooled;
            begun_by(lease, format!("ROLLBACK; {pooled}")).await
        }
        _ => Ok(ran),
    }
}

/// Runs statements of which the last answers the process number.
async fn begun_by(lease: &mut Lease, sql: String) -> Result<i32, sqlx::Error> {
    let rows = sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_all(&mut lease.connection)
        .await?;
    rows.last()
        .ok_or(sqlx::Error::RowNotFound)?
        .try_get::<i32, _>(0)
}
