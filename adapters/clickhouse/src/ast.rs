//! The verdict on a text, from the server's own syntax tree (`EXPLAIN AST`): one SELECT, without a
//! format or a file of its own, and without a function that leaves the server.

use std::collections::BTreeSet;

use store::{Code, Error};

use crate::functions;
use crate::statement::READ_ONLY;

/// Judges the lines of a tree. `listed` are the table functions of the server.
pub(crate) fn judge(
    lines: &[String],
    listed: &BTreeSet<String>,
    allowed: &BTreeSet<String>,
) -> Result<(), Error> {
    let Some(root) = lines.first() else {
        return Err(Error::new(
            Code::Internal,
            "the server answered no syntax tree",
        ));
    };
    let is_explain = root.starts_with("Explain ");
    let is_select = root.starts_with("SelectWithUnionQuery");
    let select_within = is_explain
        && lines
            .iter()
            .any(|line| depth(line) == 1 && node(line) == "SelectWithUnionQuery");
    if !is_select && !select_within {
        return Err(Error::new(
            Code::QueryRejected,
            format!("the statement is no read (`{}`)", node(root)),
        )
        .with_hint(READ_ONLY));
    }
    // Beside its parts and its SETTINGS, a SELECT has children for FORMAT and INTO OUTFILE.
    let inside = usize::from(is_explain) + 1;
    let foreign = lines.iter().skip(1).find(|line| {
        let (at, name) = (depth(line), node(line));
        (at == inside && !matches!(name, "ExpressionList" | "Set"))
            || (is_explain && at == 1 && !matches!(name, "SelectWithUnionQuery" | "Set"))
    });
    if foreign.is_some() {
        return Err(Error::new(
            Code::QueryRejected,
            "the statement has a `FORMAT` or an `INTO OUTFILE`",
        )
        .with_hint(
            "leave it out: rhizodat reads the rows itself and answers them in its own form",
        ));
    }
    for line in lines {
        refuse_reaching(line, listed, allowed)?;
    }
    Ok(())
}

fn refuse_reaching(
    line: &str,
    listed: &BTreeSet<String>,
    allowed: &BTreeSet<String>,
) -> Result<(), Error> {
    let line = line.trim_start();
    if let Some(rest) = line.strip_prefix("Function ") {
        let name = rest.split(" (").next().unwrap_or(rest);
        if functions::is_refused(&name.to_ascii_lowercase(), listed, allowed) {
            return Err(Error::new(
                Code::QueryRejected,
                format!("the function `{name}` leaves the server or reads its host"),
            )
            .with_hint("read the tables of this store; list them with `schema`"));
        }
    }
    // A database of files has every path as a table.
    if let Some(rest) = line.strip_prefix("TableIdentifier ") {
        let name = rest.split(" (").next().unwrap_or(rest);
        let is_path = name.contains(['/', '\\']);
        if is_path && !allowed.contains("file") {
            return Err(Error::new(
                Code::QueryRejected,
                format!("`{name}` is a path, not a table"),
            )
            .with_hint("read the tables of this store; list them with `schema`"));
        }
    }
    Ok(())
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The kind of node that a line shows.
fn node(line: &str) -> &str {
    line.trim_start().split(' ').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(tree: &str, allowed: &[&str]) -> Result<(), Error> {
        let lines: Vec<String> = tree.lines().map(str::to_owned).collect();
        let allowed = allowed.iter().map(|&name| name.to_owned()).collect();
        judge(&lines, &BTreeSet::new(), &allowed)
    }

    #[test]
    fn only_selects_pass() {
        let select = "SelectWithUnionQuery (children 2)\n ExpressionList (children 1)\n  SelectQuery (children 1)\n Set";
        assert_eq!(verdict(select, &[]), Ok(()));
        let explained = "Explain EXPLAIN (children 1)\n SelectWithUnionQuery (children 1)\n  ExpressionList (children 1)";
        assert_eq!(verdict(explained, &[]), Ok(()));
        for tree in [
            "InsertQuery   (children 2)\n SelectWithUnionQuery (children 1)",
            "Explain EXPLAIN AST (children 1)\n InsertQuery",
            "SelectWithUnionQuery (children 2)\n ExpressionList (children 1)\n Identifier JSON",
            "SelectWithUnionQuery (children 2)\n ExpressionList (children 1)\n Literal '/tmp/x'",
            "Explain EXPLAIN (children 1)\n SelectWithUnionQuery (children 1)\n  ExpressionList (children 1)\n  Identifier JSON",
            "digraph {",
        ] {
            assert_eq!(
                verdict(tree, &[]).unwrap_err().code,
                Code::QueryRejected,
                "{tree}"
            );
        }
    }

    #[test]
    fn functions_are_refused_wherever_they_stand() {
        for (line, allowed, passes) in [
            ("      Function URL (alias u) (children 1)", &[][..], false),
            ("      Function url (children 1)", &["url"][..], true),
            (
                "      Function executable (children 1)",
                &["executable"][..],
                false,
            ),
            ("      Function file (children 1)", &[][..], false),
            ("      Literal 'Function url'", &[][..], true),
            ("      TableIdentifier /etc/passwd", &[][..], false),
            ("      TableIdentifier t.x (alias y)", &[][..], true),
        ] {
            let tree = format!("SelectWithUnionQuery (children 1)\n ExpressionList\n{line}");
            assert_eq!(verdict(&tree, allowed).is_ok(), passes, "{line}");
        }
    }
}
