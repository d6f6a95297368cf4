//! `query`: one read statement in the store's own language.

use serde_json::{Value, json};
use store::{Code, Error, Kind, Limits, QueryRequest};

use super::{Description, Failure, parameters};
use crate::mcp::arguments::Arguments;
use crate::mcp::gateway::Gateway;
use crate::mcp::reply::Reply;
use crate::mcp::rows::{Rows, Taken};
use crate::stores::{Answer, Settled};

pub(super) fn described() -> Description {
    (
        "Query",
        "Run one read-only statement in the store's own language and return its rows. Pass values in `params`.",
        parameters(
            json!({
                "store": {"type": "string"},
                "query": {"type": "string"},
                "params": {"type": "array", "items": {}, "description": "Values for $1, $2… (PostgreSQL, graph), ?1, ?2… (SQLite) or {p1:Type}… (ClickHouse)"},
                "limit": {"type": "integer", "minimum": 1, "description": "Most rows"},
            }),
            &["store", "query"],
        ),
        json!({
            "type": "object",
            "properties": {
                "columns": {"type": "array", "items": {"type": "object"}},
                "rows": {"type": "array", "items": {"type": "array"}},
                "row_count": {"type": "integer"},
                "truncated": {"description": "false, or the limit that cut: rows, bytes"},
                "cells_truncated": {"type": "integer"},
                "cut_cells": {"type": "array", "items": {"type": "object"}},
            },
            "required": ["columns", "rows", "row_count", "truncated", "cells_truncated"],
        }),
    )
}

/// Which limit ended the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truncated {
    No,
    Rows,
    Bytes,
}

impl Truncated {
    fn name(self) -> &'static str {
        match self {
            Self::No => "false",
            Self::Rows => "rows",
            Self::Bytes => "bytes",
        }
    }

    fn hint(self, rows: u64) -> Option<&'static str> {
        match self {
            Self::No => None,
            Self::Rows => Some(
                "hint: more rows exist; filter, aggregate, or go on from the last row by a filter on the order",
            ),
            Self::Bytes if rows == 0 => Some(
                "hint: the first row alone is larger than a result may be; select fewer columns",
            ),
            Self::Bytes => {
                Some("hint: more rows exist; select fewer columns, filter, or aggregate")
            }
        }
    }
}

/// What is said of an answer of PostgreSQL that was stopped before its end: a function of the
/// database can move the settings that values are written by, and that is seen only there.
const UNCHECKED: &str =
    "unchecked: the query was stopped before its end, where changed settings would show";

pub(super) async fn call(gateway: &Gateway, mut arguments: Arguments) -> Result<Reply, Failure> {
    let name = arguments.required_text("store")?;
    let handle = gateway.stores.get(&name)?;
    let failed = Failure::of(&name);
    let text = arguments.required_text("query").map_err(&failed)?;
    if text.trim().is_empty() {
        return Err(failed(Arguments::missing("query")));
    }
    let params = arguments.array("params").map_err(&failed)?;
    let asked = arguments.positive("limit").map_err(&failed)?;
    gateway.guard.statement(&text).map_err(&failed)?;
    let limits = gateway.guard.limits();
    let request = QueryRequest {
        text,
        params,
        limits: Limits {
            rows: gateway.guard.rows(asked).map_err(&failed)?,
            cell_bytes: limits.max_cell_bytes,
            timeout: gateway.query_timeout,
        },
    };
    let mut answer = handle.query(request).await.map_err(&failed)?;
    let columns = std::sync::Arc::clone(answer.columns());
    let table = Rows::new(&columns, gateway.format, gateway.results, limits.max_bytes);
    let mut rows = match table {
        Ok(rows) => rows,
        Err(error) => {
            gateway.abandon(answer);
            return Err(failed(error));
        }
    };
    let truncated = read(&mut answer, &mut rows).await.map_err(&failed)?;
    let settled = match truncated {
        Truncated::Bytes => answer.settle().await.map_err(&failed)?,
        Truncated::No | Truncated::Rows => Settled::Checked,
    };

    let mut notes = vec![
        format!("row_count: {}", rows.count()),
        format!("truncated: {}", truncated.name()),
        format!("cells_truncated: {}", rows.cut_cells()),
    ];
    notes.extend(rows.cut_notes());
    if settled == Settled::Unchecked && handle.profile().kind == Kind::Postgresql {
        notes.push(UNCHECKED.to_owned());
    }
    notes.extend(truncated.hint(rows.count()).map(str::to_owned));
    let data = rows.data();
    let flag = match truncated {
        Truncated::No => Value::Bool(false),
        cut => Value::from(cut.name()),
    };
    Ok(Reply {
        notes,
        data,
        structured: rows.structured(&columns, flag),
    })
}

async fn read(answer: &mut Answer, rows: &mut Rows) -> Result<Truncated, Error> {
    while let Some(row) = answer.next().await? {
        if row.len() != answer.columns().len() {
            return Err(Error::new(Code::Internal, "a row does not fit its columns"));
        }
        if rows.push(&row) == Taken::Full {
            return Ok(Truncated::Bytes);
        }
    }
    if answer.has_more_rows() {
        return Ok(Truncated::Rows);
    }
    Ok(Truncated::No)
}
