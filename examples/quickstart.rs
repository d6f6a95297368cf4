//! The library without MCP: stores from variables, a query, its columns and its rows.
//!
//! `cargo run --locked --example quickstart -- /absolute/path.db 'select 1'`

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use rhizodat::config::{Config, Problems};
use rhizodat::stores::Stores;
use store::{Limits, QueryRequest};

/// Asks the SQLite database `path`, and writes the answer as a line for each row.
pub async fn ask(path: &str, text: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let variables = [("RHIZODAT_STORE_NOTES", format!("sqlite://{path}"))];
    let environment = variables.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let config = Config::load(environment, None)?;
    // Nothing is connected before it is asked.
    let stores = Stores::open(&config)?;
    let request = QueryRequest {
        text: text.to_owned(),
        params: Vec::new(),
        limits: Limits {
            rows: config.limits.max_rows,
            cell_bytes: config.limits.max_cell_bytes,
            timeout: Duration::from_secs(5),
        },
    };
    let mut answer = stores.get("notes")?.query(request).await?;
    let names: Vec<&str> = answer
        .columns()
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let mut lines = vec![names.join(" | ")];
    // Dropping the answer before its end would stop the query in the store.
    while let Some(row) = answer.next().await? {
        let cells: Vec<String> = row.iter().map(|cell| cell.value.to_json()).collect();
        lines.push(cells.join(" | "));
    }
    if answer.has_more_rows() {
        lines.push("there are more rows".to_owned());
    }
    stores.close().await;
    Ok(lines)
}

/// An error as it is shown: those of a configuration say what they are by themselves, and one of a
/// store has a hint.
pub fn told(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(problems) = error.downcast_ref::<Problems>() {
        return problems.to_string();
    }
    let hint = error
        .downcast_ref::<store::Error>()
        .and_then(|error| error.hint.as_deref());
    match hint {
        Some(hint) => format!("error: {error}\nhint: {hint}"),
        None => format!("error: {error}"),
    }
}

#[allow(dead_code, clippy::print_stdout, clippy::print_stderr)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(text)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: quickstart /absolute/path.db 'select …'");
        return ExitCode::from(2);
    };
    match ask(&path, &text).await {
        Ok(lines) => println!("{}", lines.join("\n")),
        Err(error) => {
            eprintln!("{}", told(error.as_ref()));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
