//! The TLS part of a DSN: libpq's `sslmode`, its certificates, and what of libpq the driver lacks.

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use store::{Params, Problem, or_list};

const SSL_MODES: [&str; 6] = [
    "disable",
    "allow",
    "prefer",
    "require",
    "verify-ca",
    "verify-full",
];

/// What a DSN asks for.
#[derive(Debug, Clone)]
pub(crate) struct Tls {
    mode: PgSslMode,
    /// The file of the authorities; those of the system where there is none.
    authorities: Option<String>,
    identity: Option<Identity>,
}

/// The client's own certificate.
#[derive(Debug, Clone)]
struct Identity {
    certificate: String,
    key: String,
}

impl Tls {
    /// Reads the parameters. Files that cannot be read are problems now, not with the first call.
    pub(crate) fn read(params: &mut Params<'_>, problems: &mut Vec<Problem>) -> Self {
        let authorities = params.text("sslrootcert");
        let named_mode = params.text("sslmode");
        let (certificate, key) = (params.text("sslcert"), params.text("sslkey"));
        let address = params.text("hostaddr");
        binding(params.text("channel_binding"), problems);

        let of_system = authorities == Some("system");
        let mode = match (of_system, named_mode) {
            // libpq: the authorities of the system are worth nothing without the name.
            (true, None | Some("verify-full")) => PgSslMode::VerifyFull,
            (true, Some(_)) => {
                problems.push(
                    Problem::new("`sslrootcert=system` needs `sslmode=verify-full`")
                        .with_hint("leave `sslmode` out, or write `sslmode=verify-full`"),
                );
                PgSslMode::VerifyFull
            }
            (false, named) => mode(named, authorities, problems),
        };
        if address.is_some() && matches!(mode, PgSslMode::VerifyFull) {
            problems.push(
                Problem::new("`hostaddr` leaves `sslmode=verify-full` no name to verify")
                    .with_hint("name the host alone; it is looked up when it is connected to"),
            );
        }
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some(Identity {
                certificate: certificate.to_owned(),
                key: key.to_owned(),
            }),
            (None, None) => None,
            _ => {
                problems.push(
                    Problem::new("`sslcert` and `sslkey` belong together")
                        .with_hint("name the files of both, or of neither"),
                );
                None
            }
        };
        let authorities = authorities.filter(|_| !of_system);
        for (name, path) in [
            ("sslrootcert", authorities),
            ("sslcert", certificate),
            ("sslkey", key),
        ] {
            problems.extend(path.and_then(|path| unreadable(name, path)));
        }
        Self {
            mode,
            authorities: authorities.map(str::to_owned),
            identity,
        }
    }

    /// The same options with these.
    pub(crate) fn apply(&self, target: PgConnectOptions) -> PgConnectOptions {
        let mut target = target.ssl_mode(self.mode);
        if let Some(path) = &self.authorities {
            target = target.ssl_root_cert(path);
        }
        if let Some(Identity { certificate, key }) = &self.identity {
            target = target.ssl_client_cert(certificate).ssl_client_key(key);
        }
        target
    }
}

fn mode(named: Option<&str>, authorities: Option<&str>, problems: &mut Vec<Problem>) -> PgSslMode {
    match named {
        None | Some("prefer") => PgSslMode::Prefer,
        Some("disable") => PgSslMode::Disable,
        Some("allow") => PgSslMode::Allow,
        // libpq: a root certificate makes `require` check the authority.
        Some("require") if authorities.is_some() => PgSslMode::VerifyCa,
        Some("require") => PgSslMode::Require,
        Some("verify-ca") => PgSslMode::VerifyCa,
        Some("verify-full") => PgSslMode::VerifyFull,
        Some(other) => {
            problems.push(
                Problem::new(format!("`sslmode` cannot be `{other}`"))
                    .with_hint(format!("one of {}", or_list(&SSL_MODES))),
            );
            PgSslMode::VerifyFull
        }
    }
}

/// The driver cannot bind a password's exchange to its TLS channel, so it is not promised.
fn binding(named: Option<&str>, problems: &mut Vec<Problem>) {
    let problem = match named {
        None | Some("disable" | "prefer") => return,
        Some("require") => Problem::new("`channel_binding=require` cannot be kept by the driver")
            .with_hint("`sslmode=verify-full` proves the server in its place"),
        Some(other) => Problem::new(format!("`channel_binding` cannot be `{other}`"))
            .with_hint("one of `disable`, `prefer`"),
    };
    problems.push(problem);
}

fn unreadable(name: &str, path: &str) -> Option<Problem> {
    let error = std::fs::File::open(path).err()?;
    Some(Problem::of_file(name, path, error))
}
