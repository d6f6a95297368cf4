//! The graphs of the tests, and what their servers see: asked by HTTP, another way than the adapter's.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;

use super::backends::variable;

/// The password of the accounts that tests make.
const PASSWORD: &str = "reader-test";

/// Neo4j Community has one database: its data are there for all tests, and none may change them.
static FIXTURE: OnceCell<()> = OnceCell::const_new();

/// An account of a test's own on the Neo4j of the tests. It may do everything.
pub struct Account {
    pub name: String,
}

impl Account {
    /// A new account, and the data of the corpora.
    pub async fn create() -> Self {
        FIXTURE
            .get_or_init(|| async {
                let text = std::fs::read_to_string("tests/corpus/graph/fixture.cypher").unwrap();
                let text = text.lines().filter(|line| !line.starts_with("//"));
                for statement in text.collect::<Vec<_>>().join("\n").split(";\n") {
                    if !statement.trim().is_empty() {
                        cypher(statement).await;
                    }
                }
            })
            .await;
        let name = format!("t_{}", super::postgresql::uuid());
        let create = format!("CREATE USER {name} SET PASSWORD '{PASSWORD}' CHANGE NOT REQUIRED");
        ask("system", &create).await;
        Self { name }
    }

    /// Its DSN.
    pub fn dsn(&self) -> String {
        format!("bolt://{}:{PASSWORD}@{}", self.name, address())
    }

    /// How many transactions it has in the server.
    pub async fn running(&self) -> usize {
        let count = format!(
            "SHOW TRANSACTIONS YIELD username WHERE username = '{}' RETURN count(*)",
            self.name
        );
        let count = cypher(&count).await[0][0].as_u64().unwrap();
        usize::try_from(count).unwrap()
    }

    /// Ends its connections, and waits until the server has none of them.
    pub async fn break_connections(&self) {
        let own = format!(
            "CALL dbms.listConnections() YIELD connectionId, username WITH * WHERE username = '{}'",
            self.name
        );
        cypher(&format!(
            "{own} CALL dbms.killConnection(connectionId) YIELD message RETURN count(message)"
        ))
        .await;
        let gone = async {
            while cypher(&format!("{own} RETURN count(*)")).await[0][0] != 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(10), gone).await;
        waited.expect("killed connections end");
    }
}

/// `host:port` of Neo4j's Bolt.
pub fn address() -> String {
    let dsn = variable("RHIZODAT_TEST_NEO4J");
    let (_, address) = dsn.rsplit_once('@').unwrap();
    address.to_owned()
}

/// `host:port` of ArcadeDB's Bolt.
pub fn arcadedb_address() -> String {
    let dsn = variable("RHIZODAT_TEST_ARCADEDB");
    let (_, after) = dsn.rsplit_once('@').unwrap();
    after.split('/').next().unwrap().to_owned()
}

/// The rows of a query of the test's own, in Neo4j's JSON.
pub async fn cypher(statement: &str) -> Value {
    ask("neo4j", statement).await
}

async fn ask(database: &str, statement: &str) -> Value {
    let answer = transaction(
        &format!("/db/{database}/tx/commit"),
        &json!({"statements": [{"statement": statement}]}),
    )
    .await;
    let rows = answer["results"][0]["data"].as_array();
    let rows = rows.unwrap_or_else(|| panic!("{answer}\n{statement}"));
    let rows = rows.iter().map(|row| row["row"].clone());
    assert_eq!(answer["errors"], json!([]), "{statement}");
    Value::Array(rows.collect())
}

/// A request to Neo4j's HTTP API.
pub async fn transaction(path: &str, body: &Value) -> Value {
    let url = variable("RHIZODAT_TEST_NEO4J_HTTP");
    post(&url, path, body).await
}

/// A database of ArcadeDB's, asked as its administrator.
pub async fn arcadedb(statement: &str) -> Value {
    let url = variable("RHIZODAT_TEST_ARCADEDB_HTTP");
    let body = json!({"language": "opencypher", "command": statement});
    let answer = post(&url, "/api/v1/command/graph", &body).await;
    assert!(answer["result"].is_array(), "{answer}\n{statement}");
    answer["result"].clone()
}

/// One request over a connection of its own.
async fn post(url: &str, path: &str, body: &Value) -> Value {
    use base64::Engine as _;
    let (login, address) = url
        .strip_prefix("http://")
        .unwrap()
        .rsplit_once('@')
        .unwrap();
    let login = base64::engine::general_purpose::STANDARD.encode(login);
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Basic {login}\r\nAccept: application/json\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked {
        unchunked(body)
    } else {
        body.to_owned()
    };
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}\n{answer}"))
}

/// A body without the sizes of its chunks, which count bytes.
fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        whole.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    whole
}
