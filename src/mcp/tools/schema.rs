//! `schema`: what a store holds, a page at a time within the byte limit.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::schema::{Detail, Page, Pattern, Request, Table, TableColumn, TableName};
use store::{Code, Error, nearest, or_list};

use super::{Description, Failure, parameters};
use crate::mcp::arguments::Arguments;
use crate::mcp::gateway::Gateway;
use crate::mcp::reply::Reply;
use crate::stores::Handle;

/// How many tables are asked for at once.
const PAGE: usize = 100;

/// How many names are looked through for the nearest to one that does not exist.
const NAMES: usize = 1000;

pub(super) fn described() -> Description {
    (
        "Schema",
        "Show a store's tables: columns, types, keys, indexes.",
        parameters(
            json!({
                "store": {"type": "string"},
                "table": {"type": "string", "description": "Only this table"},
                "like": {"type": "string", "description": "`*` pattern over schema.table"},
                "detail": {"type": "string", "enum": ["names", "columns", "full"]},
                "cursor": {"type": "string"},
            }),
            &["store"],
        ),
        json!({
            "type": "object",
            "properties": {
                "tables": {"type": "array", "items": {"type": "object"}},
                "cursor": {"type": "string"},
            },
            "required": ["tables"],
        }),
    )
}

/// Where a listing goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    /// After this table.
    schema: Option<String>,
    table: Option<String>,
    /// In the table that follows, after this many columns.
    columns: usize,
}

impl Cursor {
    fn after(&self) -> Option<TableName> {
        self.table.clone().map(|name| TableName {
            schema: self.schema.clone(),
            name,
        })
    }

    /// Where to go on after `taken` of the `left` columns of a table.
    fn after_columns(&self, table: TableName, taken: usize, left: usize) -> Self {
        if taken >= left {
            return Self {
                schema: table.schema,
                table: Some(table.name),
                columns: 0,
            };
        }
        Self {
            columns: self.columns.saturating_add(taken),
            ..self.clone()
        }
    }

    fn write(&self) -> String {
        URL_SAFE_NO_PAD.encode(json!(self).to_string())
    }

    fn read(text: &str) -> Result<Self, Error> {
        URL_SAFE_NO_PAD
            .decode(text)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok())
            .filter(|cursor| !cursor.table.as_deref().unwrap_or_default().contains('\0'))
            .filter(|cursor| !cursor.schema.as_deref().unwrap_or_default().contains('\0'))
            .ok_or_else(|| {
                Error::new(
                    Code::InvalidArgument,
                    "`cursor` is not one that `schema` gave",
                )
                .with_hint("pass the cursor of the previous answer, and otherwise none")
            })
    }
}

pub(super) async fn call(gateway: &Gateway, mut arguments: Arguments) -> Result<Reply, Failure> {
    let name = arguments.required_text("store")?;
    let handle = gateway.stores.get(&name)?;
    let failed = Failure::of(&name);
    let table = arguments.text("table").map_err(&failed)?;
    refuse_nul(table.as_deref(), "table").map_err(&failed)?;
    let like = arguments.text("like").map_err(&failed)?;
    refuse_nul(like.as_deref(), "like").map_err(&failed)?;
    let asked_like = like.clone();
    let like = like.map(Pattern::new);
    let asked_detail = arguments.text("detail").map_err(&failed)?;
    let detail = detail(asked_detail.as_deref()).map_err(&failed)?;
    let cursor = match arguments.text("cursor").map_err(&failed)? {
        Some(text) => Cursor::read(&text).map_err(&failed)?,
        None => Cursor::default(),
    };

    let mut listing = Listing {
        gateway,
        tables: Vec::new(),
        bytes: 0,
        next: None,
    };
    let mut at = cursor.clone();
    loop {
        let request = Request {
            table: table.clone(),
            like: like.clone(),
            detail,
            after: at.after(),
            page: PAGE,
            timeout: gateway.query_timeout,
        };
        let page = handle.schema(request).await.map_err(&failed)?;
        let more = page.more;
        at = match listing.take(page, at).map_err(&failed)? {
            Some(reached) if more => reached,
            _ => break,
        };
    }
    if let Some(missing) = &table
        && listing.tables.is_empty()
        && cursor == Cursor::default()
    {
        return Err(failed(not_found(handle, missing).await));
    }
    let mut notes = vec![format!("table_count: {}", listing.tables.len())];
    if listing.tables.is_empty() && asked_like.is_some_and(|text| text.contains('%')) {
        notes.push("hint: the wildcard of `like` is `*`; `%` stands for itself".to_owned());
    }
    let mut content = json!({ "tables": listing.tables });
    if let Some(next) = listing.next {
        let cursor = next.write();
        notes.push(format!("cursor: {cursor}"));
        notes.push(
            "hint: more follows; call again with this cursor, or narrow with `like` or `detail`"
                .to_owned(),
        );
        if let Some(members) = content.as_object_mut() {
            members.insert("cursor".to_owned(), Value::String(cursor));
        }
    }
    let shown = json!({ "tables": content.get("tables") });
    Ok(Reply {
        notes,
        data: gateway.encode(&shown).map_err(&failed)?,
        structured: gateway.structured(content),
    })
}

fn refuse_nul(text: Option<&str>, parameter: &str) -> Result<(), Error> {
    match text {
        Some(text) if text.contains('\0') => Err(Error::new(
            Code::InvalidArgument,
            format!("`{parameter}` holds a NUL character"),
        )
        .with_hint("no name has one")),
        _ => Ok(()),
    }
}

