//! From the environment to one checked [`Config`]. Every problem is found before any is reported,
//! and no secret is ever shown.

mod answers;
mod log;
mod names;
mod permissions;
mod problems;
mod reader;
pub mod reference;
pub mod render;
mod source;
mod stores;
#[cfg(test)]
mod tests;
mod values;
mod variables;

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use secrecy::ExposeSecret;
use store::Problem;

pub use answers::{Format, Results};
pub use log::{Log, LogFormat};
pub use permissions::{Permission, Permissions};
pub use problems::{Named, Problems};
pub use render::Setting;
pub use source::Origin;
pub use stores::StoreConfig;

use names::Name;
use reader::Reader;
use source::Source;

/// A checked configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The stores, in the order of their names; at least one.
    pub stores: Vec<StoreConfig>,
    /// What callers may do.
    pub permissions: Permissions,
    /// How much they may ask for.
    pub limits: Limits,
    /// How long one query may take.
    pub query_timeout: Duration,
    /// How long a read waits for a lock that a writer holds.
    pub busy_timeout: Duration,
    /// The most operations that run at once in one store.
    pub max_concurrency: usize,
    /// The language of results.
    pub format: Format,
    /// What a result consists of.
    pub results: Results,
    /// What is logged.
    pub log: Log,
    /// What is unwise and no reason to refuse the start.
    pub warnings: Vec<Problem>,
    settings: Vec<Setting>,
}

/// How much a caller may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most rows of one result.
    pub max_rows: u64,
    /// The most bytes of one result.
    pub max_bytes: u64,
    /// The most bytes of one value; never more than `max_bytes`.
    pub max_cell_bytes: u64,
    /// The longest statement, in bytes.
    pub max_sql_bytes: u64,
}

impl Config {
    /// Reads a configuration from the variables of an environment, and from a file for those that
    /// the environment does not set. An empty value counts as unset.
    pub fn load(
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        env_file: Option<&Path>,
    ) -> Result<Self, Problems> {
        Self::load_checked(environment, env_file, |_| Vec::new())
    }

    /// The same, with what `check` finds wrong in each DSN among the problems.
    pub fn load_checked(
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        env_file: Option<&Path>,
        check: impl Fn(&StoreConfig) -> Vec<Problem>,
    ) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let mut source = source::environment(environment, &mut problems);
        let mut warnings = Vec::new();
        if let Some(path) = env_file {
            for (name, given) in source::file(path, &mut problems) {
                source.entry(name).or_insert(given);
            }
            warnings.extend(source::exposure(path));
        }
        refuse_names(&source, &mut problems);
        let mut reader = Reader {
            source,
            problems,
            settings: Vec::new(),
        };
        let read = Self::read(&mut reader, warnings, &check);
        match read {
            Some(config) if reader.problems.is_empty() => Ok(Self {
                settings: reader.settings,
                ..config
            }),
            _ => Err(reader.problems),
        }
    }

    /// Every variable in effect with its value, secrets masked, and where that came from.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    fn read(
        reader: &mut Reader,
        warnings: Vec<Problem>,
        check: &dyn Fn(&StoreConfig) -> Vec<Problem>,
    ) -> Option<Self> {
        // Everything is read before anything is given up, so that every problem is found.
        let stores = stores::read(reader);
        for store in &stores {
            for problem in check(store) {
                reader.problems.push(&store.variable, problem);
            }
        }
        let permissions = reader.read(
            &variables::PERMISSIONS,
            Permissions::parse,
            Permissions::to_string,
        );
        let limits = read_limits(reader);
        let query_timeout = reader.number(&variables::QUERY_TIMEOUT);
        let busy_timeout = reader.number(&variables::BUSY_TIMEOUT);
        let max_concurrency = reader.number(&variables::MAX_CONCURRENCY);
        let format = reader.one_of(&variables::FORMAT, &answers::FORMATS);
        let structured = reader.switch(&variables::STRUCTURED);
        let log = read_log(reader);
        Some(Self {
            stores,
            permissions: permissions?,
            limits: limits?,
            query_timeout: Duration::from_millis(query_timeout?),
            busy_timeout: Duration::from_millis(busy_timeout?),
            max_concurrency: usize::try_from(max_concurrency?).ok()?,
            format: format?,
            results: if structured? {
                Results::Structured
            } else {
                Results::TextOnly
            },
            log: log?,
            warnings,
            settings: Vec::new(),
        })
    }
}

fn read_limits(reader: &mut Reader) -> Option<Limits> {
    let max_rows = reader.number(&variables::MAX_ROWS);
    let max_bytes = reader.number(&variables::MAX_BYTES);
    // The default gives way to a smaller result; a limit someone wrote is not changed in silence.
    let is_written = reader.is_given(&variables::MAX_CELL_BYTES);
    let most = max_bytes.unwrap_or(u64::MAX);
    let max_cell_bytes = reader.checked_number(&variables::MAX_CELL_BYTES, |bytes| {
        if bytes > most && is_written {
            let limit = variables::MAX_BYTES.name;
            return Err(Problem::new(format!(
                "one value could be larger than `{limit}`, a whole result"
            ))
            .with_hint(format!("give at most {most}, or raise `{limit}`")));
        }
        Ok(bytes.min(most))
    });
    let max_sql_bytes = reader.number(&variables::MAX_SQL_BYTES);
    Some(Limits {
        max_rows: max_rows?,
        max_bytes: max_bytes?,
        max_cell_bytes: max_cell_bytes?,
        max_sql_bytes: max_sql_bytes?,
    })
}

fn read_log(reader: &mut Reader) -> Option<Log> {
    let filter = reader.read(
        &variables::LOG,
        |text| log::filter(text).map_err(|one| vec![one]),
        String::clone,
    );
    let format = reader.one_of(&variables::LOG_FORMAT, &log::LOG_FORMATS);
    Some(Log {
        filter: filter?,
        format: format?,
    })
}

/// Refuses every name that this version does not read.
fn refuse_names(source: &Source, problems: &mut Problems) {
    for (name, given) in source {
        match names::classify(name) {
            Err(problem) => problems.push(name, problem),
            Ok(Name::Writes) => match values::switch(given.value.expose_secret()) {
                Ok(false) => {}
                Ok(true) => problems.push(name, names::not_available()),
                Err(problem) => problems.push(name, problem),
            },
            Ok(Name::Setting | Name::Store(_) | Name::Password(_) | Name::PasswordFile(_)) => {}
        }
    }
}
