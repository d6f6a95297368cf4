//! `rhizodat-mcp config`: the configuration in effect.

use std::io;

use rhizodat::config::{Config, reference, render};

use super::{Report, output};

/// Prints every variable with its value, secrets masked, and where that came from.
pub(crate) fn run(config: &Config, report: Report) -> io::Result<()> {
    for warning in &config.warnings {
        output::complain(format_args!("warning: {}", warning.message));
        if let Some(hint) = &warning.hint {
            output::complain(format_args!("hint: {hint}"));
        }
    }
    match report {
        Report::Text => output::print(render::text(config)),
        Report::Json => output::print(format_args!("{:#}\n", render::json(config))),
    }
}

/// Prints the page about every variable.
pub(crate) fn print_reference() -> io::Result<()> {
    output::print(reference::markdown())
}
