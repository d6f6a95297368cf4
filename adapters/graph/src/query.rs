//! One query, from its text to its stream of rows: the server plans the text without running it, the
//! plan is judged, and the text runs in a transaction that reads and is rolled back.

use std::sync::Arc;

use store::{Cell, Code, Column, Error, Event, QueryRequest, Row, RowStream, Value};
use tokio::time::{Instant, timeout_at};

use crate::bolt::{Broken, Pack, Request, Response};
use crate::error::{Begins, READ_ONLY, of_connection, of_text, over_time, unread};
use crate::plan::{Operator, operators};
use crate::statement::{self, Statement, Wanted};
use crate::wall::Wall;
use crate::working::{Stopped, Working};
use crate::{Graph, decode, fence, hints, params, plan};

/// The most rows asked for at once: what the server may have ready for a reader that is slow.
const BATCH: u64 = 1000;

/// What is known of a column before its values: Cypher has no types for expressions.
const ANY: &str = "ANY";

/// What stands before a text that is planned.
const EXPLAIN: &str = "EXPLAIN ";

/// Where a text that is planned begins.
const PLANNED: Begins = Begins::Behind(EXPLAIN.len());

/// Runs a query. The answer's columns are known when this returns; its rows follow.
pub(crate) async fn run(store: &Graph, request: QueryRequest) -> Result<RowStream, Error> {
    let deadline = Instant::now() + request.limits.timeout;
    let statement = statement::check(&request.text, &request.params)?;
    let values = params::packed(&request.params)?;
    let mut working = Working::begin(&store.shared, deadline).await?;
    let asked = async {
        let begun = begin(store, &mut working, &statement, &values, deadline).await;
        match begun {
            Err(Refused::Error(error)) => Err(error),
            Err(Refused::Server(error)) => {
                Err(hints::explain(&mut working, statement.text, error, deadline).await)
            }
            Ok(begun) => Ok(begun),
        }
    };
    let begun = match timeout_at(deadline, asked).await {
        Ok(begun) => begun.inspect_err(|error| store.lost(error))?,
        Err(_) => return Err(over_time()),
    };
    let columns = match begun {
        Begun::Rows(columns) => columns,
        Begun::Plan(operators) => return Ok(shown(operators)),
    };
    let cell_bytes = usize::try_from(request.limits.cell_bytes).unwrap_or(usize::MAX);
    let reading = Reading {
        store: store.clone(),
        working,
        text: statement.text.to_owned(),
        columns: Arc::clone(&columns),
        cell_bytes,
        most: request.limits.rows,
        deadline,
    };
    Ok(RowStream::new(columns, Box::pin(reading.events())))
}

/// What was begun.
enum Begun {
    /// The rows of these columns follow.
    Rows(Arc<[Column]>),
    Plan(Vec<Operator>),
}

