//! A `postgresql://` DSN into connection options: what libpq names and this adapter honours.

use std::time::Duration;

use secrecy::ExposeSecret as _;
use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;
use store::{Dsn, Problem, or_list};

use crate::hosts::hosts;
use crate::server_settings::server_settings;
use crate::time_outs::TimeOuts;
use crate::tls::Tls;

/// What a DSN asks for.
#[derive(Clone)]
pub(crate) struct Options {
    /// One for each host, in order.
    pub(crate) targets: Vec<PgConnectOptions>,
    /// Which servers will do.
    pub(crate) wanted: WantedServer,
    /// The schemas names are looked up in, where the DSN sets them.
    pub(crate) search_path: Option<String>,
    /// What is done about an account that can do more than read.
    pub(crate) unsafe_role: UnsafeRole,
    /// The time-outs that the DSN's `options` set.
    pub(crate) time_outs: TimeOuts,
    /// How long a connection may take to be made, where the DSN says.
    pub(crate) connect_timeout: Option<Duration>,
}

/// libpq's `target_session_attrs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WantedServer {
    Any,
    Primary,
    Standby,
    PreferStandby,
}

/// What is done about an account that can do more than read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnsafeRole {
    Refuse,
    Accept,
}

/// What libpq asks of TCP; taken, so that a DSN in use elsewhere can be used here, and without effect.
const KEEPALIVES: [&str; 5] = [
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "tcp_user_timeout",
];

impl Options {
    /// Reads a DSN. Every problem is reported at once.
    pub(crate) fn from_dsn(dsn: &Dsn) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut params = dsn.params();

        let user = params.text("user").or(dsn.user());
        let password = params.secret("password").or(dsn.password());
        let database = database(dsn, params.text("dbname"), user, &mut problems);
        let hosts = hosts(
            dsn,
            params.text("host"),
            params.text("hostaddr"),
            params.text("port"),
            &mut problems,
        );
        if user.is_none() {
            problems.push(
                Problem::new("names no user")
                    .with_hint("write `postgresql://user:password@host/database`"),
            );
        }

        let tls = Tls::read(&mut params, &mut problems);
        let application = params
            .text("application_name")
            .or(params.text("fallback_application_name"))
            .unwrap_or("rhizodat");
        let settings = match params.text("options").map(server_settings) {
            None => Vec::new(),
            Some(Ok(settings)) => settings,
            Some(Err(problem)) => {
                problems.push(problem);
                Vec::new()
            }
        };
        let wanted = choice(
            "target_session_attrs",
            params.text("target_session_attrs"),
            WantedServer::Any,
            &[
                ("any", WantedServer::Any),
                ("primary", WantedServer::Primary),
                ("read-write", WantedServer::Primary),
                ("standby", WantedServer::Standby),
                ("read-only", WantedServer::Standby),
                ("prefer-standby", WantedServer::PreferStandby),
            ],
            &mut problems,
        );
        let unsafe_role = choice(
            "unsafe_role",
            params.text("unsafe_role"),
            UnsafeRole::Refuse,
            &[
                ("refuse", UnsafeRole::Refuse),
                ("accept", UnsafeRole::Accept),
            ],
            &mut problems,
        );
        choice(
            "client_encoding",
            params
                .text("client_encoding")
                .map(str::to_ascii_lowercase)
                .as_deref(),
            (),
            &[("utf8", ()), ("auto", ()), ("utf-8", ())],
            &mut problems,
        );
        choice(
            "gssencmode",
            params.text("gssencmode"),
            (),
            &[("disable", ()), ("prefer", ())],
            &mut problems,
        );
        let connect_timeout = params.text("connect_timeout").and_then(|text| {
            let seconds = text.parse::<u64>();
            if seconds.is_err() {
                problems.push(
                    Problem::new("`connect_timeout` is no number of seconds")
                        .with_hint("write `connect_timeout=5`"),
                );
            }
            // libpq: zero waits without an end, which no wait here does.
            seconds.ok().filter(|&s| s > 0).map(Duration::from_secs)
        });
        // The driver has none, and nothing here needs them: every wait has a deadline, and a
        // connection that lay idle for long is not used again.
        for name in KEEPALIVES {
            let number = params.text(name).map(str::parse::<i64>);
            if let Some(Err(_)) = number {
                problems.push(Problem::new(format!("`{name}` is no number")));
            }
        }
        let search_path = params.text("search_path").map(str::to_owned);
        problems.extend(params.unknown());
        if !problems.is_empty() {
            return Err(problems);
        }

        let targets = hosts
            .iter()
            .map(|host| {
                let mut target = PgConnectOptions::new_without_pgpass()
                    .username(user.unwrap_or_default())
                    .database(&database)
                    .port(host.port.unwrap_or(5432))
                    .application_name(application)
                    // A start-up option that poolers refuse; sessions set it themselves.
                    .extra_float_digits(None)
                    // What callers ask, and with which values, is for no log.
                    .disable_statement_logging();
                target = if host.name.starts_with('/') {
                    target.socket(&host.name)
                } else {
                    target.host(&host.name)
                };
                // Always set: the driver would else take a password from the environment, which
                // could not be masked.
                let password = password.map_or("", |secret| secret.expose_secret());
                target = target.password(password);
                target = tls.apply(target);
                if !settings.is_empty() {
                    target = target.options(settings.iter().map(|(k, v)| (k, v)));
                }
                target
            })
            .collect();
        Ok(Self {
            targets,
            time_outs: TimeOuts::of_options(&settings),
            wanted,
            search_path,
            unsafe_role,
            connect_timeout,
        })
    }
}

