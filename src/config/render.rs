//! The effective configuration, as an operator reads it. Secrets are masked before they get here.

use std::fmt::Write;

use super::{Config, Origin};

/// One variable in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The variable.
    pub name: String,
    /// Its value, masked where it is a secret.
    pub value: String,
    /// Where the value came from.
    pub origin: Origin,
}

/// One `NAME=value  # origin` line per variable.
pub fn text(config: &Config) -> String {
    let mut lines = String::new();
    for Setting {
        name,
        value,
        origin,
    } in config.settings()
    {
        // Writing to a `String` does not fail.
        _ = writeln!(lines, "{name}={}  # {origin}", quoted(value));
    }
    lines
}

/// An object with a member per variable.
pub fn json(config: &Config) -> serde_json::Value {
    let members = config.settings().iter().map(|setting| {
        let member = serde_json::json!({
            "value": setting.value,
            "origin": setting.origin.to_string(),
        });
        (setting.name.clone(), member)
    });
    serde_json::Value::Object(members.collect())
}

/// A value as a file for `--env-file` would have it.
fn quoted(value: &str) -> String {
    let needs_quotes = value.contains(|character: char| {
        character.is_whitespace() || matches!(character, '\'' | '"' | '\\' | '#')
    });
    if !needs_quotes {
        return value.to_owned();
    }
    if !value.contains('\'') {
        return format!("'{value}'");
    }
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}
