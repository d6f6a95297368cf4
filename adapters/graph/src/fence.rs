//! A second fence before servers that do not enforce READ: their account cannot write, and what their
//! plans do not show is refused by its words. They are tokens of the text: no server of this kind knows
//! another spelling of them.

use std::collections::BTreeSet;

use store::{Code, Error};

use crate::bolt::Pack;
use crate::error::READ_ONLY;
use crate::lexer::{Kind, Token, tokens};
use crate::statement::place;

/// Words that begin what writes, leaves the database, ends the transaction or administers the server.
const REFUSED: &[&str] = &[
    "ALTER",
    "BEGIN",
    "COMMIT",
    "CREATE",
    "DELETE",
    "DENY",
    "DETACH",
    "DROP",
    "FINISH",
    "FOREACH",
    "GRANT",
    "INSERT",
    "LOAD",
    "MERGE",
    "NODETACH",
    "REMOVE",
    "REVOKE",
    "ROLLBACK",
    "SET",
    "SHOW",
    "START",
    "STOP",
    "TERMINATE",
    "USE",
];

/// Procedures that such a server is asked for.
const PROCEDURES: &[&str] = &["db.labels", "db.propertykeys", "db.relationshiptypes"];

/// Refuses a text by its words.
pub(crate) fn check(text: &str, allowed: &BTreeSet<String>) -> Result<(), Error> {
    let found = tokens(text);
    for (index, token) in found.iter().enumerate() {
        let refused = if is_clause(&found, index, REFUSED) {
            format!("`{}` is not permitted", token.text)
        } else if is_clause(&found, index, &["CALL"]) {
            match procedure(found.get(index + 1..).unwrap_or_default()) {
                Some(name) if !PROCEDURES.contains(&name.as_str()) && !allowed.contains(&name) => {
                    format!("the procedure `{name}` is not known to read this database alone")
                }
                _ => continue,
            }
        } else {
            continue;
        };
        return Err(Error::new(Code::QueryRejected, refused)
            .with_hint(READ_ONLY)
            .at(Some(place(text, token))));
    }
    Ok(())
}

/// What the server told of a text has to be a plan: it has none for what is no query.
pub(crate) fn judge(told: &Pack) -> Result<(), Error> {
    if told.get("plan").is_some() {
        return Ok(());
    }
    Err(
        Error::new(Code::QueryRejected, "the server has no plan for this text")
            .with_hint(READ_ONLY),
    )
}

/// Whether a token is one of these words and no name: of a property, a label, a parameter or a member.
fn is_clause(found: &[Token<'_>], index: usize, words: &[&str]) -> bool {
    let Some(token) = found.get(index) else {
        return false;
    };
    let before = index.checked_sub(1).and_then(|before| found.get(before));
    let after = found.get(index + 1);
    let is_name = before.is_some_and(|before| before.is_symbol('.') || before.is_symbol(':'))
        || after.is_some_and(|after| after.is_symbol(':'));
    token.kind == Kind::Word
        && !is_name
        && words
            .iter()
            .any(|word| token.text.eq_ignore_ascii_case(word))
}

/// The name of a procedure behind `CALL`; none where a subquery follows.
fn procedure(found: &[Token<'_>]) -> Option<String> {
    let mut name = String::new();
    for token in found {
        match token.kind {
            Kind::Word | Kind::Quoted => name.push_str(&token.text.to_lowercase()),
            Kind::Symbol if token.is_symbol('.') => name.push('.'),
            _ => break,
        }
    }
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_refused_and_names_are_not() {
        let allowed = BTreeSet::from(["my.own".to_owned()]);
        for text in [
            "MATCH (n:set {load: 1}) WHERE n.delete = 'MERGE' RETURN n.create AS `drop` // COMMIT",
            "CALL db.labels() YIELD label RETURN label",
            "CALL my.`own`()",
            "CALL { MATCH (n) RETURN n } RETURN n",
            "MATCH (n) CALL (n) { RETURN 1 AS x } RETURN x",
        ] {
            assert_eq!(check(text, &allowed), Ok(()), "{text}");
        }
        for text in [
            "COMMIT",
            "rollback",
            "MATCH (n) SET n.x = 1",
            "RETURN COLLECT { LOAD/**/CSV FROM 'file:///etc/passwd' AS l RETURN l }",
            "UNWIND [1] AS x CALL { WITH x CREATE (n) RETURN n } RETURN x",
            "CALL sql('delete')",
            "CALL {CALL`db`.`x`() YIELD a RETURN a} RETURN a",
            "TERMINATE TRANSACTIONS 'q1'",
            "/* */ show users",
        ] {
            let error = check(text, &allowed).unwrap_err();
            assert_eq!(error.code, Code::QueryRejected, "{text}");
        }
    }
}
