//! The command line: what can be asked for, and the commands that are no server.

pub(crate) mod check;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod logging;
pub(crate) mod output;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// One MCP surface over several data stores, read through a door that cannot write.
///
/// Without a command, serves MCP on standard input and output. Stores and limits come from the
/// environment: `RHIZODAT_STORE_ERP=postgresql://reader:password@localhost:5432/erp` is the store
/// `erp`. `rhizodat-mcp config` prints what is in effect, `config --reference` every variable.
#[derive(Debug, Parser)]
#[command(name = "rhizodat-mcp", version)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage or configuration. With `check`, 1 also stands for a wrong configuration."
)]
pub(crate) struct Arguments {
    /// Take from this file what the environment does not set
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,
    /// What to do; `serve` where nothing is said.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What the program can be asked to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve MCP on standard input and output (the default)
    Serve,
    /// Verify the configuration and every store, and say what mends what is wrong
    Check {
        /// Write JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the configuration in effect, secrets masked
    Config {
        /// Write JSON
        #[arg(long)]
        json: bool,
        /// Print the reference of every variable instead
        #[arg(long, conflicts_with = "json")]
        reference: bool,
    },
    /// Make two small databases and play a session against them
    Demo {
        /// Where to make them; `rhizodat-demo` in the current directory where nothing is said
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// How a command writes what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Report {
    /// What the option `--json` asks for.
    pub(crate) fn asked(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound_and_serves_by_default() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
        let arguments = Arguments::parse_from(["rhizodat-mcp", "--env-file", "x.env"]);
        assert!(arguments.command.is_none());
        assert_eq!(arguments.env_file, Some(PathBuf::from("x.env")));
        assert!(Arguments::try_parse_from(["rhizodat-mcp", "recover"]).is_err());
    }
}
