//! The arguments of a tool call, read one by one. What a client sends as `null` or `""` counts as
//! absent, an exact number or boolean may come as text, and what no tool reads or what was rounded on
//! its way is refused.

use rmcp::model::JsonObject;
use serde_json::Value;
use store::{Code, Error, Kind, and_list, nearest, or_list};

use super::digits::Rounded;

/// The arguments not read yet.
#[derive(Debug)]
pub(super) struct Arguments {
    given: JsonObject,
}

impl Arguments {
    /// The arguments of a call to a tool with these parameters. `rounded` is the number among them
    /// that reading them rounded, and `kind` that of the store they name.
    pub(super) fn of(
        given: Option<JsonObject>,
        parameters: &[&str],
        rounded: Option<&Rounded>,
        kind: Option<Kind>,
    ) -> Result<Self, Error> {
        let mut given = given.unwrap_or_default();
        given.retain(|_, value| !value.is_null() && value.as_str() != Some(""));
        if let Some(name) = given
            .keys()
            .find(|name| !parameters.contains(&name.as_str()))
        {
            return Err(unknown(name, parameters));
        }
        if let Some(rounded) = rounded {
            return Err(would_be_rounded(rounded, kind));
        }
        Ok(Self { given })
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.given.shift_remove(name)
    }

    /// A text that may be left out.
    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong(name, "a string", &other)),
        }
    }

    /// A text that must be given.
    pub(super) fn required_text(&mut self, name: &'static str) -> Result<String, Error> {
        self.text(name)?.ok_or_else(|| Self::missing(name))
    }

    /// The error of an argument that must be given.
    pub(super) fn missing(name: &str) -> Error {
        Error::new(Code::InvalidArgument, format!("`{name}` is missing"))
            .with_hint("call again with it")
    }

    /// A positive integer that may be left out.
    pub(super) fn positive(&mut self, name: &'static str) -> Result<Option<u64>, Error> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let exact = match &value {
            Value::Number(number) => exact_integer(number),
            Value::String(text) => text.trim().parse::<i128>().ok(),
            _ => None,
        };
        match exact.map(u64::try_from) {
            Some(Ok(positive)) if positive > 0 => Ok(Some(positive)),
            _ => Err(wrong(name, "an integer of at least 1", &value)),
        }
    }

    /// An array that may be left out.
    pub(super) fn array(&mut self, name: &'static str) -> Result<Vec<Value>, Error> {
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(elements)) => Ok(elements),
            Some(other) => Err(wrong(name, "an array", &other)),
        }
    }
}

/// The error of a number that no JSON reader here holds, with what its store makes of a text.
fn would_be_rounded(rounded: &Rounded, kind: Option<Kind>) -> Error {
    let shown: String = rounded.text.chars().take(60).collect();
    let place = &rounded.place;
    let parameter = place.index.filter(|_| place.argument == "params");
    let (subject, number) = match parameter {
        Some(index) => (
            format!("`params`: value {}: the number {shown}", index + 1),
            index + 1,
        ),
        None => (format!("the number {shown}"), 1),
    };
    let message = format!("{subject} would be rounded: it is no 64-bit integer and no double");
    let hint = match kind {
        _ if parameter.is_none() => "write it with fewer digits".to_owned(),
        Some(Kind::Postgresql) => format!(
            "pass it as a string: PostgreSQL reads its digits from there as the parameter's type, such as `${number}::numeric`"
        ),
        // A text there is less than, equal to and greater than texts alone.
        Some(Kind::Sqlite) => format!(
            "SQLite's own numbers are 64-bit integers and doubles too: round it yourself, or pass it as a string and read it with `CAST(?{number} AS REAL)`; without the cast it is compared as text"
        ),
        Some(Kind::Clickhouse) => format!(
            "pass it as a string: ClickHouse reads its digits from there as the parameter's type, such as `{{p{number}:Decimal(38, 18)}}`"
        ),
        Some(Kind::Graph) => format!(
            "Cypher's own numbers are 64-bit integers and doubles too: round it yourself, or pass it as a string and read it with `toFloat(${number})`"
        ),
        None => "pass it as a string".to_owned(),
    };
    Error::new(Code::InvalidArgument, message).with_hint(hint)
}

