//! The contract every backend fulfils: how a store is described, asked and answered. It knows no
//! driver and no MCP; adapters depend on it, and the gateway speaks to stores through it alone.

mod cell;
mod dsn;
mod error;
mod number;
mod params;
mod problem;
mod profile;
mod query;
pub mod schema;
mod span;
mod suggest;
mod value;
mod words;

#[cfg(feature = "test-kit")]
pub mod contract;

use async_trait::async_trait;

pub use cell::{Cell, Column, Row};
pub use dsn::{Dsn, DsnError, Host};
pub use error::{Code, Error, Position};
pub use number::number_text;
pub use params::Params;
pub use problem::Problem;
pub use profile::{Finding, Kind, Probe, Profile, Settings, Severity};
pub use query::{Event, Limits, QueryRequest, RowStream};
pub use span::Span;
pub use suggest::{and_list, nearest, or_list};
pub use value::Value;
pub use words::without_links;

/// One data store, as the gateway sees it.
///
/// Every implementation keeps these rules, and the test kit (`contract`, behind the feature `test-kit`) tests them:
/// - Nothing that reaches `query` can change the store, its other sessions or the host, whatever
///   the text is. The store itself refuses writes; matching words in the text is never the wall.
/// - `query` answers a stream that holds a few rows in memory, bounded in bytes, and no value longer
///   than the cell limit. Dropping the stream, or the future of any call, stops the work in the server.
/// - A connection whose exchange was interrupted is never used again.
/// - A call is repeated at most once, and only while nothing of it has been run by the server.
/// - A value that cannot be decoded is an error that names its column, never null.
/// - No secret appears in an error or in `Debug`.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// What is known of the store without asking it.
    fn profile(&self) -> &Profile;

    /// Asks the store who it is and whether its door is shut. Errors: unreachable, wrong
    /// credentials, time-out. A reachable store with problems is an `Ok` with findings.
    async fn probe(&self, timeout: std::time::Duration) -> Result<Probe, Error>;

    /// One page of the store's tables, in the order of `(schema, name)`.
    async fn schema(&self, request: schema::Request) -> Result<schema::Page, Error>;

    /// Runs one read statement and answers its columns and a stream of rows.
    async fn query(&self, request: QueryRequest) -> Result<RowStream, Error>;

    /// Closes every connection, and cancels what still runs in the server.
    async fn close(&self);
}
