//! What a store is: the facts known from its configuration, and what it says when probed.

use std::fmt;

/// The kinds of backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// PostgreSQL 13 and later.
    Postgresql,
    /// An SQLite database file.
    Sqlite,
    /// ClickHouse 24 and later.
    Clickhouse,
    /// A graph over Bolt, such as Neo4j 5 and later.
    Graph,
}

impl Kind {
    /// The name shown to callers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgresql => "postgresql",
            Self::Sqlite => "sqlite",
            Self::Clickhouse => "clickhouse",
            Self::Graph => "graph",
        }
    }

    /// The language of its queries.
    pub fn language(self) -> &'static str {
        match self {
            Self::Postgresql => "sql (PostgreSQL)",
            Self::Sqlite => "sql (SQLite)",
            Self::Clickhouse => "sql (ClickHouse)",
            Self::Graph => "cypher",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is known of a store without asking it.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The name callers use.
    pub name: String,
    /// The kind of backend.
    pub kind: Kind,
    /// The DSN with every secret masked.
    pub dsn: String,
    /// How positional parameters are written, as a caller types them.
    pub parameters: &'static str,
}

/// What a store said of itself.
#[derive(Debug, Clone)]
pub struct Probe {
    /// The server's own version.
    pub version: String,
    /// The account in use, where there are accounts.
    pub account: Option<String>,
    /// What keeps writes out, in one sentence.
    pub read_only_by: String,
    /// Whether the store can take part in a two-phase commit.
    pub two_phase: bool,
    /// What is wrong or could be better.
    pub findings: Vec<Finding>,
}

impl Probe {
    /// The first finding that keeps the store shut, if there is one.
    pub fn refusal(&self) -> Option<&Finding> {
        self.findings
            .iter()
            .find(|finding| finding.severity == Severity::Refused)
    }
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The store is not served until it is mended.
    Refused,
    /// The store is served, and the operator should know.
    Warning,
}

/// Something an operator should know, with what mends it.
#[derive(Debug, Clone)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub problem: String,
    /// The SQL or setting that mends it.
    pub mend: String,
}

/// What every adapter is told besides its DSN.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How long a read waits for a lock that a writer holds.
    pub busy_timeout: std::time::Duration,
    /// The most operations that run at once; an adapter holds no more connections than twice this,
    /// and one more while it is probed.
    pub max_concurrency: usize,
    /// How long a connection to one host may take to be made.
    pub connect_timeout: std::time::Duration,
    /// How long a call may take; each says itself how much of it is left.
    pub call_timeout: std::time::Duration,
}
