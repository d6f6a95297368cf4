//! What the tests stand on: the backends, databases made for one test, the server as a child
//! process, and clients that speak to it.

pub mod backends;
pub mod clickhouse;
pub mod client;
pub mod corpus;
pub mod graph;
pub mod own_server;
pub mod postgresql;
pub mod proxy;
pub mod raw;
pub mod sqlite;
pub mod tls;
