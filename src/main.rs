//! The program `rhizodat-mcp`: reads the command line and the environment, and does one thing.

mod cli;

use std::future::Future;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use rhizodat::config::{Config, Problems};
use rhizodat::mcp;
use rhizodat::stores::{self, Stores};

use cli::{Arguments, Command, Report, logging, output};

/// Wrong usage (clap's own code for it) or configuration.
const MISCONFIGURED: u8 = 2;

fn main() -> ExitCode {
    let error = match run(Arguments::parse()) {
        Ok(code) => return code,
        Err(error) => error,
    };
    match error.downcast::<Problems>() {
        Ok(problems) => {
            output::complain(problems);
            ExitCode::from(MISCONFIGURED)
        }
        Err(failure) => {
            output::complain(format_args!("error: {failure:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let env_file = arguments.env_file.as_deref();
    match arguments.command.unwrap_or(Command::Serve) {
        Command::Serve => {
            let config = load(env_file)?;
            logging::begin(&config.log)?;
            logging::warn(&config.warnings);
            let stores = Stores::open(&config)?;
            block_on(mcp::serve(&config, stores))??;
        }
        Command::Check { json } => return check(env_file, Report::asked(json)),
        Command::Config {
            reference: true, ..
        } => cli::config::print_reference()?,
        Command::Config { json, .. } => {
            cli::config::run(&load(env_file)?, Report::asked(json))?;
        }
        Command::Demo { dir } => block_on(cli::demo::run(dir))??,
    }
    Ok(ExitCode::SUCCESS)
}

fn check(env_file: Option<&Path>, report: Report) -> anyhow::Result<ExitCode> {
    let opened = load(env_file).and_then(|config| Ok((Stores::open(&config)?, config)));
    let (stores, config) = match opened {
        Ok(opened) => opened,
        Err(problems) => return Ok(cli::check::tell_problems(problems, report)?),
    };
    logging::begin(&config.log)?;
    output::warn(&config.warnings);
    Ok(block_on(cli::check::run(&stores, report))??)
}

fn load(env_file: Option<&Path>) -> Result<Config, Problems> {
    Config::load_checked(std::env::vars_os(), env_file, stores::check)
}

fn block_on<F: Future>(work: F) -> anyhow::Result<F::Output> {
    // What runs at once waits for stores, and SQLite has threads of its own. A second thread here
    // would mostly wake the first: it cost a third of a short call's processor time.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start what serves")?;
    let output = runtime.block_on(work);
    // A read of standard input cannot be interrupted, and must not hold up the exit.
    runtime.shutdown_background();
    Ok(output)
}
