//! Where values come from: the environment first, then the file of `--env-file`. Nothing is read
//! from either but names that begin with `RHIZODAT_`, and every value is held as a secret.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use secrecy::{ExposeSecret, SecretString};
use store::Problem;

use super::names;
use super::problems::Problems;

/// Where a value was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere: the default holds.
    Default,
    /// In the environment.
    Environment,
    /// In the file of `--env-file`.
    File,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::Environment => "environment",
            Self::File => "file",
        })
    }
}

/// A value and where it was found.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) value: SecretString,
    pub(super) origin: Origin,
}

/// What was given, by name.
pub(super) type Source = BTreeMap<String, Given>;

/// How problems with the file are named.
pub(super) const ENV_FILE: &str = "--env-file";

/// What stands for `$` while the file is parsed. A noncharacter, so no text holds it.
const DOLLAR: char = '\u{fdd0}';

/// The variables of the environment. An empty value counts as unset.
pub(super) fn environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    problems: &mut Problems,
) -> Source {
    let mut source = Source::new();
    for (name, value) in variables {
        let name = name.to_string_lossy().into_owned();
        if names::is_ignored(&name) || value.is_empty() {
            continue;
        }
        match value.into_string() {
            Ok(text) => {
                let given = Given {
                    value: SecretString::from(text),
                    origin: Origin::Environment,
                };
                source.insert(name, given);
            }
            Err(_) => problems.push(name, Problem::new("its value is not UTF-8")),
        }
    }
    source
}

/// The variables of a file. Nothing is substituted in it: a `$` in a password is a `$`.
pub(super) fn file(path: &Path, problems: &mut Problems) -> Source {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => SecretString::from(text),
        Err(error) => {
            let message = format!("cannot read `{}`: {error}", path.display());
            problems.push(
                ENV_FILE,
                Problem::new(message)
                    .with_hint("check the path, and that this account may read the file as UTF-8"),
            );
            return Source::new();
        }
    };
    let literal = text
        .expose_secret()
        .trim_start_matches('\u{feff}')
        .replace('$', DOLLAR.encode_utf8(&mut [0; 4]));
    let line = Cell::new(0);
    let mut source = Source::new();
    for entry in dotenvy::Iter::new(Lines::new(&literal, &line)) {
        // The error itself repeats the line, and so a secret.
        let Ok((name, value)) = entry else {
            let message = format!(
                "line {} of `{}` is no `NAME=value`",
                line.get(),
                path.display()
            );
            problems.push(
                ENV_FILE,
                Problem::new(message)
                    .with_hint("put a value with blanks, quotes, `#` or `\\` into single quotes, and close each quote on its line"),
            );
            continue;
        };
        if names::is_ignored(&name) || value.is_empty() {
            continue;
        }
        let given = Given {
            value: SecretString::from(value.replace(DOLLAR, "$")),
            origin: Origin::File,
        };
        if source.insert(name.clone(), given).is_some() {
            let message = format!("given more than once in `{}`", path.display());
            problems.push(name, Problem::new(message));
        }
    }
    source
}

/// What is unwise about a file that may hold secrets.
#[cfg(unix)]
pub(super) fn exposure(path: &Path) -> Option<Problem> {
    use std::os::unix::fs::PermissionsExt;

    const READ_BY_OTHERS: u32 = 0o004;
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    (mode & READ_BY_OTHERS != 0).then(|| {
        Problem::new(format!(
            "every account of this machine can read `{}`",
            path.display()
        ))
        .with_hint(format!("run `chmod o-rwx '{}'`", path.display()))
    })
}

/// What is unwise about a file that may hold secrets.
#[cfg(not(unix))]
pub(super) fn exposure(_path: &Path) -> Option<Problem> {
    None
}

/// Hands out one line a read, and so knows which one a parser is at.
struct Lines<'a> {
    rest: std::str::SplitInclusive<'a, char>,
    line: &'a [u8],
    number: &'a Cell<usize>,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str, number: &'a Cell<usize>) -> Self {
        Self {
            rest: text.split_inclusive('\n'),
            line: &[],
            number,
        }
    }
}

impl Read for Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.line.is_empty() {
            let Some(line) = self.rest.next() else {
                return Ok(0);
            };
            self.line = line.as_bytes();
            self.number.set(self.number.get() + 1);
        }
        self.line.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Vec<(String, String)>, Problems) {
        let file_on_disk = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file_on_disk.path(), text).unwrap();
        let mut problems = Problems::default();
        let source = file(file_on_disk.path(), &mut problems);
        let values = source
            .into_iter()
            .map(|(name, given)| (name, given.value.expose_secret().to_owned()))
            .collect();
        (values, problems)
    }

    #[test]
    fn every_way_to_write_a_line_is_read_and_nothing_is_substituted() {
        for (line, value) in [
            ("RHIZODAT_X=plain", "plain"),
            ("  export RHIZODAT_X = plain  # why", "plain"),
            ("RHIZODAT_X=a#b", "a#b"),
            ("RHIZODAT_X='pa$word # \"x\" \\n'", "pa$word # \"x\" \\n"),
            (
                "RHIZODAT_X=\"a b\\\"c $HOME ${HOME}\"",
                "a b\"c $HOME ${HOME}",
            ),
            ("RHIZODAT_X=pa$HOME", "pa$HOME"),
            ("\u{feff}# first\r\n\r\nRHIZODAT_X=crlf\r\n", "crlf"),
        ] {
            let (values, problems) = parsed(line);
            assert_eq!(
                values,
                [("RHIZODAT_X".to_owned(), value.to_owned())],
                "{line}"
            );
            assert!(problems.is_empty(), "{problems}");
        }
        let (values, problems) = parsed("PATH=/x\nRHIZODAT_X=\nRHIZODAT_TEST_Y=1\n");
        assert!(values.is_empty() && problems.is_empty());
    }

    #[test]
    fn a_line_that_is_wrong_is_named_and_never_repeated() {
        for (text, line) in [
            ("# one\nRHIZODAT_X=s3cret and more\nRHIZODAT_Y=1\n", 2),
            ("RHIZODAT_Y=1\n\nRHIZODAT_X s3cret\n", 3),
            ("RHIZODAT_Y=1\nRHIZODAT_X=s3cret\\q\n", 2),
            ("RHIZODAT_Y=1\nRHIZODAT_X='s3cret\n", 2),
        ] {
            let (values, problems) = parsed(text);
            assert_eq!(values.len(), 1, "{text}");
            let told = problems.to_string();
            assert!(
                told.starts_with(&format!("error: `--env-file`: line {line} of")),
                "{told}"
            );
            assert!(!told.contains("s3cret"), "{told}");
        }
        let (_, problems) = parsed("RHIZODAT_X=s3cret\nRHIZODAT_X=other\n");
        assert!(
            problems
                .to_string()
                .starts_with("error: `RHIZODAT_X`: given more than once in")
        );
    }
}
