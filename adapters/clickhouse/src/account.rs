//! The server and the account that reads it: asked once, and again after the connection was lost.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value as Json;
use store::{Code, Error, Finding, Severity};
use tokio::time::Instant;

use crate::client::{Sent, Shared};
use crate::error::Phase;
use crate::wrap::literal;

/// What the account's profile lets a request set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Everything: the gateway sends `readonly=2` and its limits.
    Open,
    /// `readonly=2` is there already: the gateway sends its limits.
    ReadOnly,
    /// `readonly=1`: nothing can be set.
    Frozen,
}

/// The server and the account.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) host: usize,
    pub(crate) version: String,
    pub(crate) user: String,
    pub(crate) zone: String,
    pub(crate) profile: Profile,
    /// The server's table functions, in lower case.
    pub(crate) table_functions: BTreeSet<String>,
    /// Those of the pinned settings that this version has.
    known_settings: BTreeSet<String>,
    /// Databases whose tables are whatever path is named.
    pub(crate) path_databases: Vec<String>,
}

/// What is asked of the server: itself, the account, and which of the settings it knows.
fn question() -> String {
    let settings: Vec<String> = PINNED.iter().map(|(name, _)| literal(name)).collect();
    format!(
        "SELECT version(), currentUser(), timezone(), toString(getSetting('readonly')), \
         (SELECT groupArray(lower(name)) FROM system.table_functions), \
         (SELECT groupArray(name) FROM system.databases WHERE engine IN ('Filesystem', 'Overlay', 'S3', 'HDFS')), \
         (SELECT groupArray(name) FROM system.settings WHERE name IN ({}))",
        settings.join(", ")
    )
}

/// Asks each host in turn until one answers.
pub(crate) async fn ask(shared: &Arc<Shared>, deadline: Instant) -> Result<Account, Error> {
    let mut last = None;
    let (question, nothing) = (question(), Vec::new());
    for host in shared.hosts() {
        let connecting = Instant::now() + shared.connect_timeout;
        let asked = shared.ask(
            host,
            &question,
            &nothing,
            Phase::Connect,
            deadline.min(connecting),
        );
        match asked.await {
            Ok(lines) => {
                shared.prefer(host);
                return read(host, &lines).ok_or_else(|| {
                    Error::new(
                        Code::StoreUnreachable,
                        "what answered is no ClickHouse server",
                    )
                    .with_hint(
                        "check that the DSN names the HTTP port of a ClickHouse server (8123)",
                    )
                });
            }
            Err(error) if error.code == Code::Timeout && connecting < deadline => {
                last = Some(
                    Error::new(
                        Code::StoreUnreachable,
                        format!(
                            "no connection within {}",
                            store::Span(shared.connect_timeout)
                        ),
                    )
                    .with_hint(
                        "check that the server runs and that the DSN names its host and HTTP port",
                    ),
                );
            }
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| Error::new(Code::StoreUnreachable, "no host is named")))
}

fn read(host: usize, lines: &[Vec<u8>]) -> Option<Account> {
    let row: Vec<Json> = serde_json::from_slice(lines.first()?).ok()?;
    let text = |index: usize| row.get(index)?.as_str().map(str::to_owned);
    let names = |index: usize| -> Option<Vec<String>> {
        let names = row.get(index)?.as_array()?.iter();
        Some(
            names
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect(),
        )
    };
    Some(Account {
        host,
        version: text(0)?,
        user: text(1)?,
        zone: text(2)?,
        profile: match text(3)?.as_str() {
            "0" => Profile::Open,
            "1" => Profile::Frozen,
            _ => Profile::ReadOnly,
        },
        table_functions: names(4)?.into_iter().collect(),
        path_databases: names(5)?,
        known_settings: names(6)?.into_iter().collect(),
    })
}

