//! Who the server and the account are, and what an operator should know of them.

use std::sync::Arc;
use std::time::Duration;

use store::{Error, Finding, Probe, Severity};
use tokio::time::{Instant, timeout_at};

use crate::bolt::Pack;
use crate::error::over_time;
use crate::pool::Shared;
use crate::wall::Wall;
use crate::working::Working;

/// Roles of Neo4j Enterprise that may write.
const WRITING: [&str; 4] = ["admin", "architect", "editor", "publisher"];

/// The most functions that are named.
const MOST_NAMED: usize = 5;

/// Asks the server who it is.
pub(crate) async fn ask(shared: &Arc<Shared>, timeout: Duration) -> Result<Probe, Error> {
    let deadline = Instant::now() + timeout;
    let mut working = Working::begin(shared, deadline).await?;
    let link = working.link()?;
    let (wall, version) = (link.wall, link.connection.agent.clone());
    let mut findings = Vec::new();
    match wall {
        Wall::None(gap) => findings.push(Finding {
            severity: Severity::Refused,
            problem: gap.problem().to_owned(),
            mend: gap.mend().to_owned(),
        }),
        Wall::Account => {}
        Wall::Server => {
            let asked = foreign_functions(&mut working, deadline);
            let asked = timeout_at(deadline, asked).await.map_err(|_| over_time())?;
            findings.extend(finding(&asked?));
            let asked = roles(&mut working, deadline);
            let asked = timeout_at(deadline, asked).await.map_err(|_| over_time())?;
            findings.extend(too_much(&asked));
        }
    }
    let read_only_by = match wall {
        Wall::Server => {
            "the server enforces the access mode READ, tried with a write; every plan is checked by its operators, and every transaction is rolled back"
        }
        Wall::Account => {
            "the account cannot write, tried with a write; texts are checked by their words, and every transaction is rolled back"
        }
        Wall::None(_) => "nothing",
    };
    Ok(Probe {
        version: version.replace('/', " "),
        account: shared.options.user.clone(),
        read_only_by: read_only_by.to_owned(),
        two_phase: false,
        findings,
    })
}

/// Functions that are not the server's own. A plan does not show what they do.
async fn foreign_functions(working: &mut Working, deadline: Instant) -> Result<Vec<String>, Error> {
    working
        .queue_begin(deadline)
        .map_err(|broken| crate::error::of_connection(&broken))?;
    let rows = working
        .rows(
            "SHOW FUNCTIONS YIELD name, isBuiltIn WHERE NOT isBuiltIn RETURN name",
            &[],
        )
        .await?;
    let names = rows
        .iter()
        .filter_map(|row| row.first().and_then(Pack::as_text));
    Ok(names.map(str::to_owned).collect())
}

/// The account's roles; none where the server has none.
async fn roles(working: &mut Working, deadline: Instant) -> Vec<String> {
    let asked = working
        .rows_after_failure("SHOW CURRENT USER YIELD roles", deadline)
        .await;
    let rows = asked.unwrap_or_default();
    let roles = rows.first().and_then(|row| row.first()).map(Pack::texts);
    let roles = roles.unwrap_or_default().into_iter();
    roles.map(str::to_owned).collect()
}

fn too_much(roles: &[String]) -> Option<Finding> {
    let held: Vec<&str> = roles
        .iter()
        .map(String::as_str)
        .filter(|role| WRITING.contains(role))
        .collect();
    (!held.is_empty()).then(|| Finding {
        severity: Severity::Warning,
        problem: format!(
            "the account has the roles {}; only the gateway keeps it from writing",
            held.join(", ")
        ),
        mend: "CREATE USER rhizodat_reader SET PASSWORD '…' CHANGE NOT REQUIRED;\nGRANT ROLE reader TO rhizodat_reader;".to_owned(),
    })
}

fn finding(functions: &[String]) -> Option<Finding> {
    let named: Vec<&str> = functions
        .iter()
        .take(MOST_NAMED)
        .map(String::as_str)
        .collect();
    let more = functions.len().saturating_sub(named.len());
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    (!named.is_empty()).then(|| Finding {
        severity: Severity::Warning,
        problem: format!(
            "functions are installed that are not the server's own: {}{more}; a query can call them, whatever they do",
            named.join(", ")
        ),
        mend: "keep what reaches out of the server off it: `dbms.security.procedures.allowlist`, or REVOKE EXECUTE USER DEFINED FUNCTION".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_told_of_roles_and_functions_that_do_more() {
        let names = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        assert!(too_much(&names(&["reader", "PUBLIC"])).is_none());
        let found = too_much(&names(&["PUBLIC", "admin"])).unwrap();
        assert!(found.problem.contains("admin") && found.mend.contains("GRANT ROLE reader"));
        assert!(finding(&[]).is_none());
        let many = names(&["a.a", "a.b", "a.c", "a.d", "a.e", "a.f"]);
        assert!(finding(&many).unwrap().problem.contains("a.e and 1 more"));
    }
}
