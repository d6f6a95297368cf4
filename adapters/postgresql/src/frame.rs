//! What stands around the statement that runs, within one message: the beginning of its transaction,
//! the check of what its answer depends on, and the end.

use std::time::Duration;

use crate::settings::check_sql;

/// A message's opening and closing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// What stands before.
    pub(crate) opening: String,
    /// How many statements that is.
    pub(crate) opening_statements: usize,
    /// What stands after. The first statement of it answers one row, of which the first column is
    /// `expected` unless the answer cannot be trusted.
    pub(crate) closing: String,
    /// The server's process that is to have run all of it.
    pub(crate) process: i32,
}

/// Rolls back, and drops what a rollback keeps, whoever made it.
const ENDING: &str = "; ROLLBACK; DEALLOCATE ALL";

impl Frame {
    /// The transaction is begun, rolled back and cleaned up by the message itself, which saves an
    /// exchange for each. The session's own time-out is `session_timeout`.
    pub(crate) fn whole(timeout: Duration, session_timeout: Duration, process: i32) -> Self {
        let mut opening = String::from("BEGIN READ ONLY; ");
        let mut opening_statements = 1;
        let (wanted, set) = (steps(timeout), steps(session_timeout));
        if wanted != set {
            let milliseconds = wanted * STEP;
            opening.push_str(&format!("SET LOCAL statement_timeout = {milliseconds}; "));
            opening_statements += 1;
        }
        let check = check_sql(", pg_catalog.pg_advisory_unlock_all()");
        Self {
            opening,
            opening_statements,
            closing: format!("{check}{ENDING}"),
            process,
        }
    }

    /// The transaction has been begun, and its end comes after the answer.
    pub(crate) fn within(process: i32) -> Self {
        Self {
            opening: String::new(),
            opening_statements: 0,
            closing: check_sql(""),
            process,
        }
    }
}

/// The server's time-out need not be finer than this, in milliseconds: the gateway keeps the exact
/// one, and a query that was not kept waiting then has the session's own.
const STEP: u128 = 100;

fn steps(timeout: Duration) -> u128 {
    timeout.as_millis().div_ceil(STEP).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_out_is_set_where_it_is_not_the_sessions() {
        let session = Duration::from_secs(10);
        let soon = Frame::whole(Duration::from_micros(9_999_990), session, 7);
        assert_eq!(soon.opening, "BEGIN READ ONLY; ");
        let late = Frame::whole(Duration::from_millis(1234), session, 7);
        assert_eq!(
            late.opening,
            "BEGIN READ ONLY; SET LOCAL statement_timeout = 1300; "
        );
        assert_eq!(late.opening_statements, late.opening.matches(';').count());
    }
}
