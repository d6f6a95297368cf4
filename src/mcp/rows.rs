//! The rows of a query as they are shown: written one by one until the byte limit, in TOON or JSON,
//! and beside it as structured content where the deployment gives it.

use serde_json::{Value as Json, json};
use store::{Code, Column, Error, Row, Value};

use super::{tokens, toon};
use crate::config::{Format, Results};

/// The most cut cells that are listed one by one.
const MOST_LISTED: usize = 20;

/// A table in the making.
pub(super) struct Rows {
    format: Format,
    head: Head,
    body: String,
    count: u64,
    /// The most bytes of the body.
    max_bytes: u64,
    structured: Option<Vec<Json>>,
    cut: Vec<Cut>,
    layout: Layout,
}

/// What stands before the rows.
struct Head {
    /// The columns with their types.
    columns: String,
    /// The names once more, where the rows leave them out.
    names: String,
}

impl Head {
    fn new(columns: &[Column], format: Format, layout: Layout) -> Self {
        match format {
            Format::Json => Self {
                columns: Json::from(described(columns)).to_string(),
                names: String::new(),
            },
            Format::Toon => Self::toon(columns, layout),
        }
    }

    fn toon(columns: &[Column], layout: Layout) -> Self {
        let mut head = Self {
            columns: format!("columns[{}]{{name,type}}:", columns.len()),
            names: String::new(),
        };
        for column in columns {
            head.columns.push_str("\n  ");
            toon::write_text(&column.name, &mut head.columns);
            head.columns.push(',');
            toon::write_text(&column.type_name, &mut head.columns);
        }
        if layout == Layout::Table {
            head.names.push('{');
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    head.names.push(',');
                }
                toon::write_key(&column.name, &mut head.names);
            }
            head.names.push('}');
        }
        head
    }

    fn bytes(&self) -> u64 {
        (self.columns.len() + self.names.len()) as u64
    }
}

/// How a row is written in TOON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// A header with the names, then values alone.
    Table,
    /// Arrays: names that are not unique would fold into one.
    Arrays,
}

/// A cell of which only the beginning is shown. Both count from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cut {
    row: u64,
    column: usize,
    bytes: u64,
}

/// Whether a row was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    Whole,
    /// The row would pass the byte limit and is not shown.
    Full,
}

