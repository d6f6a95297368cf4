//! A caller's parameters as the texts of `param_p1`, `param_p2`, …: their types stand in the query,
//! and the server reads each text as one value of its type, whatever it holds.

use serde_json::Value as Json;
use store::{Code, Error, number_text};

use crate::statement::Statement;

/// The settings that carry the values of a statement's parameters.
pub(crate) fn settings(
    params: &[Json],
    statement: &Statement,
) -> Result<Vec<(String, String)>, Error> {
    let wanted = statement.params.last().copied().unwrap_or(0);
    if params.len() != wanted || statement.params.len() != wanted {
        return Err(Error::new(
            Code::InvalidArgument,
            format!(
                "`params` holds {} values, and the query takes {}",
                params.len(),
                statement.params.len().max(wanted)
            ),
        )
        .with_hint("give one value for each of `{p1:Type}`, `{p2:Type}`, … in order"));
    }
    Ok(params
        .iter()
        .enumerate()
        .map(|(index, value)| (format!("param_p{}", index + 1), outer(value)))
        .collect())
}

/// A value by itself: in the form of a field of `TabSeparated`.
fn outer(value: &Json) -> String {
    match value {
        Json::Null => "\\N".to_owned(),
        Json::String(text) => escaped(text, false),
        Json::Array(_) | Json::Object(_) => inner(value),
        Json::Number(number) => number_text(number),
        Json::Bool(truth) => truth.to_string(),
    }
}

/// A value within another: texts in quotes.
fn inner(value: &Json) -> String {
    match value {
        Json::Null => "NULL".to_owned(),
        Json::String(text) => format!("'{}'", escaped(text, true)),
        Json::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(inner).collect();
            format!("[{}]", elements.join(","))
        }
        Json::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, member)| format!("'{}':{}", escaped(name, true), inner(member)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Json::Number(number) => number_text(number),
        Json::Bool(truth) => truth.to_string(),
    }
}

fn escaped(text: &str, quotes: bool) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            '\'' if quotes => out.push_str("\\'"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_count_is_checked_with_gaps() {
        let statement = crate::statement::check("select {p2:String}").unwrap();
        for params in [vec![], vec![json!(1)], vec![json!(1), json!(2)]] {
            let error = settings(&params, &statement).unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument);
        }
    }

    #[test]
    fn a_value_is_one_field_whatever_it_holds() {
        for (value, text) in [
            (json!(null), "\\N"),
            (json!("it's\t\\\n"), "it's\\t\\\\\\n"),
            (json!(1.5), "1.5"),
            (json!(-0.0), "-0"),
            (json!([1e2]), "[100]"),
            (json!(true), "true"),
            (json!(["a'b", null, 1]), "['a\\'b',NULL,1]"),
            (json!({"k": [1]}), "{'k':[1]}"),
        ] {
            assert_eq!(outer(&value), text);
        }
    }
}
