//! DSNs: `scheme://user:password@host:port,host2/path?key=value`, percent-encoded. Secrets live in
//! [`SecretString`] from the moment they are read; `Display` and `Debug` mask them.

mod mask;

use percent_encoding::percent_decode_str;
use secrecy::SecretString;

use crate::params::Params;

/// One host of a DSN's authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// A name, an address, or the directory of a Unix socket.
    pub name: String,
    /// The port, where one is given.
    pub port: Option<u16>,
}

/// A parsed DSN.
#[derive(Clone)]
pub struct Dsn {
    scheme: String,
    user: Option<String>,
    password: Option<SecretString>,
    hosts: Vec<Host>,
    path: String,
    params: Vec<(String, SecretString)>,
}

/// Why a text is no DSN. Never repeats the text, which may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DsnError {
    /// No `scheme://` at its start.
    #[error("does not begin with a scheme and `://`")]
    NoScheme,
    /// An unencoded `#`.
    #[error("holds an unencoded `#`")]
    Fragment,
    /// A `%` that begins no encoded byte, or bytes that are no UTF-8.
    #[error(
        "holds a `%` that is not followed by two hexadecimal digits, or bytes that are no UTF-8"
    )]
    Encoding,
    /// A port that is none.
    #[error("holds a port that is no number from 1 to 65535")]
    Port,
    /// An IPv6 address without its closing bracket.
    #[error("holds an IPv6 address that is not closed by `]`")]
    Bracket,
    /// The user or the password before the host and as a parameter.
    #[error("has a {0} before its host and another as the parameter `{0}`")]
    Twice(&'static str),
    /// The same parameter twice.
    #[error("gives the parameter `{0}` more than once")]
    Repeated(String),
}

impl DsnError {
    /// What mends it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoScheme => {
                "a DSN is `scheme://…`; that of the SQLite file `/data/notes.db` is `sqlite:///data/notes.db`"
            }
            Self::Fragment => "write it as `%23`, also in a password",
            Self::Encoding => "write a literal `%` as `%25`",
            Self::Port => {
                "in a password write `/` as `%2F`, `?` as `%3F`, `:` as `%3A` and `@` as `%40`"
            }
            Self::Bracket => "write it as `[::1]`",
            Self::Twice(_) => "keep one of them",
            Self::Repeated(_) => "give it once",
        }
    }
}

impl Dsn {
    /// Parses a DSN.
    pub fn parse(text: &str) -> Result<Self, DsnError> {
        let (scheme, rest) = text.split_once("://").ok_or(DsnError::NoScheme)?;
        let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        if !is_scheme {
            return Err(DsnError::NoScheme);
        }
        if rest.contains('#') {
            return Err(DsnError::Fragment);
        }
        let (before_query, query) = match rest.split_once('?') {
            Some((before, query)) => (before, Some(query)),
            None => (rest, None),
        };
        let (authority, path) = match before_query.find('/') {
            Some(slash) => before_query.split_at(slash),
            None => (before_query, ""),
        };
        let (user_info, host_list) = match authority.rsplit_once('@') {
            Some((user_info, hosts)) => (Some(user_info), hosts),
            None => (None, authority),
        };
        let (user, password) = match user_info.map(|info| info.split_once(':').ok_or(info)) {
            None => (None, None),
            Some(Ok((user, password))) => (
                Some(decode(user)?),
                Some(SecretString::from(decode(password)?)),
            ),
            Some(Err(user)) => (Some(decode(user)?), None),
        };
        let user = user.filter(|name| !name.is_empty());
        let hosts = parse_hosts(host_list)?;
        let params = parse_params(query.unwrap_or_default())?;
        for (name, is_given) in [("user", user.is_some()), ("password", password.is_some())] {
            if is_given && params.iter().any(|(key, _)| key == name) {
                return Err(DsnError::Twice(name));
            }
        }
        Ok(Self {
            scheme: scheme.to_ascii_lowercase(),
            user,
            password,
            hosts,
            path: decode(path)?,
            params,
        })
    }

    /// The scheme, in lower case.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The user.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The password.
    pub fn password(&self) -> Option<&SecretString> {
        self.password.as_ref()
    }

    /// Takes the password from elsewhere than the DSN's text.
    pub fn set_password(&mut self, password: SecretString) {
        self.password = Some(password);
    }

    /// The hosts, in the order given.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The path, decoded, with its leading slash.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The parameters, to be read one by one.
    pub fn params(&self) -> Params<'_> {
        Params::of(&self.params)
    }
}

