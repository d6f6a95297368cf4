//! rhizodat makes several data stores look like one to an AI agent, through a door that cannot
//! write. Modules depend downwards only: `mcp`, `guard`, `stores`, `config`, and the contract of a
//! store below them all.

pub mod config;
pub mod guard;
pub mod mcp;
pub mod stores;
