//! The server as a child process, spoken to line by line: for what no well-behaved client sends.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::client::command;

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(20);

pub struct Raw {
    pub child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Raw {
    pub fn start(variables: &[(&str, &str)]) -> Self {
        let mut child = command(variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            input,
            output,
        }
    }

    /// The same with a session begun.
    pub async fn initialized(variables: &[(&str, &str)]) -> Self {
        let mut raw = Self::start(variables);
        let answer = raw.ask(&initialize("2025-06-18")).await;
        assert!(answer["result"].is_object(), "{answer}");
        raw.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        raw
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).await.unwrap();
        input.flush().await.unwrap();
    }

    pub async fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    /// The next line the server writes.
    pub async fn receive(&mut self) -> Value {
        let line = tokio::time::timeout(ANSWER, self.output.next_line());
        let line = line.await.expect("an answer in time").unwrap();
        serde_json::from_str(&line.expect("the server lives")).expect("a line of JSON")
    }

    pub async fn ask(&mut self, message: &Value) -> Value {
        self.send(message).await;
        self.receive().await
    }

    /// Ends the input, and waits for the server to end.
    pub async fn end_input(&mut self) -> std::process::ExitStatus {
        self.input = None;
        let waiting = tokio::time::timeout(ANSWER, self.child.wait());
        waiting.await.expect("the server ends").unwrap()
    }

    /// Ends it by a signal of this name, or by the end of its `input`, and waits for it.
    pub async fn end_by(&mut self, ending: &str) -> std::process::ExitStatus {
        let Some(signal) = ending.strip_prefix("SIG") else {
            return self.end_input().await;
        };
        let process = self.child.id().unwrap().to_string();
        let kill = tokio::process::Command::new("kill")
            .args(["-s", signal, &process])
            .status()
            .await;
        assert!(kill.unwrap().success());
        let waiting = tokio::time::timeout(ANSWER, self.child.wait());
        waiting.await.expect("the server ends").unwrap()
    }

    /// Everything written to standard error, after the end.
    pub async fn errors(&mut self) -> String {
        use tokio::io::AsyncReadExt as _;
        let mut text = String::new();
        let mut errors = self.child.stderr.take().unwrap();
        errors.read_to_string(&mut text).await.unwrap();
        text
    }
}

pub fn initialize(version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}})
}

pub fn call(id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call",
           "params": {"name": tool, "arguments": arguments}})
}
