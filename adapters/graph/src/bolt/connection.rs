//! One connection to a server: from the socket to the login, and its requests and responses.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::framing::{Broken, Incoming};
use super::message::{Failure, Login, Notifications, Request, Response};
use super::packstream::Pack;

/// The magic number of Bolt, then versions: 5.8 and the eight below it.
const HANDSHAKE: [u8; 20] = [
    0x60, 0x60, 0xB0, 0x17, 0, 8, 8, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
];

/// Where a connection leads and as whom.
pub(crate) struct Server<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) tls: Option<&'a Arc<ClientConfig>>,
    pub(crate) login: Login<'a>,
    pub(crate) is_routed: bool,
}

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum Refused {
    /// No socket.
    Unreachable(io::Error),
    /// The encryption failed.
    Tls(io::Error),
    /// Who answered does not speak Bolt 5: its first bytes.
    NoBolt([u8; 4]),
    /// It went away in the middle.
    Broken(Broken),
    /// It refused the login.
    Login(Failure),
}

impl From<Broken> for Refused {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

/// A connection that is logged in.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    incoming: Incoming,
    outgoing: Vec<u8>,
    /// Requests that were not answered yet.
    unanswered: usize,
    /// Whether a request may have been sent in part.
    is_torn: bool,
    /// What the server calls itself.
    pub(crate) agent: String,
    /// The address on this side, as the server sees it where nothing stands between.
    pub(crate) address: String,
}

impl Connection {
    /// Connects and logs in.
    pub(crate) async fn open(server: &Server<'_>) -> Result<Self, Refused> {
        let socket = TcpStream::connect((server.host, server.port))
            .await
            .map_err(Refused::Unreachable)?;
        socket.set_nodelay(true).map_err(Refused::Unreachable)?;
        let address = socket
            .local_addr()
            .map_err(Refused::Unreachable)?
            .to_string();
        let mut stream = match server.tls {
            None => Stream::Plain(socket),
            Some(config) => {
                let name = ServerName::try_from(server.host.to_owned())
                    .map_err(|error| Refused::Tls(io::Error::other(error)))?;
                let connector = TlsConnector::from(Arc::clone(config));
                let encrypted = connector.connect(name, socket).await;
                Stream::Encrypted(Box::new(encrypted.map_err(Refused::Tls)?))
            }
        };
        let minor = agree(&mut stream).await?;
        let mut connection = Self {
            stream,
            incoming: Incoming::default(),
            outgoing: Vec::new(),
            unanswered: 0,
            is_torn: false,
            agent: String::new(),
            address,
        };
        let place = format!("{}:{}", server.host, server.port);
        let routing = server.is_routed.then_some(place.as_str());
        // The login moved out of HELLO with Bolt 5.1.
        let (within, after) = if minor == 0 {
            (Some(server.login), None)
        } else {
            (None, Some(server.login))
        };
        connection.queue(&Request::Hello {
            routing,
            login: within,
            notifications: if minor < 2 {
                Notifications::Default
            } else {
                Notifications::Off
            },
        });
        if let Some(login) = after {
            connection.queue(&Request::Logon(login));
        }
        connection.send().await?;
        while !connection.is_idle() {
            match connection.receive(0).await? {
                Response::Success(told) => {
                    if let Some(agent) = told.get("server").and_then(Pack::as_text) {
                        agent.clone_into(&mut connection.agent);
                    }
                }
                Response::Failure(failure) => return Err(Refused::Login(failure)),
                Response::Ignored | Response::Record(_) => {
                    return Err(Broken::Malformed.into());
                }
            }
        }
        Ok(connection)
    }

    /// Puts a request behind those that wait to be sent.
    pub(crate) fn queue(&mut self, request: &Request<'_>) {
        request.write(&mut self.outgoing);
        self.unanswered += 1;
    }

    /// Sends what waits.
    pub(crate) async fn send(&mut self) -> Result<(), Broken> {
        self.is_torn = true;
        let outgoing = std::mem::take(&mut self.outgoing);
        self.stream.write_all(&outgoing).await?;
        self.stream.flush().await?;
        self.is_torn = false;
        Ok(())
    }

    /// The next response. Of each text of a record, `keep` bytes are kept.
    pub(crate) async fn receive(&mut self, keep: usize) -> Result<Response, Broken> {
        let message = self.incoming.message(&mut self.stream, keep).await?;
        let response = Response::of(message)?;
        if !matches!(response, Response::Record(_)) {
            self.unanswered = self.unanswered.saturating_sub(1);
        }
        Ok(response)
    }

    /// Whether what was sent ends with a whole request, so that another can follow.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_torn && self.outgoing.is_empty()
    }

    /// Whether every request was answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.unanswered == 0
    }

    /// Whether an idle connection can still be used: nothing has come, not even its end.
    pub(crate) fn is_alive(&self) -> bool {
        let socket = match &self.stream {
            Stream::Plain(socket) => socket,
            Stream::Encrypted(encrypted) => encrypted.get_ref().0,
        };
        // The runtime's own reading asks the system only after an event was seen, which can be late.
        let read = SockRef::from(socket).peek(&mut [MaybeUninit::uninit()]);
        self.is_idle() && matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

/// Agrees on a version with the server, and answers its minor number.
async fn agree(stream: &mut Stream) -> Result<u8, Refused> {
    let agreeing = async {
        stream.write_all(&HANDSHAKE).await?;
        stream.flush().await?;
        let mut chosen = [0; 4];
        stream.read_exact(&mut chosen).await?;
        Ok::<_, io::Error>(chosen)
    };
    let chosen = agreeing.await.map_err(Broken::Lost)?;
    match chosen {
        [0, 0, minor @ 0..=8, 5] => Ok(minor),
        other => Err(Refused::NoBolt(other)),
    }
}

/// A socket, encrypted or not.
#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(context, buffer),
            Self::Encrypted(socket) => Pin::new(socket).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_write(context, bytes),
            Self::Encrypted(socket) => Pin::new(socket).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_flush(context),
            Self::Encrypted(socket) => Pin::new(socket).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_shutdown(context),
            Self::Encrypted(socket) => Pin::new(socket).poll_shutdown(context),
        }
    }
}
