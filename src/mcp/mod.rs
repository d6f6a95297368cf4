//! The MCP surface: tools, results and the stdio transport. The only module that knows MCP.

mod arguments;
mod digits;
mod fence;
mod gateway;
mod refusals;
mod reply;
mod rows;
mod running;
mod server;
mod stdio;
mod tokens;
mod tools;
mod toon;

use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::transport::stdio_pipes;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::stores::Stores;
use gateway::Gateway;
use server::Server;
use stdio::Lines;

/// How long closing may take, all in all. It takes a few milliseconds where the stores answer; a client
/// that ends a server waits two seconds for it before it kills, and the last answers have had theirs.
const CLOSE: Duration = Duration::from_millis(1500);

/// Why serving ended other than by its client or a signal.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Signals cannot be listened for.
    #[error("signals cannot be listened for: {0}")]
    Signals(#[from] std::io::Error),
}

/// Serves MCP on standard input and output until the input ends or a signal comes. Every query is
/// cancelled and every connection closed when this returns.
pub async fn serve(config: &Config, stores: Stores) -> Result<(), Error> {
    let gateway = Arc::new(Gateway::new(config, stores));
    let stopping = CancellationToken::new();
    let server = Server::new(Arc::clone(&gateway), stopping.clone());
    let (reader, writer) = stdio_pipes();
    let lines = Lines::new(reader, writer, stopping.clone());
    let served = async {
        match server.serve_with_ct(lines, stopping.clone()).await {
            Ok(running) => {
                let quit = running.waiting().await;
                tracing::debug!(?quit, "the client is gone");
            }
            Err(error) => tracing::warn!(%error, "the client did not begin a session"),
        }
    };
    tokio::select! {
        () = served => {}
        signal = stop_signal() => tracing::debug!(signal = signal?, "stopping"),
    }
    stopping.cancel();
    if tokio::time::timeout(CLOSE, gateway.close()).await.is_err() {
        tracing::warn!("stopped before everything was closed");
    }
    Ok(())
}

async fn stop_signal() -> Result<&'static str, std::io::Error> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            _ = terminate.recv() => Ok("SIGTERM"),
            _ = interrupt.recv() => Ok("SIGINT"),
        }
    }
    #[cfg(not(unix))]
    {
        tokio::signal::ctrl_c().await.map(|()| "interrupt")
    }
}
