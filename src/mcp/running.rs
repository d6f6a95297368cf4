//! The requests of a session that have no answer yet, and those that were cancelled.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::Notify;

/// How many requests may be without an answer before no more is read: a client that writes and does
/// not read would else cost memory without end.
const MOST_RUNNING: usize = 512;

/// How many ids of cancelled requests are remembered.
const MOST_REMEMBERED: usize = 10_000;

/// The requests that have no answer yet, by their ids.
#[derive(Debug, Clone, Default)]
pub(super) struct Running {
    ids: Arc<Mutex<Ids>>,
    /// Told when one has ended.
    ended: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Ids {
    running: HashSet<RequestId>,
    /// Cancelled ones, which get no answer. Their ids stay taken, for the protocol has no id used
    /// twice in a session; as many of them as a client has a use for.
    cancelled: HashSet<RequestId>,
}

impl Running {
    /// Notes a request. The error says why none of this id can be answered.
    pub(super) fn begin(&self, id: &RequestId) -> Result<(), &'static str> {
        let mut ids = self.ids();
        if ids.cancelled.contains(id) {
            return Err("this `id` was used for a request that was cancelled");
        }
        if !ids.running.insert(id.clone()) {
            return Err("a request of this `id` is still being answered");
        }
        Ok(())
    }

    /// Notes that a request gets no answer.
    pub(super) fn cancel(&self, id: &RequestId) {
        let mut ids = self.ids();
        if let Some(id) = ids.running.take(id) {
            if ids.cancelled.len() >= MOST_REMEMBERED {
                ids.cancelled.clear();
            }
            ids.cancelled.insert(id);
        }
        self.ended.notify_one();
    }

    /// Notes that a request has its answer.
    pub(super) fn end(&self, id: &RequestId) {
        self.ids().running.remove(id);
        self.ended.notify_one();
    }

    /// Waits until one more may run. Cancel-safe.
    pub(super) async fn room(&self) {
        self.fewer_than(MOST_RUNNING).await;
    }

    /// Waits until each has its answer. Cancel-safe.
    pub(super) async fn none(&self) {
        self.fewer_than(1).await;
    }

    async fn fewer_than(&self, most: usize) {
        while self.ids().running.len() >= most {
            self.ended.notified().await;
        }
    }

    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
