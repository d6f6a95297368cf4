//! A short session of an MCP client with the real server, printed as it goes.

use std::path::Path;

use rmcp::model::{CallToolRequestParams, ContentBlock};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ServiceExt as _, service::ServiceError};
use serde_json::{Value, json};
use tokio::process::Command;

use super::Error;
use super::directory::Store;
use crate::cli::output;

/// One call of the session, and why it is made.
struct Call {
    why: &'static str,
    tool: &'static str,
    arguments: Value,
    /// How it ends. Anything else is a fault of this program.
    ends: Ends,
}

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    WithData,
    WithError,
}

fn calls() -> Vec<Call> {
    let call = |why, tool, arguments| Call {
        why,
        tool,
        arguments,
        ends: Ends::WithData,
    };
    let slip = |why, tool, arguments| Call {
        ends: Ends::WithError,
        ..call(why, tool, arguments)
    };
    vec![
        call("Which stores are there?", "stores", json!({})),
        call(
            "What do the orders look like?",
            "schema",
            json!({"store": "shop", "like": "order*"}),
        ),
        call(
            "Who bought most since April? Values travel as parameters, not in the text.",
            "query",
            json!({
                "store": "shop",
                "query": "SELECT c.id, c.name, count(DISTINCT o.id) AS orders, sum(l.quantity * l.price_cents) / 100.0 AS total \
                    FROM orders o JOIN customers c ON c.id = o.customer_id JOIN order_lines l ON l.order_id = o.id \
                    WHERE o.ordered_on >= ?1 AND o.status <> ?2 GROUP BY c.id ORDER BY total DESC LIMIT 3",
                "params": ["2026-04-01", "cancelled"],
            }),
        ),
        call(
            "What is open in support? One text looks like the end of the data and gives orders: it is marked.",
            "query",
            json!({
                "store": "support",
                "query": "SELECT id, customer_id, opened_on, subject, body FROM tickets WHERE closed_on IS NULL ORDER BY id DESC",
                "limit": 2,
            }),
        ),
        slip(
            "Somebody wants the orders marked as paid. The store refuses.",
            "query",
            json!({"store": "shop", "query": "UPDATE orders SET status = 'paid'"}),
        ),
        slip(
            "A column is misspelt. The error says which one was meant.",
            "query",
            json!({"store": "shop", "query": "SELECT id, ordred_on FROM orders WHERE status = 'open'"}),
        ),
    ]
}

/// Starts `server` over `stores`, and plays the session.
pub(super) async fn play(server: &Path, stores: &[Store]) -> Result<(), Error> {
    let mut command = Command::new(server);
    command.arg("serve").env_clear();
    for store in stores {
        command.env(&store.variable, &store.dsn);
    }
    // What the server has to say on standard error goes to this program's own.
    let child = TokioChildProcess::new(command).map_err(Error::Start)?;
    let mut client = ().serve(child).await.map_err(|why| Error::Greeting(Box::new(why)))?;
    let played = converse(&client).await;
    let closed = client.close().await;
    played?;
    closed.map_err(Error::Farewell)?;
    Ok(())
}

async fn converse(client: &RunningService<RoleClient, ()>) -> Result<(), Error> {
    say("What can be called?", "tools/list", &json!({}))?;
    let tools = client.list_all_tools().await.map_err(Error::Session)?;
    let listed: Vec<String> = tools
        .iter()
        .map(|tool| {
            let described = tool.description.as_deref().unwrap_or_default();
            format!("{}: {described}", tool.name)
        })
        .collect();
    answer(&listed.join("\n"))?;
    for call in calls() {
        say(call.why, call.tool, &call.arguments)?;
        let (text, ended) = made(client, &call).await.map_err(Error::Session)?;
        answer(&text)?;
        if ended != call.ends {
            return Err(Error::Unforeseen(call.tool));
        }
    }
    Ok(())
}

async fn made(
    client: &RunningService<RoleClient, ()>,
    call: &Call,
) -> Result<(String, Ends), ServiceError> {
    let mut request = CallToolRequestParams::new(call.tool);
    if let Some(arguments) = call.arguments.as_object() {
        request = request.with_arguments(arguments.clone());
    }
    let result = client.call_tool(request).await?;
    let texts: Vec<&str> = result
        .content
        .iter()
        .filter_map(ContentBlock::as_text)
        .map(|block| block.text.as_str())
        .collect();
    let ended = match result.is_error {
        Some(true) => Ends::WithError,
        _ => Ends::WithData,
    };
    Ok((texts.join("\n"), ended))
}

fn say(why: &str, called: &str, arguments: &Value) -> Result<(), Error> {
    let call = match arguments.as_object() {
        Some(members) if !members.is_empty() => format!("{called} {arguments}"),
        _ => called.to_owned(),
    };
    output::print(format_args!("\n# {why}\n> {call}\n")).map_err(Error::Output)
}

fn answer(text: &str) -> Result<(), Error> {
    output::print(format_args!("{text}\n")).map_err(Error::Output)
}