fn decode(text: &str) -> Result<String, DsnError> {
    let well_formed = text.split('%').skip(1).all(|after| {
        after
            .as_bytes()
            .get(..2)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    if !well_formed {
        return Err(DsnError::Encoding);
    }
    percent_decode_str(text)
        .decode_utf8()
        .map(|decoded| decoded.into_owned())
        .map_err(|_| DsnError::Encoding)
}

fn parse_hosts(list: &str) -> Result<Vec<Host>, DsnError> {
    if list.is_empty() {
        return Ok(Vec::new());
    }
    list.split(',').map(parse_host).collect()
}

fn parse_host(text: &str) -> Result<Host, DsnError> {
    let (name, port) = if let Some(address) = text.strip_prefix('[') {
        let (name, after) = address.split_once(']').ok_or(DsnError::Bracket)?;
        (name, after.strip_prefix(':'))
    } else {
        match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        }
    };
    let port = match port {
        None | Some("") => None,
        Some(digits) => match digits.parse::<u16>() {
            Ok(port) if port > 0 => Some(port),
            _ => return Err(DsnError::Port),
        },
    };
    Ok(Host {
        name: decode(name)?,
        port,
    })
}

fn parse_params(query: &str) -> Result<Vec<(String, SecretString)>, DsnError> {
    let mut params: Vec<(String, SecretString)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let key = decode(key)?;
        if params.iter().any(|(known, _)| *known == key) {
            return Err(DsnError::Repeated(key));
        }
        params.push((key, SecretString::from(decode(value)?)));
    }
    Ok(params)
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    const EVERY_PART: &str = "postgresql://re%40der:p%40%2F%3A%3F%23%25w@[::1]:5433,db.example,%2Frun%2Fpg/er%2Fp?sslmode=require&token=s3cr3t";

    #[test]
    fn every_part_is_decoded() {
        let dsn = Dsn::parse(EVERY_PART).unwrap();
        assert_eq!(dsn.scheme(), "postgresql");
        assert_eq!(dsn.user(), Some("re@der"));
        assert_eq!(dsn.password().unwrap().expose_secret(), "p@/:?#%w");
        let hosts: Vec<_> = dsn
            .hosts()
            .iter()
            .map(|h| (h.name.as_str(), h.port))
            .collect();
        assert_eq!(
            hosts,
            [("::1", Some(5433)), ("db.example", None), ("/run/pg", None)]
        );
        assert_eq!(dsn.path(), "/er/p");
        assert_eq!(dsn.params().text("sslmode"), Some("require"));
    }

    #[test]
    fn what_is_no_dsn_is_told_without_repeating_it() {
        for (text, error) in [
            ("erp", DsnError::NoScheme),
            ("://x", DsnError::NoScheme),
            ("postgresql://u:pa#ss@h/d", DsnError::Fragment),
            ("postgresql://u:pa%zz@h/d", DsnError::Encoding),
            ("postgresql://u:pa%ff@h/d", DsnError::Encoding),
            ("postgresql://u:pa/ss@h/d", DsnError::Port),
            ("postgresql://u@h:0/d", DsnError::Port),
            ("postgresql://u@h:99999/d", DsnError::Port),
            ("postgresql://u@[::1/d", DsnError::Bracket),
            ("sqlite:///a?x=1&x=2", DsnError::Repeated("x".to_owned())),
            (
                "postgresql://u:a@h/d?password=b",
                DsnError::Twice("password"),
            ),
            (
                "postgresql://:a@h/d?password=a",
                DsnError::Twice("password"),
            ),
            ("postgresql://u@h/d?user=v", DsnError::Twice("user")),
            (
                "clickhouse://u:ass@h/d?password=b",
                DsnError::Twice("password"),
            ),
            ("bolt://u:ass@h?user=v", DsnError::Twice("user")),
        ] {
            let found = Dsn::parse(text).unwrap_err();
            assert_eq!(found, error, "{text}");
            assert!(!found.to_string().contains("ss@h"));
        }
    }

    #[test]
    fn parameters_nobody_reads_are_refused_with_the_nearest() {
        let dsn = Dsn::parse("postgresql://h/d?sslmod=require&sslmode=disable").unwrap();
        let mut params = dsn.params();
        params.text("sslmode");
        params.text("application_name");
        let problems = params.unknown();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].message, "unknown parameter `sslmod`");
        assert_eq!(problems[0].hint.as_deref(), Some("did you mean `sslmode`?"));
    }
}
