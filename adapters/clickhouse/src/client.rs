//! The servers behind a DSN, spoken to over HTTP: which of them serves, what each request carries,
//! and the queries that run, so that they can be stopped.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clickhouse::Client;
use clickhouse::query::BytesCursor;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::ExposeSecret as _;
use store::{Dsn, Error, Problem, Settings};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::{Phase, translate};
use crate::options::{Options, Transport};
use crate::running::Running;

/// The longest answer to a question of the adapter's own, in bytes.
const LONGEST_OWN_ANSWER: usize = 32 << 20;

/// A connection unused for this long is closed: servers close theirs after 3 to 30 seconds.
const OLDEST_IDLE: Duration = Duration::from_secs(2);

/// Everything the calls of one store share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) dsn: Dsn,
    pub(crate) connect_timeout: Duration,
    clients: Vec<Client>,
    /// The host that answered last.
    preferred: AtomicUsize,
    pub(crate) places: Arc<Semaphore>,
    /// Owns every task that stops a query.
    pub(crate) tasks: TaskTracker,
    pub(crate) closing: CancellationToken,
    /// The queries that run: their ids, and the host of each.
    pub(crate) queries: Mutex<BTreeMap<String, usize>>,
}

/// Settings of a request, by name.
pub(crate) type Sent = Vec<(String, String)>;

impl Shared {
    pub(crate) fn new(
        options: Options,
        dsn: Dsn,
        settings: Settings,
    ) -> Result<Self, Vec<Problem>> {
        let connect_timeout = options.connect_timeout.unwrap_or(settings.connect_timeout);
        let base = base(&options.transport, connect_timeout).map_err(|problem| vec![problem])?;
        let password = dsn.password().map_or("", |secret| secret.expose_secret());
        let login = if options.user.contains(':') {
            base.with_user(&options.user).with_password(password)
        } else {
            let pair = STANDARD.encode(format!("{}:{password}", options.user));
            base.with_header("Authorization", format!("Basic {pair}"))
        };
        let clients = options
            .urls
            .iter()
            .map(|url| login.clone().with_url(url))
            .collect();
        Ok(Self {
            options,
            dsn,
            connect_timeout,
            clients,
            preferred: AtomicUsize::new(0),
            places: Arc::new(Semaphore::new(settings.max_concurrency * 2)),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            queries: Mutex::new(BTreeMap::new()),
        })
    }

    /// The hosts in the order in which they are tried.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = usize> + use<> {
        let (first, count) = (
            self.preferred.load(Ordering::Relaxed),
            self.clients.len().max(1),
        );
        (0..count).map(move |step| (first + step) % count)
    }

    pub(crate) fn prefer(&self, host: usize) {
        self.preferred.store(host, Ordering::Relaxed);
    }

    /// Begins a request. Nothing is sent before its cursor is asked.
    pub(crate) fn begin(
        &self,
        host: usize,
        sql: &str,
        format: &str,
        sent: &Sent,
    ) -> Result<BytesCursor, clickhouse::error::Error> {
        let client = self
            .clients
            .get(host)
            .or(self.clients.first())
            .ok_or_else(|| clickhouse::error::Error::Custom("no host is named".to_owned()))?;
        let mut client = client.clone();
        if let Some(database) = &self.options.database {
            client = client.with_database(database);
        }
        for (name, value) in sent {
            client.set_setting(name, value);
        }
        client.query_raw(sql).fetch_bytes(format)
    }

    /// Asks what is answered in few rows, as lines of `JSONCompactEachRow`. When the call is dropped
    /// before its end, the query is stopped in the server.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        host: usize,
        sql: &str,
        sent: &Sent,
        phase: Phase<'_>,
        deadline: Instant,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let mut running = Running::begin(Arc::clone(self), host);
        let mut sent = sent.clone();
        sent.push(("query_id".to_owned(), running.id().to_owned()));
        let failed = |error: &clickhouse::error::Error| translate(error, phase, &self.dsn);
        let reading = async {
            let mut cursor = self
                .begin(host, sql, "JSONCompactEachRow", &sent)
                .map_err(|error| failed(&error))?;
            let mut answer = Vec::new();
            while let Some(chunk) = cursor.next().await.map_err(|error| failed(&error))? {
                answer.extend_from_slice(&chunk);
                if answer.len() > LONGEST_OWN_ANSWER {
                    return Err(crate::error::too_long());
                }
            }
            Ok(answer)
        };
        let answer = match tokio::time::timeout_at(deadline, reading).await {
            Ok(Ok(answer)) => answer,
            // What the server answered by itself has ended there.
            Ok(Err(error)) => {
                if error.server_code.is_some() || matches!(phase, Phase::Connect) {
                    running.finish();
                }
                return Err(error);
            }
            Err(_) => return Err(crate::error::over_time()),
        };
        running.finish();
        Ok(answer
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(<[u8]>::to_vec)
            .collect())
    }

    /// Stops what runs, and waits for it as long as closing may take.
    pub(crate) async fn close(self: &Arc<Self>) {
        self.closing.cancel();
        let running: Vec<(String, usize)> = match self.queries.lock() {
            Ok(queries) => queries
                .iter()
                .map(|(id, host)| (id.clone(), *host))
                .collect(),
            Err(_) => Vec::new(),
        };
        for (id, host) in running {
            self.tasks
                .spawn(crate::running::stop(Arc::clone(self), id, host));
        }
        self.tasks.close();
        if tokio::time::timeout(crate::running::CLEAN_UP, self.tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!("queries may run on until their time is over");
        }
    }
}

/// A client without a host and an account.
fn base(transport: &Transport, connect_timeout: Duration) -> Result<Client, Problem> {
    let mut connector = HttpConnector::new();
    connector.set_keepalive(Some(Duration::from_secs(60)));
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(connect_timeout));
    let mut builder = HttpClient::builder(TokioExecutor::new());
    builder.pool_idle_timeout(OLDEST_IDLE);
    let Transport::Tls { authorities } = transport else {
        return Ok(Client::with_http_client(builder.build(connector)));
    };
    connector.enforce_http(false);
    let provider = rustls::crypto::ring::default_provider();
    let connectors = hyper_rustls::HttpsConnectorBuilder::new();
    let connectors = match authorities {
        None => connectors
            .with_provider_and_native_roots(provider)
            .map_err(|error| {
                Problem::new(format!("the system's certificates cannot be read: {error}"))
                    .with_hint("name a file of authorities with `sslrootcert`")
            })?,
        Some(path) => {
            let unread = |error: String| Problem::of_file("sslrootcert", path, error);
            let mut roots = rustls::RootCertStore::empty();
            let certificates = CertificateDer::pem_file_iter(Path::new(path))
                .map_err(|error| unread(error.to_string()))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| unread(error.to_string()))?;
                roots
                    .add(certificate)
                    .map_err(|error| unread(error.to_string()))?;
            }
            let config = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
                .with_safe_default_protocol_versions()
                .map_err(|error| unread(error.to_string()))?
                .with_root_certificates(roots)
                .with_no_client_auth();
            connectors.with_tls_config(config)
        }
    };
    let connector = connectors
        .https_only()
        .enable_http1()
        .wrap_connector(connector);
    Ok(Client::with_http_client(builder.build(connector)))
}
