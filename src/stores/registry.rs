//! The kinds of store this build has: one line each.

use std::sync::Arc;

use store::{Dsn, Problem, Settings, Store, and_list, nearest, or_list};

type Open = fn(&str, &Dsn, Settings) -> Result<Arc<dyn Store>, Vec<Problem>>;

/// DSN schemes, and what opens a store of each.
const KINDS: &[(&str, Open)] = &[
    #[cfg(feature = "postgresql")]
    ("postgresql", postgresql::open),
    #[cfg(feature = "postgresql")]
    ("postgres", postgresql::open),
    #[cfg(feature = "sqlite")]
    ("sqlite", sqlite::open),
    #[cfg(feature = "clickhouse")]
    ("clickhouse", clickhouse_store::open),
    #[cfg(feature = "clickhouse")]
    ("clickhouses", clickhouse_store::open),
    #[cfg(feature = "graph")]
    ("bolt", graph::open),
    #[cfg(feature = "graph")]
    ("bolt+s", graph::open),
    #[cfg(feature = "graph")]
    ("bolt+ssc", graph::open),
    #[cfg(feature = "graph")]
    ("neo4j", graph::open),
    #[cfg(feature = "graph")]
    ("neo4j+s", graph::open),
    #[cfg(feature = "graph")]
    ("neo4j+ssc", graph::open),
];

/// Opens the store that `dsn` names. Nothing is connected yet.
pub(super) fn open(
    name: &str,
    dsn: &Dsn,
    settings: Settings,
) -> Result<Arc<dyn Store>, Vec<Problem>> {
    if let Some((_, open)) = KINDS.iter().find(|(scheme, _)| *scheme == dsn.scheme()) {
        return open(name, dsn, settings);
    }
    let problem = Problem::new(format!(
        "no kind of store has the scheme `{}`",
        dsn.scheme()
    ));
    let schemes = || KINDS.iter().map(|(scheme, _)| *scheme);
    let close = nearest(dsn.scheme(), schemes());
    let hint = if KINDS.is_empty() {
        "this build has no adapter; build it with `--features postgresql,sqlite,clickhouse,graph`"
            .to_owned()
    } else if close.is_empty() {
        format!(
            "this build reads {}",
            and_list(&schemes().collect::<Vec<_>>())
        )
    } else {
        format!("did you mean {}?", or_list(&close))
    };
    Err(vec![problem.with_hint(hint)])
}
