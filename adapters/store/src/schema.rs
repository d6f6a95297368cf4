//! What a store says of its own shape: tables, columns, keys and indexes, a page at a time.

use std::time::Duration;

/// How much is told of each table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// Names and kinds.
    Names,
    /// And columns, keys, foreign keys, indexes and comments.
    #[default]
    Columns,
    /// And the store's own DDL.
    Full,
}

/// A request for one page.
#[derive(Debug, Clone)]
pub struct Request {
    /// Only this table: `table` or `schema.table`, in the store's own spelling.
    pub table: Option<String>,
    /// Only tables whose `schema.table` (and, for what needs no schema, `table`) fits.
    pub like: Option<Pattern>,
    /// How much is told.
    pub detail: Detail,
    /// Start after this table.
    pub after: Option<TableName>,
    /// The most tables answered.
    pub page: usize,
    /// How long it may take.
    pub timeout: Duration,
}

/// One page of tables, in the order of `(schema, name)`.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The tables.
    pub tables: Vec<Table>,
    /// Whether tables follow after the last one here.
    pub more: bool,
}

/// A table's full name. Orders as pages do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName {
    /// The schema, where the store has them.
    pub schema: Option<String>,
    /// The name within it.
    pub name: String,
}

impl std::fmt::Display for TableName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// One table, view or the like.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its full name.
    pub name: TableName,
    /// What it is: `table`, `view`, `materialized view`, `foreign table`, `partitioned table`,
    /// `virtual table`, `dictionary`.
    pub kind: &'static str,
    /// The store's own guess at its rows, where it has one.
    pub row_estimate: Option<u64>,
    /// The comment on it.
    pub comment: Option<String>,
    /// Its columns, in order.
    pub columns: Vec<TableColumn>,
    /// The columns of its primary key, in the key's order.
    pub primary_key: Vec<String>,
    /// Its foreign keys.
    pub foreign_keys: Vec<ForeignKey>,
    /// Its indexes.
    pub indexes: Vec<Index>,
    /// The store's own statement that makes it.
    pub ddl: Option<String>,
}

impl Table {
    /// A table of which only the name and kind are known.
    pub fn named(name: TableName, kind: &'static str) -> Self {
        Self {
            name,
            kind,
            row_estimate: None,
            comment: None,
            columns: Vec::new(),
            primary_key: Vec::new(),
            foreign_keys: Vec::new(),
            indexes: Vec::new(),
            ddl: None,
        }
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// The store's own name of its type, with its modifiers.
    pub type_name: String,
    /// Whether it may hold null.
    pub nullable: bool,
    /// The expression of its default or of its generation.
    pub default: Option<String>,
    /// The comment on it.
    pub comment: Option<String>,
}

/// A foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    /// The columns here.
    pub columns: Vec<String>,
    /// The table they refer to.
    pub references: TableName,
    /// The columns there; empty where the store leaves them to the other table's primary key.
    pub referenced_columns: Vec<String>,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Whether it keeps its columns unique.
    pub unique: bool,
    /// Its columns or expressions, in order.
    pub columns: Vec<String>,
    /// The condition of a partial index.
    pub condition: Option<String>,
}

/// A pattern over names, in which `*` stands for any run of characters. Case is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern as the caller wrote it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into().to_lowercase())
    }

    /// The pattern for SQL's `LIKE … ESCAPE '\'`, in lower case.
    pub fn sql_like(&self) -> String {
        let mut like = String::with_capacity(self.0.len() + 4);
        for character in self.0.chars() {
            match character {
                '*' => like.push('%'),
                '%' | '_' | '\\' => {
                    like.push('\\');
                    like.push(character);
                }
                other => like.push(other),
            }
        }
        like
    }

    /// Whether the table's name, with or without its schema, fits.
    pub fn fits(&self, name: &TableName) -> bool {
        let pattern: Vec<char> = self.0.chars().collect();
        fits(&pattern, &name.to_string().to_lowercase())
            || fits(&pattern, &name.name.to_lowercase())
    }
}

/// Matches in time proportional to `pattern × text`: on a mismatch, only the last `*` is retried.
fn fits(pattern: &[char], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut at_pattern, mut at_text) = (0, 0);
    let mut last_star: Option<(usize, usize)> = None;
    while let Some(&character) = text.get(at_text) {
        match pattern.get(at_pattern) {
            Some('*') => {
                last_star = Some((at_pattern, at_text));
                at_pattern += 1;
            }
            Some(&expected) if expected == character => {
                at_pattern += 1;
                at_text += 1;
            }
            _ => {
                let Some((star, started)) = last_star else {
                    return false;
                };
                last_star = Some((star, started + 1));
                at_pattern = star + 1;
                at_text = started + 1;
            }
        }
    }
    pattern
        .get(at_pattern..)
        .is_some_and(|rest| rest.iter().all(|&character| character == '*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(schema: &str, table: &str) -> TableName {
        TableName {
            schema: Some(schema.to_owned()),
            name: table.to_owned(),
        }
    }

    #[test]
    fn a_star_stands_for_any_run_and_case_is_ignored() {
        for (pattern, fits) in [
            ("sales.*", true),
            ("*.Order*", true),
            ("order*", true),
            ("*a*l*s", true),
            ("orders", true),
            ("sales", false),
            ("order", false),
            ("*.lines", false),
            ("", false),
        ] {
            let fitted = Pattern::new(pattern).fits(&name("sales", "orders"));
            assert_eq!(fitted, fits, "{pattern}");
        }
        assert_eq!(Pattern::new("a_b%*").sql_like(), r"a\_b\%%");
    }
}
