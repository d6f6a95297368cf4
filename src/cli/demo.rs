//! `rhizodat-mcp demo`: a placeholder.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// Plays a session against two small databases.
pub(crate) async fn run(_dir: Option<PathBuf>) -> io::Result<ExitCode> {
    Err(io::Error::other("`demo` is not available in this version"))
}
