//! Which functions may stand in a query: what reads only the server's own tables and the query's
//! own text does; what leaves the server, reads its host or runs a text does not.

use std::collections::BTreeSet;

/// Table functions that reach nothing but the query itself and the tables the account may read.
/// Every other table function that the server knows is refused.
const HARMLESS_TABLE_FUNCTIONS: &[&str] = &[
    "dictionary",
    "format",
    "fuzzjson",
    "fuzzquery",
    "generate_series",
    "generaterandom",
    "generateseries",
    "loop",
    "merge",
    "mergetreeanalyzeindexes",
    "mergetreeanalyzeindexesuuid",
    "mergetreeindex",
    "mergetreeprojection",
    "mergetreetextindex",
    "null",
    "numbers",
    "numbers_mt",
    "primes",
    "sqlstandardvalues",
    "timeseriesdata",
    "timeseriesmetrics",
    "timeseriessamples",
    "timeseriesselector",
    "timeseriestags",
    "values",
    "view",
    "viewexplain",
    "viewifpermitted",
    "zeros",
    "zeros_mt",
];

/// Table functions that leave the server, of ClickHouse 24 to 26, beside what the server lists.
const REACHING_TABLE_FUNCTIONS: &[&str] = &[
    "arrowflight",
    "azureblobstorage",
    "azureblobstoragecluster",
    "cluster",
    "clusterallreplicas",
    "cosn",
    "deltalake",
    "deltalakeazure",
    "deltalakeazurecluster",
    "deltalakecluster",
    "deltalakelocal",
    "deltalakes3",
    "deltalakes3cluster",
    "eval",
    "executable",
    "file",
    "filecluster",
    "filesystem",
    "gcs",
    "hdfs",
    "hdfscluster",
    "hive",
    "hudi",
    "hudicluster",
    "iceberg",
    "icebergazure",
    "icebergazurecluster",
    "icebergcluster",
    "iceberghdfs",
    "iceberghdfscluster",
    "iceberglocal",
    "iceberglocalcluster",
    "icebergs3",
    "icebergs3cluster",
    "input",
    "jdbc",
    "meilisearch",
    "mongo",
    "mongodb",
    "mysql",
    "odbc",
    "oss",
    "paimon",
    "paimonazure",
    "paimonazurecluster",
    "paimoncluster",
    "paimonhdfs",
    "paimonhdfscluster",
    "paimonlocal",
    "paimons3",
    "paimons3cluster",
    "postgresql",
    "prometheusquery",
    "prometheusqueryrange",
    "redis",
    "remote",
    "remotesecure",
    "s3",
    "s3cluster",
    "sqlite",
    "url",
    "urlcluster",
    "ytsaurus",
];

/// Functions of values that leave the server, read its host or change something.
const REACHING_FUNCTIONS: &[&str] = &[
    "addresstoline",
    "addresstolinewithinlines",
    "addresstosymbol",
    "aiclassify",
    "aiembed",
    "aiextract",
    "aigenerate",
    "aitranslate",
    "catboostevaluate",
    "demangle",
    "file",
    "generateserialid",
    "getclienthttpheader",
    "logtrace",
    "trap",
];

/// What none of `allow_table_functions` can let through: it would run any text.
const NEVER: &[&str] = &["eval", "executable", "input"];

/// The names that `allow_table_functions` takes, in lower case.
pub(crate) fn that_can_be_allowed() -> impl Iterator<Item = &'static str> {
    REACHING_TABLE_FUNCTIONS
        .iter()
        .chain(REACHING_FUNCTIONS)
        .copied()
        .filter(|name| !NEVER.contains(name))
}

/// Whether `allow_table_functions` takes this name, in lower case.
pub(crate) fn can_be_allowed(lower: &str) -> bool {
    that_can_be_allowed().any(|name| name == lower)
}

/// Whether a function of this name, in lower case, is refused. `listed` are the table functions that
/// the server has.
pub(crate) fn is_refused(
    lower: &str,
    listed: &BTreeSet<String>,
    allowed: &BTreeSet<String>,
) -> bool {
    if allowed.contains(lower) {
        return NEVER.contains(&lower);
    }
    if REACHING_FUNCTIONS.contains(&lower) || REACHING_TABLE_FUNCTIONS.contains(&lower) {
        return true;
    }
    listed.contains(lower) && !HARMLESS_TABLE_FUNCTIONS.contains(&lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_to_be_harmless_is_refused() {
        let listed = BTreeSet::from(["numbers".to_owned(), "brandnew".to_owned()]);
        let allowed = BTreeSet::from(["s3".to_owned(), "executable".to_owned()]);
        for (name, refused) in [
            ("numbers", false),
            ("brandnew", true),
            ("url", true),
            ("file", true),
            ("s3", false),
            ("executable", true),
            ("a_view_with_parameters", false),
            ("length", false),
        ] {
            assert_eq!(is_refused(name, &listed, &allowed), refused, "{name}");
        }
    }
}
