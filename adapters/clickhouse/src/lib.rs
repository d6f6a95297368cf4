//! ClickHouse 24 and later, read over HTTP through `readonly=2`.
//!
//! A query takes three requests: the server's parser shows the syntax tree of the text alone, by
//! which it is one SELECT that leaves the server nowhere; the server describes its columns; and the
//! text runs as a subquery of a statement of ours. A text that was judged before takes the last one
//! alone.

mod account;
mod ast;
mod client;
mod decode;
mod error;
mod functions;
mod hints;
mod json;
mod lexer;
mod lines;
mod options;
mod params;
mod plan;
mod query;
mod running;
mod scalar;
mod schema;
mod statement;
mod types;
mod verdicts;
mod wrap;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use store::{Dsn, Error, Kind, Probe, Problem, QueryRequest, RowStream, Settings, Store};
use tokio::time::Instant;

use crate::account::{Account, Profile};
use crate::client::Shared;
use crate::error::Phase;
use crate::options::Options;
use crate::verdicts::Verdicts;

/// The store that `dsn` names. Nothing is connected yet. Errors: every problem of the DSN.
pub fn open(name: &str, dsn: &Dsn, settings: Settings) -> Result<Arc<dyn Store>, Vec<Problem>> {
    let options = Options::from_dsn(dsn)?;
    Ok(Arc::new(Clickhouse {
        profile: Arc::new(store::Profile {
            name: name.to_owned(),
            kind: Kind::Clickhouse,
            dsn: dsn.to_string(),
            parameters: "{p1:Type}, {p2:Type}, …",
        }),
        shared: Arc::new(Shared::new(options, dsn.clone(), settings)?),
        verdicts: Arc::new(Verdicts::default()),
        account: Arc::new(Mutex::new(None)),
    }))
}

/// A ClickHouse server.
#[derive(Clone)]
pub(crate) struct Clickhouse {
    profile: Arc<store::Profile>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) verdicts: Arc<Verdicts>,
    account: Arc<Mutex<Option<Arc<Account>>>>,
}

impl Clickhouse {
    /// The account, as it was when last asked.
    pub(crate) async fn account(&self, deadline: Instant) -> Result<Arc<Account>, Error> {
        let known = self.account.lock().ok().and_then(|known| known.clone());
        match known {
            Some(account) => Ok(account),
            None => self.ask_account(deadline).await,
        }
    }

    async fn ask_account(&self, deadline: Instant) -> Result<Arc<Account>, Error> {
        let asked = Arc::new(account::ask(&self.shared, deadline).await?);
        if let Ok(mut known) = self.account.lock() {
            *known = Some(Arc::clone(&asked));
        }
        Ok(asked)
    }

    /// Asks for the account again before the next call: the server may be another one by then.
    pub(crate) fn forget_account(&self) {
        if let Ok(mut known) = self.account.lock() {
            *known = None;
        }
        self.verdicts.clear();
    }
}

#[async_trait]
impl Store for Clickhouse {
    fn profile(&self) -> &store::Profile {
        &self.profile
    }

    async fn probe(&self, timeout: Duration) -> Result<Probe, Error> {
        let deadline = Instant::now() + timeout;
        let account = self.ask_account(deadline).await?;
        let sent = account.settings(&self.shared, deadline);
        let grants = "SHOW GRANTS";
        let grants = self
            .shared
            .ask(account.host, grants, &sent, Phase::Own, deadline)
            .await?;
        let grants: Vec<String> = grants
            .iter()
            .filter_map(|line| json::texts(line).ok()?.into_iter().next())
            .collect();
        let read_only_by = match account.profile {
            Profile::Open => "every request carries `readonly=2`",
            Profile::ReadOnly => "the account's profile is `readonly = 2`",
            Profile::Frozen => "the account's profile is `readonly = 1`",
        };
        Ok(Probe {
            version: format!("ClickHouse {}", account.version),
            account: Some(account.user.clone()),
            read_only_by: format!(
                "{read_only_by}, and every query is one SELECT by the server's own parser, inside a subquery"
            ),
            two_phase: false,
            findings: account::findings(&account, &grants),
        })
    }

    async fn schema(&self, request: store::schema::Request) -> Result<store::schema::Page, Error> {
        let account = self.account(Instant::now() + request.timeout).await?;
        let page = schema::page(&self.shared, &account, &request).await;
        if matches!(&page, Err(error) if error.code == store::Code::StoreUnreachable) {
            self.forget_account();
        }
        page
    }

    async fn query(&self, request: QueryRequest) -> Result<RowStream, Error> {
        query::run(self, request).await
    }

    async fn close(&self) {
        self.shared.close().await;
    }
}
