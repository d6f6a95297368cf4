//! A DSN of a graph, `bolt://` or `neo4j://` with `+s` or `+ssc`, into what the adapter needs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use store::{Dsn, Problem};

use crate::bolt::{Trust, client_config};

/// Bolt's port.
const PORT: u16 = 7687;

/// What a DSN asks for.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Names and ports, in order.
    pub(crate) hosts: Vec<(String, u16)>,
    /// The database; the account's own where there is none.
    pub(crate) database: Option<String>,
    pub(crate) user: Option<String>,
    /// Whether the servers are asked which of them to read from (`neo4j://`).
    pub(crate) is_routed: bool,
    pub(crate) tls: Option<Arc<ClientConfig>>,
    pub(crate) read_only_by: ReadOnlyBy,
    /// Procedures that are let through besides those that are known to read alone, in lower case.
    pub(crate) allowed: BTreeSet<String>,
    /// How long a connection may take to be made, where the DSN says.
    pub(crate) connect_timeout: Option<Duration>,
}

/// What the operator says keeps writes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadOnlyBy {
    /// The server refuses to write in a transaction of access mode READ.
    Server,
    /// The server does not; the account has no right to write.
    Account,
}

impl Options {
    /// Reads a DSN. Every problem is reported at once.
    pub(crate) fn from_dsn(dsn: &Dsn) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut params = dsn.params();
        let (protocol, suffix) = dsn.scheme().split_once('+').unwrap_or((dsn.scheme(), ""));
        let hosts: Vec<(String, u16)> = dsn
            .hosts()
            .iter()
            .filter(|host| !host.name.is_empty())
            .map(|host| (host.name.clone(), host.port.unwrap_or(PORT)))
            .collect();
        if hosts.is_empty() {
            problems.push(Problem::new("names no host").with_hint(format!(
                "write `{}://user:password@host:7687/database`",
                dsn.scheme()
            )));
        }
        let path = dsn.path().trim_matches('/');
        if path.contains('/') {
            problems.push(
                Problem::new("names more than a database behind its host")
                    .with_hint("write `…@host:7687/database`"),
            );
        }
        if dsn.user().is_none() && dsn.password().is_some() {
            problems.push(
                Problem::new("has a password and no user")
                    .with_hint("write `…://user:password@host`"),
            );
        }
        let authorities = params.text("sslrootcert");
        let trust = match (suffix, authorities) {
            ("s", Some(path)) => Some(Trust::File(path.to_owned())),
            ("s", None) => Some(Trust::System),
            ("ssc", None) => Some(Trust::Anyone),
            ("ssc", Some(_)) => {
                problems.push(
                    Problem::new("`sslrootcert` is given, and `+ssc` accepts any certificate")
                        .with_hint(format!("write `{protocol}+s://`")),
                );
                None
            }
            (_, Some(_)) => {
                problems.push(
                    Problem::new("`sslrootcert` is given, and the connection is not encrypted")
                        .with_hint(format!("write `{protocol}+s://`")),
                );
                None
            }
            (_, None) => None,
        };
        let tls = trust.and_then(|trust| match client_config(&trust) {
            Ok(config) => Some(Arc::new(config)),
            Err(why) => {
                problems.push(match authorities {
                    Some(path) => Problem::of_file("sslrootcert", path, why),
                    None => {
                        Problem::new(format!("the system's certificates cannot be used: {why}"))
                            .with_hint("name a file of authorities with `sslrootcert`")
                    }
                });
                None
            }
        });
        let read_only_by = match params.text("read_only_by") {
            None | Some("server") => ReadOnlyBy::Server,
            Some("account") => ReadOnlyBy::Account,
            Some(_) => {
                problems.push(
                    Problem::new("`read_only_by` is neither `server` nor `account`")
                        .with_hint("leave it out, unless the server does not enforce READ"),
                );
                ReadOnlyBy::Server
            }
        };
        let allowed = params.text("allow_procedures").unwrap_or_default();
        let allowed = allowed
            .split(',')
            .map(|name| name.trim().to_lowercase())
            .filter(|name| !name.is_empty())
            .collect();
        let connect_timeout = params.text("connect_timeout").and_then(|text| {
            let seconds = text.parse::<u64>().ok().filter(|&seconds| seconds > 0);
            if seconds.is_none() {
                problems.push(
                    Problem::new("`connect_timeout` is no number of seconds above 0")
                        .with_hint("write `connect_timeout=5`"),
                );
            }
            seconds.map(Duration::from_secs)
        });
        problems.extend(params.unknown());
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            hosts,
            database: Some(path.to_owned()).filter(|name| !name.is_empty()),
            user: dsn.user().map(str::to_owned),
            is_routed: protocol == "neo4j",
            tls,
            read_only_by,
            allowed,
            connect_timeout,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Options, Vec<Problem>> {
        Options::from_dsn(&Dsn::parse(text).unwrap())
    }

    #[test]
    fn every_part_is_honoured() {
        let options = read(
            "neo4j://u:p@a:1,[::1]/movies?read_only_by=account&allow_procedures=apoc.meta.stats,%20X.y&connect_timeout=7",
        )
        .unwrap();
        let hosts = [("a".to_owned(), 1), ("::1".to_owned(), 7687)];
        assert_eq!(options.hosts, hosts);
        assert_eq!(options.database.as_deref(), Some("movies"));
        assert_eq!(options.user.as_deref(), Some("u"));
        assert!(options.is_routed && options.tls.is_none());
        assert_eq!(options.read_only_by, ReadOnlyBy::Account);
        assert!(options.allowed.contains("apoc.meta.stats") && options.allowed.contains("x.y"));
        assert_eq!(options.connect_timeout, Some(Duration::from_secs(7)));
        let encrypted = read("bolt+ssc://h").unwrap();
        assert!(encrypted.tls.is_some() && !encrypted.is_routed);
        assert_eq!(encrypted.database, None);
    }

    #[test]
    fn every_problem_is_told_at_once() {
        let problems =
            read("bolt:///a/b?read_only_by=me&conect_timeout=1&sslrootcert=x").unwrap_err();
        let messages: Vec<_> = problems.iter().map(|p| p.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "names no host",
                "names more than a database behind its host",
                "`sslrootcert` is given, and the connection is not encrypted",
                "`read_only_by` is neither `server` nor `account`",
                "unknown parameter `conect_timeout`",
            ]
        );
        let hint = problems.last().and_then(|problem| problem.hint.as_deref());
        assert_eq!(hint, Some("did you mean `connect_timeout`?"));
    }
}
