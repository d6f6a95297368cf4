//! What a `RHIZODAT_` name means, and why one that means nothing is refused.

use store::{Problem, nearest, or_list};

use super::variables::{STORE_PREFIX, TABLE};

/// What every variable's name begins with.
pub(super) const PREFIX: &str = "RHIZODAT_";

/// The one switch of a later version that changes nothing while it is off.
pub(super) const WRITES: &str = "RHIZODAT_MCP_WRITES";

/// Settings of the project's own tests, which this program does not read.
const IGNORED: [&str; 2] = ["RHIZODAT_TEST_", "RHIZODAT_BACKENDS_"];

/// Settings that are designed and not built, so that their names are told from slips.
const LATER: [&str; 14] = [
    "RHIZODAT_JOURNAL",
    "RHIZODAT_MCP_ALLOW",
    "RHIZODAT_MCP_ALLOWED_HOSTS",
    "RHIZODAT_MCP_AUDIT",
    "RHIZODAT_MCP_BACKUP_DIR",
    "RHIZODAT_MCP_CONFIRM",
    "RHIZODAT_MCP_DENY",
    "RHIZODAT_MCP_ENTITIES",
    "RHIZODAT_MCP_HTTP",
    "RHIZODAT_MCP_MAX_REQUESTS_PER_MINUTE",
    "RHIZODAT_MCP_MAX_WRITE_ROWS",
    "RHIZODAT_MCP_MAX_WRITE_ROWS_PER_MINUTE",
    "RHIZODAT_MCP_TOKEN",
    WRITES,
];

/// Families of settings that are designed and not built.
const LATER_FAMILIES: [&str; 1] = ["RHIZODAT_MCP_TOKEN_"];

const RECOVERY: &str = "RHIZODAT_MCP_RECOVERY";

/// What a name means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    /// One of the variables that are not a store's.
    Setting,
    /// The DSN of the store of this name.
    Store(String),
    /// The password of the store of this name.
    Password(String),
    /// The file with the password of the store of this name.
    PasswordFile(String),
    /// [`WRITES`], which may be set as long as it is off.
    Writes,
}

/// Whether a variable is none of this program's business.
pub(super) fn is_ignored(name: &str) -> bool {
    !name.starts_with(PREFIX) || IGNORED.iter().any(|prefix| name.starts_with(prefix))
}

/// What a name means, or why it is refused.
pub(super) fn classify(name: &str) -> Result<Name, Problem> {
    if let Some(store_part) = name.strip_prefix(STORE_PREFIX) {
        return classify_store(store_part);
    }
    if TABLE.iter().any(|variable| variable.name == name) {
        return Ok(Name::Setting);
    }
    if name == WRITES {
        return Ok(Name::Writes);
    }
    if name.starts_with(RECOVERY) {
        let problem = Problem::new("recovery is an operator's command and has no settings");
        return Err(
            problem.with_hint("unset it; recovery is run by an operator, and comes with entities")
        );
    }
    if is_later(name) {
        return Err(not_available());
    }
    Err(unknown(name))
}

/// The problem with a setting that this version does not have yet.
pub(super) fn not_available() -> Problem {
    Problem::new("is not available in this version").with_hint("unset it")
}

/// The name of the variable that gives a store's DSN.
pub(super) fn store_variable(store: &str) -> String {
    format!("{STORE_PREFIX}{}", store.to_ascii_uppercase())
}

fn classify_store(store_part: &str) -> Result<Name, Problem> {
    let store = store_part.to_ascii_lowercase();
    if let Some(of) = store.strip_suffix("_password_file") {
        return checked(of).map(Name::PasswordFile);
    }
    if let Some(of) = store.strip_suffix("_password") {
        return checked(of).map(Name::Password);
    }
    checked(&store).map(Name::Store)
}

fn checked(store: &str) -> Result<String, Problem> {
    const LONGEST: usize = 32;
    let well_formed = store.len() <= LONGEST
        && store.starts_with(|first: char| first.is_ascii_lowercase())
        && store.chars().all(|character| {
            character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_'
        });
    if well_formed {
        return Ok(store.to_owned());
    }
    let name = super::values::quoted(store);
    let problem = Problem::new(format!("{name} is no name of a store"));
    Err(problem.with_hint(format!(
        "a store's name is 1 to {LONGEST} letters, digits and underscores, and begins with a letter"
    )))
}

fn is_later(name: &str) -> bool {
    LATER.contains(&name) || LATER_FAMILIES.iter().any(|family| name.starts_with(family))
}

/// What is said of a name that reads as one of a password and is none.
pub(super) const PASSWORD_HINT: &str = "a store's password is given by `RHIZODAT_STORE_<NAME>_PASSWORD` or `RHIZODAT_STORE_<NAME>_PASSWORD_FILE`, beside the store's DSN";

/// Whether a name reads as one of a password.
pub(super) fn is_like_password(name: &str) -> bool {
    const WORDS: [&str; 6] = ["PASSWORD", "PASSWD", "PASS", "PWD", "PW", "SECRET"];
    let name = name.to_ascii_uppercase();
    name.split('_').any(|word| {
        WORDS.contains(&word) || (word.len() >= 6 && !nearest(word, ["PASSWORD"]).is_empty())
    })
}

