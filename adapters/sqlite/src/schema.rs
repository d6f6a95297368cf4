//! A page of the database's tables, read through SQLite's own table-valued pragmas: under the same
//! authorizer as everything else.

use rusqlite::{Params, Row};
use store::Error;
use store::schema::{Detail, ForeignKey, Index, Page, Request, Table, TableColumn, TableName};

use crate::ddl;
use crate::error;
use crate::session::Session;
use crate::ticket::Ticket;

/// Reads one page.
pub(crate) fn page(session: &Session, request: &Request, ticket: &Ticket) -> Result<Page, Error> {
    let reader = Reader { session, ticket };
    let mut names = reader.names()?;
    if let Some(wanted) = &request.table {
        let wanted = wanted.strip_prefix("main.").unwrap_or(wanted);
        names.retain(|(name, _)| name.name.eq_ignore_ascii_case(wanted));
    }
    if let Some(pattern) = &request.like {
        // Queries may call the one schema by its name.
        names.retain(|(name, _)| {
            pattern.fits(&TableName {
                schema: Some("main".to_owned()),
                name: name.name.clone(),
            })
        });
    }
    if let Some(after) = &request.after {
        names.retain(|(name, _)| name > after);
    }
    names.sort();
    let more = names.len() > request.page;
    names.truncate(request.page);
    let estimates = request.detail != Detail::Names && reader.has_statistics()?;
    let mut tables = Vec::with_capacity(names.len());
    for (name, kind) in names {
        let mut table = Table::named(name, kind);
        if request.detail != Detail::Names {
            reader.describe(&mut table, request.detail)?;
            if estimates {
                table.row_estimate = reader.estimate(&table.name.name)?;
            }
        }
        tables.push(table);
    }
    Ok(Page { tables, more })
}

/// Whether there is anything to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Tables,
    Nothing,
}

/// Looks whether the database has a table or a view.
pub(crate) fn content(session: &Session, ticket: &Ticket) -> Result<Content, Error> {
    let names = Reader { session, ticket }.names()?;
    Ok(if names.is_empty() {
        Content::Nothing
    } else {
        Content::Tables
    })
}

struct Reader<'a> {
    session: &'a Session,
    ticket: &'a Ticket,
}

