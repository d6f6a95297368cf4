//! The statement that runs: the caller's text as a subquery, with the row limit around it, and with
//! what may be long measured and cut in the server.
//!
//! The parentheses hold because the text was parsed alone, as one SELECT without a format, and its
//! tokens are the same between two line breaks: those it opens it also closes.

use std::fmt::Write as _;

use crate::types::{Type, Width};

/// A column as the server described it.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    pub(crate) name: String,
    pub(crate) type_name: String,
    pub(crate) declared: Type,
}

/// A wrapped text.
#[derive(Debug)]
pub(crate) struct Wrapped {
    pub(crate) sql: String,
    /// The indexes of the columns that are measured, in the order of the two columns of their own
    /// that follow the caller's: lengths, and the beginnings of JSON texts.
    pub(crate) measured: Vec<usize>,
    /// The indexes of columns whose type is not the one described, since they are rewritten.
    pub(crate) rewritten: Vec<usize>,
}

/// Names of the columns of our own.
const LENGTHS: &str = "rhizodat_lengths";
const BEGINNINGS: &str = "rhizodat_beginnings";

/// Wraps a text that answers these columns. `is_pinned` as in [`crate::decode::Form`].
pub(crate) fn wrap(
    text: &str,
    columns: &[Described],
    rows: u64,
    cell: u64,
    is_pinned: bool,
) -> Wrapped {
    let measured: Vec<usize> = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.declared.width() != Width::Fixed && !is_short(column, cell))
        .map(|(index, _)| index)
        .collect();
    let mut rewritten = Vec::new();
    let mut replaced = Vec::new();
    // Two columns of one name can only be told apart by names of ours.
    let has_repeated = columns.iter().enumerate().any(|(index, column)| {
        columns
            .iter()
            .take(index)
            .any(|other| other.name == column.name)
            || column.name == LENGTHS
            || column.name == BEGINNINGS
    });
    let name = |index: usize| match columns.get(index) {
        Some(column) if !has_repeated => identifier(&column.name),
        _ => format!("c{}", index + 1),
    };
    for (index, column) in columns.iter().enumerate() {
        let name = name(index);
        let place = measured.iter().position(|&at| at == index).map(|at| at + 1);
        let is_long = place.map(|place| format!("{LENGTHS}[{place}] > {cell}"));
        let expression = match (column.declared.width(), is_long, &column.declared) {
            (Width::Bytes, Some(is_long), _) => {
                format!("if({is_long}, substring({name}, 1, {cell}), {name})")
            }
            (Width::Hex, _, _) => format!("substring(hex({name}), 1, {})", cell.saturating_mul(2)),
            (Width::Json, Some(is_long), _) => {
                format!("if({is_long}, defaultValueOfArgumentType({name}), {name})")
            }
            (_, _, Type::Float) if !is_pinned => format!("toString({name})"),
            (_, _, Type::Moment(_)) if !is_pinned => format!("toTimeZone({name}, 'UTC')"),
            _ => continue,
        };
        rewritten.push(index);
        replaced.push(format!("{expression} AS {name}"));
    }
    let aliases = if has_repeated && !(replaced.is_empty() && measured.is_empty()) {
        let names: Vec<String> = (0..columns.len()).map(name).collect();
        format!(" AS rhizodat_q({})", names.join(", "))
    } else {
        String::new()
    };
    let inner = format!("(\n{text}\n){aliases} LIMIT {rows}");
    if replaced.is_empty() {
        return Wrapped {
            sql: format!("SELECT * FROM {inner}"),
            measured,
            rewritten,
        };
    }
    let mut sql = format!("SELECT * REPLACE ({}) FROM ", replaced.join(", "));
    if measured.is_empty() {
        sql.push_str(&inner);
        return Wrapped {
            sql,
            measured,
            rewritten,
        };
    }
    let (mut lengths, mut beginnings) = (Vec::new(), Vec::new());
    for &index in &measured {
        let name = name(index);
        let width = columns
            .get(index)
            .map_or(Width::Fixed, |column| column.declared.width());
        let text = format!("ifNull(toJSONString({name}), '')");
        match width {
            Width::Json => {
                lengths.push(format!("length({text})"));
                beginnings.push(format!(
                    "if(length({text}) > {cell}, substring({text}, 1, {cell}), '')"
                ));
            }
            Width::Hex => lengths.push(format!("intDiv(length(hex({name})), 2)")),
            Width::Bytes | Width::Fixed => lengths.push(format!("ifNull(length({name}), 0)")),
        }
        if width != Width::Json {
            beginnings.push("''".to_owned());
        }
    }
    let _ = write!(
        sql,
        "(SELECT *, [{}] AS {LENGTHS}, [{}] AS {BEGINNINGS} FROM {inner})",
        lengths.join(", "),
        beginnings.join(", ")
    );
    Wrapped {
        sql,
        measured,
        rewritten,
    }
}

/// Whether a `FixedString(n)` cannot pass the limit.
fn is_short(column: &Described, cell: u64) -> bool {
    column
        .type_name
        .split_once("FixedString(")
        .filter(|_| column.declared == Type::Bytes)
        .and_then(|(_, after)| after.split(')').next()?.parse::<u64>().ok())
        .is_some_and(|length| length <= cell)
}

/// A name in backticks.
pub(crate) fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

/// A text as a literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, type_name: &str) -> Described {
        Described {
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            declared: Type::parse(type_name),
        }
    }

    #[test]
    fn what_is_short_by_nature_is_left_alone() {
        let columns = [column("a", "UInt8"), column("b", "FixedString(16)")];
        let wrapped = wrap("select 1", &columns, 11, 16, true);
        assert_eq!(wrapped.sql, "SELECT * FROM (\nselect 1\n) LIMIT 11");
        assert!(wrapped.measured.is_empty());
    }

    #[test]
    fn what_may_be_long_is_measured_and_cut() {
        let columns = [column("a`b", "String"), column("c", "UInt8")];
        let wrapped = wrap("x", &columns, 2, 9, true);
        assert_eq!(
            wrapped.sql,
            "SELECT * REPLACE (if(rhizodat_lengths[1] > 9, substring(`a\\`b`, 1, 9), `a\\`b`) AS `a\\`b`) FROM \
             (SELECT *, [ifNull(length(`a\\`b`), 0)] AS rhizodat_lengths, [''] AS rhizodat_beginnings FROM (\nx\n) LIMIT 2)"
        );
        let repeated = [column("a", "String"), column("a", "String")];
        assert!(
            wrap("x", &repeated, 2, 9, true)
                .sql
                .contains(" AS rhizodat_q(c1, c2) LIMIT 2")
        );
    }
}
