//! Every variable this version reads: its name, default, values and meaning. What is parsed, what
//! `rhizodat-mcp config` prints and what `docs/configuration.md` says all come from this table.

use super::values::{Unit, show_number};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const SECOND: u64 = 1000;
const HOUR: u64 = 3600 * SECOND;

/// One variable.
#[derive(Debug)]
pub(super) struct Variable {
    /// Its name; `<NAME>` stands for a store's.
    pub(super) name: &'static str,
    /// What holds when it is not set, as it would be written; empty where nothing does.
    pub(super) default: &'static str,
    /// What may be written.
    pub(super) values: Values,
    /// What it is for, in one sentence.
    pub(super) meaning: &'static str,
}

/// What may be written as a variable's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Values {
    /// A number with the unit's way to write it, in these bounds.
    Number {
        /// What is counted.
        unit: Unit,
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// `0`, `1`, `true` or `false`.
    Switch,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// What the text says.
    Described(&'static str),
}

impl Values {
    /// What may be written, for people.
    pub(super) fn describe(self) -> String {
        match self {
            Self::Number { unit, min, max } => format!(
                "`{}` to `{}`",
                show_number(min, unit),
                show_number(max, unit)
            ),
            Self::Switch => "`0`, `1`, `true`, `false`".to_owned(),
            Self::OneOf(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                quoted.join(", ")
            }
            Self::Described(text) => text.to_owned(),
        }
    }
}

/// What the name of every store's variable begins with.
pub(super) const STORE_PREFIX: &str = "RHIZODAT_STORE_";

const STORE: Variable = Variable {
    name: "RHIZODAT_STORE_<NAME>",
    default: "",
    values: Values::Described("a DSN"),
    meaning: "The store that callers know as `<name>`, in lower case. At least one is needed.",
};

const STORE_PASSWORD: Variable = Variable {
    name: "RHIZODAT_STORE_<NAME>_PASSWORD",
    default: "",
    values: Values::Described("any text"),
    meaning: "That store's password, as it is (not percent-encoded).",
};

const STORE_PASSWORD_FILE: Variable = Variable {
    name: "RHIZODAT_STORE_<NAME>_PASSWORD_FILE",
    default: "",
    values: Values::Described("a path"),
    meaning: "The file that holds that store's password; one newline at its end is not part of it.",
};

/// The permission set.
pub(super) const PERMISSIONS: Variable = Variable {
    name: "RHIZODAT_MCP_PERMISSIONS",
    default: "schema,read",
    values: Values::Described("a list of `schema`, `read`"),
    meaning: "What callers may do. A tool that is not permitted is not offered; no permission implies another.",
};

/// The most rows of one result.
pub(super) const MAX_ROWS: Variable = Variable {
    name: "RHIZODAT_MCP_MAX_ROWS",
    default: "1000",
    values: Values::Number {
        unit: Unit::One,
        min: 1,
        max: 1_000_000,
    },
    meaning: "The most rows of one result. A caller can ask for fewer, never for more.",
};

/// The most bytes of the data of one result.
pub(super) const MAX_BYTES: Variable = Variable {
    name: "RHIZODAT_MCP_MAX_BYTES",
    default: "65536",
    values: Values::Number {
        unit: Unit::Byte,
        min: KIB,
        max: 64 * MIB,
    },
    meaning: "The most bytes of the data of one result: its columns and rows, or the tables of `schema`.",
};

/// The most bytes of one value. Its upper bound is [`MAX_BYTES`] as configured.
pub(super) const MAX_CELL_BYTES: Variable = Variable {
    name: "RHIZODAT_MCP_MAX_CELL_BYTES",
    default: "4096",
    values: Values::Number {
        unit: Unit::Byte,
        min: 16,
        max: 64 * MIB,
    },
    meaning: "The most bytes of one value; what is longer is cut in the store. Never more than `RHIZODAT_MCP_MAX_BYTES`.",
};

/// The longest statement.
pub(super) const MAX_SQL_BYTES: Variable = Variable {
    name: "RHIZODAT_MCP_MAX_SQL_BYTES",
    default: "32768",
    values: Values::Number {
        unit: Unit::Byte,
        min: 64,
        max: MIB,
    },
    meaning: "The longest statement.",
};

/// How long one query may take.
pub(super) const QUERY_TIMEOUT: Variable = Variable {
    name: "RHIZODAT_MCP_QUERY_TIMEOUT",
    default: "10s",
    values: Values::Number {
        unit: Unit::Millisecond,
        min: 100,
        max: HOUR,
    },
    meaning: "How long one query may take, from the call to its last row.",
};

/// How long a read waits for a lock.
pub(super) const BUSY_TIMEOUT: Variable = Variable {
    name: "RHIZODAT_MCP_BUSY_TIMEOUT",
    default: "3s",
    values: Values::Number {
        unit: Unit::Millisecond,
        min: 100,
        max: HOUR,
    },
    meaning: "How long a read waits for a lock that a writer holds.",
};

/// How much runs at once in one store.
pub(super) const MAX_CONCURRENCY: Variable = Variable {
    name: "RHIZODAT_MCP_MAX_CONCURRENCY",
    default: "4",
    values: Values::Number {
        unit: Unit::One,
        min: 1,
        max: 64,
    },
    meaning: "The most operations that run at once in one store. A slow store blocks no other.",
};

/// The language of results.
pub(super) const FORMAT: Variable = Variable {
    name: "RHIZODAT_MCP_FORMAT",
    default: "toon",
    values: Values::OneOf(&["toon", "json"]),
    meaning: "The language results are written in.",
};

/// Whether results have a structured part.
pub(super) const STRUCTURED: Variable = Variable {
    name: "RHIZODAT_MCP_STRUCTURED",
    default: "0",
    values: Values::Switch,
    meaning: "Structured content and output schemas beside the text, for programs. Clients that show both to a model pay twice.",
};

/// What is logged.
pub(super) const LOG: Variable = Variable {
    name: "RHIZODAT_LOG",
    default: "warn",
    values: Values::Described(
        "`off`, `error`, `warn`, `info`, `debug`, `trace`, or `target=level`, by commas",
    ),
    meaning: "What is logged to standard error.",
};

/// How it is logged.
pub(super) const LOG_FORMAT: Variable = Variable {
    name: "RHIZODAT_LOG_FORMAT",
    default: "text",
    values: Values::OneOf(&["text", "json"]),
    meaning: "Whether logs are lines for people or JSON Lines.",
};

/// Every variable, in the order they are shown.
pub(super) const TABLE: [&Variable; 15] = [
    &STORE,
    &STORE_PASSWORD,
    &STORE_PASSWORD_FILE,
    &PERMISSIONS,
    &MAX_ROWS,
    &MAX_BYTES,
    &MAX_CELL_BYTES,
    &MAX_SQL_BYTES,
    &QUERY_TIMEOUT,
    &BUSY_TIMEOUT,
    &MAX_CONCURRENCY,
    &FORMAT,
    &STRUCTURED,
    &LOG,
    &LOG_FORMAT,
];
