//! What stands after the statement that runs, within one message: the check of what its answer
//! depends on, and the end of its transaction.

use crate::settings::check_sql;

/// A message's closing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The statements. The first of them answers one row, for [`crate::settings::check`].
    pub(crate) closing: String,
    /// The server's process that is to have run all of it.
    pub(crate) process: i32,
}

/// Rolls back, and drops what a rollback keeps, whoever made it.
const ENDING: &str = "; ROLLBACK; DEALLOCATE ALL";

impl Frame {
    /// For a session of our own: the message also rolls back and cleans up, which saves an exchange.
    pub(crate) fn ending(process: i32) -> Self {
        let check = check_sql(", pg_catalog.pg_advisory_unlock_all()");
        Self {
            closing: format!("{check}{ENDING}"),
            process,
        }
    }

    /// For a pooler's session, which also serves others: what is ours is cleaned up by name, after
    /// the answer.
    pub(crate) fn open(process: i32) -> Self {
        Self {
            closing: check_sql(""),
            process,
        }
    }
}