fn detail(word: Option<&str>) -> Result<Detail, Error> {
    match word {
        None | Some("columns") => Ok(Detail::Columns),
        Some("names") => Ok(Detail::Names),
        Some("full") => Ok(Detail::Full),
        Some(other) => {
            let shown: String = other.chars().take(40).collect();
            let message = format!("`detail` cannot be `{shown}`");
            Err(Error::new(Code::InvalidArgument, message)
                .with_hint("one of `names`, `columns` or `full`"))
        }
    }
}

/// The tables taken so far.
struct Listing<'a> {
    gateway: &'a Gateway,
    tables: Vec<Value>,
    bytes: u64,
    next: Option<Cursor>,
}

impl Listing<'_> {
    /// Takes tables while they fit. Answers how far it came, or `None` where the limit stopped it.
    fn take(&mut self, page: Page, from: Cursor) -> Result<Option<Cursor>, Error> {
        let most = self.gateway.guard.limits().max_bytes;
        let mut reached = from;
        for mut table in page.tables {
            let skipped = reached.columns;
            table.columns = table.columns.split_off(skipped.min(table.columns.len()));
            let shown = document(&table);
            let bytes = self.size(&shown)?;
            if self.bytes + bytes > most {
                if self.tables.is_empty() {
                    self.take_part(table, &mut reached, most)?;
                }
                self.next = Some(reached);
                return Ok(None);
            }
            self.bytes += bytes;
            self.tables.push(shown);
            reached = Cursor {
                schema: table.name.schema,
                table: Some(table.name.name),
                columns: 0,
            };
        }
        Ok(Some(reached))
    }

    /// Takes as many columns of a table as fit: it alone is larger than a result may be.
    fn take_part(
        &mut self,
        mut table: Table,
        reached: &mut Cursor,
        most: u64,
    ) -> Result<(), Error> {
        let mut fitting = table.columns.len();
        let columns = table.columns.clone();
        let left_out = table.ddl.take().map(|_| "the DDL");
        table.comment = table
            .comment
            .map(|comment| comment.chars().take(LONGEST_COMMENT).collect());
        loop {
            table.columns = columns.iter().take(fitting).cloned().collect();
            let mut shown = document(&table);
            if let Some(what) = left_out {
                leave_out(&mut shown, what);
            }
            if self.size(&shown)? <= most {
                self.tables.push(shown);
                *reached = reached.after_columns(table.name, fitting, columns.len());
                return Ok(());
            }
            if fitting <= 1 {
                // Not even one column fits: what is left is that the table is there.
                let bare = Table::named(table.name.clone(), table.kind);
                let mut shown = document(&bare);
                leave_out(&mut shown, "everything: it is larger than a result may be");
                self.tables.push(shown);
                *reached = reached.after_columns(table.name, columns.len(), columns.len());
                return Ok(());
            }
            fitting /= 2;
        }
    }

    fn size(&self, table: &Value) -> Result<u64, Error> {
        let encoded = self.gateway.encode(&json!({ "tables": [table] }))?;
        Ok(encoded.len() as u64)
    }
}

/// The most characters of a comment on a table that is shown in parts.
const LONGEST_COMMENT: usize = 200;

/// Says within a table what of it is not shown.
fn leave_out(shown: &mut Value, what: &str) {
    if let Some(members) = shown.as_object_mut() {
        members.insert("left_out".to_owned(), json!(what));
    }
}

/// A table as it is shown: what is empty is left out.
fn document(table: &Table) -> Value {
    let mut members = serde_json::Map::new();
    let mut add = |name: &str, value: Value| {
        let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if !is_empty {
            members.insert(name.to_owned(), value);
        }
    };
    add("table", json!(table.name.to_string()));
    add("kind", json!(table.kind));
    add("row_estimate", json!(table.row_estimate));
    add("comment", json!(table.comment));
    add("columns", columns(&table.columns));
    add("primary_key", json!(table.primary_key));
    let foreign_keys = table.foreign_keys.iter().map(|key| {
        json!({
            "columns": key.columns,
            "references": key.references.to_string(),
            "referenced_columns": key.referenced_columns,
        })
    });
    add("foreign_keys", foreign_keys.collect());
    let indexes = table.indexes.iter().map(|index| {
        json!({
            "name": index.name,
            "unique": index.unique,
            "columns": index.columns,
            "condition": index.condition,
        })
    });
    add("indexes", indexes.collect());
    add("ddl", json!(table.ddl));
    Value::Object(members)
}

/// Columns with the same members each, so that they read as one table.
fn columns(columns: &[TableColumn]) -> Value {
    let has_default = columns.iter().any(|column| column.default.is_some());
    let has_comment = columns.iter().any(|column| column.comment.is_some());
    columns
        .iter()
        .map(|column| {
            let mut shown = json!({
                "name": column.name,
                "type": column.type_name,
                "nullable": column.nullable,
            });
            if let Some(members) = shown.as_object_mut() {
                if has_default {
                    members.insert("default".to_owned(), json!(column.default));
                }
                if has_comment {
                    members.insert("comment".to_owned(), json!(column.comment));
                }
            }
            shown
        })
        .collect()
}

async fn not_found(handle: &Handle, missing: &str) -> Error {
    let error = Error::new(Code::NotFound, format!("there is no table `{missing}`"));
    let request = Request {
        table: None,
        like: None,
        detail: Detail::Names,
        after: None,
        page: NAMES,
        timeout: std::time::Duration::ZERO,
    };
    let Ok(page) = handle.schema(request).await else {
        return error;
    };
    let full: Vec<String> = page.tables.iter().map(|t| t.name.to_string()).collect();
    let bare = page.tables.iter().map(|t| t.name.name.as_str());
    let close = nearest(missing, full.iter().map(String::as_str).chain(bare));
    if close.is_empty() {
        return error.with_hint("list the tables with `detail` `names`");
    }
    error.with_hint(format!("did you mean {}?", or_list(&close)))
}
