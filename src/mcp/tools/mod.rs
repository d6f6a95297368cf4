//! The tools, one file each, and their list for a deployment.

mod query;
mod schema;
mod stores;

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};
use store::Error;

use super::arguments::Arguments;
use super::gateway::Gateway;
use super::reply::Reply;
use crate::config::{Permission, Results};
use crate::guard::Guard;

/// A tool of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Stores,
    Schema,
    Query,
}

/// A failed call, and the store it was about.
pub(super) struct Failure {
    pub(super) store: Option<String>,
    pub(super) error: Error,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { store: None, error }
    }
}

impl Failure {
    fn of(store: &str) -> impl Fn(Error) -> Self + '_ {
        |error| Self {
            store: Some(store.to_owned()),
            error,
        }
    }
}

impl Name {
    const ALL: [Self; 3] = [Self::Stores, Self::Schema, Self::Query];

    /// The tool with this name, where the deployment permits it: the only way to one that is called.
    pub(super) fn permitted(name: &str, guard: &Guard) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|tool| tool.text() == name && guard.allows(tool.permission()))
    }

    fn text(self) -> &'static str {
        match self {
            Self::Stores => "stores",
            Self::Schema => "schema",
            Self::Query => "query",
        }
    }

    fn permission(self) -> Permission {
        match self {
            Self::Stores | Self::Schema => Permission::Schema,
            Self::Query => Permission::Read,
        }
    }

    /// Runs the tool.
    pub(super) async fn call(
        self,
        gateway: &Gateway,
        arguments: Arguments,
    ) -> Result<Reply, Failure> {
        match self {
            Self::Stores => stores::call(gateway).await,
            Self::Schema => schema::call(gateway, arguments).await,
            Self::Query => query::call(gateway, arguments).await,
        }
    }

    fn described(self, results: Results) -> Tool {
        let (title, description, parameters, output) = match self {
            Self::Stores => stores::described(),
            Self::Schema => schema::described(),
            Self::Query => query::described(),
        };
        let annotations = ToolAnnotations::with_title(title)
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(false);
        let mut tool =
            Tool::new(self.text(), description, object(parameters)).with_annotations(annotations);
        tool.title = Some(title.to_owned());
        if let Some(annotations) = &mut tool.annotations {
            annotations.title = None;
        }
        if results == Results::Structured {
            tool.output_schema = Some(object(output));
        }
        tool
    }
}

/// The tools that a deployment permits.
pub(super) fn list(guard: &Guard, results: Results) -> Vec<Tool> {
    Name::ALL
        .into_iter()
        .filter(|tool| guard.allows(tool.permission()))
        .map(|tool| tool.described(results))
        .collect()
}

/// What a tool's file says of it: title, description, parameters, output.
type Description = (&'static str, &'static str, Value, Value);

/// A flat object schema.
fn parameters(properties: Value, required: &[&str]) -> Value {
    let mut schema =
        json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty()
        && let Some(members) = schema.as_object_mut()
    {
        members.insert("required".to_owned(), json!(required));
    }
    schema
}

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(members) => Arc::new(members),
        _ => Arc::default(),
    }
}
