//! What SQLite tells of a table or an index only in the statement that made it.

use crate::lexer::{Token, tokens};

/// The columns or expressions of an index, and the condition of a partial one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexParts {
    /// Each as it was written, with its collation and order.
    pub(crate) columns: Vec<String>,
    /// The condition.
    pub(crate) condition: Option<String>,
}

/// Reads a `CREATE INDEX` statement.
pub(crate) fn index_parts(ddl: &str) -> IndexParts {
    let (items, after) = first_list(ddl);
    let condition = ddl.get(after..).and_then(|rest| {
        let word = tokens(rest).next().filter(|token| token.is("where"))?;
        rest.get(word.end()..)
            .map(|condition| condition.trim().to_owned())
    });
    IndexParts {
        columns: items
            .into_iter()
            .map(|item| item.trim().to_owned())
            .collect(),
        condition,
    }
}

/// The expression that generates a column, with its parentheses, out of a `CREATE TABLE` statement.
pub(crate) fn generated_by(ddl: &str, column: &str) -> Option<String> {
    let (items, _) = first_list(ddl);
    let definition = items.into_iter().find(|item| {
        tokens(item)
            .next()
            .is_some_and(|first| first.name().eq_ignore_ascii_case(column))
    })?;
    let mut depth = Depth::default();
    let mut last_word_is_as = false;
    let mut opened: Option<usize> = None;
    for token in tokens(definition) {
        let before = depth.of(&token);
        match opened {
            None if before == 0 && token.is("(") && last_word_is_as => opened = Some(token.start),
            Some(start) if depth.now == 0 => {
                return definition.get(start..token.end()).map(str::to_owned);
            }
            _ => {}
        }
        last_word_is_as = before == 0 && token.is("as");
    }
    None
}

/// How deep in parentheses the tokens are.
#[derive(Default)]
struct Depth {
    now: usize,
}

impl Depth {
    /// Takes a token in, and answers the depth before it.
    fn of(&mut self, token: &Token<'_>) -> usize {
        let before = self.now;
        if token.is("(") {
            self.now += 1;
        } else if token.is(")") {
            self.now = self.now.saturating_sub(1);
        }
        before
    }
}

/// The items of the first parenthesised list, and the byte after it.
fn first_list(ddl: &str) -> (Vec<&str>, usize) {
    let mut items = Vec::new();
    let mut depth = Depth::default();
    let mut item_from = None;
    for token in tokens(ddl) {
        let before = depth.of(&token);
        match item_from {
            None if token.is("(") => item_from = Some(token.end()),
            Some(from) if before == 1 && (token.is(",") || token.is(")")) => {
                items.extend(ddl.get(from..token.start));
                if token.is(")") {
                    return (items, token.end());
                }
                item_from = Some(token.end());
            }
            _ => {}
        }
    }
    (items, ddl.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_tells_its_parts() {
        let parts = index_parts(
            "CREATE UNIQUE INDEX \"odd (name\" ON t(a, lower(b || ',)') COLLATE nocase DESC) -- x\n WHERE a > 1 AND b IN (2, 3)",
        );
        assert_eq!(parts.columns, ["a", "lower(b || ',)') COLLATE nocase DESC"]);
        assert_eq!(parts.condition.as_deref(), Some("a > 1 AND b IN (2, 3)"));
        let plain = index_parts("CREATE INDEX i ON t(a)");
        assert_eq!((plain.columns.len(), plain.condition), (1, None));
    }

    #[test]
    fn a_generated_column_tells_its_expression() {
        let ddl = "CREATE TABLE t(a CHECK (a AS (b)), \"as\" INT, c AS (a * (1 + 2)) STORED, \
                   [d e] TEXT COLLATE nocase GENERATED ALWAYS AS (c || ')') , CHECK (c > 0))";
        assert_eq!(generated_by(ddl, "C").as_deref(), Some("(a * (1 + 2))"));
        assert_eq!(generated_by(ddl, "d e").as_deref(), Some("(c || ')')"));
        for column in ["a", "as", "none"] {
            assert_eq!(generated_by(ddl, column), None, "{column}");
        }
    }
}