impl Reader<'_> {
    fn names(&self) -> Result<Vec<(TableName, &'static str)>, Error> {
        self.rows(
            "SELECT name, type FROM pragma_table_list \
             WHERE schema = 'main' AND type IN ('table', 'view', 'virtual')",
            (),
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)),
        )
        .map(|found| {
            found
                .into_iter()
                .filter(|(name, _)| !name.starts_with("sqlite_"))
                .map(|(name, kind)| (TableName { schema: None, name }, kind_of(&kind)))
                .collect()
        })
    }

    fn describe(&self, table: &mut Table, detail: Detail) -> Result<(), Error> {
        let name = table.name.name.clone();
        let ddl = self
            .rows(
                "SELECT sql FROM sqlite_schema WHERE name = ?1 AND type IN ('table', 'view')",
                [&name],
                |row| row.get::<_, Option<String>>(0),
            )?
            .into_iter()
            .flatten()
            .next();
        let (columns, primary_key) = self.columns(&name, ddl.as_deref())?;
        table.columns = columns;
        table.primary_key = primary_key;
        if table.kind == "table" {
            table.foreign_keys = self.foreign_keys(&name)?;
            table.indexes = self.indexes(&name)?;
        }
        if detail == Detail::Full {
            table.ddl = ddl;
        }
        Ok(())
    }

    /// The columns, and the names of those in the primary key. A view that refers to what is gone,
    /// or a virtual table whose module is not here, has none that can be told.
    fn columns(
        &self,
        table: &str,
        ddl: Option<&str>,
    ) -> Result<(Vec<TableColumn>, Vec<String>), Error> {
        let found = self.rows(
            "SELECT name, type, \"notnull\", dflt_value, pk, hidden \
             FROM pragma_table_xinfo(?1) WHERE hidden <> 1 ORDER BY cid",
            [table],
            |row| {
                Ok(FoundColumn {
                    name: row.get(0)?,
                    type_name: row.get(1)?,
                    not_null: row.get(2)?,
                    default: row.get(3)?,
                    key_place: row.get(4)?,
                    hidden: row.get(5)?,
                })
            },
        );
        let found = match found {
            Ok(found) => found,
            Err(error) if error.code == store::Code::QueryFailed => return Ok(Default::default()),
            Err(error) => return Err(error),
        };
        let mut key: Vec<(i64, &FoundColumn)> = found
            .iter()
            .filter(|column| column.key_place > 0)
            .map(|column| (column.key_place, column))
            .collect();
        key.sort_by_key(|(place, _)| *place);
        let row_id = match key.as_slice() {
            [(_, column)] if column.type_name.eq_ignore_ascii_case("integer") => Some(&column.name),
            _ => None,
        };
        let columns = found
            .iter()
            .map(|column| TableColumn {
                name: column.name.clone(),
                type_name: column.type_name.clone(),
                nullable: !column.not_null && row_id != Some(&column.name),
                default: column.default_or_generation(ddl),
                comment: None,
            })
            .collect();
        let names = key.iter().map(|(_, column)| column.name.clone()).collect();
        Ok((columns, names))
    }

    fn foreign_keys(&self, table: &str) -> Result<Vec<ForeignKey>, Error> {
        // SQLite numbers them backwards.
        let found = self.rows(
            "SELECT id, \"table\", \"from\", \"to\" \
             FROM pragma_foreign_key_list(?1) ORDER BY id DESC, seq",
            [table],
            |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, String>(2)?,
                    row.get::<_, Option<String>>(3)?,
                ))
            },
        )?;
        let mut keys: Vec<(i64, ForeignKey)> = Vec::new();
        for (id, referenced, from, to) in found {
            if keys.last().is_none_or(|(last, _)| *last != id) {
                let key = ForeignKey {
                    columns: Vec::new(),
                    references: TableName {
                        schema: None,
                        name: referenced,
                    },
                    referenced_columns: Vec::new(),
                };
                keys.push((id, key));
            }
            if let Some((_, key)) = keys.last_mut() {
                key.columns.push(from);
                key.referenced_columns.extend(to);
            }
        }
        Ok(keys.into_iter().map(|(_, key)| key).collect())
    }

    /// The indexes but that of the primary key, which the key itself tells.
    fn indexes(&self, table: &str) -> Result<Vec<Index>, Error> {
        let found = self.rows(
            "SELECT l.name, l.\"unique\", s.sql FROM pragma_index_list(?1) AS l \
             LEFT JOIN sqlite_schema AS s ON s.type = 'index' AND s.name = l.name \
             WHERE l.origin <> 'pk' ORDER BY l.name",
            [table],
            |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, bool>(1)?,
                    row.get::<_, Option<String>>(2)?,
                ))
            },
        )?;
        let mut indexes = Vec::with_capacity(found.len());
        for (name, unique, ddl) in found {
            let parts = match ddl {
                Some(ddl) => ddl::index_parts(&ddl),
                None => ddl::IndexParts {
                    columns: self.index_columns(&name)?,
                    condition: None,
                },
            };
            indexes.push(Index {
                name,
                unique,
                columns: parts.columns,
                condition: parts.condition,
            });
        }
        Ok(indexes)
    }

    fn index_columns(&self, index: &str) -> Result<Vec<String>, Error> {
        self.rows(
            "SELECT name FROM pragma_index_info(?1) ORDER BY seqno",
            [index],
            |row| row.get::<_, Option<String>>(0),
        )
        .map(|names| names.into_iter().flatten().collect())
    }

    fn has_statistics(&self) -> Result<bool, Error> {
        self.rows(
            "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'",
            (),
            |_| Ok(()),
        )
        .map(|found| !found.is_empty())
    }

    /// The rows that `ANALYZE` counted. A partial index counts fewer than its table has.
    fn estimate(&self, table: &str) -> Result<Option<u64>, Error> {
        self.rows(
            "SELECT max(CAST(stat AS INTEGER)) FROM sqlite_stat1 WHERE tbl = ?1",
            [table],
            |row| row.get::<_, Option<i64>>(0),
        )
        .map(|found| {
            let counted = found.into_iter().flatten().next()?;
            u64::try_from(counted).ok()
        })
    }

    fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        self.session.watch().begin();
        let found = || -> rusqlite::Result<Vec<T>> {
            let mut statement = self.session.connection().prepare(sql)?;
            statement.query_map(params, read)?.collect()
        };
        found().map_err(|failure| {
            self.session
                .cut_short(&failure, self.ticket)
                .unwrap_or_else(|| error::of_statement(&failure))
        })
    }
}

struct FoundColumn {
    name: String,
    type_name: String,
    not_null: bool,
    default: Option<String>,
    key_place: i64,
    hidden: i64,
}

impl FoundColumn {
    fn default_or_generation(&self, ddl: Option<&str>) -> Option<String> {
        let kept = match self.hidden {
            2 => "virtual",
            3 => "stored",
            _ => return self.default.clone(),
        };
        let expression = ddl
            .and_then(|ddl| ddl::generated_by(ddl, &self.name))
            .unwrap_or_default();
        Some(format!("generated always as {expression} {kept}"))
    }
}

fn kind_of(found: &str) -> &'static str {
    match found {
        "view" => "view",
        "virtual" => "virtual table",
        _ => "table",
    }
}

#[cfg(test)]
mod tests;
