//! Labels and relationship types as tables: their properties, counts, indexes and constraints, and
//! which labels a relationship leads from and to. What is not kept by the server is seen in a sample.

use std::collections::BTreeMap;
use std::sync::Arc;

use store::schema::{Detail, ForeignKey, Index, Page, Request, Table, TableColumn, TableName};
use store::{Code, Error};
use tokio::time::{Instant, timeout_at};

use crate::bolt::Pack;
use crate::error::{of_connection, over_time};
use crate::pool::Shared;
use crate::wall::Wall;
use crate::working::Working;

/// The most nodes or relationships that are looked at for their properties and ends.
const SAMPLE: usize = 1000;

/// What stands before the names of relationship types, for one may be called like a label.
const RELATIONSHIP: &str = "relationship";

const LABEL_KIND: &str = "node label";
const TYPE_KIND: &str = "relationship type";

/// One page of labels, then relationship types.
pub(crate) async fn page(shared: &Arc<Shared>, request: &Request) -> Result<Page, Error> {
    let deadline = Instant::now() + request.timeout;
    let mut working = Working::begin(shared, deadline).await?;
    if let Wall::None(gap) = working.link()?.wall {
        return Err(gap.error());
    }
    let mut asking = Asking { working, deadline };
    let listing = asking.page(request);
    match timeout_at(deadline, listing).await {
        Ok(page) => page,
        Err(_) => Err(over_time()),
    }
}

/// A connection on which the schema is asked.
struct Asking {
    working: Working,
    deadline: Instant,
}

impl Asking {
    async fn page(&mut self, request: &Request) -> Result<Page, Error> {
        self.working
            .queue_begin(self.deadline)
            .map_err(|broken| of_connection(&broken))?;
        let labels = self.names("CALL db.labels()").await?;
        let types = self.names("CALL db.relationshipTypes()").await?;
        let labels = labels.into_iter().map(|name| (None, name, LABEL_KIND));
        let types = types
            .into_iter()
            .map(|name| (Some(RELATIONSHIP.to_owned()), name, TYPE_KIND));
        let mut found: Vec<Table> = labels
            .chain(types)
            .map(|(schema, name, kind)| Table::named(TableName { schema, name }, kind))
            .filter(|table| is_wanted(&table.name, request))
            .collect();
        found.sort_by(|left, right| left.name.cmp(&right.name));
        let more = found.len() > request.page;
        found.truncate(request.page);
        if request.detail != Detail::Names {
            for table in &mut found {
                self.describe(table).await?;
            }
            let indexes = self.indexes().await?;
            for table in &mut found {
                let key = (table.kind == LABEL_KIND, table.name.name.clone());
                for known in indexes.get(&key).into_iter().flatten() {
                    if known.is_key && table.primary_key.is_empty() {
                        table.primary_key.clone_from(&known.index.columns);
                    }
                    table.indexes.push(known.index.clone());
                }
            }
        }
        Ok(Page {
            tables: found,
            more,
        })
    }

    async fn names(&mut self, query: &str) -> Result<Vec<String>, Error> {
        let rows = self.working.rows(query, &[]).await?;
        Ok(rows.iter().filter_map(|row| text(row, 0)).collect())
    }

    /// Rows of what not every server has; none where it has not.
    async fn optional(&mut self, query: &str) -> Result<Vec<Vec<Pack>>, Error> {
        match self.working.rows(query, &[]).await {
            Err(error) if error.code == Code::QueryFailed => {
                let nothing = "RETURN 1 AS one";
                self.working
                    .rows_after_failure(nothing, self.deadline)
                    .await?;
                Ok(Vec::new())
            }
            other => other,
        }
    }

    async fn describe(&mut self, table: &mut Table) -> Result<(), Error> {
        let name = quoted(&table.name.name);
        let pattern = if table.kind == LABEL_KIND {
            format!("(x:{name})")
        } else {
            format!("()-[x:{name}]->()")
        };
        let count = format!("MATCH {pattern} RETURN count(x) AS count");
        let counted = self.working.rows(&count, &[]).await?;
        let count = counted.first().and_then(|row| row.first()?.as_integer());
        table.row_estimate = count.and_then(|count| u64::try_from(count).ok());

        let sample = format!("MATCH {pattern} WITH x LIMIT {SAMPLE}");
        let typed = format!(
            "{sample} UNWIND keys(x) AS name RETURN name, collect(DISTINCT valueType(x[name])) AS types, count(*) AS count ORDER BY name"
        );
        let mut properties = self.optional(&typed).await?;
        if properties.is_empty() {
            let untyped = format!(
                "{sample} UNWIND keys(x) AS name RETURN name, ['ANY'] AS types, count(*) AS count ORDER BY name"
            );
            properties = self.optional(&untyped).await?;
        }
        let seen = table.row_estimate.unwrap_or(0).min(SAMPLE as u64);
        table.columns = properties
            .iter()
            .filter_map(|row| property(row, seen))
            .collect();

        if table.kind == LABEL_KIND {
            let ends = format!(
                "{sample} MATCH (x)-[r]->(y) WITH type(r) AS type, labels(y) AS labels LIMIT {SAMPLE} \
                 UNWIND labels AS label RETURN DISTINCT type, label ORDER BY type, label"
            );
            table.foreign_keys = self
                .optional(&ends)
                .await?
                .iter()
                .filter_map(|row| end(row))
                .collect();
        } else {
            let ends = format!(
                "MATCH (a)-[x:{name}]->(b) WITH labels(a) AS a, labels(b) AS b LIMIT {SAMPLE} \
                 RETURN DISTINCT a, b ORDER BY a, b"
            );
            let found = self.optional(&ends).await?;
            let patterns: Vec<String> = found
                .iter()
                .map(|row| format!("{}-[:{name}]->{}", node(row, 0), node(row, 1)))
                .collect();
            table.comment = Some(patterns.join(", ")).filter(|comment| !comment.is_empty());
        }
        Ok(())
    }

