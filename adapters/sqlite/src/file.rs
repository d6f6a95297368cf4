//! The database file: what the DSN says of it, how it is opened, and why it cannot be.
//!
//! It is never opened but through SQLite: closing any other descriptor of it would drop the locks
//! that SQLite holds for this process.

mod foreign;

use std::ffi::{CString, OsString, c_int};
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ffi};
use store::{Code, Dsn, Error, Problem};

use crate::error;
use crate::ffi::OpenFailure;

/// A write-ahead log that holds no frame is at most its header.
const WAL_HEADER: u64 = 32;

/// The file of one store.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    path: PathBuf,
}

/// Which file was opened, to see whether its path names another one by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

/// The state of a file that is read as if nobody changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    bytes: u64,
    changed: (i64, i64),
}

impl DatabaseFile {
    /// The file a DSN names.
    pub(crate) fn of(dsn: &Dsn) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        if dsn.scheme() != "sqlite" {
            problems.push(Problem::new(format!(
                "`{}` is not the scheme `sqlite`",
                dsn.scheme()
            )));
        }
        let path = dsn.path();
        if !dsn.hosts().is_empty() || dsn.user().is_some() || dsn.password().is_some() {
            problems.push(
                Problem::new("a database file has no host, user or password").with_hint(
                    "write an absolute path after three slashes: `sqlite:///data/notes.db`",
                ),
            );
        } else if path.len() < 2 || path.ends_with('/') {
            problems.push(Problem::new("names no database file").with_hint(
                "write an absolute path after three slashes: `sqlite:///data/notes.db`",
            ));
        }
        if path.contains('\0') {
            problems.push(Problem::new("the path holds a NUL character"));
        }
        problems.extend(dsn.params().unknown().into_iter().map(|problem| {
            Problem::new(problem.message).with_hint("a `sqlite` DSN takes no parameters")
        }));
        if problems.is_empty() {
            Ok(Self {
                path: PathBuf::from(path),
            })
        } else {
            Err(problems)
        }
    }

    /// The file at a path, for tests whose path no DSN could spell.
    #[cfg(test)]
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Which file the path names now. An error where it names none that could be a database.
    pub(crate) fn identity(&self) -> Result<Identity, Error> {
        let metadata = std::fs::metadata(&self.path).map_err(|error| no_file(&error))?;
        if metadata.is_dir() {
            return Err(
                unreachable("the path is a directory, not a database file").with_hint(CHECK_PATH)
            );
        }
        if !metadata.is_file() || (metadata.len() == 0 && self.is_made_up()) {
            return Err(unreachable("the path is no regular file").with_hint(CHECK_PATH));
        }
        Ok(Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }

    /// The state of the file, unless a write-ahead log with frames stands beside it.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        if self.has_frames() {
            return None;
        }
        std::fs::metadata(&self.path).ok().map(|file| Stamp {
            bytes: file.len(),
            changed: (file.mtime(), file.mtime_nsec()),
        })
    }

    /// Opens it for reading, taking part in its locks.
    pub(crate) fn connect(&self) -> Result<Connection, Error> {
        self.open(&self.path, READ_ONLY)
    }

    /// Opens it for reading as if nobody could change it: no locks, no write-ahead log.
    pub(crate) fn connect_immutable(&self) -> Result<Connection, Error> {
        let mut uri = OsString::from("file://").as_bytes().to_vec();
        for &byte in self.path.as_os_str().as_bytes() {
            match byte {
                b'/' | b'-' | b'_' | b'.' => uri.push(byte),
                _ if byte.is_ascii_alphanumeric() => uri.push(byte),
                _ => uri.extend_from_slice(format!("%{byte:02x}").as_bytes()),
            }
        }
        uri.extend_from_slice(b"?mode=ro&immutable=1");
        self.open(
            Path::new(std::ffi::OsStr::from_bytes(&uri)),
            READ_ONLY | ffi::SQLITE_OPEN_URI,
        )
    }

    fn open(&self, path: &Path, flags: c_int) -> Result<Connection, Error> {
        let path = c_string(path)?;
        crate::ffi::open(&path, flags).map_err(not_opened)
    }

    /// What to do with a database that could be opened but not read.
    ///
    /// SQLite shares a database in WAL mode through a `-shm` file. Where there is none and none can
    /// be made, the database can still be read alone if all of it is in its main file.
    pub(crate) fn unreadable(&self, error: &rusqlite::Error) -> Unreadable {
        let extended = error::extended_code(error);
        let lacks_shared_memory = matches!(
            extended,
            ffi::SQLITE_CANTOPEN
                | ffi::SQLITE_READONLY_DIRECTORY
                | ffi::SQLITE_READONLY_CANTINIT
                | ffi::SQLITE_READONLY_RECOVERY
        );
        if !lacks_shared_memory || self.is_directory_writable() {
            return Unreadable::Error(not_read(&self.path, error));
        }
        if self.has_frames() {
            let error = unreachable(
                "the database is in WAL mode with changes in its `-wal` file, and its directory is not writable, so the changes cannot be read",
            );
            return Unreadable::Error(error.with_hint(
                "let the program that writes it close it, or run `PRAGMA wal_checkpoint(TRUNCATE)` there, or serve it from a writable directory",
            ));
        }
        Unreadable::ReadAlone
    }

    /// Whether the system makes up the file's content as it is read: it has a length of zero, which
    /// SQLite would take for an empty database.
    fn is_made_up(&self) -> bool {
        let path = self.real_path();
        path.starts_with("/proc") || path.starts_with("/sys")
    }

    fn has_frames(&self) -> bool {
        let mut log = self.real_path().into_os_string();
        log.push("-wal");
        std::fs::metadata(log).is_ok_and(|log: Metadata| log.len() > WAL_HEADER)
    }

    /// What the path names. A link is followed by SQLite, and its companions stand beside that.
    fn real_path(&self) -> PathBuf {
        std::fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone())
    }

    fn is_directory_writable(&self) -> bool {
        self.real_path()
            .parent()
            .and_then(|directory| c_string(directory).ok())
            .is_none_or(|directory| crate::ffi::is_writable(&directory))
    }
}

