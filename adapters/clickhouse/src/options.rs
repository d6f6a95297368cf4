//! A `clickhouse://` or `clickhouses://` DSN into what the adapter needs.

use std::collections::BTreeSet;
use std::time::Duration;

use store::{Dsn, Problem, nearest, or_list};

use crate::functions;

/// What a DSN asks for.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// `http://host:port/` of each host, in order.
    pub(crate) urls: Vec<String>,
    /// The database that names without one are looked up in.
    pub(crate) database: Option<String>,
    pub(crate) user: String,
    /// Functions that reach out of the server and are let through, in lower case.
    pub(crate) allowed: BTreeSet<String>,
    /// The most memory of one query, in bytes.
    pub(crate) max_memory_usage: Option<u64>,
    /// How long a connection may take to be made, where the DSN says.
    pub(crate) connect_timeout: Option<Duration>,
    pub(crate) transport: Transport,
}

/// How the server is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Transport {
    Plain,
    Tls {
        /// The file of the authorities that are trusted, instead of the system's.
        authorities: Option<String>,
    },
}

impl Options {
    /// Reads a DSN. Every problem is reported at once.
    pub(crate) fn from_dsn(dsn: &Dsn) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut params = dsn.params();
        let is_tls = dsn.scheme() == "clickhouses";
        let (scheme, default_port) = if is_tls {
            ("https", 8443)
        } else {
            ("http", 8123)
        };
        let urls = dsn
            .hosts()
            .iter()
            .filter(|host| !host.name.is_empty())
            .map(|host| {
                let port = host.port.unwrap_or(default_port);
                if host.name.contains(':') {
                    format!("{scheme}://[{}]:{port}/", host.name)
                } else {
                    format!("{scheme}://{}:{port}/", host.name)
                }
            })
            .collect::<Vec<_>>();
        let is_name = |name: &str| {
            name.chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':'))
        };
        if urls.is_empty() {
            problems.push(
                Problem::new("names no host")
                    .with_hint("write `clickhouse://user:password@host:8123/database`"),
            );
        } else if !dsn.hosts().iter().all(|host| is_name(&host.name)) {
            problems.push(Problem::new("names a host that is no name and no address"));
        }
        let path = dsn.path().strip_prefix('/').unwrap_or(dsn.path());
        let param = params.text("database");
        if param.is_some_and(|name| !path.is_empty() && name != path) {
            problems.push(
                Problem::new("names one database in its path and another as `database`")
                    .with_hint("keep one of them"),
            );
        }
        let database = param.unwrap_or(path);
        let allowed = allowed(params.text("allow_table_functions"), &mut problems);
        let max_memory_usage = params.text("max_memory_usage").and_then(|text| {
            let bytes = bytes(text);
            if bytes.is_none() {
                problems.push(
                    Problem::new("`max_memory_usage` is no number of bytes")
                        .with_hint("write `max_memory_usage=4GiB` or the number of bytes"),
                );
            }
            bytes
        });
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
        let authorities = params.text("sslrootcert").map(str::to_owned);
        if authorities.is_some() && !is_tls {
            problems.push(
                Problem::new("`sslrootcert` is given, and the connection is not encrypted")
                    .with_hint("write `clickhouses://` instead of `clickhouse://`"),
            );
        }
        problems.extend(params.unknown());
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            urls,
            database: Some(database.to_owned()).filter(|name| !name.is_empty()),
            user: dsn.user().unwrap_or("default").to_owned(),
            allowed,
            max_memory_usage,
            connect_timeout,
            transport: if is_tls {
                Transport::Tls { authorities }
            } else {
                Transport::Plain
            },
        })
    }
}

/// The names of `allow_table_functions`, each of which has to be one that could be refused.
fn allowed(list: Option<&str>, problems: &mut Vec<Problem>) -> BTreeSet<String> {
    let mut allowed = BTreeSet::new();
    for name in list.unwrap_or_default().split(',').map(str::trim) {
        let lower = name.to_ascii_lowercase();
        if name.is_empty() {
            continue;
        }
        if !functions::can_be_allowed(&lower) {
            let problem = Problem::new(format!("`allow_table_functions` cannot hold `{name}`"));
            let close = nearest(&lower, functions::that_can_be_allowed());
            problems.push(if close.is_empty() {
                problem.with_hint(
                    "it takes functions that leave the server, such as `url`, `s3` or `remote`",
                )
            } else {
                problem.with_hint(format!("did you mean {}?", or_list(&close)))
            });
        }
        allowed.insert(lower);
    }
    allowed
}

/// A number of bytes, with or without a unit.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.get(digits.len()..)?;
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return None,
    };
    digits
        .parse::<u64>()
        .ok()?
        .checked_mul(factor)
        .filter(|&bytes| bytes > 0)
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
            "clickhouse://u:p@a:1,[::1]/db?allow_table_functions=url,S3&max_memory_usage=2GiB&connect_timeout=7",
        )
        .unwrap();
        assert_eq!(options.urls, ["http://a:1/", "http://[::1]:8123/"]);
        assert_eq!(options.database.as_deref(), Some("db"));
        assert!(options.allowed.contains("url") && options.allowed.contains("s3"));
        assert_eq!(options.max_memory_usage, Some(2 << 30));
        assert_eq!(options.connect_timeout, Some(Duration::from_secs(7)));
        let secure = read("clickhouses://h?sslrootcert=/ca.pem").unwrap();
        assert_eq!(secure.urls, ["https://h:8443/"]);
        assert_eq!(secure.user, "default");
        assert_eq!(
            secure.transport,
            Transport::Tls {
                authorities: Some("/ca.pem".to_owned())
            }
        );
    }

    #[test]
    fn every_problem_is_told_at_once() {
        let problems = read(
            "clickhouse:///db?allow_table_functions=numbers,urll&max_memory_usage=much&conect_timeout=1&sslrootcert=x",
        )
        .unwrap_err();
        let messages: Vec<_> = problems.iter().map(|p| p.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "names no host",
                "`allow_table_functions` cannot hold `numbers`",
                "`allow_table_functions` cannot hold `urll`",
                "`max_memory_usage` is no number of bytes",
                "`sslrootcert` is given, and the connection is not encrypted",
                "unknown parameter `conect_timeout`",
            ]
        );
        assert!(problems[2].hint.as_deref().unwrap().contains("`url`"));
    }
}
