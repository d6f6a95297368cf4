//! The corpora: data files that anyone can extend.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Deserialize)]
struct File<T> {
    case: Vec<T>,
}

/// The fewest cases that a corpus may have: one that lost its cases would prove nothing.
fn fewest(path: &str) -> usize {
    match path {
        "postgresql/attacks.toml" | "sqlite/attacks.toml" => 300,
        "postgresql/honest.toml" | "sqlite/honest.toml" => 200,
        "postgresql/golden.toml" => 300,
        _ => 25,
    }
}

/// The cases of `tests/corpus/<path>`.
pub fn cases<T: DeserializeOwned>(path: &str) -> Vec<T> {
    let fewest = fewest(path);
    let path = format!("tests/corpus/{path}");
    let text = std::fs::read_to_string(&path).unwrap();
    let file: File<T> = toml::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(
        file.case.len() >= fewest,
        "{path} has {} cases",
        file.case.len()
    );
    file.case
}

/// The JSON in a field of a case; `null` where there is none.
pub fn json(field: Option<&String>) -> Value {
    field.map_or(Value::Null, |text| {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    })
}
