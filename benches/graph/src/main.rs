//! What the library costs over a bare driver (`neo4j`, by robsdedude) on the same server: one row and a
//! thousand rows in a READ transaction that is rolled back; and how much memory a long list takes.
//!
//! `RHIZODAT_BENCH_NEO4J=bolt://user:password@host:port cargo run --release` makes 1,000 nodes of the
//! label `Wide` there first.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use neo4j::driver::auth::AuthToken;
use neo4j::driver::{ConnectionConfig, Driver, DriverConfig, RoutingControl};
use neo4j::session::SessionConfig;
use neo4j::transaction::TransactionTimeout;
use rhizodat::config::Config;
use rhizodat::stores::{Handle, Stores};
use store::{Limits, QueryRequest, Value};

const DSN: &str = "RHIZODAT_BENCH_NEO4J";
const ONE_ROW: &str =
    "MATCH (w:Wide {id: 417}) RETURN w.id AS id, w.code AS code, w.price AS price";
const ROWS: &str = "MATCH (w:Wide) RETURN w.id AS id, w.code AS code, w.price AS price, w.note AS note, \
                    w.day AS day, w.at AS at, w.flag AS flag, w.tags AS tags ORDER BY w.id";
const ROUNDS: usize = 5;
const SLICES: usize = 20;

fn main() -> anyhow::Result<()> {
    let dsn = std::env::var(DSN).with_context(|| format!("{DSN} is not set"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let (login, address) = dsn
        .trim_start_matches("bolt://")
        .rsplit_once('@')
        .context("no login")?;
    let (user, password) = login.split_once(':').context("no password")?;
    let driver = Driver::new(
        ConnectionConfig::try_from(format!("bolt://{address}").as_str())?,
        DriverConfig::new().with_auth(Arc::new(AuthToken::new_basic_auth(user, password))),
    );
    fill(&driver)?;
    let variables = [
        ("RHIZODAT_STORE_G", dsn.as_str()),
        ("RHIZODAT_MCP_MAX_ROWS", "1000000"),
    ];
    let variables = variables.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let stores = Stores::open(&Config::load(variables, None)?)?;
    let gateway = stores.get("g")?;
    for (what, text, cells, repeats, most) in [
        ("one row", ONE_ROW, 3, 25, 2.0),
        ("1,000 rows of 8 columns", ROWS, 8000, 3, 1.5),
    ] {
        for is_new in [false, true] {
            let mut ratios = Vec::new();
            for round in 0..=ROUNDS {
                let mut spent = [Duration::ZERO; 2];
                for slice in 0..SLICES {
                    for is_library in [(round + slice) % 2 == 0, (round + slice) % 2 != 0] {
                        // A new text takes the server long.
                        for repeat in 0..if is_new { 2 } else { repeats } {
                            // A text that neither the library nor the server has met: its first
                            // column has a name of its own.
                            let text = if is_new {
                                let number = usize::from(is_library)
                                    + 2 * (repeat + 100 * (slice + SLICES * round));
                                text.replacen(" AS id", &format!(" AS id{number}"), 1)
                            } else {
                                text.to_owned()
                            };
                            let begun = Instant::now();
                            let found = if is_library {
                                runtime.block_on(through_library(gateway, &text))?
                            } else {
                                by_driver(&driver, &text)?
                            };
                            spent[usize::from(is_library)] += begun.elapsed();
                            ensure!(found == cells, "{found} cells");
                        }
                        runtime
                            .block_on(async { tokio::time::sleep(Duration::from_millis(3)).await });
                    }
                }
                // The first round warms up.
                if round > 0 {
                    ratios.push(spent[1].as_secs_f64() / spent[0].as_secs_f64());
                }
            }
            ratios.sort_by(f64::total_cmp);
            let kind = if is_new {
                "a new text"
            } else {
                "a text asked before"
            };
            println!(
                "{what}, {kind}: library / bare driver: least {:.2}, median {:.2}, greatest {:.2} (target {most} for a text asked before)",
                ratios[0],
                ratios[ROUNDS / 2],
                ratios[ROUNDS - 1]
            );
        }
    }
    let before = peak();
    let refused = runtime.block_on(through_library(gateway, "RETURN range(1, 10000000) AS x"));
    println!(
        "a list of 10,000,000 integers: the library grows by {} MB, and says: {:?}",
        (peak() - before) / 1_000_000,
        refused.err().map(|error| error.to_string())
    );
    let before = peak();
    let count = runtime.block_on(through_library(
        gateway,
        "UNWIND range(1, 100000000) AS i RETURN i",
    ))?;
    println!(
        "{count} of 100,000,000 rows: the library grows by {} MB",
        (peak() - before) / 1_000_000
    );
    let before = peak();
    by_driver(&driver, "RETURN range(1, 10000000) AS x")?;
    println!(
        "a list of 10,000,000 integers: the bare driver grows by {} MB",
        (peak() - before) / 1_000_000
    );
    runtime.block_on(stores.close());
    Ok(())
}

fn fill(driver: &Driver) -> anyhow::Result<()> {
    for text in [
        "CREATE CONSTRAINT wide_id IF NOT EXISTS FOR (w:Wide) REQUIRE w.id IS UNIQUE",
        "UNWIND range(1, 1000) AS i MERGE (w:Wide {id: i}) SET w.code = 'code-' + i, w.price = i * 1.25, \
         w.note = 'a note of some length, number ' + i, w.day = date('2024-01-01') + duration({days: i}), \
         w.at = datetime('2024-01-01T00:00:00Z') + duration({seconds: i}), w.flag = i % 2 = 0, w.tags = ['a', 'b']",
    ] {
        driver.execute_query(text).run()?;
    }
    Ok(())
}

/// The number of cells, each read.
async fn through_library(gateway: &Handle, text: &str) -> anyhow::Result<usize> {
    let request = QueryRequest {
        text: text.to_owned(),
        params: Vec::new(),
        limits: Limits {
            rows: 100_000,
            cell_bytes: 4096,
            timeout: Duration::from_secs(10),
        },
    };
    let mut answer = gateway.query(request).await?;
    let mut cells = 0;
    while let Some(row) = answer.next().await? {
        for cell in &row {
            std::hint::black_box::<&Value>(&cell.value);
        }
        cells += row.len();
    }
    Ok(cells)
}

/// The same by the bare driver in a READ transaction with a time-out, rolled back.
fn by_driver(driver: &Driver, text: &str) -> anyhow::Result<usize> {
    let mut session = driver.session(SessionConfig::new());
    let timeout = TransactionTimeout::from_millis(60_000).context("a time-out")?;
    let cells = session
        .transaction()
        .with_routing_control(RoutingControl::Read)
        .with_transaction_timeout(timeout)
        .run(|transaction| {
            let mut cells = 0;
            let stream = transaction
                .query(text)
                .with_parameters(HashMap::<String, neo4j::ValueSend>::new())
                .run()?;
            for record in stream {
                let record = record?;
                cells += record
                    .values()
                    .inspect(|value| {
                        std::hint::black_box(value);
                    })
                    .count();
            }
            transaction.rollback()?;
            Ok(cells)
        })?;
    Ok(cells)
}

/// The most memory that the process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
