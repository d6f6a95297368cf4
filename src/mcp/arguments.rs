//! The arguments of a tool call, read one by one. What a client sends as `null` or `""` counts as
//! absent, an exact number or boolean may come as text, and what no tool reads is refused.

use rmcp::model::JsonObject;
use serde_json::Value;
use store::{Code, Error, nearest, or_list};

/// The arguments not read yet, and the names asked for.
pub(super) struct Arguments {
    given: JsonObject,
    known: Vec<&'static str>,
}

impl Arguments {
    pub(super) fn new(given: Option<JsonObject>) -> Self {
        let mut given = given.unwrap_or_default();
        given.retain(|_, value| !value.is_null() && value.as_str() != Some(""));
        Self {
            given,
            known: Vec::new(),
        }
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
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
        self.text(name)?.ok_or_else(|| {
            Error::new(Code::InvalidArgument, format!("`{name}` is missing"))
                .with_hint("call again with it")
        })
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

    /// Refuses what was given and not read.
    pub(super) fn finish(self) -> Result<(), Error> {
        let Some((name, _)) = self.given.iter().next() else {
            return Ok(());
        };
        let close = nearest(name, self.known.iter().copied());
        let hint = if self.known.is_empty() {
            "this tool takes no parameters".to_owned()
        } else if close.is_empty() {
            format!("the parameters are {}", or_list(&self.known))
        } else {
            format!("did you mean {}?", or_list(&close))
        };
        let shown: String = name.chars().take(60).collect();
        let message = format!("unknown parameter `{shown}`");
        Err(Error::new(Code::InvalidArgument, message).with_hint(hint))
    }
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
    use serde_json::json;

    fn arguments(given: Value) -> Arguments {
        Arguments::new(given.as_object().cloned())
    }

    #[test]
    fn null_and_empty_count_as_absent() {
        let mut given = arguments(json!({"a": null, "b": ""}));
        assert_eq!(given.text("a"), Ok(None));
        assert_eq!(given.positive("b"), Ok(None));
        assert_eq!(given.finish(), Ok(()));
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
        let mut given = arguments(json!({"stor": "erp"}));
        assert_eq!(given.text("store"), Ok(None));
        let error = given.finish().unwrap_err();
        assert_eq!(error.message, "unknown parameter `stor`");
        assert_eq!(error.hint.as_deref(), Some("did you mean `store`?"));
    }
}
