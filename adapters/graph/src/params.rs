//! A caller's parameters as values of the protocol, exact or refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use store::{Code, Error};

use crate::bolt::Pack;

/// Why what should be bytes is none.
const MALFORMED: &str = "is bytes, and its `base64` is malformed";

/// The deepest nesting of a value that is sent.
const DEEPEST: usize = 100;

/// The values under their names, `1`, `2`, ….
pub(crate) fn packed(params: &[Json]) -> Result<Vec<(String, Pack)>, Error> {
    params
        .iter()
        .enumerate()
        .map(|(index, value)| {
            let name = (index + 1).to_string();
            let packed = pack(value, 0).map_err(|why| {
                Error::new(
                    Code::InvalidArgument,
                    format!("value {name} of `params` {why}"),
                )
                .with_hint(match why {
                    MALFORMED => {
                        "bytes are `{\"base64\": \"…\"}` in the standard alphabet with its padding"
                    }
                    _ => {
                        "send it as a text, and read it in the query with `toInteger` or `toFloat`"
                    }
                })
            })?;
            Ok((name, packed))
        })
        .collect()
}

fn pack(value: &Json, depth: usize) -> Result<Pack, &'static str> {
    if depth > DEEPEST {
        return Err("nests too deeply");
    }
    Ok(match value {
        Json::Null => Pack::Null,
        Json::Bool(boolean) => Pack::Boolean(*boolean),
        Json::String(text) => Pack::text(text),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Pack::Integer(integer),
            // An integer beyond 64 bits would be rounded to a float.
            (None, Some(float)) if number.is_f64() => Pack::Float(float),
            _ => return Err("has more digits than a number of Cypher holds"),
        },
        Json::Array(elements) => {
            let elements = elements.iter().map(|element| pack(element, depth + 1));
            Pack::List(elements.collect::<Result<_, _>>()?)
        }
        Json::Object(members) => {
            if let Some(base64) = bytes(members) {
                let bytes = STANDARD.decode(base64).map_err(|_| MALFORMED)?;
                return Ok(Pack::Bytes(bytes));
            }
            let members = members
                .iter()
                .map(|(name, member)| Ok((name.clone(), pack(member, depth + 1)?)));
            Pack::Map(members.collect::<Result<_, &'static str>>()?)
        }
    })
}

/// The text of `{"base64": "…"}`, which is how bytes are written in answers.
fn bytes(members: &serde_json::Map<String, Json>) -> Option<&str> {
    let text = members.get("base64")?.as_str()?;
    (members.len() == 1).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_keep_their_types_and_what_would_be_rounded_is_refused() {
        let params = [
            json!(7),
            json!(-0.5),
            json!("x"),
            json!([true, null]),
            json!({"a": 1}),
            json!({"base64": "AP8="}),
        ];
        let packed = packed(&params).unwrap();
        let values: Vec<&Pack> = packed.iter().map(|(_, value)| value).collect();
        assert_eq!(values[0], &Pack::Integer(7));
        assert_eq!(values[1], &Pack::Float(-0.5));
        assert_eq!(
            values[3],
            &Pack::List(vec![Pack::Boolean(true), Pack::Null])
        );
        assert_eq!(values[5], &Pack::Bytes(vec![0, 255]));
        assert_eq!(packed[4].0, "5");
        for refused in [
            json!(u64::MAX),
            json!({"base64": "!!"}),
            json!([{"base64": "AP8"}]),
        ] {
            let error = super::packed(&[refused]).unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument);
        }
        let map = super::packed(&[json!({"base64": "!!", "more": 1})]).unwrap();
        assert!(matches!(map[0].1, Pack::Map(_)));
    }
}