fn unknown(name: &str) -> Problem {
    let problem = Problem::new("unknown variable");
    if is_like_password(name) {
        return problem.with_hint(PASSWORD_HINT);
    }
    // What every name begins with says nothing about which one was meant.
    let given = stem(name);
    let mut close = nearest(given, TABLE.iter().map(|variable| stem(variable.name)));
    if close.contains(&given) {
        close.retain(|near| *near == given);
    }
    let meant: Vec<&str> = close
        .iter()
        .filter_map(|near| TABLE.iter().find(|variable| stem(variable.name) == *near))
        .map(|variable| variable.name)
        .collect();
    // A store's own name is as near to one known name as to any other.
    let begins_like_a_store = given
        .split('_')
        .next()
        .is_some_and(|word| !nearest(word, ["STORE", "DSN", "DATABASE"]).is_empty());
    if begins_like_a_store {
        return problem.with_hint("a store is given by `RHIZODAT_STORE_<NAME>`");
    }
    if meant.is_empty() {
        return problem.with_hint("`rhizodat-mcp config --reference` lists every variable");
    }
    problem.with_hint(format!("did you mean {}?", or_list(&meant)))
}

fn stem(name: &str) -> &str {
    let after_prefix = name.strip_prefix(PREFIX).unwrap_or(name);
    after_prefix.strip_prefix("MCP_").unwrap_or(after_prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_stores_and_their_passwords_are_told_apart() {
        for (name, meaning) in [
            ("RHIZODAT_STORE_ERP", Name::Store("erp".to_owned())),
            ("RHIZODAT_STORE_Erp_2", Name::Store("erp_2".to_owned())),
            (
                "RHIZODAT_STORE_ERP_PASSWORD",
                Name::Password("erp".to_owned()),
            ),
            (
                "RHIZODAT_STORE_ERP_PASSWORD_FILE",
                Name::PasswordFile("erp".to_owned()),
            ),
            (
                "RHIZODAT_STORE_PASSWORD",
                Name::Store("password".to_owned()),
            ),
            ("RHIZODAT_LOG", Name::Setting),
            ("RHIZODAT_MCP_WRITES", Name::Writes),
        ] {
            assert_eq!(classify(name), Ok(meaning), "{name}");
        }
        for name in ["", "2ND", "_X", "A-B", "ÄRP", "_PASSWORD", &"X".repeat(33)] {
            let problem = classify(&format!("RHIZODAT_STORE_{name}")).unwrap_err();
            assert!(
                problem.message.ends_with("is no name of a store"),
                "{name}: {problem:?}"
            );
        }
    }

    #[test]
    fn a_name_that_is_refused_says_why_and_what_was_meant() {
        for (name, message, hint) in [
            (
                "RHIZODAT_MCP_MAX_ROW",
                "unknown variable",
                "did you mean `RHIZODAT_MCP_MAX_ROWS`?",
            ),
            (
                "RHIZODAT_QUERY_TIMEOUT",
                "unknown variable",
                "did you mean `RHIZODAT_MCP_QUERY_TIMEOUT`?",
            ),
            (
                "RHIZODAT_MCP_FORMATS",
                "unknown variable",
                "did you mean `RHIZODAT_MCP_FORMAT`?",
            ),
            (
                "RHIZODAT_STROE_ERP",
                "unknown variable",
                "a store is given by `RHIZODAT_STORE_<NAME>`",
            ),
            (
                "RHIZODAT_STORES",
                "unknown variable",
                "a store is given by `RHIZODAT_STORE_<NAME>`",
            ),
            ("RHIZODAT_ERP_PASSWORD", "unknown variable", PASSWORD_HINT),
            ("RHIZODAT_PASWORD", "unknown variable", PASSWORD_HINT),
            (
                "RHIZODAT_QUUX",
                "unknown variable",
                "`rhizodat-mcp config --reference` lists every variable",
            ),
            (
                "RHIZODAT_",
                "unknown variable",
                "`rhizodat-mcp config --reference` lists every variable",
            ),
            (
                "RHIZODAT_MCP_TOKEN_CI",
                "is not available in this version",
                "unset it",
            ),
            (
                "RHIZODAT_JOURNAL",
                "is not available in this version",
                "unset it",
            ),
            (
                "RHIZODAT_MCP_RECOVERY_INTERVAL",
                "recovery is an operator's command and has no settings",
                "unset it; recovery is run by an operator, and comes with entities",
            ),
        ] {
            let problem = classify(name).unwrap_err();
            assert_eq!(problem.message, message, "{name}");
            assert_eq!(problem.hint.as_deref(), Some(hint), "{name}");
        }
        assert!(
            is_ignored("RHIZODAT_TEST_POSTGRESQL")
                && is_ignored("PATH")
                && !is_ignored("RHIZODAT_X")
        );
    }
}
