//! A caller's parameters as SQL literals. Their types are those the server inferred from the text;
//! a literal is never more than one quoted constant, whatever it holds.

use std::collections::HashMap;
use std::fmt::Write as _;

use sqlx::postgres::types::Oid;
use store::{Code, Error};

use crate::decode::bytes_literal;
use crate::types::{Form, Type};

/// The literals of `params`, for parameters of the types `wanted`.
pub(crate) fn literals(
    params: &[serde_json::Value],
    wanted: &[Oid],
    types: &HashMap<Oid, Type>,
) -> Result<Vec<String>, Error> {
    if params.len() != wanted.len() {
        return Err(Error::new(
            Code::InvalidArgument,
            format!(
                "`params` holds {} values, and the query takes {}",
                params.len(),
                wanted.len()
            ),
        )
        .with_hint("give one value for each of `$1`, `$2`, … in order"));
    }
    params
        .iter()
        .zip(wanted)
        .enumerate()
        .map(|(index, (param, oid))| {
            let form = types.get(oid).map_or(&Form::Text, |declared| &declared.form);
            match text(param, form) {
                None => Ok("NULL".to_owned()),
                Some(text) if text.contains('\0') => Err(Error::new(
                    Code::InvalidArgument,
                    format!(
                        "`params`: value {} holds a NUL character, which PostgreSQL cannot store in text",
                        index + 1
                    ),
                )),
                Some(text) => Ok(quote(&text)),
            }
        })
        .collect()
}

/// The input text of a value for a type of this form; `None` for null.
fn text(param: &serde_json::Value, form: &Form) -> Option<String> {
    use serde_json::Value as Json;
    match (param, form) {
        (Json::Null, _) => None,
        (Json::String(text), _) => Some(text.clone()),
        (json, Form::Json) => Some(json.to_string()),
        (Json::Array(elements), Form::Array { delimiter, .. }) => Some(array(elements, *delimiter)),
        (Json::Object(members), Form::Bytes) => members
            .get("base64")
            .and_then(Json::as_str)
            .and_then(bytes_literal)
            .or_else(|| Some(param.to_string())),
        (json, _) => Some(json.to_string()),
    }
}

/// An array literal, every element quoted.
fn array(elements: &[serde_json::Value], delimiter: char) -> String {
    use serde_json::Value as Json;
    let mut literal = String::from("{");
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            literal.push(delimiter);
        }
        match element {
            Json::Null => literal.push_str("NULL"),
            Json::Array(inner) => literal.push_str(&array(inner, delimiter)),
            Json::String(text) => push_quoted_element(&mut literal, text),
            other => push_quoted_element(&mut literal, &other.to_string()),
        }
    }
    literal.push('}');
    literal
}

fn push_quoted_element(literal: &mut String, text: &str) {
    literal.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            literal.push('\\');
        }
        literal.push(character);
    }
    literal.push('"');
}

/// A string constant that reads the same whatever `standard_conforming_strings` is.
pub(crate) fn quote(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if doubled.contains('\\') {
        format!("E'{}'", doubled.replace('\\', "\\\\"))
    } else {
        format!("'{doubled}'")
    }
}

/// The call that runs a prepared statement, and where each literal of it begins, in characters.
pub(crate) fn execute(name: &str, literals: &[String]) -> (String, Vec<usize>) {
    let mut call = format!("EXECUTE {name}(");
    let mut starts = Vec::with_capacity(literals.len());
    for (index, literal) in literals.iter().enumerate() {
        if index > 0 {
            call.push_str(", ");
        }
        starts.push(call.chars().count());
        let _ = write!(call, "{literal}");
    }
    call.push(')');
    (call, starts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn literal(param: serde_json::Value, form: Form) -> String {
        let oid = Oid(1);
        let declared = Type {
            name: String::new(),
            form,
            width: crate::types::Width::Fixed,
        };
        let types = HashMap::from([(oid, declared)]);
        literals(&[param], &[oid], &types).unwrap().remove(0)
    }

    #[test]
    fn a_value_is_one_constant_whatever_it_holds() {
        for (param, form, expected) in [
            (json!(null), Form::Text, "NULL"),
            (
                json!("'; drop table t; --"),
                Form::Text,
                "'''; drop table t; --'",
            ),
            (json!("\\'"), Form::Text, "E'\\\\'''"),
            (json!(1.50), Form::Text, "'1.5'"),
            (json!(true), Form::Boolean, "'true'"),
            (json!({"a": [1]}), Form::Json, "'{\"a\":[1]}'"),
            (json!({"base64": "AP8="}), Form::Bytes, "E'\\\\x00ff'"),
            (
                json!([[1, null], ["a\"b", "c\\"]]),
                Form::Array {
                    element: Oid(25),
                    delimiter: ',',
                },
                "E'{{\"1\",NULL},{\"a\\\\\"b\",\"c\\\\\\\\\"}}'",
            ),
        ] {
            assert_eq!(literal(param, form), expected);
        }
    }

    #[test]
    fn the_count_is_checked() {
        let error = literals(&[json!(1)], &[], &HashMap::new()).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
    }
}