fn unknown(name: &str, parameters: &[&str]) -> Error {
    let close = nearest(name, parameters.iter().copied());
    let hint = if parameters.is_empty() {
        "this tool takes no parameters".to_owned()
    } else if close.is_empty() {
        format!("the parameters are {}", and_list(parameters))
    } else {
        format!("did you mean {}?", or_list(&close))
    };
    let shown: String = name.chars().take(60).collect();
    let message = format!("unknown parameter `{shown}`");
    Error::new(Code::InvalidArgument, message).with_hint(hint)
}

/// The integer that a JSON number is, also where it is written `10.0`.
fn exact_integer(number: &serde_json::Number) -> Option<i128> {
    if let Some(integer) = number.as_i128() {
        return Some(integer);
    }
    // 2^63 and beyond are no limits; within, a float that is an integer converts exactly.
    let float = number.as_f64()?;
    let is_exact = float.fract() == 0.0 && float.abs() < 9e15;
    is_exact.then_some(float as i128)
}

fn wrong(name: &str, wanted: &str, given: &Value) -> Error {
    let given: String = given.to_string().chars().take(60).collect();
    Error::new(
        Code::InvalidArgument,
        format!("`{name}` must be {wanted}, and is `{given}`"),
    )
    .with_hint("call again with that parameter mended, or without it where it may be left out")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tokens::Place;
    use serde_json::json;

    fn arguments(given: Value) -> Arguments {
        Arguments::of(given.as_object().cloned(), &["a", "b", "limit"], None, None).unwrap()
    }

    #[test]
    fn null_and_empty_count_as_absent() {
        let mut given = arguments(json!({"a": null, "b": ""}));
        assert_eq!(given.text("a"), Ok(None));
        assert_eq!(given.positive("b"), Ok(None));
    }

    #[test]
    fn an_exact_number_may_come_as_text() {
        for (value, read) in [
            (json!(10), Some(10)),
            (json!("10"), Some(10)),
            (json!(10.0), Some(10)),
            (json!(0), None),
            (json!(-1), None),
            (json!("ten"), None),
            (json!(1.5), None),
            (json!([1]), None),
        ] {
            let found = arguments(json!({"limit": value})).positive("limit");
            assert_eq!(found.ok().flatten(), read, "{value}");
        }
    }

    #[test]
    fn unknown_parameters_are_refused_with_the_nearest() {
        for (parameters, given, hint) in [
            (&["store", "query"][..], "stor", "did you mean `store`?"),
            (
                &["store", "query"],
                "sql",
                "the parameters are `store` and `query`",
            ),
            (&[], "sql", "this tool takes no parameters"),
        ] {
            let given = json!({given: "erp"}).as_object().cloned();
            let error = Arguments::of(given, parameters, None, None).unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument);
            assert_eq!(error.hint.as_deref(), Some(hint));
        }
    }

    #[test]
    fn a_rounded_number_is_refused_with_what_its_store_makes_of_a_text() {
        let told = |argument: &str, index, kind| {
            let rounded = Rounded {
                text: "1.0000000000000001".to_owned(),
                place: Place {
                    argument: argument.to_owned(),
                    index,
                },
            };
            let error = Arguments::of(None, &["params"], Some(&rounded), kind).unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument);
            assert!(error.message.contains("1.0000000000000001"));
            (error.message, error.hint.unwrap())
        };
        for (kind, words) in [
            (Kind::Postgresql, "`$2::numeric`"),
            (Kind::Sqlite, "`CAST(?2 AS REAL)`"),
            (Kind::Clickhouse, "`{p2:Decimal(38, 18)}`"),
            (Kind::Graph, "`toFloat($2)`"),
        ] {
            let (message, hint) = told("params", Some(1), Some(kind));
            assert!(message.starts_with("`params`: value 2: "), "{message}");
            assert!(hint.contains(words), "{hint}");
        }
        let (_, hint) = told("limit", None, Some(Kind::Sqlite));
        assert_eq!(hint, "write it with fewer digits");
    }
}
