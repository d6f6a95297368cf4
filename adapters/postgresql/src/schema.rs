//! Tables, views and what they are made of, from the catalogue. Each table comes as one JSON
//! document that the server builds, so a page is one round trip.

use serde_json::Value as Json;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Row as _};
use store::schema::{Detail, ForeignKey, Index, Page, Request, Table, TableColumn, TableName};

use crate::params::quote;

/// One page of the tables this account may see.
pub(crate) async fn page(
    connection: &mut PgConnection,
    request: &Request,
) -> Result<Page, sqlx::Error> {
    let rows = sqlx::raw_sql(AssertSqlSafe(page_sql(request)))
        .fetch_all(connection)
        .await?;
    let more = rows.len() > request.page;
    let tables: Result<Vec<Table>, sqlx::Error> = rows
        .iter()
        .take(request.page)
        .map(|row| {
            let document: String = row.try_get(0)?;
            let document: Json = serde_json::from_str(&document)
                .map_err(|source| sqlx::Error::Decode(Box::new(source)))?;
            Ok(table(&document))
        })
        .collect();
    Ok(Page {
        tables: tables?,
        more,
    })
}

/// The names of tables this account may read, for hints.
pub(crate) async fn table_names(
    connection: &mut PgConnection,
) -> Result<Vec<TableName>, sqlx::Error> {
    let sql = format!(
        "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE {VISIBLE} ORDER BY n.nspname, c.relname LIMIT 2000"
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_all(connection)
        .await?;
    rows.iter()
        .map(|row| {
            Ok(TableName {
                schema: Some(row.try_get(0)?),
                name: row.try_get(1)?,
            })
        })
        .collect()
}

/// The names of the columns of the tables with these names, for hints.
pub(crate) async fn column_names(
    connection: &mut PgConnection,
    tables: &[String],
) -> Result<Vec<String>, sqlx::Error> {
    let names: Vec<String> = tables.iter().map(|table| quote(table)).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT DISTINCT a.attname FROM pg_catalog.pg_attribute a
         JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
         WHERE {VISIBLE} AND c.relname IN ({}) AND a.attnum > 0 AND NOT a.attisdropped LIMIT 2000",
        names.join(", ")
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Tables of users that this account may see; partitions stand behind their table.
const VISIBLE: &str = "c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'
    AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
    AND (pg_catalog.has_table_privilege(c.oid, 'SELECT')
         OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT'))";

fn page_sql(request: &Request) -> String {
    let mut conditions = vec![VISIBLE.to_owned()];
    match &request.table {
        Some(table) => {
            let name = quote(table);
            conditions.push(format!(
                "(c.relname = {name} OR n.nspname || '.' || c.relname = {name})"
            ));
        }
        None => conditions.push("NOT c.relispartition".to_owned()),
    }
    if let Some(like) = &request.like {
        let pattern = quote(&like.sql_like());
        conditions.push(format!(
            "(pg_catalog.lower(n.nspname || '.' || c.relname) LIKE {pattern} ESCAPE E'\\\\' \
              OR pg_catalog.lower(c.relname) LIKE {pattern} ESCAPE E'\\\\')"
        ));
    }
    if let Some(after) = &request.after {
        conditions.push(format!(
            "(n.nspname, c.relname) > ({}, {})",
            quote(after.schema.as_deref().unwrap_or_default()),
            quote(&after.name)
        ));
    }
    let mut parts = vec![
        "'schema', c.nspname, 'name', c.relname, 'kind', c.relkind".to_owned(),
        "'rows', CASE WHEN c.reltuples >= 0 AND c.relkind IN ('r', 'p', 'm') THEN c.reltuples::pg_catalog.int8 END".to_owned(),
    ];
    if request.detail != Detail::Names {
        parts.push(COLUMNS.to_owned());
        parts.push(KEYS.to_owned());
        parts.push(INDEXES.to_owned());
    }
    if request.detail == Detail::Full {
        parts.push(DDL.to_owned());
    }
    // The page is chosen first; its tables' parts are then read for it alone.
    format!(
        "SELECT pg_catalog.json_build_object({})::pg_catalog.text FROM (
            SELECT c.oid, n.nspname, c.relname, c.relkind, c.reltuples
            FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE {} ORDER BY n.nspname, c.relname LIMIT {}
         ) AS c ORDER BY c.nspname, c.relname",
        parts.join(", "),
        conditions.join(" AND "),
        request.page + 1
    )
}

const COLUMNS: &str = "
    'comment', pg_catalog.obj_description(c.oid, 'pg_class'),
    'columns', (SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
            'name', a.attname, 'type', pg_catalog.format_type(a.atttypid, a.atttypmod),
            'nullable', NOT a.attnotnull,
            'default', CASE WHEN a.attidentity <> '' THEN 'identity'
                WHEN a.attgenerated <> '' THEN 'generated: ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid)
                -- A default names no column, and looking them all up takes the square of their number.
                ELSE pg_catalog.pg_get_expr(d.adbin, 0) END,
            'comment', pg_catalog.col_description(c.oid, a.attnum)) ORDER BY a.attnum)
        FROM pg_catalog.pg_attribute a
        LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)";

