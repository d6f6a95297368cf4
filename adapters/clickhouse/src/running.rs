//! A query that runs in the server, and its end: when whoever waits for it is gone, it is killed.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::client::Shared;

/// How long stopping a query may take before it is left to its own time limit.
pub(crate) const CLEAN_UP: Duration = Duration::from_secs(2);

/// How long a query that was sent may take to be seen by the server.
const UNSEEN: Duration = Duration::from_millis(600);

/// How long between two looks at a query that is being stopped.
const AGAIN: Duration = Duration::from_millis(50);

/// A query under an id of its own. Dropped before [`Running::finish`], it is killed.
pub(crate) struct Running {
    shared: Arc<Shared>,
    host: usize,
    id: String,
    runtime: Handle,
    is_finished: bool,
}

impl Running {
    /// Registers a query that is about to be sent.
    pub(crate) fn begin(shared: Arc<Shared>, host: usize) -> Self {
        let id = format!("rhizodat-{}", uuid::Uuid::new_v4());
        if let Ok(mut queries) = shared.queries.lock() {
            queries.insert(id.clone(), host);
        }
        Self {
            shared,
            host,
            id,
            runtime: Handle::current(),
            is_finished: false,
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The server has answered in full: there is nothing to stop.
    pub(crate) fn finish(&mut self) {
        self.is_finished = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.is_finished {
            if let Ok(mut queries) = self.shared.queries.lock() {
                queries.remove(&self.id);
            }
            return;
        }
        let stopping = stop(Arc::clone(&self.shared), self.id.clone(), self.host);
        self.shared.tasks.spawn_on(stopping, &self.runtime);
    }
}

/// Kills a query again and again until the server no longer has it. A request that was cut may reach
/// the server after the first look, so one that was never seen is looked for a while longer.
pub(crate) async fn stop(shared: Arc<Shared>, id: String, host: usize) {
    let stopping = async {
        let begun = Instant::now();
        let mut was_seen = false;
        loop {
            match kill(&shared, &id, host).await {
                Ok(true) => was_seen = true,
                Ok(false) if was_seen || begun.elapsed() >= UNSEEN => break,
                Ok(false) if shared.closing.is_cancelled() => break,
                Ok(false) => {}
                Err(error) => {
                    tracing::debug!(%error, "a query could not be killed yet");
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
    };
    if tokio::time::timeout(CLEAN_UP, stopping).await.is_err() {
        tracing::warn!("a query could not be stopped and runs until its time is over");
    }
    if let Ok(mut queries) = shared.queries.lock() {
        queries.remove(&id);
    }
}

/// Tells the server to stop a query of this account; answers whether there was one.
async fn kill(shared: &Shared, id: &str, host: usize) -> Result<bool, clickhouse::error::Error> {
    // The id is of the adapter's own making: letters, digits and hyphens.
    let sql = format!("KILL QUERY WHERE query_id = '{id}' AND user = currentUser() ASYNC");
    let mut cursor = shared.begin(host, &sql, "JSONCompactEachRow", &Vec::new())?;
    let mut was_there = false;
    while let Some(chunk) = cursor.next().await? {
        was_there |= !chunk.is_empty();
    }
    Ok(was_there)
}
