//! What a caller may do, and how much. Decisions alone: nothing here reads, waits or writes.

use store::{Code, Error};

pub use crate::config::{Permission, Permissions};

use crate::config::{Config, Limits};

/// Decides over calls. A refusal says what is permitted, never how to be permitted more.
#[derive(Debug, Clone)]
pub struct Guard {
    permissions: Permissions,
    limits: Limits,
}

impl Guard {
    /// A guard over what this deployment permits.
    pub fn new(config: &Config) -> Self {
        Self {
            permissions: config.permissions.clone(),
            limits: config.limits,
        }
    }

    /// Whether `permission` is given. A tool that needs another is neither listed nor found.
    pub fn allows(&self, permission: Permission) -> bool {
        self.permissions.allows(permission)
    }

    /// Refuses a statement that is too long.
    pub fn statement(&self, text: &str) -> Result<(), Error> {
        let (bytes, most) = (text.len(), self.limits.max_sql_bytes);
        if bytes as u64 <= most {
            return Ok(());
        }
        let message = format!("the statement has {bytes} bytes; the most is {most}");
        let hint = "pass long values as parameters, or ask in several statements";
        Err(Error::new(Code::LimitExceeded, message).with_hint(hint))
    }

    /// How many rows a call gets: what it asks for, or as many as this deployment gives.
    pub fn rows(&self, asked: Option<u64>) -> Result<u64, Error> {
        let most = self.limits.max_rows;
        match asked {
            None => Ok(most),
            Some(rows) if rows <= most => Ok(rows),
            Some(rows) => {
                let message = format!("`limit` is {rows}; the most is {most}");
                let hint = "aggregate in the query, or read in pages by a filter on its order";
                Err(Error::new(Code::LimitExceeded, message).with_hint(hint))
            }
        }
    }

    /// How much one result and its values may hold.
    pub fn limits(&self) -> Limits {
        self.limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_gets_what_is_permitted_and_never_more() {
        let variables = [
            ("RHIZODAT_STORE_NOTES", "sqlite:///notes.db"),
            ("RHIZODAT_MCP_PERMISSIONS", "schema"),
            ("RHIZODAT_MCP_MAX_SQL_BYTES", "64"),
            ("RHIZODAT_MCP_MAX_ROWS", "100"),
        ];
        let environment = variables.map(|(name, value)| (name.into(), value.into()));
        let guard = Guard::new(&Config::load(environment, None).unwrap());

        assert!(guard.allows(Permission::Schema));
        assert!(!guard.allows(Permission::Read));

        assert_eq!(guard.statement(&"x".repeat(64)), Ok(()));
        let refusal = guard.statement(&"x".repeat(65)).unwrap_err();
        assert_eq!(refusal.code, Code::LimitExceeded);

        assert_eq!(guard.rows(None), Ok(100));
        assert_eq!(guard.rows(Some(7)), Ok(7));
        let refusal = guard.rows(Some(1_000_000_000_000)).unwrap_err();
        assert_eq!(refusal.code, Code::LimitExceeded);
    }
}
