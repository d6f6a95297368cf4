//! A DSN as it is shown, and what others say of it: without its secrets.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use secrecy::ExposeSecret as _;

use super::Dsn;

/// What cannot stand as itself in a component of a DSN.
const RESERVED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b'+')
    .add(b':')
    .add(b'=')
    .add(b'?')
    .add(b'@')
    .add(b'/');

const MASK: &str = "***";

impl Dsn {
    /// What a driver or a server says, with every secret of this DSN masked, also where it stands
    /// percent-encoded. Never for words of our own.
    ///
    /// A secret that is a word, such as `password`, is masked only where a connection string has one:
    /// behind `:` or `=`, or before `@`. Servers use words too, and a mask in place of one that
    /// everybody knows would tell the secret.
    pub fn redact(&self, text: &str) -> String {
        let mut redacted = text.to_owned();
        let secret_params = self
            .params
            .iter()
            .filter(|(key, _)| is_secret(key))
            .map(|(_, value)| value);
        for secret in self.password.iter().chain(secret_params) {
            let plain = secret.expose_secret();
            if plain.is_empty() {
                continue;
            }
            let encoded = utf8_percent_encode(plain, RESERVED).to_string();
            redacted = if is_word(plain) {
                mask_word(&redacted, plain)
            } else {
                redacted.replace(plain, MASK).replace(&encoded, MASK)
            };
        }
        redacted
    }
}

/// Whether a secret could be a word of a sentence.
fn is_word(secret: &str) -> bool {
    secret.len() <= 16 && secret.chars().all(char::is_alphabetic)
}

fn mask_word(text: &str, word: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(word) {
        masked.push_str(before);
        let is_given = masked.ends_with([':', '=']) || after.starts_with('@');
        masked.push_str(if is_given { MASK } else { word });
        rest = after;
    }
    masked.push_str(rest);
    masked
}

impl fmt::Display for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = |text: &str| utf8_percent_encode(text, RESERVED).to_string();
        write!(f, "{}://", self.scheme)?;
        if let Some(user) = &self.user {
            f.write_str(&encoded(user))?;
        }
        if self.password.is_some() {
            write!(f, ":{MASK}")?;
        }
        if self.user.is_some() || self.password.is_some() {
            f.write_str("@")?;
        }
        for (index, host) in self.hosts.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            if host.name.contains(':') {
                write!(f, "[{}]", host.name)?;
            } else {
                f.write_str(&encoded(&host.name))?;
            }
            if let Some(port) = host.port {
                write!(f, ":{port}")?;
            }
        }
        let segments: Vec<String> = self.path.split('/').map(encoded).collect();
        f.write_str(&segments.join("/"))?;
        for (index, (key, value)) in self.params.iter().enumerate() {
            let separator = if index == 0 { '?' } else { '&' };
            let shown = if is_secret(key) {
                MASK.to_owned()
            } else if key == "options" {
                encoded(&masked_options(value.expose_secret()))
            } else {
                encoded(value.expose_secret())
            };
            write!(f, "{separator}{}={shown}", encoded(key))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Dsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dsn({self})")
    }
}

/// libpq's `options` with the values of its settings masked: any of them can be a secret.
fn masked_options(text: &str) -> String {
    let mut words: Vec<String> = vec![String::new()];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let Some(word) = words.last_mut() else { break };
        match character {
            '\\' => word.extend(characters.next()),
            ' ' => words.push(String::new()),
            other => word.push(other),
        }
    }
    let shown = words.iter().map(|word| match word.split_once('=') {
        Some((name, _)) => format!("{name}={MASK}"),
        None if word == "-c" || word.is_empty() => word.clone(),
        None => MASK.to_owned(),
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// Whether a parameter's value is masked.
fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    [
        "password",
        "passphrase",
        "token",
        "secret",
        "credential",
        "access-key",
    ]
    .iter()
    .any(|word| key.contains(word))
        || key.starts_with("header.")
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY_PART: &str = "postgresql://re%40der:p%40%2F%3A%3F%23%25w@[::1]:5433,db.example,%2Frun%2Fpg/er%2Fp?sslmode=require&token=s3cr3t";

    #[test]
    fn no_form_shows_a_secret() {
        let dsn = Dsn::parse(EVERY_PART).unwrap();
        let driver_says =
            dsn.redact("login with p@/:?#%w or p%40%2F%3A%3F%23%25w and s3cr3t failed");
        assert_eq!(driver_says, "login with *** or *** and *** failed");
        for shown in [format!("{dsn}"), format!("{dsn:?}")] {
            assert!(
                shown.contains("re%40der:***@[::1]:5433,db.example"),
                "{shown}"
            );
            assert!(shown.contains("sslmode=require&token=***"), "{shown}");
            assert!(!shown.contains("p@/") && !shown.contains("p%40") && !shown.contains("s3cr3t"));
        }
    }

    #[test]
    fn the_values_of_options_are_masked() {
        let dsn =
            "postgresql://h/d?options=-c%20app.key=s3%5C%20cret%20--work-mem=8MB%20s3cret&x=y";
        let shown = Dsn::parse(dsn).unwrap().to_string();
        let expected = "postgresql://h/d?options=-c%20app.key%3D***%20--work-mem%3D***%20***&x=y";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_mask_tells_no_secret_that_is_a_word() {
        for (secret, said, shown) in [
            (
                "password",
                "password authentication failed for password=password",
                "password authentication failed for password=***",
            ),
            ("e", "the server said e", "the server said e"),
            (
                "server",
                "no server at bolt://u:server@h",
                "no server at bolt://u:***@h",
            ),
        ] {
            let dsn = Dsn::parse(&format!("bolt://u:{secret}@h")).unwrap();
            assert_eq!(dsn.redact(said), shown);
        }
    }
}
