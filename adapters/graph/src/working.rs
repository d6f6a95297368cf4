//! A connection at work for one call, and its end: what nobody waits for any more is stopped in the
//! server, and only a connection whose exchange was whole is used again.

use std::sync::Arc;
use std::time::Duration;

use store::Error;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout};

use crate::bolt::{Begin, Broken, Connection, Failure, ID, Pack, Request, Response};
use crate::error::{of_connection, of_own};
use crate::pool::{CLEAN_UP, Link, Shared, Traces, lock};

/// How long a server may take to stop at a RESET before it is told by another connection.
const BY_ITSELF: Duration = Duration::from_millis(300);

/// How long between two looks at a query that is being stopped.
const AGAIN: Duration = Duration::from_millis(50);

/// The longest that any server takes a time limit for, in milliseconds.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// What a connection is in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Nothing,
    /// A transaction whose answers are not all read.
    Open,
    /// A transaction whose answers are all read.
    Answered,
}

/// A connection at work for one call. Dropped, it is cleaned up or stopped.
pub(crate) struct Working {
    /// Taken when it is dropped.
    link: Option<Link>,
    shared: Arc<Shared>,
    id: String,
    place: Option<OwnedSemaphorePermit>,
    runtime: Handle,
    stage: Stage,
}

/// Why an exchange did not go on.
pub(crate) enum Stopped {
    /// The server failed what was asked.
    Failed(Failure),
    /// The connection failed.
    Broken(Broken),
}

impl From<Broken> for Stopped {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl Working {
    /// Takes a place and a connection.
    pub(crate) async fn begin(shared: &Arc<Shared>, deadline: Instant) -> Result<Self, Error> {
        let place = shared.place(deadline).await?;
        let link = shared.link(deadline).await?;
        let id = uuid::Uuid::new_v4().simple().to_string();
        lock(&shared.running).insert(id.clone(), link.traces(&id));
        Ok(Self {
            link: Some(link),
            shared: Arc::clone(shared),
            id,
            place: Some(place),
            runtime: Handle::current(),
            stage: Stage::Nothing,
        })
    }

    /// The connection. It is there until the drop.
    pub(crate) fn link(&mut self) -> Result<&mut Link, Error> {
        self.link
            .as_mut()
            .ok_or_else(|| of_connection(&Broken::Malformed))
    }

    fn connection(&mut self) -> Result<&mut Connection, Broken> {
        let link = self.link.as_mut().ok_or(Broken::Malformed)?;
        Ok(&mut link.connection)
    }

    /// Puts the beginning of a transaction, which reads until `deadline`, before what is sent next.
    pub(crate) fn queue_begin(&mut self, deadline: Instant) -> Result<(), Broken> {
        let left = deadline
            .saturating_duration_since(Instant::now())
            .min(LONGEST);
        // None at all would be no limit.
        let timeout = i64::try_from(left.as_millis()).unwrap_or(i64::MAX).max(1);
        let shared = Arc::clone(&self.shared);
        let id = self.id.clone();
        self.stage = Stage::Open;
        self.connection()?.queue(&Request::Begin(Begin {
            database: shared.options.database.as_deref(),
            timeout,
            id: &id,
        }));
        Ok(())
    }

    pub(crate) fn queue(&mut self, request: &Request<'_>) -> Result<(), Broken> {
        self.stage = Stage::Open;
        self.connection()?.queue(request);
        Ok(())
    }

    pub(crate) async fn send(&mut self) -> Result<(), Broken> {
        self.connection()?.send().await
    }

    /// What the server says of the next request.
    pub(crate) async fn success(&mut self) -> Result<Pack, Stopped> {
        match self.connection()?.receive(0).await? {
            Response::Success(told) => Ok(told),
            Response::Failure(failure) => {
                self.pass_over().await?;
                Err(Stopped::Failed(failure))
            }
            Response::Ignored | Response::Record(_) => Err(Broken::Malformed.into()),
        }
    }

