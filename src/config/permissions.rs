//! The permission set of a deployment, as it is written: `schema,read`.

use std::collections::BTreeSet;
use std::fmt;

use store::{Problem, and_list, nearest, or_list};

/// What a deployment may permit. No permission implies another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// See which stores there are, and what tables they have.
    Schema,
    /// Read rows.
    Read,
}

/// Permissions that are designed and not built, so that their names are told from slips.
const LATER: [&str; 5] = ["write", "rows", "backup", "diagnostics", "danger-raw-write"];

impl Permission {
    /// Every permission, in the order they are shown.
    pub const ALL: [Self; 2] = [Self::Schema, Self::Read];

    /// The name as it is written in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Read => "read",
        }
    }

    fn parse(name: &str) -> Result<Self, Problem> {
        if let Some(known) = Self::ALL.into_iter().find(|known| known.name() == name) {
            return Ok(known);
        }
        if LATER.contains(&name) {
            let problem = Problem::new(format!(
                "the permission `{name}` is not available in this version"
            ));
            return Err(problem.with_hint(format!("permissions of this version: {}", all_names())));
        }
        let problem = Problem::new(format!(
            "unknown permission {}",
            super::values::quoted(name)
        ));
        let close = nearest(name, Self::ALL.map(Self::name));
        if close.is_empty() {
            return Err(problem.with_hint(format!("permissions of this version: {}", all_names())));
        }
        Err(problem.with_hint(format!("did you mean {}?", or_list(&close))))
    }
}

fn all_names() -> String {
    and_list(&Permission::ALL.map(Permission::name))
}

/// The permissions of a deployment; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permissions(BTreeSet<Permission>);

impl Permissions {
    /// Reads a comma-separated list of names. White space around a name is no problem.
    pub fn parse(list: &str) -> Result<Self, Vec<Problem>> {
        if list.split(',').all(|name| name.trim().is_empty()) {
            let problem = Problem::new("names no permission");
            return Err(vec![problem.with_hint(format!(
                "give at least one of {}, or unset it",
                all_names()
            ))]);
        }
        let names = list.split(',').map(str::trim);
        let mut permissions = BTreeSet::new();
        let mut problems = Vec::new();
        for name in names {
            if name.is_empty() {
                let problem = Problem::new("holds a comma with nothing before or behind it");
                problems.push(problem.with_hint("write it as `schema,read`"));
                continue;
            }
            match Permission::parse(name) {
                Ok(permission) if !permissions.insert(permission) => {
                    let problem = Problem::new(format!("names `{name}` more than once"));
                    problems.push(problem.with_hint("give it once"));
                }
                Ok(_) => {}
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self(permissions))
    }

    /// Whether `permission` is one of them.
    pub fn allows(&self, permission: Permission) -> bool {
        self.0.contains(&permission)
    }

    /// The permissions, in the order they are shown.
    pub fn iter(&self) -> impl Iterator<Item = Permission> {
        self.0.iter().copied()
    }
}

impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Permission::name).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_whatever_its_spacing_and_order() {
        for (list, shown) in [
            ("schema,read", "schema,read"),
            (" read , schema", "schema,read"),
            ("schema", "schema"),
        ] {
            assert_eq!(Permissions::parse(list).unwrap().to_string(), shown);
        }
        let only_read = Permissions::parse("read").unwrap();
        assert!(only_read.allows(Permission::Read) && !only_read.allows(Permission::Schema));
    }

    #[test]
    fn every_wrong_name_is_told() {
        let problems = Permissions::parse("raed,write,xyz").unwrap_err();
        let told: Vec<_> = problems
            .iter()
            .map(|p| (p.message.as_str(), p.hint.as_deref().unwrap()))
            .collect();
        assert_eq!(
            told,
            [
                ("unknown permission `raed`", "did you mean `read`?"),
                (
                    "the permission `write` is not available in this version",
                    "permissions of this version: `schema` and `read`"
                ),
                (
                    "unknown permission `xyz`",
                    "permissions of this version: `schema` and `read`"
                ),
            ]
        );
        for (list, message) in [
            (
                "schema,,read",
                "holds a comma with nothing before or behind it",
            ),
            ("schema,", "holds a comma with nothing before or behind it"),
            ("read,schema, read", "names `read` more than once"),
        ] {
            let problems = Permissions::parse(list).unwrap_err();
            assert_eq!(problems.len(), 1, "{list}");
            assert_eq!(problems[0].message, message);
            assert!(problems[0].hint.is_some());
        }
        assert_eq!(
            Permissions::parse(" , ").unwrap_err()[0].message,
            "names no permission"
        );
    }
}
