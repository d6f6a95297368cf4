//! The corpora: data files that anyone can extend.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Deserialize)]
struct File<T> {
    case: Vec<T>,
}

/// The cases of `tests/corpus/<path>`.
pub fn cases<T: DeserializeOwned>(path: &str) -> Vec<T> {
    let path = format!("tests/corpus/{path}");
    let text = std::fs::read_to_string(&path).unwrap();
    let file: File<T> = toml::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    file.case
}

/// The JSON in a field of a case; `null` where there is none.
pub fn json(field: Option<&String>) -> Value {
    field.map_or(Value::Null, |text| {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    })
}
