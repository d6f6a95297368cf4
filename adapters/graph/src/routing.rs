//! `neo4j://`: a server is asked which servers read the database, and those are read from.

use std::time::Duration;

use store::{Code, Error};
use tokio::time::Instant;

use crate::bolt::{Connection, Pack, Request, Response};
use crate::error::{of_connection, of_own};
use crate::pool::{Shared, lock};

/// The servers that read the database.
pub(crate) struct Routes {
    readers: Vec<(String, u16)>,
    until: Instant,
}

impl Shared {
    /// The servers to read from. They are asked for when what was said is too old.
    pub(crate) async fn readers(&self, deadline: Instant) -> Result<Vec<(String, u16)>, Error> {
        if let Some(routes) = &*lock(&self.routes)
            && Instant::now() < routes.until
        {
            return Ok(routes.readers.clone());
        }
        let mut last = None;
        for (host, port) in &self.options.hosts {
            let place = format!("{host}:{port}");
            let asking = async {
                let mut connection = self.connect(host, *port).await?;
                self.ask_routes(&mut connection, &place).await
            };
            match self.in_time(asking, &place, deadline).await {
                Ok(routes) => {
                    let readers = routes.readers.clone();
                    *lock(&self.routes) = Some(routes);
                    return Ok(readers);
                }
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::new(Code::StoreUnreachable, "no host is named")))
    }

    async fn ask_routes(&self, connection: &mut Connection, place: &str) -> Result<Routes, Error> {
        connection.queue(&Request::Route {
            routing: place,
            database: self.options.database.as_deref(),
        });
        let asked = async {
            connection.send().await?;
            connection.receive(0).await
        };
        match asked.await.map_err(|broken| of_connection(&broken))? {
            Response::Success(told) => read(&told),
            Response::Failure(failure) => return Err(of_own(&failure, &self.dsn)),
            Response::Ignored | Response::Record(_) => None,
        }
        .ok_or_else(|| {
            Error::new(
                Code::StoreUnreachable,
                format!("`{place}` names no server to read from"),
            )
            .with_hint("write `bolt://` to read from this server itself")
        })
    }
}

fn read(told: &Pack) -> Option<Routes> {
    let table = told.get("rt")?;
    let ttl = u64::try_from(table.get("ttl")?.as_integer()?).ok()?;
    let readers: Vec<(String, u16)> = table
        .get("servers")?
        .as_list()?
        .iter()
        .filter(|server| server.get("role").and_then(Pack::as_text) == Some("READ"))
        .flat_map(|server| server.get("addresses").map(Pack::texts).unwrap_or_default())
        .filter_map(|address| {
            let (host, port) = address.rsplit_once(':')?;
            let host = host.trim_start_matches('[').trim_end_matches(']');
            Some((host.to_owned(), port.parse().ok()?))
        })
        .collect();
    // A table may say that it holds for ever; it is asked for again once a day.
    let until = Instant::now() + Duration::from_secs(ttl.min(86_400));
    (!readers.is_empty()).then_some(Routes { readers, until })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_that_read_are_taken() {
        let server = |role: &str, address: &str| {
            Pack::map([
                ("role", Pack::text(role)),
                ("addresses", Pack::List(vec![Pack::text(address)])),
            ])
        };
        let servers = vec![
            server("WRITE", "a:1"),
            server("READ", "[::1]:2"),
            server("READ", "b:7687"),
            server("ROUTE", "c:3"),
        ];
        let table = Pack::map([
            ("ttl", Pack::Integer(300)),
            ("servers", Pack::List(servers)),
        ]);
        let routes = read(&Pack::map([("rt", table)])).unwrap();
        assert_eq!(
            routes.readers,
            [("::1".to_owned(), 2), ("b".to_owned(), 7687)]
        );
        assert!(read(&Pack::Map(Vec::new())).is_none());
    }
}
