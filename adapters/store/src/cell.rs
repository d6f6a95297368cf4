//! Columns, cells and rows of an answer.

use crate::Value;

/// A column of an answer, under the store's own names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The column's name, not necessarily unique.
    pub name: String,
    /// The store's own name of its type.
    pub type_name: String,
}

/// One value, and its true length where only its beginning was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The value, or the beginning of its text or bytes.
    pub value: Value,
    /// The length in bytes of the whole value in the store, when `value` is only its beginning.
    pub cut_from: Option<u64>,
}

impl Cell {
    /// A cell that holds its whole value.
    pub fn whole(value: Value) -> Self {
        Self {
            value,
            cut_from: None,
        }
    }

    /// A cell that holds the beginning of a value of `length` bytes.
    pub fn cut(value: Value, length: u64) -> Self {
        Self {
            value,
            cut_from: Some(length),
        }
    }
}

/// The cells of one row, in the order of the columns.
pub type Row = Vec<Cell>;
