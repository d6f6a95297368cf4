//! A graph over Bolt: Neo4j 5 and later, and servers that speak its protocol.
//!
//! A query runs in a transaction of access mode READ that is always rolled back. Before that the server
//! plans the text without running it, and the plan has to hold nothing but operators that read this
//! database. Whether the server enforces READ is tried on each connection.

mod bolt;
mod decode;
mod error;
mod fence;
mod hints;
mod json;
mod lexer;
mod options;
mod params;
mod plan;
mod pool;
mod probe;
mod query;
mod routing;
mod schema;
mod statement;
mod temporal;
mod verdicts;
mod wall;
mod working;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use store::{
    Code, Dsn, Error, Kind, Probe, Problem, Profile, QueryRequest, RowStream, Settings, Store,
};

use crate::options::Options;
use crate::pool::Shared;
use crate::verdicts::Verdicts;

/// The store that `dsn` names. Nothing is connected yet. Errors: every problem of the DSN.
pub fn open(name: &str, dsn: &Dsn, settings: Settings) -> Result<Arc<dyn Store>, Vec<Problem>> {
    let options = Options::from_dsn(dsn)?;
    Ok(Arc::new(Graph {
        profile: Arc::new(Profile {
            name: name.to_owned(),
            kind: Kind::Graph,
            dsn: dsn.to_string(),
            parameters: "$1, $2, …",
        }),
        shared: Arc::new(Shared::new(options, dsn.clone(), settings)),
        verdicts: Arc::new(Verdicts::default()),
    }))
}

/// A graph.
#[derive(Clone)]
pub(crate) struct Graph {
    profile: Arc<Profile>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) verdicts: Arc<Verdicts>,
}

impl Graph {
    /// Forgets what was judged when a connection was lost: the server may be another one by then.
    pub(crate) fn lost(&self, error: &Error) {
        if error.code == Code::StoreUnreachable {
            self.verdicts.clear();
        }
    }
}

#[async_trait]
impl Store for Graph {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn probe(&self, timeout: Duration) -> Result<Probe, Error> {
        probe::ask(&self.shared, timeout).await
    }

    async fn schema(&self, request: store::schema::Request) -> Result<store::schema::Page, Error> {
        schema::page(&self.shared, &request)
            .await
            .inspect_err(|error| self.lost(error))
    }

    async fn query(&self, request: QueryRequest) -> Result<RowStream, Error> {
        query::run(self, request).await
    }

    async fn close(&self) {
        self.shared.close().await;
    }
}
