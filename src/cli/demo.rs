//! `rhizodat-mcp demo`: two small databases, and a session of a real client with the real server
//! over them. Needs the adapter of SQLite and nothing else.

#[cfg(feature = "sqlite")]
mod directory;
#[cfg(feature = "sqlite")]
mod session;

use std::path::PathBuf;

/// Where the databases are made, seen from the current directory.
#[cfg(feature = "sqlite")]
const DIRECTORY: &str = "rhizodat-demo";

/// Why the demo ended early.
#[cfg(feature = "sqlite")]
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// Something is in the directory.
    #[error(
        "`{}` holds files that `demo` did not make\nhint: name another directory with `--dir`", .0.display()
    )]
    Taken(PathBuf),
    /// The path cannot stand in a DSN.
    #[error(
        "the path of `{}` is not Unicode\nhint: name another directory with `--dir`", .0.display()
    )]
    NotUnicode(PathBuf),
    /// The file system refused.
    #[error("cannot make `{}`", .0.display())]
    Files(PathBuf, #[source] std::io::Error),
    /// SQLite refused.
    #[error("cannot fill `{}`", .0.display())]
    Database(PathBuf, #[source] rusqlite::Error),
    /// This program cannot be run once more.
    #[error("cannot start the server")]
    Start(#[source] std::io::Error),
    /// The server did not begin a session.
    #[error("the server did not greet")]
    Greeting(#[source] Box<rmcp::service::ClientInitializeError>),
    /// The session broke.
    #[error("the session broke off")]
    Session(#[source] rmcp::service::ServiceError),
    /// The server did not end as it should.
    #[error("the session did not end")]
    Farewell(#[source] tokio::task::JoinError),
    /// A call ended otherwise than it must.
    #[error("the call of `{0}` above did not end as it should")]
    Unforeseen(&'static str),
    /// A file is not what it was.
    #[error("`{}` has changed during the session", .0.display())]
    Changed(PathBuf),
    /// Nobody reads.
    #[error("cannot write to standard output")]
    Output(#[source] std::io::Error),
}

/// Why there is no demo.
#[cfg(not(feature = "sqlite"))]
#[derive(Debug, thiserror::Error)]
#[error(
    "this build has no `demo`, which needs SQLite\nhint: build with the feature `sqlite`: `cargo build --features sqlite`"
)]
pub(crate) struct Error;

/// Makes the databases in `directory` and plays the session.
#[cfg(feature = "sqlite")]
pub(crate) async fn run(directory: Option<PathBuf>) -> Result<(), Error> {
    use std::fs;

    use super::output;

    let directory = directory.unwrap_or_else(|| PathBuf::from(DIRECTORY));
    let server = std::env::current_exe().map_err(Error::Start)?;
    let stores = directory::make(&directory)?;
    let say = |text: String| output::print(text).map_err(Error::Output);
    for store in &stores {
        say(format!("made {}\n", store.file.display()))?;
    }

    let content = |store: &directory::Store| {
        fs::read(&store.file).map_err(|why| Error::Files(store.file.clone(), why))
    };
    let before: Vec<Vec<u8>> = stores.iter().map(content).collect::<Result<_, _>>()?;
    session::play(&server, &stores).await?;
    for (store, before) in stores.iter().zip(&before) {
        if content(store)? != *before {
            return Err(Error::Changed(store.file.clone()));
        }
    }

    let environment: serde_json::Map<_, _> = stores
        .iter()
        .map(|store| (store.variable.clone(), store.dsn.clone().into()))
        .collect();
    let client = serde_json::json!({
        "mcpServers": {
            "rhizodat": {"command": server.display().to_string(), "env": environment},
        },
    });
    say(format!(
        "\nBoth files are, byte for byte, what they were before the session.\n\
         To ask them from your own MCP client, give it this:\n\n{client:#}\n"
    ))
}

/// Says that there is no demo.
#[cfg(not(feature = "sqlite"))]
pub(crate) async fn run(_directory: Option<PathBuf>) -> Result<(), Error> {
    Err(Error)
}