const KEYS: &str = "
    'primary_key', (SELECT pg_catalog.json_agg(a.attname ORDER BY k.ord)
        FROM pg_catalog.pg_constraint o
        CROSS JOIN LATERAL pg_catalog.unnest(o.conkey) WITH ORDINALITY AS k(attnum, ord)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = o.conrelid AND a.attnum = k.attnum
        WHERE o.conrelid = c.oid AND o.contype = 'p'),
    'foreign_keys', (SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
            'columns', (SELECT pg_catalog.json_agg(a.attname ORDER BY k.ord)
                FROM pg_catalog.unnest(o.conkey) WITH ORDINALITY AS k(attnum, ord)
                JOIN pg_catalog.pg_attribute a ON a.attrelid = o.conrelid AND a.attnum = k.attnum),
            'schema', rn.nspname, 'name', r.relname,
            'referenced', (SELECT pg_catalog.json_agg(a.attname ORDER BY k.ord)
                FROM pg_catalog.unnest(o.confkey) WITH ORDINALITY AS k(attnum, ord)
                JOIN pg_catalog.pg_attribute a ON a.attrelid = o.confrelid AND a.attnum = k.attnum)
            ) ORDER BY o.conname)
        FROM pg_catalog.pg_constraint o
        JOIN pg_catalog.pg_class r ON r.oid = o.confrelid
        JOIN pg_catalog.pg_namespace rn ON rn.oid = r.relnamespace
        WHERE o.conrelid = c.oid AND o.contype = 'f'
            -- Not those that a partitioned table makes for each of its partitions.
            AND o.conparentid = 0)";

const INDEXES: &str = "
    'indexes', (SELECT pg_catalog.json_agg(pg_catalog.json_build_object(
            'name', x.relname, 'unique', i.indisunique,
            'columns', (SELECT pg_catalog.json_agg(pg_catalog.pg_get_indexdef(i.indexrelid, k.number, true) ORDER BY k.number)
                FROM pg_catalog.generate_series(1, i.indnkeyatts::pg_catalog.int4) AS k(number)),
            'condition', pg_catalog.pg_get_expr(i.indpred, i.indrelid)) ORDER BY x.relname)
        FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
        WHERE i.indrelid = c.oid)";

const DDL: &str = "
    'ddl', CASE WHEN c.relkind IN ('v', 'm') THEN
        CASE c.relkind WHEN 'v' THEN 'CREATE VIEW ' ELSE 'CREATE MATERIALIZED VIEW ' END
        || pg_catalog.quote_ident(c.nspname) || '.' || pg_catalog.quote_ident(c.relname)
        || ' AS' || pg_catalog.chr(10) || pg_catalog.pg_get_viewdef(c.oid, true) END";

fn table(document: &Json) -> Table {
    let name = TableName {
        schema: text(document, "schema"),
        name: text(document, "name").unwrap_or_default(),
    };
    let kind = match document.get("kind").and_then(Json::as_str) {
        Some("p") => "partitioned table",
        Some("v") => "view",
        Some("m") => "materialized view",
        Some("f") => "foreign table",
        _ => "table",
    };
    Table {
        row_estimate: document.get("rows").and_then(Json::as_u64),
        comment: text(document, "comment"),
        columns: list(document, "columns")
            .map(|column| TableColumn {
                name: text(column, "name").unwrap_or_default(),
                type_name: text(column, "type").unwrap_or_default(),
                nullable: flag(column, "nullable"),
                default: text(column, "default"),
                comment: text(column, "comment"),
            })
            .collect(),
        primary_key: strings(document, "primary_key"),
        foreign_keys: list(document, "foreign_keys")
            .map(|key| ForeignKey {
                columns: strings(key, "columns"),
                references: TableName {
                    schema: text(key, "schema"),
                    name: text(key, "name").unwrap_or_default(),
                },
                referenced_columns: strings(key, "referenced"),
            })
            .collect(),
        indexes: list(document, "indexes")
            .map(|index| Index {
                name: text(index, "name").unwrap_or_default(),
                unique: flag(index, "unique"),
                columns: strings(index, "columns"),
                condition: text(index, "condition"),
            })
            .collect(),
        ddl: text(document, "ddl"),
        ..Table::named(name, kind)
    }
}

fn text(document: &Json, key: &str) -> Option<String> {
    document.get(key)?.as_str().map(str::to_owned)
}

fn flag(document: &Json, key: &str) -> bool {
    document.get(key).and_then(Json::as_bool).unwrap_or(false)
}

fn list<'a>(document: &'a Json, key: &str) -> impl Iterator<Item = &'a Json> {
    document
        .get(key)
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
}

fn strings(document: &Json, key: &str) -> Vec<String> {
    list(document, key)
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}