    /// Reads what is left of the answers: after a failure the server ignores what was asked behind it.
    async fn pass_over(&mut self) -> Result<(), Broken> {
        while !self.connection()?.is_idle() {
            self.response(0).await?;
        }
        Ok(())
    }

    pub(crate) async fn response(&mut self, keep: usize) -> Result<Response, Broken> {
        self.connection()?.receive(keep).await
    }

    /// Every request was answered, and no rows are left: a ROLLBACK ends the transaction.
    pub(crate) fn answered(&mut self) {
        self.stage = Stage::Answered;
    }

    /// The same in a transaction of its own, after one that failed.
    pub(crate) async fn rows_after_failure(
        &mut self,
        text: &str,
        deadline: Instant,
    ) -> Result<Vec<Vec<Pack>>, Error> {
        let restarting = async {
            self.queue(&Request::Reset)?;
            self.send().await?;
            self.pass_over().await?;
            self.queue_begin(deadline)
        };
        restarting.await.map_err(|broken| of_connection(&broken))?;
        self.rows(text, &[]).await
    }

    /// Asks, within the transaction that was begun or queued, what is answered in few rows.
    pub(crate) async fn rows(
        &mut self,
        text: &str,
        params: &[(String, Pack)],
    ) -> Result<Vec<Vec<Pack>>, Error> {
        let dsn = self.shared.dsn.clone();
        let asked = self.collect(text, params).await;
        asked.map_err(|stopped| match stopped {
            Stopped::Failed(failure) => of_own(&failure, &dsn),
            Stopped::Broken(broken) => of_connection(&broken),
        })
    }

    async fn collect(
        &mut self,
        text: &str,
        params: &[(String, Pack)],
    ) -> Result<Vec<Vec<Pack>>, Stopped> {
        self.queue(&Request::Run(text, params))?;
        self.queue(&Request::Pull(-1))?;
        self.send().await?;
        let mut rows = Vec::new();
        while !self.connection()?.is_idle() {
            match self.response(LONGEST_TEXT).await? {
                Response::Success(_) => {}
                Response::Failure(failure) => {
                    self.pass_over().await?;
                    return Err(Stopped::Failed(failure));
                }
                Response::Ignored => return Err(Broken::Malformed.into()),
                Response::Record(record) => {
                    let mut reader = record.reader();
                    reader.token().map_err(Broken::from)?;
                    let Pack::List(row) = reader.pack().map_err(Broken::from)? else {
                        return Err(Broken::Malformed.into());
                    };
                    rows.push(row);
                }
            }
        }
        self.answered();
        Ok(rows)
    }
}

/// How much of one text is read of what the adapter asks by itself.
const LONGEST_TEXT: usize = 1 << 16;

impl Drop for Working {
    fn drop(&mut self) {
        let Some(link) = self.link.take() else {
            return;
        };
        let shared = Arc::clone(&self.shared);
        let (id, place, stage) = (self.id.clone(), self.place.take(), self.stage);
        if stage == Stage::Nothing && link.connection.is_idle() {
            lock(&shared.running).remove(&id);
            shared.keep(link);
            return;
        }
        let ending = async move {
            let traces = link.traces(&id);
            let ended = timeout(CLEAN_UP, end(link, stage, &shared)).await;
            if !matches!(ended, Ok(true)) {
                terminate(Arc::clone(&shared), traces).await;
            }
            lock(&shared.running).remove(&id);
            drop(place);
        };
        self.shared.tasks.spawn_on(ending, &self.runtime);
    }
}

/// Ends a transaction. Answers whether the server has left it.
async fn end(mut link: Link, stage: Stage, shared: &Arc<Shared>) -> bool {
    let connection = &mut link.connection;
    if !connection.is_whole() {
        return false;
    }
    let is_interrupted = !connection.is_idle();
    connection.queue(match stage {
        Stage::Answered => &Request::Rollback,
        _ => &Request::Reset,
    });
    let ending = async {
        connection.send().await?;
        let mut last = Response::Ignored;
        while !connection.is_idle() {
            last = connection.receive(0).await?;
        }
        Ok::<_, Broken>(matches!(last, Response::Success(_)))
    };
    let patience = if is_interrupted { BY_ITSELF } else { CLEAN_UP };
    match timeout(patience, ending).await {
        Ok(Ok(true)) => {}
        // Whoever closed the connection, or failed the end, runs nothing on it any more; a server
        // that goes on without its client is told by another connection.
        Ok(Ok(false) | Err(_)) | Err(_) => return false,
    }
    if !is_interrupted {
        shared.keep(link);
    }
    true
}

/// Tells the server by another connection to stop a call, until it no longer has it.
pub(crate) async fn terminate(shared: Arc<Shared>, traces: Traces) {
    let stopping = async {
        let deadline = Instant::now() + CLEAN_UP;
        let mut link = shared.open_beside(&traces, deadline).await?;
        loop {
            let own = &mut link.connection;
            let running = ask(
                own,
                &shared,
                "SHOW TRANSACTIONS YIELD transactionId, clientAddress, metaData",
            )
            .await?;
            let found: Vec<&str> = running
                .iter()
                .filter(|row| is_of(row, &traces))
                .filter_map(|row| row.first()?.as_text())
                // The ids are the server's own: letters, digits, hyphens and the database's name.
                .filter(|id| !id.contains(['\'', '\\']))
                .collect();
            if found.is_empty() {
                return Ok::<_, Error>(());
            }
            for id in found {
                ask(own, &shared, &format!("TERMINATE TRANSACTIONS '{id}'")).await?;
            }
            tokio::time::sleep(AGAIN).await;
        }
    };
    match timeout(CLEAN_UP, stopping).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::debug!(%error, "a query could not be stopped by another connection")
        }
        Err(_) => tracing::warn!("a query could not be stopped and runs until its time is over"),
    }
}

