//! The end of a session: cleaned up and kept, or cancelled in the server and closed.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use crate::connect::{ServerSession, part};
use crate::error::keeps_connection;
use crate::pool::{Asked, CLEAN_UP, Lease, Pool};

/// Rolls back, drops what a rollback keeps, and gives the connection back; closes it on any doubt.
/// Advisory locks go whatever became of the query.
pub(super) async fn clean_up(pool: Arc<Pool>, lease: Lease, prepared: Vec<String>) {
    match lease.session {
        ServerSession::Own { .. } => clean_up_own(pool, lease).await,
        ServerSession::Pooled => clean_up_pooled(pool, lease, prepared).await,
    }
}

/// In a session of our own everything that was prepared goes, whoever did it.
async fn clean_up_own(pool: Arc<Pool>, mut lease: Lease) {
    let sql = "ROLLBACK; DEALLOCATE ALL; SELECT pg_catalog.pg_advisory_unlock_all()";
    let work = sqlx::raw_sql(sql).execute(&mut lease.connection);
    match tokio::time::timeout(CLEAN_UP, work).await {
        Ok(Ok(_)) => pool.keep(lease),
        Ok(Err(error)) => tracing::debug!(%error, "a connection was not clean and is closed"),
        Err(_) => tracing::debug!("a connection was not clean in time and is closed"),
    }
}

/// A pooler's session also serves others: only what is ours goes.
async fn clean_up_pooled(pool: Arc<Pool>, mut lease: Lease, prepared: Vec<String>) {
    let mut sql = String::from("ROLLBACK; ");
    for name in &prepared {
        sql.push_str(&format!("DEALLOCATE {name}; "));
    }
    // A function of the caller's database can prepare statements that nobody here knows.
    sql.push_str(
        "SELECT pg_catalog.pg_advisory_unlock_all(), \
         (SELECT pg_catalog.count(*) FROM pg_catalog.pg_prepared_statements WHERE from_sql)",
    );
    let work = async {
        // Within the transaction, so that a pooler sends it to the same server session.
        lease.connection.clear_cached_statements().await?;
        let left = sqlx::raw_sql(AssertSqlSafe(sql))
            .fetch_one(&mut lease.connection)
            .await?;
        left.try_get::<i64, _>(1)
    };
    match tokio::time::timeout(CLEAN_UP, work).await {
        Ok(Ok(0)) => pool.keep(lease),
        Ok(Ok(left)) => tracing::debug!(left, "a connection kept statements and is closed"),
        Ok(Err(error)) => tracing::debug!(%error, "a connection was not clean and is closed"),
        Err(_) => tracing::debug!("a connection was not clean in time and is closed"),
    }
}

/// Cancels what the transaction runs until the server has stopped, then closes the connection. It
/// is held until then, so that the process cannot be working for anybody else.
pub(super) async fn cancel(pool: Arc<Pool>, mut lease: Lease, process: i32) {
    let host = lease.host;
    let work = async {
        loop {
            match pool.cancel(host, process).await {
                Ok(Asked::Told) => {}
                Ok(Asked::Gone) => return,
                Err(error) => tracing::debug!(%error, "a query could not be cancelled"),
            }
            let answered = async {
                // An error is the cancelled query's: the exchange ends with the next answer.
                while let Err(error) = lease.connection.ping().await {
                    if !keeps_connection(&error) {
                        return;
                    }
                }
            };
            let patience = Duration::from_millis(200);
            if tokio::time::timeout(patience, answered).await.is_ok() {
                return;
            }
        }
    };
    if tokio::time::timeout(CLEAN_UP, work).await.is_err() {
        tracing::warn!(process, "a query was left to its statement time-out");
    }
    part(lease.connection).await;
}
