//! The store: what it says of itself, and where its calls go.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use store::{
    Dsn, Error, Finding, Kind, Probe, Profile, QueryRequest, RowStream, Settings, Severity, Store,
    schema as contract,
};

use crate::file::DatabaseFile;
use crate::pool::Pool;
use crate::schema::Content;
use crate::session::Session;
use crate::{reading, schema};

/// One database file as a store.
pub(crate) struct SqliteStore {
    profile: Profile,
    pool: Arc<Pool>,
}

impl SqliteStore {
    /// A store whose file nobody has looked at yet.
    pub(crate) fn new(name: &str, dsn: &Dsn, file: DatabaseFile, settings: Settings) -> Self {
        Self {
            profile: Profile {
                name: name.to_owned(),
                kind: Kind::Sqlite,
                dsn: dsn.to_string(),
                parameters: "?1, ?2, …",
            },
            pool: Pool::new(file, settings),
        }
    }

    /// The connections, for tests that look behind the contract.
    #[cfg(test)]
    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }
}

#[async_trait]
impl Store for SqliteStore {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    async fn probe(&self, timeout: Duration) -> Result<Probe, Error> {
        self.pool
            .ask(timeout, |session, ticket| {
                Ok(told(session, schema::content(session, ticket)?))
            })
            .await
    }

    async fn schema(&self, request: contract::Request) -> Result<contract::Page, Error> {
        let timeout = request.timeout;
        self.pool
            .ask(timeout, move |session, ticket| {
                schema::page(session, &request, ticket)
            })
            .await
    }

    async fn query(&self, request: QueryRequest) -> Result<RowStream, Error> {
        reading::start(&self.pool, request).await
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

fn told(session: &Session, content: Content) -> Probe {
    let mut findings = Vec::new();
    if content == Content::Nothing {
        findings.push(Finding {
            severity: Severity::Warning,
            problem:
                "the database has no table and no view; an empty file is such a database to SQLite"
                    .to_owned(),
            mend: "check that the path in the store's DSN is that of the file that is meant"
                .to_owned(),
        });
    }
    let alone = Finding {
        severity: Severity::Warning,
        problem: "the database is in WAL mode and its directory is not writable, so it is read as if nobody changed it".to_owned(),
        mend: "change it only while it is not served, or let this server write its directory, or run `PRAGMA journal_mode = DELETE` on it where it is written".to_owned(),
    };
    findings.extend(session.is_alone().then_some(alone));
    Probe {
        version: if session.is_alone() {
            format!("SQLite {}", rusqlite::version())
        } else {
            format!(
                "SQLite {}, journal mode {}",
                rusqlite::version(),
                session.journal_mode()
            )
        },
        account: None,
        read_only_by:
            "the file is open for reading only, and an authorizer admits nothing but reads"
                .to_owned(),
        two_phase: false,
        findings,
    }
}
