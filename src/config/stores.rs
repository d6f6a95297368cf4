//! The stores of a configuration: their names, DSNs and passwords.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use secrecy::{ExposeSecret, SecretString};
use store::{Dsn, Problem, nearest, or_list};

use super::names::{self, Name, store_variable};
use super::problems::Problems;
use super::reader::Reader;
use super::render::Setting;
use super::source::{ENV_FILE, Given, Source};
use super::variables::STORE_PREFIX;

/// One store.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// The name callers use.
    pub name: String,
    /// Where it is, with the password wherever that came from.
    pub dsn: Dsn,
    /// The variable that gave the DSN, to name in problems.
    pub variable: String,
}

/// No password is longer; a file that is longer is the wrong file.
const LONGEST_PASSWORD: u64 = 64 * 1024;

/// What was said of one store.
#[derive(Default)]
struct Declared<'a> {
    dsn: Option<(&'a str, &'a Given)>,
    password: Option<(&'a str, &'a Given)>,
    password_file: Option<(&'a str, &'a Given)>,
}

/// Reads every store, in the order of their names.
pub(super) fn read(reader: &mut Reader) -> Vec<StoreConfig> {
    let Reader {
        source,
        problems,
        settings,
    } = reader;
    let declared = declared(source, problems);
    let names: Vec<&str> = declared
        .iter()
        .filter(|(_, said)| said.dsn.is_some())
        .map(|(name, _)| name.as_str())
        .collect();
    let mut stores = Vec::new();
    for (name, said) in &declared {
        let Some((variable, given)) = said.dsn else {
            homeless(name, said, &names, problems);
            continue;
        };
        let parsed = parse(given.value.expose_secret());
        let password = password(said, problems);
        let mut dsn = match parsed {
            Ok(dsn) => dsn,
            // `RHIZODAT_STORE_PASSWORD`, `RHIZODAT_STORE_ERP_PASSWD`: what is no DSN is a password.
            Err(problem) if names::is_like_password(name) => {
                problems.push(variable, problem.with_hint(names::PASSWORD_HINT));
                continue;
            }
            Err(problem) => {
                problems.push(variable, problem);
                continue;
            }
        };
        if let Some((password_variable, secret)) = password {
            if has_password(&dsn) {
                problems.push(
                    password_variable,
                    Problem::new(format!("the DSN in `{variable}` has a password too"))
                        .with_hint("keep one of them"),
                );
                continue;
            }
            dsn.set_password(secret);
        }
        settings.extend(shown(&dsn, said));
        stores.push(StoreConfig {
            name: name.clone(),
            dsn,
            variable: variable.to_owned(),
        });
    }
    // A store that was given and refused, or a file that could not be read, has been told already.
    let is_told = problems.concern(STORE_PREFIX) || problems.concern(ENV_FILE);
    if stores.is_empty() && !is_told {
        problems.push(
            format!("{STORE_PREFIX}<NAME>"),
            Problem::new("no store is configured").with_hint(
                "set at least one, such as `RHIZODAT_STORE_NOTES=sqlite:///data/notes.db` \
                 or `RHIZODAT_STORE_ERP=postgresql://reader:password@localhost:5432/erp`, \
                 in the environment or in a file that `--env-file` names",
            ),
        );
    }
    stores
}

fn declared<'a>(source: &'a Source, problems: &mut Problems) -> BTreeMap<String, Declared<'a>> {
    let mut declared: BTreeMap<String, Declared<'a>> = BTreeMap::new();
    for (variable, given) in source {
        // Names that mean nothing have been told already.
        let place = match names::classify(variable) {
            Ok(Name::Store(store)) => &mut declared.entry(store).or_default().dsn,
            Ok(Name::Password(store)) => &mut declared.entry(store).or_default().password,
            Ok(Name::PasswordFile(store)) => &mut declared.entry(store).or_default().password_file,
            Ok(Name::Setting | Name::Writes) | Err(_) => continue,
        };
        if let Some((other, _)) = place {
            let message = format!("means the same as `{other}`, which is set too");
            problems.push(
                variable,
                Problem::new(message).with_hint("unset one of them"),
            );
            continue;
        }
        *place = Some((variable, given));
    }
    declared
}

