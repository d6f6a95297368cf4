//! `rhizodat-mcp check`: a placeholder.

use std::io;
use std::process::ExitCode;

use rhizodat::config::Config;

use super::Report;

/// Verifies every store.
pub(crate) async fn run(_config: Config, _report: Report) -> io::Result<ExitCode> {
    Err(io::Error::other("`check` is not available in this version"))
}
