//! What the library costs over a bare driver on the same server: one row in a read-only
//! transaction, and a thousand rows as text.
//!
//! `benches/compare.py --only library` runs it on a server of its own. By hand it needs
//! `RHIZODAT_BENCH_POSTGRESQL`, a reader's DSN of a database with the table `wide` of that script.

#![allow(missing_docs, clippy::print_stdout)]

use std::ffi::OsString;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use futures::TryStreamExt as _;
use rhizodat::config::Config;
use rhizodat::stores::{Handle, Stores};
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Row as _, ValueRef as _};
use store::{Limits, QueryRequest, Value};

const DSN: &str = "RHIZODAT_BENCH_POSTGRESQL";
const ONE_ROW: &str = "SELECT id, code, price FROM wide WHERE id = 417";
const ROWS: &str = "SELECT * FROM wide ORDER BY id";

/// A round takes the contenders in turn, so many times.
const SLICES: usize = 20;

fn main() -> anyhow::Result<()> {
    let rounds = rounds()?;
    let dsn = std::env::var(DSN).with_context(|| format!("{DSN} is not set to a reader's DSN"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(run(&dsn, rounds))
}

/// `--rounds N`. Cargo adds arguments of its own, which mean nothing here.
fn rounds() -> anyhow::Result<usize> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--rounds");
    match (arguments.next(), arguments.next()) {
        (None, _) => Ok(7),
        (Some(_), Some(number)) => match number.parse() {
            Ok(rounds) if rounds > 0 => Ok(rounds),
            _ => bail!("--rounds takes a number from 1 up"),
        },
        (Some(_), None) => bail!("--rounds takes a number"),
    }
}

async fn run(dsn: &str, rounds: usize) -> anyhow::Result<()> {
    let variables = [
        ("RHIZODAT_STORE_ERP", dsn),
        ("RHIZODAT_MCP_MAX_ROWS", "1000"),
    ];
    let variables = variables.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let stores = Stores::open(&Config::load(variables, None)?)?;
    let gateway = stores.get("erp")?;
    // Two connections, and no question to the server before each use: as cheap as it gets.
    let pool = PgPoolOptions::new()
        .max_connections(2)
        .test_before_acquire(false)
        .connect(dsn)
        .await?;

    let mut transactions = Ratios::default();
    let mut thousands = Ratios::default();
    for round in 0..=rounds {
        let mut one = Pair::default();
        let mut many = Pair::default();
        for slice in 0..SLICES {
            let library_first = (round + slice) % 2 == 0;
            for is_library in [library_first, !library_first] {
                for _ in 0..25 {
                    let begun = Instant::now();
                    let cells = if is_library {
                        through_library(gateway, ONE_ROW).await?
                    } else {
                        in_transaction(&pool, ONE_ROW).await?
                    };
                    one.add(is_library, begun.elapsed());
                    ensure!(cells == 3, "one row has 3 cells, not {cells}");
                }
                rest().await;
                for _ in 0..3 {
                    let begun = Instant::now();
                    let cells = if is_library {
                        through_library(gateway, ROWS).await?
                    } else {
                        as_text(&pool, ROWS).await?
                    };
                    many.add(is_library, begun.elapsed());
                    ensure!(cells == 8000, "the rows have 8,000 cells, not {cells}");
                }
                rest().await;
            }
        }
        // The first round warms up.
        if round > 0 {
            transactions.add(&one);
            thousands.add(&many);
        }
    }
    println!("\nthrough the library, {rounds} rounds; ratios: least, median, greatest");
    transactions.print("one row / BEGIN READ ONLY, select, ROLLBACK", 3.0);
    thousands.print("1,000 rows of 8 columns / the same by raw_sql", 3.0);
    stores.close().await;
    Ok(())
}

/// Lets the library clean up after its answers, so that it does not slow the other contender.
async fn rest() {
    tokio::time::sleep(Duration::from_millis(3)).await;
}

/// The number of cells, each read.
async fn through_library(gateway: &Handle, text: &str) -> anyhow::Result<usize> {
    let request = QueryRequest {
        text: text.to_owned(),
        params: Vec::new(),
        limits: Limits {
            rows: 1000,
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

/// The same by the bare driver in a read-only transaction, its statement prepared once.
async fn in_transaction(pool: &PgPool, text: &'static str) -> anyhow::Result<usize> {
    let mut transaction = pool.begin_with("BEGIN READ ONLY").await?;
    let row = sqlx::query(text).fetch_one(&mut *transaction).await?;
    transaction.rollback().await?;
    Ok(row.len())
}

/// The same by the bare driver as text, without a transaction.
async fn as_text(pool: &PgPool, text: &str) -> anyhow::Result<usize> {
    let mut rows = sqlx::raw_sql(AssertSqlSafe(text.to_owned())).fetch(pool);
    let mut cells = 0;
    while let Some(row) = rows.try_next().await? {
        for index in 0..row.len() {
            let value = row.try_get_raw(index)?;
            if !value.is_null() {
                let text = value.as_str().map_err(|error| anyhow::anyhow!(error))?;
                std::hint::black_box(text);
            }
        }
        cells += row.len();
    }
    Ok(cells)
}

/// The times of one round.
#[derive(Default)]
struct Pair {
    library: Vec<Duration>,
    bare: Vec<Duration>,
}

impl Pair {
    fn add(&mut self, is_library: bool, taken: Duration) {
        if is_library {
            self.library.push(taken);
        } else {
            self.bare.push(taken);
        }
    }
}

/// One median and one ratio a round.
#[derive(Default)]
struct Ratios {
    library: Vec<f64>,
    bare: Vec<f64>,
    ratios: Vec<f64>,
}

impl Ratios {
    fn add(&mut self, pair: &Pair) {
        let median_of = |times: &[Duration]| {
            let seconds = times.iter().map(Duration::as_secs_f64).collect();
            spread(seconds).1 * 1e3
        };
        let (library, bare) = (median_of(&pair.library), median_of(&pair.bare));
        self.library.push(library);
        self.bare.push(bare);
        self.ratios.push(library / bare);
    }

    fn print(&self, title: &str, target: f64) {
        let (least, middle, most) = spread(self.ratios.clone());
        let verdict = if middle <= target { "met" } else { "MISSED" };
        println!("\n{title}");
        for (name, times) in [("library", &self.library), ("bare sqlx", &self.bare)] {
            let (least, middle, most) = spread(times.clone());
            println!("  {name:<22} {middle:>9.3} ms   ({least:.3} to {most:.3})");
        }
        println!(
            "  {:<34} {least:.3} {middle:.3} {most:.3}   target ≤ {target}: {verdict}",
            "library / bare sqlx"
        );
    }
}

/// The least, the median and the greatest.
fn spread(mut numbers: Vec<f64>) -> (f64, f64, f64) {
    numbers.sort_by(f64::total_cmp);
    let at = |index: usize| numbers.get(index).copied().unwrap_or(f64::NAN);
    let last = numbers.len().saturating_sub(1);
    (at(0), at(last / 2), at(last))
}