fn database(
    dsn: &Dsn,
    param: Option<&str>,
    user: Option<&str>,
    problems: &mut Vec<Problem>,
) -> String {
    let path = dsn.path().strip_prefix('/').unwrap_or(dsn.path());
    if param.is_some_and(|name| !path.is_empty() && name != path) {
        problems.push(
            Problem::new("names one database in its path and another as `dbname`")
                .with_hint("keep one of them"),
        );
    }
    let named = param.unwrap_or(path);
    if named.contains('/') {
        problems.push(
            Problem::new("has a path of more than one part")
                .with_hint("the path is the database's name; a `/` in it is written as `%2F`"),
        );
    }
    if named.is_empty() {
        user.unwrap_or_default().to_owned()
    } else {
        named.to_owned()
    }
}

/// One of several words. `default` where none is given, or one that is not known.
fn choice<T: Copy>(
    name: &str,
    given: Option<&str>,
    default: T,
    choices: &[(&str, T)],
    problems: &mut Vec<Problem>,
) -> T {
    let Some(word) = given else { return default };
    if let Some((_, value)) = choices.iter().find(|(known, _)| *known == word) {
        return *value;
    }
    let words: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
    problems.push(
        Problem::new(format!("`{name}` cannot be `{word}`"))
            .with_hint(format!("one of {}", or_list(&words))),
    );
    default
}

#[cfg(test)]
mod tests {
    use sqlx::postgres::PgSslMode;

    use super::*;

    fn read(text: &str) -> Result<Options, Vec<Problem>> {
        Options::from_dsn(&Dsn::parse(text).unwrap())
    }

    #[test]
    fn what_libpq_names_is_honoured() {
        let options = read(
            "postgresql://u:p%40@a:1,[::1]/db?sslmode=require&application_name=app&search_path=s,public\
             &options=-c%20work_mem=8MB%20--statement-timeout=5&target_session_attrs=read-only&unsafe_role=accept",
        )
        .unwrap();
        let hosts: Vec<_> = options
            .targets
            .iter()
            .map(|target| (target.get_host(), target.get_port()))
            .collect();
        assert_eq!(hosts, [("a", 1), ("::1", 5432)]);
        let first = &options.targets[0];
        assert_eq!(first.get_database(), Some("db"));
        assert_eq!(first.get_application_name(), Some("app"));
        assert_eq!(
            first.get_options(),
            Some("-c work_mem=8MB -c statement_timeout=5")
        );
        assert!(matches!(first.get_ssl_mode(), PgSslMode::Require));
        assert_eq!(options.search_path.as_deref(), Some("s,public"));
        assert_eq!(options.wanted, WantedServer::Standby);
        assert_eq!(options.unsafe_role, UnsafeRole::Accept);

        let socket = read("postgresql://u@/db?host=/run/postgresql&port=5433").unwrap();
        assert_eq!(
            socket.targets[0].get_socket().unwrap().to_str(),
            Some("/run/postgresql")
        );
    }

    #[test]
    fn tls_is_what_libpq_makes_of_it_or_a_problem() {
        let mode = |text: &str| read(text).map(|options| options.targets[0].get_ssl_mode());
        assert!(matches!(
            mode("postgresql://u@h/d?sslrootcert=system&channel_binding=prefer&keepalives=1"),
            Ok(PgSslMode::VerifyFull)
        ));
        for (parameters, problem) in [
            (
                "sslrootcert=system&sslmode=require",
                "`sslrootcert=system` needs",
            ),
            (
                "sslcert=/dev/null",
                "`sslcert` and `sslkey` belong together",
            ),
            (
                "sslrootcert=/no/such",
                "`sslrootcert`: the file `/no/such` cannot",
            ),
            ("hostaddr=::1&sslmode=verify-full", "`hostaddr` leaves"),
            (
                "channel_binding=require",
                "`channel_binding=require` cannot",
            ),
            ("keepalives_idle=x", "`keepalives_idle` is no number"),
            ("dbname=e", "names one database in its path"),
        ] {
            let problems = mode(&format!("postgresql://u@h/d?{parameters}")).unwrap_err();
            assert_eq!(problems.len(), 1, "{parameters}: {problems:?}");
            assert!(problems[0].message.starts_with(problem), "{problems:?}");
        }
    }

    #[test]
    fn every_problem_is_told_at_once() {
        let problems = read("postgresql://h/a/b?sslmode=on&port=x&sslrotcert=y")
            .err()
            .unwrap();
        let messages: Vec<_> = problems.iter().map(|p| p.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "has a path of more than one part",
                "`port` holds neither one number nor one for each host",
                "names no user",
                "`sslmode` cannot be `on`",
                "unknown parameter `sslrotcert`",
            ]
        );
    }

    #[test]
    fn a_parameter_is_named_once_where_all_are() {
        let problems = read("postgresql://u@h/d?zzzzzzzzzzzz=1").err().unwrap();
        let hint = problems[0].hint.as_deref().unwrap();
        assert_eq!(hint.matches("`hostaddr`").count(), 1, "{hint}");
    }
}
