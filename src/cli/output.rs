//! What commands write to standard output and standard error. The protocol has standard output for
//! itself while it is served, so nothing else in the program writes there.

use std::fmt::Display;
use std::io::{self, Write};

use store::Problem;

/// Writes to standard output. A reader that has gone away is not an error.
pub(crate) fn print(text: impl Display) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = write!(stdout, "{text}").and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a line to standard error. Where nobody can be told, nobody is.
pub(crate) fn complain(text: impl Display) {
    _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes what is unwise to standard error.
pub(crate) fn warn(warnings: &[Problem]) {
    for warning in warnings {
        complain(format_args!("warning: {}", warning.message));
        if let Some(hint) = &warning.hint {
            complain(format_args!("hint: {hint}"));
        }
    }
}
