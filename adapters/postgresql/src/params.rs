//! A caller's parameters as SQL literals. Their types are those the server inferred from the text;
//! a literal is never more than one quoted constant, whatever it holds.

use std::collections::HashMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use sqlx::postgres::types::Oid;
use store::{Code, Error, number_text};

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
            let wrong = |why: &str| {
                let number = index + 1;
                let message = format!("`params`: value {number} (`${number}`) {why}");
                Error::new(Code::InvalidArgument, message)
            };
            match text(param, *oid, types) {
                Ok(None) => Ok("NULL".to_owned()),
                Ok(Some(text)) if text.contains('\0') => Err(wrong(
                    "holds a NUL character, which PostgreSQL cannot store in text",
                )),
                Ok(Some(text)) => Ok(quote(&text)),
                Err(NoBytes(why)) => Err(wrong(why).with_hint(
                    "bytes are `{\"base64\": \"…\"}` in the standard alphabet with its padding, or a string of PostgreSQL's own form, `\\x` and hexadecimal digits",
                )),
            }
        })
        .collect()
}

/// Why a value is no `bytea`.
#[derive(Debug)]
struct NoBytes(&'static str);

/// What a value of a type is read from, below domains.
fn form(mut oid: Oid, types: &HashMap<Oid, Type>) -> &Form {
    // No domain is its own base; the bound is for a catalogue that says so.
    for _ in 0..64 {
        match types.get(&oid).map(|declared| &declared.form) {
            Some(Form::Domain { base }) => oid = *base,
            Some(form) => return form,
            None => break,
        }
    }
    &Form::Text
}

/// The input text of a value for a type; `None` for null.
fn text(param: &Json, oid: Oid, types: &HashMap<Oid, Type>) -> Result<Option<String>, NoBytes> {
    Ok(Some(match (param, form(oid, types)) {
        (Json::Null, _) => return Ok(None),
        (Json::String(text), _) => text.clone(),
        (param, Form::Bytes) => bytes(param)?,
        (Json::Array(elements), Form::Array { element, delimiter }) => {
            array(elements, *element, *delimiter, types)?
        }
        (Json::Number(number), _) => number_text(number),
        (json, _) => json.to_string(),
    }))
}

/// The text of `{"base64": "…"}`. Nothing else is taken: its JSON text would be bytes too, others.
fn bytes(param: &Json) -> Result<String, NoBytes> {
    let Json::Object(members) = param else {
        return Err(NoBytes("is for a `bytea` and no bytes"));
    };
    let Some(Json::String(base64)) = members.get("base64") else {
        return Err(NoBytes(
            "is for a `bytea` and has no member `base64` of text",
        ));
    };
    if members.len() > 1 {
        return Err(NoBytes(
            "is for a `bytea` and has more members than `base64`",
        ));
    }
    let bytes = STANDARD
        .decode(base64)
        .map_err(|_| NoBytes("is for a `bytea`, and its `base64` is malformed"))?;
    let mut literal = String::with_capacity(2 + bytes.len() * 2);
    literal.push_str("\\x");
    for byte in bytes {
        // Writing to a `String` does not fail.
        let _ = write!(literal, "{byte:02x}");
    }
    Ok(literal)
}

/// An array literal, every element quoted. An array within is a dimension, but where its element is
/// a document or an array itself, by way of a domain.
fn array(
    elements: &[Json],
    oid: Oid,
    delimiter: char,
    types: &HashMap<Oid, Type>,
) -> Result<String, NoBytes> {
    let is_one_element = matches!(form(oid, types), Form::Json | Form::Array { .. });
    let mut literal = String::from("{");
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            literal.push(delimiter);
        }
        match element {
            Json::Array(inner) if !is_one_element => {
                literal.push_str(&array(inner, oid, delimiter, types)?);
            }
            element => match text(element, oid, types)? {
                None => literal.push_str("NULL"),
                Some(text) => push_quoted_element(&mut literal, &text),
            },
        }
    }
    literal.push('}');
    Ok(literal)
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

    const TEXT: Oid = Oid(25);
    const BYTES: Oid = Oid(17);
    const JSON: Oid = Oid(114);
    const BOOLEAN: Oid = Oid(16);
    const TEXTS: Oid = Oid(1009);
    const BYTES_ARRAY: Oid = Oid(1001);
    const JSON_ARRAY: Oid = Oid(199);
    const DOMAIN_OF_BYTES: Oid = Oid(20001);
    const ARRAY_OF_DOMAIN: Oid = Oid(20002);
    const DOMAIN_OF_ARRAY: Oid = Oid(20003);
    const DOMAIN_OF_DOMAIN: Oid = Oid(20004);
    const ARRAY_OF_ARRAYS: Oid = Oid(20005);
    const CYCLE: Oid = Oid(20006);

    fn types() -> HashMap<Oid, Type> {
        let array = |element| Form::Array {
            element,
            delimiter: ',',
        };
        let forms = [
            (TEXT, Form::Text),
            (BYTES, Form::Bytes),
            (JSON, Form::Json),
            (BOOLEAN, Form::Boolean),
            (TEXTS, array(TEXT)),
            (BYTES_ARRAY, array(BYTES)),
            (JSON_ARRAY, array(JSON)),
            (DOMAIN_OF_BYTES, Form::Domain { base: BYTES }),
            (ARRAY_OF_DOMAIN, array(DOMAIN_OF_BYTES)),
            (DOMAIN_OF_ARRAY, Form::Domain { base: BYTES_ARRAY }),
            (
                DOMAIN_OF_DOMAIN,
                Form::Domain {
                    base: DOMAIN_OF_BYTES,
                },
            ),
            (ARRAY_OF_ARRAYS, array(DOMAIN_OF_ARRAY)),
            (CYCLE, Form::Domain { base: CYCLE }),
        ];
        let declared = |form| Type {
            name: String::new(),
            form,
            width: crate::types::Width::Fixed,
        };
        forms.map(|(oid, form)| (oid, declared(form))).into()
    }

    fn literal(param: Json, oid: Oid) -> Result<String, Error> {
        literals(&[param], &[oid], &types()).map(|mut all| all.remove(0))
    }

    #[test]
    fn a_value_is_one_constant_whatever_it_holds() {
        for (param, oid, expected) in [
            (json!(null), TEXT, "NULL"),
            (json!("'; drop table t; --"), TEXT, "'''; drop table t; --'"),
            (json!("\\'"), TEXT, "E'\\\\'''"),
            (json!(1.50), TEXT, "'1.5'"),
            (json!(-0.0), TEXT, "'-0'"),
            (json!(1e2), CYCLE, "'100'"),
            (json!(true), BOOLEAN, "'true'"),
            (json!({"a": [1]}), JSON, "'{\"a\":[1]}'"),
            (
                json!([[1e2, null], ["a\"b", "c\\"]]),
                TEXTS,
                "E'{{\"100\",NULL},{\"a\\\\\"b\",\"c\\\\\\\\\"}}'",
            ),
        ] {
            assert_eq!(literal(param, oid).unwrap(), expected);
        }
    }

    #[test]
    fn bytes_are_bytes_wherever_they_stand() {
        let bytes = json!({"base64": "AP8="});
        for (param, oid, expected) in [
            (bytes.clone(), BYTES, "E'\\\\x00ff'"),
            (json!("\\x00ff"), BYTES, "E'\\\\x00ff'"),
            (bytes.clone(), DOMAIN_OF_BYTES, "E'\\\\x00ff'"),
            (bytes.clone(), DOMAIN_OF_DOMAIN, "E'\\\\x00ff'"),
            (
                json!([bytes, null]),
                BYTES_ARRAY,
                "E'{\"\\\\\\\\x00ff\",NULL}'",
            ),
            (
                json!([[bytes]]),
                ARRAY_OF_DOMAIN,
                "E'{{\"\\\\\\\\x00ff\"}}'",
            ),
            (json!([bytes]), DOMAIN_OF_ARRAY, "E'{\"\\\\\\\\x00ff\"}'"),
            (json!([[null]]), ARRAY_OF_ARRAYS, "'{\"{NULL}\"}'"),
            (bytes.clone(), JSON, "'{\"base64\":\"AP8=\"}'"),
        ] {
            assert_eq!(literal(param, oid).unwrap(), expected);
        }
        for param in [
            json!({"base64": "!!"}),
            json!({"base64": "AP8"}),
            json!({"base64": "AP8=", "more": 1}),
            json!({"base64": 1}),
            json!({}),
            json!([1]),
            json!(1),
        ] {
            for (wrapped, oid) in [
                (param.clone(), BYTES),
                (param.clone(), DOMAIN_OF_BYTES),
                (json!([null, [param]]), ARRAY_OF_DOMAIN),
            ] {
                let error = literal(wrapped, oid).unwrap_err();
                assert_eq!(error.code, Code::InvalidArgument);
                let message = error.message;
                assert!(
                    message.starts_with("`params`: value 1 (`$1`) is for a `bytea`"),
                    "{message}"
                );
            }
        }
    }

    #[test]
    fn each_element_of_an_array_of_documents_is_one() {
        let param = json!([[1, [2]], "\"text\"", {"a": 1}, 1e2, null, "null"]);
        let array = r#"E'{"[1,[2]]","\\"text\\"","{\\"a\\":1}","100",NULL,"null"}'"#;
        assert_eq!(literal(param, JSON_ARRAY).unwrap(), array);
    }

    #[test]
    fn the_count_is_checked() {
        let error = literals(&[json!(1)], &[], &HashMap::new()).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
    }
}