/// The problem of a password without a store.
fn homeless(name: &str, said: &Declared<'_>, names: &[&str], problems: &mut Problems) {
    let variable = store_variable(name);
    if problems.concern(&variable) {
        return;
    }
    let close: Vec<String> = nearest(name, names.iter().copied())
        .into_iter()
        .map(store_variable)
        .collect();
    let close: Vec<&str> = close.iter().map(String::as_str).collect();
    let hint = if close.is_empty() {
        format!("give its DSN in `{variable}`")
    } else {
        format!("give its DSN in `{variable}`; there is {}", or_list(&close))
    };
    for (password_variable, _) in said.password.iter().chain(&said.password_file) {
        let problem = Problem::new(format!("there is no store `{name}`"));
        problems.push(*password_variable, problem.with_hint(hint.clone()));
    }
}

fn parse(text: &str) -> Result<Dsn, Problem> {
    if text.trim() != text || text.contains(char::is_control) {
        return Err(Problem::new(
            "its value begins or ends with a blank, or holds a control character",
        )
        .with_hint("write a blank in a DSN as `%20`"));
    }
    let dsn = Dsn::parse(text)
        .map_err(|error| Problem::new(format!("its value {error}")).with_hint(error.hint()))?;
    // `user:1/2@host` parses as the host `user`, port 1: the rest of the password would be shown
    // as a path.
    let after_scheme = text.split_once("://").map_or(text, |(_, rest)| rest);
    let misplaced_at = after_scheme
        .split_once(['/', '?'])
        .is_some_and(|(authority, rest)| !authority.is_empty() && rest.contains('@'));
    if misplaced_at {
        return Err(Problem::new("its value holds an `@` after its host")
            .with_hint("in a password write `/` as `%2F`, `?` as `%3F` and `@` as `%40`; elsewhere write `@` as `%40`"));
    }
    Ok(dsn)
}

fn has_password(dsn: &Dsn) -> bool {
    dsn.password().is_some() || dsn.params().secret("password").is_some()
}

/// The password that stands beside the DSN, with the variable that gave it.
fn password<'a>(said: &Declared<'a>, problems: &mut Problems) -> Option<(&'a str, SecretString)> {
    match (said.password, said.password_file) {
        (None, None) => None,
        (Some((variable, given)), None) => Some((variable, given.value.clone())),
        (None, Some((variable, given))) => match password_file(given.value.expose_secret()) {
            Ok(secret) => Some((variable, secret)),
            Err(problem) => {
                problems.push(variable, problem);
                None
            }
        },
        (Some((variable, _)), Some((file_variable, _))) => {
            problems.push(
                variable,
                Problem::new(format!("`{file_variable}` is set too"))
                    .with_hint("unset one of them"),
            );
            None
        }
    }
}

fn password_file(path: &str) -> Result<SecretString, Problem> {
    let unreadable = |error: std::io::Error| {
        Problem::new(format!("cannot read `{path}`: {error}"))
            .with_hint("check the path, and that this account may read the file as UTF-8")
    };
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(LONGEST_PASSWORD + 1).read_to_string(&mut text))
        .map_err(unreadable)?;
    if text.len() as u64 > LONGEST_PASSWORD {
        let message = format!("`{path}` is longer than any password");
        return Err(Problem::new(message));
    }
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    if text.is_empty() {
        return Err(Problem::new(format!("`{path}` is empty")));
    }
    Ok(SecretString::from(text))
}

/// What came into effect for one store.
fn shown(dsn: &Dsn, said: &Declared<'_>) -> impl Iterator<Item = Setting> {
    let setting = |(variable, given): (&str, &Given), value: String| Setting {
        name: variable.to_owned(),
        value,
        origin: given.origin,
    };
    [
        said.dsn.map(|place| setting(place, dsn.to_string())),
        said.password.map(|place| setting(place, "***".to_owned())),
        said.password_file
            .map(|place| setting(place, place.1.value.expose_secret().to_owned())),
    ]
    .into_iter()
    .flatten()
}
