//! PostgreSQL 13 and later, read through a transaction that cannot write.
//!
//! A query takes three exchanges: a transaction is begun, the text is parsed alone in it, and then
//! runs within a statement of ours, in one message with the end of the transaction. Behind a pooler
//! the end is a fourth, when the caller already has the answer.

mod audit;
mod connect;
mod decode;
mod error;
mod fence;
mod frame;
mod hints;
mod hosts;
mod lexer;
mod literal;
mod options;
mod params;
mod pool;
mod query;
mod rights;
mod schema;
mod server_settings;
mod session;
mod settings;
mod time;
mod time_outs;
mod tls;
mod types;
mod wrap;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use store::{
    Dsn, Error, Kind, Probe, Problem, Profile, QueryRequest, RowStream, Settings, Severity, Store,
};

use crate::connect::Connector;
use crate::error::Phase;
use crate::options::{Options, UnsafeRole};
use crate::pool::Pool;
use crate::session::Session;
use crate::types::Types;

/// The store that `dsn` names. Nothing is connected yet. Errors: every problem of the DSN.
pub fn open(name: &str, dsn: &Dsn, settings: Settings) -> Result<Arc<dyn Store>, Vec<Problem>> {
    let options = Options::from_dsn(dsn)?;
    Ok(Arc::new(Postgresql {
        profile: Profile {
            name: name.to_owned(),
            kind: Kind::Postgresql,
            dsn: dsn.to_string(),
            parameters: "$1, $2, …",
        },
        pool: Arc::new(Pool::new(
            Connector::new(options, dsn.clone(), settings),
            settings.max_concurrency * 2,
        )),
        types: Arc::new(Types::default()),
        busy_timeout: settings.busy_timeout,
    }))
}

/// A PostgreSQL database.
pub(crate) struct Postgresql {
    profile: Profile,
    pool: Arc<Pool>,
    types: Arc<Types>,
    busy_timeout: Duration,
}

impl Postgresql {
    async fn begin(&self, timeout: Duration) -> Result<Session, Error> {
        Session::begin(&self.pool, timeout, self.busy_timeout.min(timeout)).await
    }
}

#[async_trait]
impl Store for Postgresql {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn probe(&self, timeout: Duration) -> Result<Probe, Error> {
        let asked = self.pool.connector.probe(timeout).await?;
        let mut findings = asked.dangers;
        if self.pool.connector.options.unsafe_role == UnsafeRole::Accept {
            for finding in &mut findings {
                finding.severity = Severity::Warning;
            }
        }
        findings.extend(asked.warnings);
        Ok(Probe {
            version: format!("PostgreSQL {}", asked.version),
            account: Some(asked.user),
            read_only_by: "every query runs in a READ ONLY transaction that is rolled back, inside a subquery of one statement".to_owned(),
            two_phase: asked.two_phase,
            findings,
        })
    }

    async fn schema(&self, request: store::schema::Request) -> Result<store::schema::Page, Error> {
        let mut session = self.begin(request.timeout).await?;
        let page = match session.connection() {
            Ok(connection) => schema::page(connection, &request).await,
            Err(error) => Err(error),
        };
        match page {
            Ok(page) => {
                session.finish();
                Ok(page)
            }
            Err(error) => {
                let times = session.times();
                Err(session.fail(&error, Phase::Own { times }))
            }
        }
    }

    async fn query(&self, request: QueryRequest) -> Result<RowStream, Error> {
        query::run(self, request).await
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}
