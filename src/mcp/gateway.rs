//! What the tools work on: the stores, the guard, and how results are written.

use std::time::Duration;

use serde_json::Value;
use store::{Code, Error};
use tokio_util::task::TaskTracker;

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
    /// Owns the tasks that let go of answers.
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
            Format::Toon => toon_format::encode_default(content)
                .map_err(|error| Error::new(Code::Internal, format!("TOON: {error}"))),
        }
    }

    /// Content beside the text, where the deployment gives it.
    pub(super) fn structured(&self, content: Value) -> Option<Value> {
        (self.results == Results::Structured).then_some(content)
    }

    /// Lets go of an answer without making its caller wait.
    pub(super) fn abandon(&self, answer: Answer) {
        self.tasks.spawn(answer.abandon());
    }

    /// Closes the stores and waits for what is being let go of.
    pub(super) async fn close(&self) {
        self.tasks.close();
        self.stores.close().await;
    }
}
