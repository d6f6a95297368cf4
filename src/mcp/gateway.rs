//! What the tools work on: the stores, the guard, and how results are written.

use std::time::Duration;

use serde_json::Value;
use store::{Code, Error};
use tokio_util::task::TaskTracker;

use super::toon;
use crate::config::{Config, Format, Results};
use crate::guard::Guard;
use crate::stores::{Answer, Stores};

/// The library, as the MCP server uses it.
pub(super) struct Gateway {
    pub(super) stores: Stores,
    pub(super) guard: Guard,
    pub(super) format: Format,
    pub(super) results: Results,
    pub(super) query_timeout: Duration,
    /// Knows the calls that run, and owns the tasks that let go of answers.
    tasks: TaskTracker,
}

impl Gateway {
    pub(super) fn new(config: &Config, stores: Stores) -> Self {
        Self {
            stores,
            guard: Guard::new(config),
            format: config.format,
            results: config.results,
            query_timeout: config.query_timeout,
            tasks: TaskTracker::new(),
        }
    }

    /// Writes content in the deployment's format.
    pub(super) fn encode(&self, content: &Value) -> Result<String, Error> {
        match self.format {
            Format::Json => Ok(content.to_string()),
            Format::Toon => toon::encode(content)
                .map_err(|error| Error::new(Code::Internal, format!("TOON: {error}"))),
        }
    }

    /// Content beside the text, where the deployment gives it.
    pub(super) fn structured(&self, content: Value) -> Option<Value> {
        (self.results == Results::Structured).then_some(content)
    }

    /// Has closing wait until `call` is done or dropped.
    pub(super) fn track<F: Future>(&self, call: F) -> impl Future<Output = F::Output> {
        self.tasks.track_future(call)
    }

    /// Lets go of an answer without making its caller wait.
    pub(super) fn abandon(&self, answer: Answer) {
        self.tasks.spawn(answer.abandon());
    }

    /// Waits for the calls, which are being dropped, and for what is being let go of; then closes
    /// the stores. Only in this order is what a dropped call cancels known to its store by then.
    pub(super) async fn close(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.stores.close().await;
    }
}