/// Why a text does not run.
enum Refused {
    /// As it is.
    Error(Error),
    /// The server said so; a hint may explain it.
    Server(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Broken> for Refused {
    fn from(broken: Broken) -> Self {
        Self::Error(of_connection(&broken))
    }
}

/// Judges the text, and has it run.
async fn begin(
    store: &Graph,
    working: &mut Working,
    statement: &Statement<'_>,
    values: &[(String, Pack)],
    deadline: Instant,
) -> Result<Begun, Refused> {
    let text = statement.text;
    let wall = working.link()?.wall;
    let allowed = &store.shared.options.allowed;
    match wall {
        Wall::None(gap) => return Err(gap.error().into()),
        Wall::Account => fence::check(text, allowed)?,
        Wall::Server => {}
    }
    working.queue_begin(deadline)?;
    let known = store.verdicts.get(wall, text);
    let is_judged = known.is_some() && statement.wanted == Wanted::Rows;
    if !is_judged {
        working.queue(&Request::Run(&format!("{EXPLAIN}{text}"), values))?;
        working.queue(&Request::Pull(-1))?;
        working.send().await?;
        let begun = working.success().await;
        begun.map_err(|stopped| refused(store, stopped, Begins::AtStart))?;
        let planned = working.success().await;
        planned.map_err(|stopped| refused(store, stopped, PLANNED))?;
        let told = working.success().await;
        let told = told.map_err(|stopped| refused(store, stopped, PLANNED))?;
        match wall {
            Wall::Account => fence::judge(&told)?,
            _ => plan::judge(&told, allowed)?,
        }
        if statement.wanted == Wanted::Plan {
            working.answered();
            return Ok(Begun::Plan(operators(&told)));
        }
    }
    working.queue(&Request::Run(text, values))?;
    working.queue(&Request::Pull(BATCH as i64))?;
    working.send().await?;
    if is_judged {
        let begun = working.success().await;
        begun.map_err(|stopped| refused(store, stopped, Begins::AtStart))?;
    }
    let told = working.success().await;
    let told = told.map_err(|stopped| refused(store, stopped, Begins::AtStart))?;
    let names = told.get("fields").map(Pack::texts).unwrap_or_default();
    let columns: Arc<[Column]> = names
        .into_iter()
        .map(|name| Column {
            name: name.to_owned(),
            type_name: ANY.to_owned(),
        })
        .collect();
    if !is_judged {
        store.verdicts.keep(wall, text, Arc::clone(&columns));
    }
    Ok(Begun::Rows(columns))
}

fn refused(store: &Graph, stopped: Stopped, begins: Begins) -> Refused {
    match stopped {
        Stopped::Failed(failure) => Refused::Server(of_text(&failure, begins, &store.shared.dsn)),
        Stopped::Broken(broken) => broken.into(),
    }
}

/// An answer that is being read.
struct Reading {
    store: Graph,
    working: Working,
    text: String,
    columns: Arc<[Column]>,
    cell_bytes: usize,
    most: u64,
    deadline: Instant,
}

impl Reading {
    fn events(mut self) -> impl futures::Stream<Item = Result<Event, Error>> + Send {
        async_stream::stream! {
            let mut seen = 0;
            loop {
                match self.next().await {
                    Ok(Some(_)) if seen == self.most => {
                        self.end_of_batch().await;
                        yield Ok(Event::MoreRows);
                        return;
                    }
                    Ok(Some(row)) => {
                        seen += 1;
                        yield Ok(Event::Row(row));
                    }
                    Ok(None) => return,
                    Err(error) => {
                        self.store.lost(&error);
                        yield Err(error);
                        return;
                    }
                }
            }
        }
    }

    /// The next row. Asks for more where the server has more.
    async fn next(&mut self) -> Result<Option<Row>, Error> {
        loop {
            let response = self.response().await?;
            match response {
                Response::Record(record) => {
                    return decode::row(&record, &self.columns, self.cell_bytes).map(Some);
                }
                Response::Success(told) if told.get("has_more") == Some(&Pack::Boolean(true)) => {
                    self.ask_for_more().await?;
                }
                Response::Success(told) => {
                    self.working.answered();
                    return ended(&told).map(|()| None);
                }
                Response::Failure(failure) => {
                    let error = of_text(&failure, Begins::AtStart, &self.store.shared.dsn);
                    let (text, deadline) = (&self.text, self.deadline);
                    return Err(hints::explain(&mut self.working, text, error, deadline).await);
                }
                Response::Ignored => return Err(unread(crate::bolt::Malformed)),
            }
        }
    }

    async fn ask_for_more(&mut self) -> Result<(), Error> {
        let asking = async {
            self.working.queue(&Request::Pull(BATCH as i64))?;
            self.working.send().await
        };
        match timeout_at(self.deadline, asking).await {
            Ok(asked) => asked.map_err(|broken| of_connection(&broken)),
            Err(_) => Err(over_time()),
        }
    }

    async fn response(&mut self) -> Result<Response, Error> {
        let response = self.working.response(self.cell_bytes);
        match timeout_at(self.deadline, response).await {
            Ok(response) => response.map_err(|broken| of_connection(&broken)),
            Err(_) => Err(over_time()),
        }
    }

    /// Reads to the end of what was asked for where that is near, so that nothing is interrupted and
    /// the connection can be used again.
    async fn end_of_batch(&mut self) {
        let near = Instant::now() + std::time::Duration::from_millis(20);
        let ending =
            async { while let Ok(Response::Record(_)) = self.working.response(0).await {} };
        let _ = timeout_at(near.min(self.deadline), ending).await;
    }
}

/// Checks what the server says of a query that has ended.
fn ended(told: &Pack) -> Result<(), Error> {
    let rejected = |message: &str| Error::new(Code::QueryRejected, message).with_hint(READ_ONLY);
    if told.get("plan").is_some() || told.get("profile").is_some() {
        return Err(rejected("the server answered a plan instead of rows")
            .with_hint("write `EXPLAIN` as the first word"));
    }
    match told.get("type").and_then(Pack::as_text) {
        Some("r") => Ok(()),
        _ => Err(rejected("the query would have written; it was rolled back")),
    }
}

/// A plan as rows: the last operator first, each below what it feeds.
fn shown(operators: Vec<Operator>) -> RowStream {
    let columns: Arc<[Column]> = ["operator", "details"]
        .map(|name| Column {
            name: name.to_owned(),
            type_name: "STRING".to_owned(),
        })
        .into();
    let rows = operators.into_iter().map(|operator| {
        let indented = format!("{}{}", "  ".repeat(operator.depth), operator.name);
        let cells = [indented, operator.details].map(|text| Cell::whole(Value::Text(text)));
        Ok(Event::Row(cells.to_vec()))
    });
    RowStream::new(columns, Box::pin(futures::stream::iter(rows)))
}
