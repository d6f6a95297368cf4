//! The requests and responses of Bolt: <https://neo4j.com/docs/bolt/current/bolt/message/>.

use secrecy::{ExposeSecret as _, SecretString};

use super::framing::{Broken, Message};
use super::packstream::{Pack, Token};

/// What is sent.
pub(crate) enum Request<'a> {
    /// Who we are. Before Bolt 5.1 it carries the login.
    Hello {
        /// `host:port` as the client knows the server, where it may be routed.
        routing: Option<&'a str>,
        login: Option<Login<'a>>,
        notifications: Notifications,
    },
    /// Who the account is.
    Logon(Login<'a>),
    /// A transaction that reads.
    Begin(Begin<'a>),
    /// A text with its parameters, within the transaction.
    Run(&'a str, &'a [(String, Pack)]),
    /// The next so many rows of it; −1 for all.
    Pull(i64),
    /// The end of a transaction that has answered.
    Rollback,
    /// The end of whatever runs.
    Reset,
    /// Which servers there are for a database.
    Route {
        routing: &'a str,
        database: Option<&'a str>,
    },
}

/// Whether the server adds its advice on queries, which nobody here reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notifications {
    /// As it likes: before Bolt 5.2 there is no choice.
    Default,
    Off,
}

/// An account.
#[derive(Clone, Copy)]
pub(crate) struct Login<'a> {
    pub(crate) user: Option<&'a str>,
    pub(crate) password: Option<&'a SecretString>,
}

/// What a transaction is begun with. Its access mode is always READ.
pub(crate) struct Begin<'a> {
    pub(crate) database: Option<&'a str>,
    /// Milliseconds until the server ends it by itself.
    pub(crate) timeout: i64,
    /// What it can be found by in the server.
    pub(crate) id: &'a str,
}

/// Under this name the id of a call stands in the metadata of its transaction.
pub(crate) const ID: &str = "rhizodat";

const AGENT: &str = concat!("rhizodat/", env!("CARGO_PKG_VERSION"));

impl Login<'_> {
    fn members(&self) -> Vec<(&'static str, Pack)> {
        let Some(user) = self.user else {
            return vec![("scheme", Pack::text("none"))];
        };
        let password = self.password.map_or("", |secret| secret.expose_secret());
        vec![
            ("scheme", Pack::text("basic")),
            ("principal", Pack::text(user)),
            ("credentials", Pack::text(password)),
        ]
    }
}

impl Request<'_> {
    /// Appends the message in chunks.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let (tag, fields) = self.parts();
        let mut body = Vec::new();
        Pack::Structure(tag, fields).write(&mut body);
        for chunk in body.chunks(usize::from(u16::MAX)) {
            // A chunk has at most 65,535 bytes.
            out.extend_from_slice(&(chunk.len() as u16).to_be_bytes());
            out.extend_from_slice(chunk);
        }
        out.extend_from_slice(&[0, 0]);
    }

    fn parts(&self) -> (u8, Vec<Pack>) {
        match self {
            Self::Hello {
                routing,
                login,
                notifications,
            } => {
                let mut members = vec![
                    ("user_agent", Pack::text(AGENT)),
                    ("bolt_agent", Pack::map([("product", Pack::text(AGENT))])),
                ];
                if let Some(address) = routing {
                    members.push(("routing", Pack::map([("address", Pack::text(*address))])));
                }
                members.extend(login.iter().flat_map(Login::members));
                if *notifications == Notifications::Off {
                    members.push(("notifications_minimum_severity", Pack::text("OFF")));
                }
                (0x01, vec![Pack::map(members)])
            }
            Self::Logon(login) => (0x6A, vec![Pack::map(login.members())]),
            Self::Begin(begin) => {
                let mut members = vec![
                    ("mode", Pack::text("r")),
                    ("tx_timeout", Pack::Integer(begin.timeout)),
                    ("tx_metadata", Pack::map([(ID, Pack::text(begin.id))])),
                ];
                members.extend(begin.database.map(|name| ("db", Pack::text(name))));
                (0x11, vec![Pack::map(members)])
            }
            Self::Run(text, params) => {
                let params = Pack::Map(params.to_vec());
                (0x10, vec![Pack::text(*text), params, Pack::Map(Vec::new())])
            }
            Self::Pull(count) => (0x3F, vec![Pack::map([("n", Pack::Integer(*count))])]),
            Self::Rollback => (0x13, Vec::new()),
            Self::Reset => (0x0F, Vec::new()),
            Self::Route { routing, database } => {
                let context = Pack::map([("address", Pack::text(*routing))]);
                let extra = Pack::map(database.map(|name| ("db", Pack::text(name))));
                (0x66, vec![context, Pack::List(Vec::new()), extra])
            }
        }
    }
}

/// What comes back.
#[derive(Debug)]
pub(crate) enum Response {
    /// A request was done, with what the server says of it.
    Success(Pack),
    /// A request failed. Those after it are ignored.
    Failure(Failure),
    Ignored,
    /// A row.
    Record(Message),
}

/// The server's words on a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Such as `Neo.ClientError.Statement.SyntaxError`.
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Response {
    pub(crate) fn of(message: Message) -> Result<Self, Broken> {
        let mut reader = message.reader();
        let Token::Structure(tag, fields) = reader.token()? else {
            return Err(Broken::Malformed);
        };
        match (tag, fields) {
            (0x71, 1) => Ok(Self::Record(message)),
            (0x7E, _) => Ok(Self::Ignored),
            (0x70, 1) => Ok(Self::Success(reader.pack()?)),
            (0x7F, 1) => Ok(Self::Failure(Failure::of(&reader.pack()?))),
            _ => Err(Broken::Malformed),
        }
    }
}

impl Failure {
    fn of(told: &Pack) -> Self {
        // Its name since Bolt 5.7, and before.
        let code = told.get("neo4j_code").or_else(|| told.get("code"));
        fn text(value: Option<&Pack>) -> &str {
            value.and_then(Pack::as_text).unwrap_or_default()
        }
        Self {
            code: text(code).to_owned(),
            message: text(told.get("message")).to_owned(),
        }
    }
}
