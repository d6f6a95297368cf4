//! The types of columns and parameters: the server's own names, and what their text form means.
//! They are read from the catalogue the first time a store meets them.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use sqlx::postgres::PgConnection;
use sqlx::postgres::types::Oid;
use sqlx::{AssertSqlSafe, Row as _};

use crate::time::Bound;

/// What the text form of a type means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    Boolean,
    Integer,
    Float,
    Bytes,
    Json,
    Date,
    Time,
    TimeWithZone,
    Timestamp,
    TimestampWithZone,
    Interval,
    /// A range of moments, or several.
    Range(Bound),
    Array {
        element: Oid,
        delimiter: char,
    },
    Composite {
        fields: Vec<(String, Oid)>,
    },
    /// A row whose type is not declared: its fields' types do not travel with it.
    Record,
    Domain {
        base: Oid,
    },
    /// The text is the value.
    Text,
}

/// How wide a value of a type can be, and so how it is measured and cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// Bounded by the type.
    Fixed,
    /// `text` and `varchar`.
    Text,
    /// `json`, which is stored as text.
    TextLike,
    /// `char(n)`, whose trailing blanks a cast to text would drop.
    Padded,
    /// `bytea`.
    Bytes,
    /// Anything else of variable length whose cast to text is its output text: the catalogue has no
    /// cast of its own for it.
    Cast,
    /// Anything else of variable length, whose cast to text may be another text (as `inet`'s is).
    Output,
}

/// A type of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) name: String,
    pub(crate) form: Form,
    pub(crate) width: Width,
}

/// The server's own types met so far. Shared by all connections of a store.
#[derive(Debug, Default)]
pub(crate) struct Types {
    known: RwLock<Arc<HashMap<Oid, Type>>>,
}

impl Types {
    /// A view that holds every one of `wanted` and the types they are made of. The server is asked
    /// for those not met before, and each time for those that users can alter.
    pub(crate) async fn resolve(
        &self,
        connection: &mut PgConnection,
        wanted: impl Iterator<Item = Oid>,
    ) -> Result<Arc<HashMap<Oid, Type>>, sqlx::Error> {
        let known = self.snapshot();
        let missing: Vec<String> = wanted
            .filter(|oid| !is_built_in(*oid) || !known.contains_key(oid))
            .map(|oid| oid.0.to_string())
            .collect();
        if missing.is_empty() {
            return Ok(known);
        }
        let found = read(connection, &missing.join(",")).await?;
        let mut extended = HashMap::clone(&known);
        extended.extend(found);
        let mut kept = extended.clone();
        kept.retain(|&oid, _| is_built_in(oid));
        if let Ok(mut slot) = self.known.write() {
            *slot = Arc::new(kept);
        }
        Ok(Arc::new(extended))
    }

    fn snapshot(&self) -> Arc<HashMap<Oid, Type>> {
        self.known
            .read()
            .map(|known| Arc::clone(&known))
            .unwrap_or_default()
    }
}

/// Whether a type is the server's own (`FirstNormalObjectId` in `src/include/access/transam.h`): it
/// is never altered.
fn is_built_in(oid: Oid) -> bool {
    oid.0 < 16384
}

/// The catalogue's word on types and on those they are made of. One row a type; one more row for
/// each further field of a composite.
async fn read(
    connection: &mut PgConnection,
    oids: &str,
) -> Result<HashMap<Oid, Type>, sqlx::Error> {
    let sql = format!(
        "WITH RECURSIVE wanted(oid) AS (
            SELECT pg_catalog.unnest('{{{oids}}}'::pg_catalog.oid[])
            UNION
            SELECT part.oid FROM wanted
            JOIN pg_catalog.pg_type t ON t.oid = wanted.oid
            CROSS JOIN LATERAL (
                SELECT t.typelem WHERE t.typelem <> 0
                UNION ALL SELECT t.typbasetype WHERE t.typbasetype <> 0
                UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a
                    WHERE t.typtype = 'c' AND a.attrelid = t.typrelid
                    AND a.attnum > 0 AND NOT a.attisdropped
            ) AS part(oid)
        )
        SELECT t.oid, pg_catalog.format_type(t.oid, NULL), t.typlen, t.typtype::pg_catalog.text,
            CASE WHEN e.typarray = t.oid THEN t.typelem ELSE 0 END, e.typdelim::pg_catalog.text,
            t.typbasetype, a.attname, a.atttypid,
            EXISTS (SELECT FROM pg_catalog.pg_cast o
                WHERE o.castsource = t.oid AND o.casttarget = 25) AS has_own_cast
        FROM wanted
        JOIN pg_catalog.pg_type t ON t.oid = wanted.oid
        LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND t.typelem <> 0
        LEFT JOIN pg_catalog.pg_attribute a ON t.typtype = 'c' AND a.attrelid = t.typrelid
            AND a.attnum > 0 AND NOT a.attisdropped
        ORDER BY t.oid, a.attnum"
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_all(connection)
        .await?;
    let mut types: HashMap<Oid, Type> = HashMap::new();
    for row in rows {
        let oid: Oid = row.try_get(0)?;
        let field = match row.try_get::<Option<String>, _>(7)? {
            Some(name) => Some((name, row.try_get::<Oid, _>(8)?)),
            None => None,
        };
        if let Some(known) = types.get_mut(&oid) {
            if let (Form::Composite { fields }, Some(field)) = (&mut known.form, field) {
                fields.push(field);
            }
            continue;
        }
        let kind: String = row.try_get(3)?;
        let element: Oid = row.try_get(4)?;
        let base: Oid = row.try_get(6)?;
        let form = match kind.as_str() {
            "d" => Form::Domain { base },
            "c" => Form::Composite {
                fields: field.into_iter().collect(),
            },
            _ if element.0 != 0 => Form::Array {
                element,
                delimiter: row
                    .try_get::<Option<String>, _>(5)?
                    .and_then(|delimiter| delimiter.chars().next())
                    .unwrap_or(','),
            },
            _ => built_in(oid),
        };
        let length: i16 = row.try_get(2)?;
        let variable = if row.try_get::<bool, _>("has_own_cast")? {
            Width::Output
        } else {
            Width::Cast
        };
        types.insert(
            oid,
            Type {
                name: row.try_get(1)?,
                width: width(oid, length, variable),
                form,
            },
        );
    }
    Ok(types)
}

/// Types by the numbers of `src/include/catalog/pg_type.dat`, which never change.
fn built_in(oid: Oid) -> Form {
    match oid.0 {
        16 => Form::Boolean,
        20 | 21 | 23 | 26 => Form::Integer,
        700 | 701 => Form::Float,
        17 => Form::Bytes,
        114 | 3802 => Form::Json,
        1082 => Form::Date,
        1083 => Form::Time,
        1186 => Form::Interval,
        3908 | 4533 => Form::Range(Bound::Timestamp),
        3910 | 4534 => Form::Range(Bound::TimestampWithZone),
        3912 | 4535 => Form::Range(Bound::Date),
        1266 => Form::TimeWithZone,
        1114 => Form::Timestamp,
        1184 => Form::TimestampWithZone,
        2249 => Form::Record,
        _ => Form::Text,
    }
}

fn width(oid: Oid, length: i16, variable: Width) -> Width {
    match (oid.0, length) {
        (25 | 1043, _) => Width::Text,
        (114, _) => Width::TextLike,
        (1042, _) => Width::Padded,
        (17, _) => Width::Bytes,
        (142, _) => Width::Output,
        (_, -1) => variable,
        _ => Width::Fixed,
    }
}