    /// Indexes and constraints, by whether they are of a label, and its name.
    async fn indexes(&mut self) -> Result<BTreeMap<(bool, String), Vec<Known>>, Error> {
        let mut found: BTreeMap<(bool, String), Vec<Known>> = BTreeMap::new();
        for query in [
            "SHOW CONSTRAINTS YIELD name, type, entityType, labelsOrTypes, properties",
            "SHOW INDEXES YIELD name, type, entityType, labelsOrTypes, properties, owningConstraint \
             WHERE owningConstraint IS NULL RETURN name, type, entityType, labelsOrTypes, properties",
        ] {
            for row in self.optional(query).await? {
                let (Some(name), Some(kind)) = (text(&row, 0), text(&row, 1)) else {
                    continue;
                };
                let is_label = text(&row, 2).as_deref() == Some("NODE");
                let columns: Vec<String> = texts(&row, 4);
                for of in texts(&row, 3) {
                    found.entry((is_label, of)).or_default().push(Known {
                        is_key: kind.ends_with("_KEY"),
                        index: Index {
                            name: format!("{name} ({})", kind.to_lowercase().replace('_', " ")),
                            unique: kind.contains("UNIQUENESS") || kind.ends_with("_KEY"),
                            columns: columns.clone(),
                            condition: None,
                        },
                    });
                }
            }
        }
        Ok(found)
    }
}

/// An index or a constraint.
struct Known {
    is_key: bool,
    index: Index,
}

fn is_wanted(name: &TableName, request: &Request) -> bool {
    let is_named = request
        .table
        .as_ref()
        .is_none_or(|wanted| *wanted == name.name || *wanted == name.to_string());
    let fits = request.like.as_ref().is_none_or(|like| like.fits(name));
    let follows = request.after.as_ref().is_none_or(|after| name > after);
    is_named && fits && follows
}

/// `name, types, count`, of so many that were seen.
fn property(row: &[Pack], seen: u64) -> Option<TableColumn> {
    let mut types: Vec<String> = texts(row, 1);
    for kind in &mut types {
        *kind = kind.replace(" NOT NULL", "");
    }
    types.sort_unstable();
    types.dedup();
    let count = row.get(2).and_then(Pack::as_integer).unwrap_or(0);
    let is_everywhere = u64::try_from(count).is_ok_and(|count| count >= seen);
    Some(TableColumn {
        name: text(row, 0)?,
        type_name: types.join(" | "),
        nullable: !is_everywhere,
        default: None,
        comment: None,
    })
}

/// `type, label`: where a relationship of the type leads to.
fn end(row: &[Pack]) -> Option<ForeignKey> {
    Some(ForeignKey {
        columns: vec![format!("-[:{}]->", quoted(&text(row, 0)?))],
        references: TableName {
            schema: None,
            name: text(row, 1)?,
        },
        referenced_columns: Vec::new(),
    })
}

/// The labels in a column as Cypher writes a node.
fn node(row: &[Pack], column: usize) -> String {
    let labels: Vec<String> = texts(row, column)
        .iter()
        .map(|label| format!(":{}", quoted(label)))
        .collect();
    format!("({})", labels.concat())
}

fn text(row: &[Pack], column: usize) -> Option<String> {
    row.get(column)?.as_text().map(str::to_owned)
}

fn texts(row: &[Pack], column: usize) -> Vec<String> {
    let texts = row.get(column).map(Pack::texts).unwrap_or_default();
    texts.into_iter().map(str::to_owned).collect()
}

/// A name as Cypher takes it, in backticks where it needs them.
fn quoted(name: &str) -> String {
    let is_plain = name
        .chars()
        .all(|character| character.is_ascii_alphanumeric() || character == '_')
        && !name.starts_with(|first: char| first.is_ascii_digit());
    if is_plain && !name.is_empty() {
        name.to_owned()
    } else {
        format!("`{}`", name.replace('`', "``"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_need_it() {
        for (name, expected) in [
            ("Person", "Person"),
            ("a b", "`a b`"),
            ("9", "`9`"),
            ("x`) DELETE (n", "`x``) DELETE (n`"),
            ("", "``"),
        ] {
            assert_eq!(quoted(name), expected);
        }
    }
}