impl Rows {
    /// An empty table of these columns. Errors: `limit_exceeded` where the columns alone are larger
    /// than a result may be.
    pub(super) fn new(
        columns: &[Column],
        format: Format,
        results: Results,
        max_bytes: u64,
    ) -> Result<Self, Error> {
        let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        names.sort_unstable();
        let is_unique = names.windows(2).all(|pair| pair.first() != pair.last());
        let layout = if is_unique && !columns.is_empty() {
            Layout::Table
        } else {
            Layout::Arrays
        };
        let head = Head::new(columns, format, layout);
        let Some(left) = max_bytes.checked_sub(head.bytes()) else {
            let message = format!(
                "the names and types of {} columns alone are larger than a result may be",
                columns.len()
            );
            return Err(Error::new(Code::LimitExceeded, message)
                .with_hint("select fewer columns, or give them shorter names"));
        };
        Ok(Self {
            format,
            head,
            body: String::new(),
            count: 0,
            max_bytes: left,
            structured: (results == Results::Structured).then(Vec::new),
            cut: Vec::new(),
            layout,
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn cut_cells(&self) -> usize {
        self.cut.len()
    }

    /// Writes a row, unless it would pass the byte limit.
    pub(super) fn push(&mut self, row: &Row) -> Taken {
        let before = self.body.len();
        match self.format {
            Format::Toon => self.write_toon(row),
            Format::Json => self.write_json(row),
        }
        if self.body.len() as u64 > self.max_bytes {
            self.body.truncate(before);
            return Taken::Full;
        }
        self.count += 1;
        for (index, cell) in row.iter().enumerate() {
            if let Some(bytes) = cell.cut_from {
                self.cut.push(Cut {
                    row: self.count,
                    column: index + 1,
                    bytes,
                });
            }
        }
        if let Some(structured) = &mut self.structured {
            let cells = row.iter().map(|cell| structured_value(&cell.value));
            structured.push(Json::Array(cells.collect()));
        }
        Taken::Whole
    }

    fn write_toon(&mut self, row: &Row) {
        match self.layout {
            Layout::Table => self.body.push_str("\n  "),
            Layout::Arrays => self.body.push_str(&format!("\n  - [{}]: ", row.len())),
        }
        for (index, cell) in row.iter().enumerate() {
            if index > 0 {
                self.body.push(',');
            }
            toon::write_cell(&cell.value, &mut self.body);
        }
        let trimmed = self.body.trim_end_matches(' ').len();
        self.body.truncate(trimmed);
    }

    fn write_json(&mut self, row: &Row) {
        self.body
            .push_str(if self.count == 0 { "\n" } else { ",\n" });
        self.body.push('[');
        for (index, cell) in row.iter().enumerate() {
            if index > 0 {
                self.body.push(',');
            }
            cell.value.write_json(&mut self.body);
        }
        self.body.push(']');
    }

    /// The data block: columns, then rows.
    pub(super) fn data(&self) -> String {
        let Head { columns, names } = &self.head;
        let body = &self.body;
        match self.format {
            Format::Toon => format!("{columns}\nrows[{}]{names}:{body}", self.count),
            Format::Json => format!("{{\"columns\":{columns},\"rows\":[{body}]}}"),
        }
    }

    /// A line for each cut cell, as many as fit.
    pub(super) fn cut_notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self
            .cut
            .iter()
            .take(MOST_LISTED)
            .map(|cut| {
                format!(
                    "cut: row {} column {} shows the beginning of {} bytes",
                    cut.row, cut.column, cut.bytes
                )
            })
            .collect();
        if self.cut.len() > MOST_LISTED {
            notes.push(format!("cut: and {} more", self.cut.len() - MOST_LISTED));
        }
        notes
    }

    /// The whole result for programs.
    pub(super) fn structured(self, columns: &[Column], truncated: Json) -> Option<Json> {
        let rows = self.structured?;
        let cut: Vec<Json> = self
            .cut
            .iter()
            .map(|cut| json!({"row": cut.row, "column": cut.column, "bytes": cut.bytes}))
            .collect();
        Some(json!({
            "columns": described(columns),
            "rows": rows,
            "row_count": self.count,
            "truncated": truncated,
            "cells_truncated": cut.len(),
            "cut_cells": cut,
        }))
    }
}

fn described(columns: &[Column]) -> Vec<Json> {
    columns
        .iter()
        .map(|column| json!({"name": column.name, "type": column.type_name}))
        .collect()
}

/// A value within structured content. A JSON document with a number that a double cannot hold, or
/// with a key that its reader would take for its own, is given as its text there: what the document
/// says matters more than its shape.
fn structured_value(value: &Value) -> Json {
    let text = value.to_json();
    if tokens::reserved_key(&text).is_some() {
        return Json::String(text);
    }
    match serde_json::from_str::<Json>(&text) {
        Ok(parsed) if !matches!(value, Value::Json(_)) || keeps_numbers(&text, &parsed) => parsed,
        _ => Json::String(text),
    }
}

/// Whether every number of a JSON text has the same digits after parsing.
fn keeps_numbers(text: &str, parsed: &Json) -> bool {
    let compact: String = numbers(text).join(" ");
    let after: String = numbers(&parsed.to_string()).join(" ");
    compact == after
}

/// The number tokens of a JSON text.
fn numbers(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_string = false;
    let mut escaped = false;
    let mut start = None;
    for (index, byte) in text.bytes().enumerate() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        let is_part =
            byte.is_ascii_digit() || (start.is_some() && b".eE+-".contains(&byte)) || byte == b'-';
        match (is_part, start) {
            (true, None) => start = Some(index),
            (false, Some(from)) => {
                found.extend(text.get(from..index));
                start = None;
            }
            _ => {}
        }
        in_string = byte == b'"';
    }
    found.extend(start.and_then(|from| text.get(from..)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Cell;

    fn columns(names: &[&str]) -> Vec<Column> {
        names
            .iter()
            .map(|name| Column {
                name: (*name).to_owned(),
                type_name: "text".to_owned(),
            })
            .collect()
    }

    fn text_row(texts: &[&str]) -> Row {
        texts
            .iter()
            .map(|text| Cell::whole(Value::Text((*text).to_owned())))
            .collect()
    }

    #[test]
    fn tables_read_back_in_both_formats() {
        for names in [["a", "b"], ["a", "a"]] {
            let columns = columns(&names);
            let mut toon = Rows::new(&columns, Format::Toon, Results::TextOnly, 1000).unwrap();
            let mut json = Rows::new(&columns, Format::Json, Results::Structured, 1000).unwrap();
            for row in [text_row(&["x,1", ""]), text_row(&["y", " z"])] {
                assert_eq!(toon.push(&row), Taken::Whole);
                assert_eq!(json.push(&row), Taken::Whole);
            }
            let from_json: Json = serde_json::from_str(&json.data()).unwrap();
            assert_eq!(from_json["rows"], json!([["x,1", ""], ["y", " z"]]));
            let structured = json.structured(&columns, json!(false)).unwrap();
            assert_eq!(structured["rows"], from_json["rows"]);

            let from_toon: Json = toon_format::decode_default(&toon.data()).unwrap();
            let expected = if names == ["a", "b"] {
                json!([{"a": "x,1", "b": ""}, {"a": "y", "b": " z"}])
            } else {
                from_json["rows"].clone()
            };
            assert_eq!(from_toon["rows"], expected);
            assert_eq!(
                from_toon["columns"][0],
                json!({"name": "a", "type": "text"})
            );
        }
    }

    #[test]
    fn the_byte_limit_leaves_whole_rows() {
        let columns = columns(&["a"]);
        let head = r#"[{"name":"a","type":"text"}]"#.len() as u64;
        let new = |bytes| Rows::new(&columns, Format::Json, Results::TextOnly, bytes);
        let too_wide = new(head - 1).err().unwrap();
        assert_eq!(too_wide.code, Code::LimitExceeded);
        let mut rows = new(head + 20).unwrap();
        assert_eq!(rows.push(&text_row(&["0123456789"])), Taken::Whole);
        assert_eq!(rows.push(&text_row(&["0123456789"])), Taken::Full);
        assert_eq!(rows.count(), 1);
        let data: Json = serde_json::from_str(&rows.data()).unwrap();
        assert_eq!(data["rows"], json!([["0123456789"]]));
    }

    #[test]
    fn documents_keep_their_numbers_in_structured_content() {
        let raw = |text: &str| {
            Value::Json(serde_json::value::RawValue::from_string(text.into()).unwrap())
        };
        assert_eq!(
            structured_value(&raw("{\"a\": [1, \"2.50\"]}")),
            json!({"a": [1, "2.50"]})
        );
        for text in [
            "{\"a\": 1.10}",
            "[12345678901234567890123]",
            "1e400",
            "{\"$serde_json::private::RawValue\": \"[1]\"}",
            "[{\"\\u0024serde_json::private::RawValue\": 1}]",
        ] {
            assert_eq!(structured_value(&raw(text)), json!(text));
        }
        let key = "$serde_json::private::RawValue".to_owned();
        let object = Value::Object(vec![(key, Value::Text("[1]".to_owned()))]);
        assert_eq!(structured_value(&object), json!(object.to_json()));
    }
}
