//! The statement that reaches the executor: the caller's text in parentheses, its row limit where
//! the planner sees it, and every value that may be long cut where it is stored.
//!
//! Why the parentheses hold: the server has parsed the text alone as one statement before this is
//! built, and the text's tokens are the same between two line breaks as they are alone. So the
//! parentheses it closes are its own, and what stands in ours is either a query or a syntax error.

use std::fmt::Write as _;

use crate::types::{Type, Width};

/// A statement ready to run, and how its row is laid out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrapped {
    /// The statement.
    pub(crate) sql: String,
    /// How many characters of it stand before the caller's text.
    pub(crate) characters_before: usize,
    /// The indexes of the columns that may be cut. Their lengths, as an array in this order, are
    /// the value of one more column at the end of each row, null where no value of it is cut.
    pub(crate) measured: Vec<usize>,
}

/// The most entries of a target list (`MaxTupleAttributeNumber` in PostgreSQL). An answer has one
/// less: the lengths of its values need a place.
pub(crate) const MOST_COLUMNS: usize = 1664;

/// Wraps `text`, which answers columns of these types, so that at most `rows` rows arrive and no
/// value of more than `cell_bytes` bytes.
pub(crate) fn wrap(text: &str, types: &[&Type], rows: u64, cell_bytes: u64) -> Wrapped {
    let measured: Vec<usize> = types
        .iter()
        .enumerate()
        .filter(|(_, column)| column.width != Width::Fixed)
        .map(|(index, _)| index)
        .collect();
    if measured.is_empty() {
        let before = "SELECT * FROM (\n";
        return Wrapped {
            sql: format!("{before}{text}\n) AS q LIMIT {rows}"),
            characters_before: before.len(),
            measured,
        };
    }

    let columns = names(types.len());
    let mut sql = String::with_capacity(text.len() + 256);
    sql.push_str("SELECT ");
    for (index, column) in types.iter().enumerate() {
        let _ = write!(sql, "{}, ", shown(index + 1, column.width, cell_bytes));
    }
    let lengths: Vec<String> = measured
        .iter()
        .filter_map(|&index| types.get(index).map(|column| (index + 1, column.width)))
        .map(|(number, width)| length(number, width))
        .collect();
    let lengths = lengths.join(", ");
    let _ = write!(
        sql,
        "CASE WHEN GREATEST({lengths}) > {cell_bytes} THEN ARRAY[{lengths}] END FROM (SELECT "
    );
    for (index, column) in types.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        let _ = write!(sql, "{separator}{}", taken(index + 1, column.width));
    }
    sql.push_str(" FROM (\n");
    let characters_before = sql.chars().count();
    let _ = write!(sql, "{text}\n) AS q({columns}) LIMIT {rows}) AS r");
    Wrapped {
        sql,
        characters_before,
        measured,
    }
}

fn names(count: usize) -> String {
    let names: Vec<String> = (1..=count).map(|number| format!("c{number}")).collect();
    names.join(", ")
}

/// A column as the inner level takes it: what has no length of its own becomes its output text, by
/// a cast where that is the same, else by `format`, which calls the type's output function.
fn taken(number: usize, width: Width) -> String {
    match width {
        Width::Output => format!(
            "CASE WHEN pg_catalog.num_nulls(c{number}) = 0 THEN pg_catalog.format('%s', c{number}) END AS c{number}"
        ),
        // Some are stored as text, and the cast copies nothing; others it writes as the type does.
        Width::TextLike | Width::Cast => format!("c{number}::pg_catalog.text AS c{number}"),
        Width::Fixed | Width::Text | Width::Padded | Width::Bytes => format!("c{number}"),
    }
}

/// The length in bytes of a value, read from its header without unpacking it.
fn length(number: usize, width: Width) -> String {
    debug_assert!(width != Width::Fixed);
    format!("pg_catalog.octet_length(c{number})")
}

/// A column as it is answered.
fn shown(number: usize, width: Width, cell_bytes: u64) -> String {
    let cut = match width {
        Width::Fixed => return format!("c{number}"),
        Width::Bytes => format!("pg_catalog.substring(c{number}, 1, {cell_bytes})"),
        // The cast keeps the branches of one type: else the short ones would lose their padding.
        Width::Padded => {
            let padded = format!("pg_catalog.format('%s', c{number})");
            format!("({})::pg_catalog.bpchar", beginning(&padded, cell_bytes))
        }
        // `varchar` becomes `text` by itself; the others are text already.
        Width::Text | Width::TextLike | Width::Cast | Width::Output => {
            beginning(&format!("c{number}"), cell_bytes)
        }
    };
    format!(
        "CASE WHEN {} > {cell_bytes} THEN {cut} ELSE c{number} END",
        length(number, width)
    )
}

/// The beginning of a text of at most `cell_bytes` bytes: that many characters where they are one
/// byte each, else a fourth of them, which is the longest that is sure to fit (UTF-8).
fn beginning(text: &str, cell_bytes: u64) -> String {
    let sure = (cell_bytes / 4).max(1);
    let is_plain =
        format!("pg_catalog.octet_length(pg_catalog.left({text}, {cell_bytes})) <= {cell_bytes}");
    format!("pg_catalog.left({text}, CASE WHEN {is_plain} THEN {cell_bytes} ELSE {sure} END)")
}