/// What became of a database that could not be read.
pub(crate) enum Unreadable {
    /// It can be read by whoever is sure that nobody writes.
    ReadAlone,
    /// It cannot.
    Error(Error),
}

const READ_ONLY: c_int =
    ffi::SQLITE_OPEN_READONLY | ffi::SQLITE_OPEN_NOMUTEX | ffi::SQLITE_OPEN_EXRESCODE;

const CHECK_PATH: &str = "check the path in the store's DSN; a database is never created here";

const CHECK_RIGHTS: &str =
    "let the account this server runs as read the file and enter every directory above it";

fn c_string(path: &Path) -> Result<CString, Error> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| unreachable("the path holds a NUL character"))
}

fn unreachable(message: &str) -> Error {
    Error::new(Code::StoreUnreachable, message)
}

/// What the system said when the path was looked at or opened.
fn no_file(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            unreachable("the database file does not exist").with_hint(CHECK_PATH)
        }
        io::ErrorKind::PermissionDenied => {
            unreachable("no permission to read the database file").with_hint(CHECK_RIGHTS)
        }
        kind => unreachable(&format!("the database file cannot be opened: {kind}"))
            .with_hint(CHECK_PATH),
    }
}

fn not_opened(failure: OpenFailure) -> Error {
    let error = if failure.errno == 0 {
        unreachable("the database file cannot be opened").with_hint(CHECK_PATH)
    } else {
        no_file(&io::Error::from_raw_os_error(failure.errno))
    };
    error.with_server_code(error::code_name(failure.code))
}

/// Why the first read of an opened file failed.
fn not_read(path: &Path, error: &rusqlite::Error) -> Error {
    let extended = error::extended_code(error);
    let found = match (extended & 0xff, extended) {
        (ffi::SQLITE_NOTADB, _) => foreign::no_database(path),
        (ffi::SQLITE_CORRUPT, _) => unreachable("the database file is damaged")
            .with_hint("restore it from a backup; `.recover` of the `sqlite3` shell may save what is left"),
        (_, ffi::SQLITE_READONLY_ROLLBACK) => {
            unreachable("a writer left a transaction half-way, and reading alone cannot undo it")
                .with_hint("open the database once with a program that may write it; it then rolls back by itself")
        }
        (ffi::SQLITE_CANTOPEN | ffi::SQLITE_READONLY, _) => unreachable(
            "the database is in WAL mode and the files beside it cannot be opened",
        )
        .with_hint("let the account this server runs as read and write the `-shm` file beside the database, or create it"),
        _ => return error::of_statement(error),
    };
    found.with_server_code(error::code_name(extended))
}

#[cfg(test)]
mod found_tests;
#[cfg(test)]
mod rights_tests;

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(dsn: &str) -> Vec<String> {
        let problems = DatabaseFile::of(&Dsn::parse(dsn).unwrap()).unwrap_err();
        problems
            .into_iter()
            .map(|problem| problem.message)
            .collect()
    }

    #[test]
    fn a_dsn_is_an_absolute_path_and_nothing_else() {
        assert!(DatabaseFile::of(&Dsn::parse("sqlite:///data/n%20o.db").unwrap()).is_ok());
        for (dsn, message) in [
            (
                "sqlite://data/notes.db",
                "a database file has no host, user or password",
            ),
            (
                "sqlite://u:p@/notes.db",
                "a database file has no host, user or password",
            ),
            ("sqlite://", "names no database file"),
            ("sqlite:///", "names no database file"),
            ("sqlite:///data/", "names no database file"),
            ("sqlite:///a%00b", "the path holds a NUL character"),
            ("sqlite:///a?mode=rw", "unknown parameter `mode`"),
            ("postgresql:///a", "`postgresql` is not the scheme `sqlite`"),
        ] {
            assert_eq!(problems(dsn), [message], "{dsn}");
        }
    }

    #[test]
    fn what_the_system_says_is_told_apart() {
        for (errno, message) in [
            (2, "the database file does not exist"),
            (13, "no permission to read the database file"),
            (0, "the database file cannot be opened"),
        ] {
            let code = ffi::SQLITE_CANTOPEN;
            let error = not_opened(OpenFailure { code, errno });
            assert_eq!(
                (error.code, error.message.as_str()),
                (Code::StoreUnreachable, message)
            );
            assert_eq!(error.server_code.as_deref(), Some("SQLITE_CANTOPEN"));
            assert!(error.hint.is_some());
        }
    }
}
