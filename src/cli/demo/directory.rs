//! The directory of the demo: made or made anew, and never one that something else is in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Error;

/// The file that says whose directory this is. It keeps the directory out of a repository, too.
const MARK: &str = ".gitignore";

/// What that file holds.
const MARKED: &str = "# made by `rhizodat-mcp demo`, which makes it anew each time\n*\n";

/// What may stand as itself in the path of a DSN.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.');

/// One database of the demo.
struct Database {
    name: &'static str,
    sql: &'static str,
}

const DATABASES: [Database; 2] = [
    Database {
        name: "shop",
        sql: include_str!("shop.sql"),
    },
    Database {
        name: "support",
        sql: include_str!("support.sql"),
    },
];

/// A store of the demo.
pub(super) struct Store {
    /// The variable that gives it.
    pub(super) variable: String,
    /// Its DSN.
    pub(super) dsn: String,
    /// Its file.
    pub(super) file: PathBuf,
}

/// Makes the databases in `directory`, whose files of that name are replaced.
pub(super) fn make(directory: &Path) -> Result<Vec<Store>, Error> {
    claim(directory)?;
    let directory = fs::canonicalize(directory).map_err(|why| failed(directory, why))?;
    DATABASES
        .iter()
        .map(|database| {
            let file = directory.join(format!("{}.db", database.name));
            fill(&file, database.sql)?;
            let path = file
                .to_str()
                .ok_or_else(|| Error::NotUnicode(directory.clone()))?;
            Ok(Store {
                variable: format!("RHIZODAT_STORE_{}", database.name.to_uppercase()),
                dsn: format!("sqlite://{}", utf8_percent_encode(path, PLAIN)),
                file,
            })
        })
        .collect()
}

/// Takes a directory that is not there, that is empty, or that was made here before.
fn claim(directory: &Path) -> Result<(), Error> {
    let mark = directory.join(MARK);
    fs::create_dir_all(directory).map_err(|why| failed(directory, why))?;
    let is_empty = fs::read_dir(directory)
        .map_err(|why| failed(directory, why))?
        .next()
        .is_none();
    if is_empty {
        return fs::write(&mark, MARKED).map_err(|why| failed(&mark, why));
    }
    match fs::read_to_string(&mark) {
        Ok(text) if text == MARKED => Ok(()),
        _ => Err(Error::Taken(directory.to_owned())),
    }
}

/// Makes a database beside its place and then puts it there, so that whoever has the old one open
/// keeps the old one.
fn fill(file: &Path, sql: &str) -> Result<(), Error> {
    let beside = file.with_extension("db-new");
    for leftover in ["db-new", "db-new-journal", "db-journal", "db-wal", "db-shm"] {
        match fs::remove_file(file.with_extension(leftover)) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(failed(file, why)),
            _ => {}
        }
    }
    let made = rusqlite::Connection::open(&beside).and_then(|connection| {
        connection.execute_batch(&format!("BEGIN; {sql} COMMIT; ANALYZE;"))?;
        connection.close().map_err(|(_, why)| why)
    });
    made.map_err(|why| Error::Database(file.to_owned(), why))?;
    fs::rename(&beside, file).map_err(|why| failed(file, why))
}

fn failed(path: &Path, why: io::Error) -> Error {
    Error::Files(path.to_owned(), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_used_again_and_one_of_others_is_not_touched() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path().join("a b%c");
        let stores = make(&own).unwrap();
        assert!(stores[0].dsn.ends_with("/a%20b%25c/shop.db"));
        fs::write(&stores[0].file, "spoilt").unwrap();
        make(&own).unwrap();
        let shop = rusqlite::Connection::open(&stores[0].file).unwrap();
        let orders: i64 = shop
            .query_row("select count(*) from orders", [], |row| row.get(0))
            .unwrap();
        assert_eq!(orders, 120);

        let others = place.path().join("others");
        fs::create_dir(&others).unwrap();
        fs::write(others.join("shop.db"), "precious").unwrap();
        assert!(matches!(make(&others), Err(Error::Taken(_))));
        let kept = fs::read_to_string(others.join("shop.db")).unwrap();
        assert_eq!(kept, "precious");
        assert_eq!(fs::read_dir(&others).unwrap().count(), 1);
    }
}
