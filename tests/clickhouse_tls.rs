//! ClickHouse over HTTPS: only where its certificate is trusted.

use serde_json::json;

use crate::clickhouse::is_well_told;
use crate::harness::clickhouse::{Database, READER};
use crate::harness::client::Server;
use crate::harness::tls::Tls;

#[tokio::test]
async fn https_answers_where_the_authority_is_known_and_nowhere_else() {
    let database = Database::create().await;
    let tls = Tls::before(&database.address).await;
    let dsn = format!("clickhouses://{READER}@{}/{}", tls.address, database.name);
    let trusting = format!("{dsn}?sslrootcert={}", tls.authority().display());
    let server = Server::start(&[
        ("RHIZODAT_STORE_EVENTS", &trusting),
        ("RHIZODAT_STORE_STRANGE", &dsn),
    ])
    .await;
    let secure = server
        .query("events", "select number from numbers(3)")
        .await;
    assert_eq!(secure.rows(), json!([[0], [1], [2]]));
    let refused = server.query("strange", "select 1").await;
    is_well_told(&refused, "store_unreachable", "certificate");
}
