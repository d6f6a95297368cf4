//! The server's own plan of a text: what it would do, operator by operator. Whatever is not known to
//! read this database alone is refused, also what only a newer server knows.

use std::collections::BTreeSet;

use store::{Code, Error};

use crate::bolt::Pack;
use crate::error::READ_ONLY;

/// Operators that read the database, or work on rows: the names in plans of Neo4j 5.26 and 2026.08
/// (`LogicalPlan2PlanDescription`) without what stands in parentheses behind them.
const READING: &[&str] = &[
    "AllNodesScan",
    "Anti",
    "AntiConditionalApply",
    "AntiSemiApply",
    "Apply",
    "Argument",
    "ArgumentTracker",
    "AssertSameNode",
    "AssertSameRelationship",
    "AssertingMultiNodeIndexSeek",
    "AssertingMultiRelationshipIndexSeek",
    "BidirectionalRepeat",
    "CacheProperties",
    "CartesianProduct",
    "ConditionalApply",
    "Distinct",
    "Eager",
    "EagerAggregation",
    "EmptyResult",
    "EmptyRow",
    "Error",
    "ExhaustiveLimit",
    "Expand",
    "Filter",
    "Input",
    "Limit",
    "MultiNodeIndexSeek",
    "NestedPlanExpression",
    "NodeCountFromCountStore",
    "NodeHashJoin",
    "NodeLeftOuterHashJoin",
    "NodeRightOuterHashJoin",
    "NonFuseable",
    "Optional",
    "OptionalExpand",
    "OrderedAggregation",
    "OrderedDistinct",
    "OrderedUnion",
    "PartialSort",
    "PartialTop",
    "PathPropagatingBFS",
    "PreserveOrder",
    "ProduceResults",
    "ProjectEndpoints",
    "Projection",
    "RelationshipCountFromCountStore",
    "RemoteBatchProperties",
    "RemoteBatchPropertiesWithFilter",
    "Repeat",
    "RepeatOptions",
    "RollUpApply",
    "SelectOrAntiSemiApply",
    "SelectOrSemiApply",
    "SemiApply",
    "ShortestPath",
    "ShowConstraints",
    "ShowCurrentGraphType",
    "ShowFunctions",
    "ShowIndexes",
    "ShowProcedures",
    "Skip",
    "Sort",
    "StatefulShortestPath",
    "Top",
    "Top1WithTies",
    "TriadicBuild",
    "TriadicFilter",
    "TriadicSelection",
    "Union",
    "Unwind",
    "ValueHashJoin",
    "ValueMergeJoin",
    "VarLengthExpand",
];

/// Groups of operators that look up nodes or relationships: `(Un)Directed…`, `Partitioned…`, `Node…`.
const LOOKING_UP: (&[&str], &[&str]) = (
    &[
        "Directed",
        "Dynamic",
        "Intersection",
        "Let",
        "Node",
        "Partitioned",
        "Relationship",
        "Remote",
        "Subtraction",
        "Undirected",
        "Union",
    ],
    &[
        "IdSeek",
        "Lookup",
        "Scan",
        "Search",
        "Seek",
        "SeekByRange",
        "SemiApply",
        "Unwind",
    ],
);

/// Procedures that read the database alone.
const PROCEDURES: &[&str] = &[
    "db.index.fulltext.listavailableanalyzers",
    "db.index.fulltext.querynodes",
    "db.index.fulltext.queryrelationships",
    "db.index.vector.querynodes",
    "db.index.vector.queryrelationships",
    "db.info",
    "db.labels",
    "db.ping",
    "db.propertykeys",
    "db.relationshiptypes",
    "db.schema.nodetypeproperties",
    "db.schema.reltypeproperties",
    "db.schema.visualization",
];

/// One operator of a plan.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Operator {
    /// Its name, without the database.
    pub(crate) name: String,
    pub(crate) details: String,
    /// How many operators stand above it.
    pub(crate) depth: usize,
}

/// The operators of what the server told of a text, the last one first.
pub(crate) fn operators(told: &Pack) -> Vec<Operator> {
    let mut found = Vec::new();
    let mut left: Vec<(&Pack, usize)> =
        told.get("plan").map(|plan| (plan, 0)).into_iter().collect();
    while let Some((plan, depth)) = left.pop() {
        let name = plan.get("operatorType").and_then(Pack::as_text);
        let details = plan.get("args").and_then(|args| args.get("Details"));
        found.push(Operator {
            name: name
                .unwrap_or_default()
                .split('@')
                .next()
                .unwrap_or_default()
                .to_owned(),
            details: details
                .and_then(Pack::as_text)
                .unwrap_or_default()
                .to_owned(),
            depth,
        });
        match plan.get("children") {
            Some(Pack::List(children)) => {
                left.extend(children.iter().rev().map(|child| (child, depth + 1)));
            }
            // A plan that nests too deeply to be read is not known to the end.
            Some(unread) => left.push((unread, depth + 1)),
            None => {}
        }
    }
    found
}

