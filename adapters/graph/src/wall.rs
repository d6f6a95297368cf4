//! What keeps writes out of a server, found out by writes that must fail. Each new connection is asked
//! before its first use: behind one name may stand several servers, and one may be replaced.

use store::{Code, Error};

use crate::bolt::{Begin, Broken, Connection, Failure, Request, Response};
use crate::error::of_connection;
use crate::options::{Options, ReadOnlyBy};

/// A write that has nothing to write: a server that enforces READ refuses it all the same.
const NOTHING: &str = "UNWIND [] AS nothing CREATE (n) RETURN nothing";

/// A write that is rolled back.
const SOMETHING: &str = "CREATE (n) RETURN 1 AS written";

/// Milliseconds until the server gives up a probe.
const PROBE_TIMEOUT: i64 = 5_000;

/// What keeps writes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wall {
    /// The server enforces the access mode READ.
    Server,
    /// The server does not; the DSN says that its account cannot write, and it could not.
    Account,
    /// Nothing does.
    None(Gap),
}

/// Why a server is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gap {
    /// It does not enforce READ, and the DSN says nothing of its account.
    Unsaid,
    /// It does not enforce READ, and the account wrote.
    AccountWrites,
}

impl Gap {
    pub(crate) fn problem(self) -> &'static str {
        match self {
            Self::Unsaid => "the server does not enforce the access mode READ",
            Self::AccountWrites => {
                "the server does not enforce the access mode READ, and the account can write"
            }
        }
    }

    pub(crate) fn mend(self) -> &'static str {
        match self {
            Self::Unsaid => {
                "give the store an account that has no right to write, and say so in its DSN: `?read_only_by=account`; it is then tried"
            }
            Self::AccountWrites => {
                "give the store an account that has no right to create, update or delete"
            }
        }
    }

    pub(crate) fn error(self) -> Error {
        Error::new(Code::UnsafeRole, self.problem())
            .with_hint("an operator mends it: `rhizodat-mcp check` says how")
    }
}

/// Tries a server's walls. The inner error is the server's on the transaction itself.
pub(crate) async fn probe(
    connection: &mut Connection,
    options: &Options,
) -> Result<Result<Wall, Failure>, Error> {
    let tried = attempt(connection, options, NOTHING).await;
    match tried.map_err(|broken| of_connection(&broken))? {
        Attempt::NotBegun(failure) => return Ok(Err(failure)),
        Attempt::Refused(failure) if failure.code == "Neo.ClientError.Statement.AccessMode" => {
            return Ok(Ok(Wall::Server));
        }
        Attempt::Refused(_) | Attempt::Written => {}
    }
    if options.read_only_by == ReadOnlyBy::Server {
        return Ok(Ok(Wall::None(Gap::Unsaid)));
    }
    let tried = attempt(connection, options, SOMETHING).await;
    Ok(match tried.map_err(|broken| of_connection(&broken))? {
        Attempt::NotBegun(failure) => Err(failure),
        Attempt::Refused(failure) if failure.code.contains(".Security.Forbidden") => {
            Ok(Wall::Account)
        }
        Attempt::Refused(_) | Attempt::Written => Ok(Wall::None(Gap::AccountWrites)),
    })
}

enum Attempt {
    NotBegun(Failure),
    Refused(Failure),
    Written,
}

/// Tries a write in a transaction of access mode READ, and rolls it back. The RESET waits for the
/// answers: it overtakes what was sent before it.
async fn attempt(
    connection: &mut Connection,
    options: &Options,
    text: &str,
) -> Result<Attempt, Broken> {
    connection.queue(&Request::Begin(Begin {
        database: options.database.as_deref(),
        timeout: PROBE_TIMEOUT,
        id: "probe",
    }));
    connection.queue(&Request::Run(text, &[]));
    connection.queue(&Request::Pull(-1));
    connection.send().await?;
    let (mut successes, mut failed) = (0, None);
    while !connection.is_idle() {
        match connection.receive(0).await? {
            Response::Success(_) => successes += 1,
            Response::Failure(failure) => failed = Some(failure),
            Response::Ignored | Response::Record(_) => {}
        }
    }
    connection.queue(&Request::Reset);
    connection.send().await?;
    let Response::Success(_) = connection.receive(0).await? else {
        return Err(Broken::Malformed);
    };
    match failed {
        None if successes == 3 => Ok(Attempt::Written),
        None => Err(Broken::Malformed),
        Some(failure) if successes == 0 => Ok(Attempt::NotBegun(failure)),
        Some(failure) => Ok(Attempt::Refused(failure)),
    }
}
