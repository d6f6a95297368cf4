//! What a user can see of rhizodat, one file a behaviour, on the real binary and real servers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]
#![allow(
    clippy::print_stderr,
    clippy::string_slice,
    missing_docs,
    unreachable_pub
)]

mod harness;

mod accounts;
mod any_text;
mod attacks;
mod bad_input;
mod clickhouse;
mod clickhouse_limits;
mod clickhouse_tls;
mod configuration;
mod connections;
mod contract;
mod faults;
mod golden_values;
mod graph;
mod graph_limits;
mod graph_without_read;
mod honest_queries;
mod library;
mod limits;
mod moving_tables;
mod one_way_dependencies;
mod restarts;
mod schema;
mod sqlite_files;
mod stdio_manners;
mod stopping;
mod tool_list;
