//! `stores`: which stores there are, in which language each is asked, and whether it can be.

use std::time::Duration;

use serde_json::{Value, json};
use store::Error;

use super::{Description, Failure, parameters};
use crate::mcp::gateway::Gateway;
use crate::mcp::reply::Reply;
use crate::stores::Handle;

/// How long a store is waited for before it counts as down.
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) fn described() -> Description {
    (
        "Stores",
        "List the stores, their query language and status.",
        parameters(json!({}), &[]),
        json!({"type": "object", "properties": {"stores": {"type": "array", "items": {"type": "object"}}}, "required": ["stores"]}),
    )
}

pub(super) async fn call(gateway: &Gateway) -> Result<Reply, Failure> {
    let asked = gateway.stores.iter().map(entry);
    let entries: Vec<Value> = futures::future::join_all(asked).await;
    let count = entries.len();
    let content = json!({ "stores": entries });
    Ok(Reply {
        notes: vec![format!("store_count: {count}")],
        data: gateway.encode(&content)?,
        structured: gateway.structured(content),
    })
}

async fn entry(handle: &Handle) -> Value {
    let profile = handle.profile();
    let probed = handle.probe(PATIENCE).await;
    let (status, two_phase, problem, hint) = match &probed {
        Ok(probe) => match probe.refusal() {
            None => ("up", probe.two_phase, None, None),
            Some(finding) => (
                "refused",
                probe.two_phase,
                Some(finding.problem.clone()),
                Some("an operator mends it: `rhizodat-mcp check` says how".to_owned()),
            ),
        },
        Err(error) => (
            "down",
            false,
            Some(described_error(error)),
            error.hint.clone(),
        ),
    };
    let mut entry = json!({
        "name": profile.name,
        "kind": profile.kind.name(),
        "language": profile.kind.language(),
        "two_phase": two_phase,
        "queryable": status == "up",
        "dsn": profile.dsn,
        "status": status,
    });
    if let Some(members) = entry.as_object_mut() {
        for (name, text) in [("problem", problem), ("hint", hint)] {
            members.extend(text.map(|text| (name.to_owned(), Value::String(text))));
        }
    }
    entry
}

fn described_error(error: &Error) -> String {
    format!("{}: {error}", error.code)
}