/// Whether a row of `transactionId, clientAddress, metaData` is of this call.
fn is_of(row: &[Pack], traces: &Traces) -> bool {
    let metadata = row.get(2).and_then(|metadata| metadata.get(ID));
    match metadata.and_then(Pack::as_text) {
        Some(id) => id == traces.id,
        None => {
            let address = row.get(1).and_then(Pack::as_text).unwrap_or_default();
            address.trim_start_matches('/') == traces.address
        }
    }
}

/// Asks on a connection that no call holds.
async fn ask(
    connection: &mut Connection,
    shared: &Shared,
    text: &str,
) -> Result<Vec<Vec<Pack>>, Error> {
    connection.queue(&Request::Begin(Begin {
        database: shared.options.database.as_deref(),
        timeout: i64::try_from(CLEAN_UP.as_millis()).unwrap_or(i64::MAX),
        id: "terminate",
    }));
    connection.queue(&Request::Run(text, &[]));
    connection.queue(&Request::Pull(-1));
    let broken = |broken: Broken| of_connection(&broken);
    connection.send().await.map_err(broken)?;
    let (mut rows, mut failed) = (Vec::new(), None);
    while !connection.is_idle() {
        match connection.receive(LONGEST_TEXT).await.map_err(broken)? {
            Response::Failure(failure) => failed = Some(of_own(&failure, &shared.dsn)),
            Response::Record(record) => {
                let mut reader = record.reader();
                let row = reader.token().and_then(|_| reader.pack());
                if let Ok(Pack::List(row)) = row {
                    rows.push(row);
                }
            }
            Response::Success(_) | Response::Ignored => {}
        }
    }
    connection.queue(&Request::Reset);
    connection.send().await.map_err(broken)?;
    connection.receive(0).await.map_err(broken)?;
    match failed {
        Some(error) => Err(error),
        None => Ok(rows),
    }
}