/// Refuses a text by what the server says it would do. `allowed` are more procedures, in lower case.
pub(crate) fn judge(told: &Pack, allowed: &BTreeSet<String>) -> Result<(), Error> {
    let operators = operators(told);
    for operator in &operators {
        let base = operator.name.split('(').next().unwrap_or_default();
        if base.ends_with("ProcedureCall") {
            let name = operator
                .details
                .split('(')
                .next()
                .unwrap_or_default()
                .trim();
            let plain = name.replace('`', "").to_lowercase();
            if !PROCEDURES.contains(&plain.as_str()) && !allowed.contains(&plain) {
                return Err(rejected(&format!(
                    "the procedure `{name}` is not known to read this database alone"
                ))
                .with_hint("leave the call out, and ask with MATCH over the graph itself"));
            }
        } else if !is_reading(base) {
            return Err(refusal(base, told));
        }
    }
    if operators.is_empty() {
        return Err(rejected("the server has no plan for this text").with_hint(READ_ONLY));
    }
    match told.get("type").and_then(Pack::as_text) {
        Some("r") => Ok(()),
        _ => Err(rejected("the query would write").with_hint(READ_ONLY)),
    }
}

fn is_reading(base: &str) -> bool {
    let (beginnings, ends) = LOOKING_UP;
    READING.contains(&base)
        || beginnings
            .iter()
            .any(|beginning| base.starts_with(beginning))
            && ends.iter().any(|end| base.ends_with(end))
}

fn rejected(message: &str) -> Error {
    Error::new(Code::QueryRejected, message)
}

fn refusal(base: &str, told: &Pack) -> Error {
    let writes = matches!(told.get("type").and_then(Pack::as_text), Some("w" | "rw"));
    match base {
        "LoadCSV" => rejected("`LOAD CSV` leaves the database")
            .with_hint("this store takes queries over its own nodes and relationships alone"),
        "TransactionApply" | "TransactionForeach" => {
            rejected("`CALL { … } IN TRANSACTIONS` is not permitted")
                .with_hint("write the subquery without `IN TRANSACTIONS`")
        }
        "ShowTransactions" | "TerminateTransactions" => {
            rejected("other people's transactions are not shown or ended here").with_hint(READ_ONLY)
        }
        "ShowSettings" | "AdministrationCommand" | "ShowDatabases" => {
            rejected("a command of the server's administration is not permitted")
                .with_hint(READ_ONLY)
        }
        "" => rejected("the server has no plan for this text").with_hint(READ_ONLY),
        other if writes => {
            rejected(&format!("the query would write: its plan has `{other}`")).with_hint(READ_ONLY)
        }
        other => rejected(&format!(
            "the plan's operator `{other}` is not known to read this database alone"
        ))
        .with_hint(READ_ONLY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(operator: &str, details: &str, children: Vec<Pack>) -> Pack {
        Pack::map([
            ("operatorType", Pack::text(format!("{operator}@neo4j"))),
            ("args", Pack::map([("Details", Pack::text(details))])),
            ("children", Pack::List(children)),
        ])
    }

    fn judged(inner: Pack, kind: &str) -> Result<(), Error> {
        let told = Pack::map([
            ("type", Pack::text(kind)),
            ("plan", plan("ProduceResults", "a", vec![inner])),
        ]);
        let allowed = BTreeSet::from(["apoc.meta.stats".to_owned()]);
        judge(&told, &allowed)
    }

    #[test]
    fn what_reads_passes() {
        for operator in [
            "NodeByLabelScan",
            "Expand(All)",
            "VarLengthExpand(Pruning,BFS,All)",
            "DirectedRelationshipIndexSeekByRange",
            "NodeUniqueIndexSeek",
            "PartitionedUnwind",
            "LetAntiSemiApply",
            "UnionNodeByLabelsScan",
            "DynamicLabelNodeLookup",
            "NodeVectorIndexSearch",
            "ShowIndexes",
        ] {
            assert_eq!(
                judged(plan(operator, "", vec![]), "r"),
                Ok(()),
                "{operator}"
            );
        }
        for call in [
            "db.labels() :: (label :: STRING)",
            "apoc.meta.stats() :: ()",
        ] {
            assert_eq!(judged(plan("ProcedureCall", call, vec![]), "r"), Ok(()));
        }
    }

    #[test]
    fn what_does_not_is_refused_wherever_it_stands() {
        for (operator, details, kind) in [
            ("LoadCSV", "l", "r"),
            ("Create", "(n)", "w"),
            ("LockingMerge", "", "r"),
            ("SetNodePropertiesFromMap", "", "r"),
            ("NodeUniqueIndexSeek(Locking)", "", "rw"),
            ("TransactionApply", "", "r"),
            ("RunQueryAt", "", "r"),
            ("External", "", "r"),
            ("AnythingNew", "", "r"),
            ("", "", "r"),
            ("Eager ProcedureCall", "tx.setMetaData({}) :: ()", "r"),
            ("ProcedureCall", "db.labels.x() :: ()", "r"),
            ("Projection", "", "s"),
        ] {
            let deep = plan(
                "Apply",
                "",
                vec![
                    plan("Argument", "", vec![]),
                    plan(operator, details, vec![]),
                ],
            );
            let error = judged(deep, kind).unwrap_err();
            assert_eq!(error.code, Code::QueryRejected, "{operator}");
            assert!(error.hint.is_some());
        }
        assert!(judge(&Pack::map([("type", Pack::text("r"))]), &BTreeSet::new()).is_err());
        let mut unread = plan("Argument", "", vec![]);
        if let Pack::Map(members) = &mut unread {
            members.retain(|(name, _)| name != "children");
            members.push(("children".to_owned(), Pack::Null));
        }
        assert!(judged(unread, "r").is_err());
    }
}
