//! The parameters of a DSN, read by name.

use secrecy::{ExposeSecret, SecretString};

use crate::problem::Problem;
use crate::suggest::{and_list, nearest, or_list};

/// Reads a DSN's parameters by name, so that those nobody read can be refused.
pub struct Params<'a> {
    given: &'a [(String, SecretString)],
    read: Vec<&'static str>,
}

impl<'a> Params<'a> {
    pub(crate) fn of(given: &'a [(String, SecretString)]) -> Self {
        Self {
            given,
            read: Vec::new(),
        }
    }

    /// The text of a parameter.
    pub fn text(&mut self, key: &'static str) -> Option<&'a str> {
        self.secret(key).map(ExposeSecret::expose_secret)
    }

    /// The value of a parameter that is a secret.
    pub fn secret(&mut self, key: &'static str) -> Option<&'a SecretString> {
        if !self.read.contains(&key) {
            self.read.push(key);
        }
        self.given
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// A problem for every parameter that was not read, with the nearest that exists.
    pub fn unknown(self) -> Vec<Problem> {
        self.given
            .iter()
            .filter(|(key, _)| !self.read.contains(&key.as_str()))
            .map(|(key, _)| {
                let problem = Problem::new(format!("unknown parameter `{key}`"));
                let close = nearest(key, self.read.iter().copied());
                if close.is_empty() {
                    problem.with_hint(format!("the parameters are {}", and_list(&self.read)))
                } else {
                    problem.with_hint(format!("did you mean {}?", or_list(&close)))
                }
            })
            .collect()
    }
}
