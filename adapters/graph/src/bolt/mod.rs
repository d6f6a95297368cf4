//! A client of the Bolt protocol, 5.0 to 5.8: <https://neo4j.com/docs/bolt/current/>.
//!
//! Why one of our own stands in ARCHITECTURE.md: what arrives is bounded in bytes while it arrives,
//! and every wait can be given up.

mod connection;
mod framing;
mod message;
mod packstream;
mod tls;

pub(crate) use connection::{Connection, Refused, Server};
pub(crate) use framing::{Broken, Message};
pub(crate) use message::{Begin, Failure, ID, Login, Request, Response};
pub(crate) use packstream::{Content, Malformed, Pack, Reader, Token};
pub(crate) use tls::{Trust, client_config};