impl Account {
    /// The settings of a request that may take until `deadline`.
    pub(crate) fn settings(&self, shared: &Shared, deadline: Instant) -> Sent {
        if self.profile == Profile::Frozen {
            return Vec::new();
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let mut sent: Sent = PINNED
            .iter()
            .filter(|(name, _)| self.known_settings.contains(*name))
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        if self.profile == Profile::Open {
            sent.push(("readonly".to_owned(), "2".to_owned()));
        }
        let seconds = left.as_secs_f64().max(0.001);
        sent.push(("max_execution_time".to_owned(), format!("{seconds:.3}")));
        if let Some(bytes) = shared.options.max_memory_usage {
            sent.push(("max_memory_usage".to_owned(), bytes.to_string()));
        }
        sent
    }
}

/// What every request sets, where it may: how values are written, and that order is kept.
const PINNED: &[(&str, &str)] = &[
    ("timeout_overflow_mode", "throw"),
    ("cancel_http_readonly_queries_on_client_close", "1"),
    ("allow_introspection_functions", "0"),
    ("date_time_output_format", "iso"),
    ("output_format_json_quote_64bit_integers", "0"),
    ("output_format_json_quote_decimals", "0"),
    ("output_format_json_quote_denormals", "1"),
    ("output_format_json_validate_utf8", "0"),
    ("output_format_json_escape_forward_slashes", "0"),
    ("output_format_json_named_tuples_as_objects", "1"),
    ("output_format_json_map_as_array_of_tuples", "0"),
    ("output_format_json_skip_null_value_in_named_tuples", "0"),
    ("output_format_decimal_trailing_zeros", "1"),
    ("query_plan_remove_redundant_sorting", "0"),
    ("optimize_duplicate_order_by_and_distinct", "0"),
    ("print_pretty_type_names", "0"),
];

/// What the account may do beyond reading tables, from its grants.
pub(crate) fn findings(account: &Account, grants: &[String]) -> Vec<Finding> {
    let user = &account.user;
    let warning = |problem: String, mend: String| Finding {
        severity: Severity::Warning,
        problem,
        mend,
    };
    let held = |names: &[&'static str]| -> Vec<&'static str> {
        names
            .iter()
            .copied()
            .filter(|name| grants.iter().any(|grant| grants_right(grant, name)))
            .collect()
    };
    let mut findings = Vec::new();
    let writes = held(&[
        "ALL",
        "INSERT",
        "ALTER",
        "CREATE",
        "DROP",
        "TRUNCATE",
        "OPTIMIZE",
        "SYSTEM",
        "BACKUP",
        "KILL QUERY",
        "ACCESS MANAGEMENT",
    ]);
    if !writes.is_empty() {
        findings.push(warning(
            format!(
                "the account `{user}` may do more than read: {}; only the gateway keeps it from it",
                writes.join(", ")
            ),
            reader(),
        ));
    }
    let sources = held(&[
        "ALL", "SOURCES", "READ", "WRITE", "FILE", "URL", "REMOTE", "S3", "HDFS", "MYSQL",
        "POSTGRES", "SQLITE", "ODBC", "JDBC", "MONGO", "REDIS", "AZURE", "KAFKA",
    ]);
    if !sources.is_empty() {
        findings.push(warning(
            format!("the account `{user}` may read outside of the server: {}; queries that name such a function are refused here", sources.join(", ")),
            format!("REVOKE SOURCES ON *.* FROM `{user}`;"),
        ));
    }
    if !held(&["ALL", "INTROSPECTION"]).is_empty() {
        findings.push(warning(
            format!("the account `{user}` may use introspection functions"),
            format!("REVOKE INTROSPECTION ON *.* FROM `{user}`;"),
        ));
    }
    if account.profile == Profile::Frozen {
        findings.push(warning(
            format!("the profile of `{user}` is `readonly = 1`, so the gateway's limits of time and memory cannot be set in the server: it cancels by its own clock"),
            "set `max_execution_time` and `max_memory_usage` in the profile, or make it `readonly = 0`: the gateway then sends `readonly=2` and its limits".to_owned(),
        ));
    }
    for database in &account.path_databases {
        findings.push(warning(
            format!("the tables of the database `{database}` are files or objects by whatever name a query gives"),
            format!("REVOKE ALL ON `{database}`.* FROM `{user}`; -- unless it is meant"),
        ));
    }
    findings
}

/// Whether a line of `SHOW GRANTS` holds this right.
fn grants_right(grant: &str, right: &str) -> bool {
    let Some(rest) = grant.strip_prefix("GRANT ") else {
        return false;
    };
    let rights = rest.split(" ON ").next().unwrap_or(rest);
    rights.split(", ").any(|held| {
        let held = held.split('(').next().unwrap_or(held);
        held == right
    })
}

/// The SQL that makes an account that can only read.
fn reader() -> String {
    "CREATE USER rhizodat_reader IDENTIFIED BY '…' SETTINGS max_memory_usage = 4000000000, max_result_rows = 0;\n\
     GRANT SELECT ON your_database.* TO rhizodat_reader;"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_read_by_their_rights() {
        let grant = "GRANT SHOW, SELECT(a, b), URL ON *.* TO r";
        assert!(grants_right(grant, "URL") && grants_right(grant, "SELECT"));
        assert!(!grants_right(grant, "INSERT") && !grants_right("REVOKE URL ON *.*", "URL"));
    }
}
