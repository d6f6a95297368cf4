//! The server as a child process, spoken to by the SDK's own client.

use std::path::PathBuf;
use std::process::Stdio;

use rmcp::RoleClient;
use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequestParams, JsonObject};
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::process::Command;

/// The binary under test.
pub fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_rhizodat-mcp"))
}

/// A command that sees nothing of the test's own environment.
pub fn command(variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(binary());
    command
        .env_clear()
        .envs(variables.iter().copied())
        .kill_on_drop(true);
    command
}

/// A running server and its client.
pub struct Server {
    pub client: RunningService<RoleClient, ()>,
}

/// What a tool answered.
#[derive(Debug)]
pub struct Reply {
    pub is_error: bool,
    pub text: String,
    pub structured: Option<Value>,
}

/// The data of a query's answer in JSON.
#[derive(Debug, Deserialize)]
pub struct Table {
    pub columns: Vec<ColumnOf>,
    pub rows: Vec<Vec<Box<RawValue>>>,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct ColumnOf {
    pub name: String,
    #[serde(rename = "type")]
    pub type_name: String,
}

impl Server {
    /// Starts a server with these variables. Results are in JSON unless they say otherwise.
    pub async fn start(variables: &[(&str, &str)]) -> Self {
        let mut command = command(&[("RHIZODAT_MCP_FORMAT", "json")]);
        command.envs(variables.iter().copied());
        let (transport, _) = TokioChildProcess::builder(command)
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let client = ().serve(transport).await.expect("the server begins a session");
        Self { client }
    }

    /// Calls a tool.
    pub async fn call(&self, tool: &'static str, arguments: Value) -> Reply {
        let arguments: JsonObject = arguments.as_object().unwrap().clone();
        let request = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = self.client.call_tool(request).await.unwrap();
        Reply {
            is_error: result.is_error == Some(true),
            text: result.content[0].as_text().unwrap().text.clone(),
            structured: result.structured_content,
        }
    }

    /// Runs a query.
    pub async fn query(&self, store: &str, query: &str) -> Reply {
        self.call("query", json!({"store": store, "query": query}))
            .await
    }

    /// Runs a query with parameters.
    pub async fn query_with(&self, store: &str, query: &str, params: Value) -> Reply {
        let arguments = json!({"store": store, "query": query, "params": params});
        self.call("query", arguments).await
    }
}

impl Reply {
    /// The code of an error.
    pub fn code(&self) -> &str {
        assert!(self.is_error, "not an error: {}", self.text);
        self.text.split(": ").nth(1).unwrap()
    }

    /// What stands between the marks.
    pub fn data(&self) -> &str {
        assert!(!self.is_error, "{}", self.text);
        let (_, from) = self.text.split_once("<database-content-").unwrap();
        let (_, data) = from.split_once(">\n").unwrap();
        let (data, _) = data.rsplit_once("\n</database-content-").unwrap();
        data
    }

    /// The table of a query's answer in JSON.
    pub fn table(&self) -> Table {
        serde_json::from_str(self.data()).unwrap_or_else(|error| panic!("{error}\n{}", self.text))
    }

    /// Its rows, parsed.
    pub fn rows(&self) -> Value {
        let data: Value = serde_json::from_str(self.data()).unwrap();
        data["rows"].clone()
    }

    /// A line of what rhizodat says of the result, such as `truncated`.
    pub fn note(&self, name: &str) -> Option<&str> {
        self.text
            .lines()
            .take_while(|line| !line.starts_with('<'))
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}
