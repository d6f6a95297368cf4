//! MCP over standard input and output, one JSON-RPC message a line. Whatever a client writes is
//! answered as JSON-RPC has it, and the server lives on.

use std::io;
use std::time::Duration;

use rmcp::model::{
    ClientNotification, ClientRequest, ErrorCode, GetMeta as _, JsonRpcError, JsonRpcMessage,
    JsonRpcNotification, ProtocolVersion, RequestId,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::digits;
use super::refusals::{before_session, error_line, refusal, reserved, say_which_methods};
use super::running::Running;

/// The longest line that is read. Statements are far shorter; parameters can be long.
const LONGEST_LINE: usize = 4 * 1024 * 1024;

/// How much is read at once.
const READ_AT_ONCE: usize = 16 * 1024;

/// How many lines wait to be written before those who send wait too.
const MOST_UNWRITTEN: usize = 64;

/// The longest id of a request, in bytes.
const LONGEST_ID: usize = 256;

/// How long closing waits for a client that does not read.
const LAST_LINES: Duration = Duration::from_millis(200);

/// How long calls may run on when the input has ended: those of a client that writes to a pipe and
/// reads what comes. They are answered in time, or cancelled; the server is to be gone within a second.
const LAST_ANSWERS: Duration = Duration::from_millis(300);

/// A transport over a reader and a writer of lines.
pub(super) struct Lines<R> {
    reader: R,
    /// Whole lines to the task that writes them, so that no interruption tears one.
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    writer: JoinHandle<()>,
    /// What was read and not yet taken as a line.
    unread: Vec<u8>,
    /// How much of `unread` is known to hold no line break.
    searched: usize,
    line: LineState,
    opened: Opened,
    /// The requests that are being answered. A second one under the same id could not be told apart.
    running: Running,
    /// An error to be sent before more is read. Kept until it is, since reading can be interrupted.
    refusal: Option<Vec<u8>>,
    /// When those that run are cancelled, since the input has ended.
    last: Option<Instant>,
    /// Cancelled when the input has ended or nobody reads: a client that is gone waits for no answer.
    ended: CancellationToken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineState {
    Reading,
    /// The line was too long; the rest of it is thrown away.
    Skipping,
}

/// Whether a request has begun a session. Before it, notifications and responses mean nothing, and
/// the SDK would end the server over one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opened {
    NotYet,
    Yes,
}

/// Whether a request begins a session, as the SDK decides it: `initialize`, or one that says all
/// that the stateless protocol asks of it.
fn begins_session(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28)
                .is_empty()
                && meta
                    .protocol_version()
                    .is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
        }
    }
}

/// Whether an id is longer than any client has a use for.
fn is_long(id: &RequestId) -> bool {
    matches!(id, RequestId::String(text) if text.len() > LONGEST_ID)
}

impl<R> Lines<R> {
    /// Lines of `reader` and to `writer`. `ended` is cancelled when the input has ended.
    pub(super) fn new<W: AsyncWrite + Send + Unpin + 'static>(
        reader: R,
        writer: W,
        ended: CancellationToken,
    ) -> Self {
        let (outgoing, lines) = mpsc::channel(MOST_UNWRITTEN);
        Self {
            reader,
            outgoing: Some(outgoing),
            writer: tokio::spawn(write_lines(lines, writer, ended.clone())),
            unread: Vec::new(),
            searched: 0,
            line: LineState::Reading,
            opened: Opened::NotYet,
            running: Running::default(),
            refusal: None,
            last: None,
            ended,
        }
    }

    /// The next whole line that was read, without its line break.
    fn take_line(&mut self) -> Option<Result<Vec<u8>, TooLong>> {
        loop {
            let tail = self.unread.get(self.searched..).unwrap_or_default();
            let Some(offset) = tail.iter().position(|&byte| byte == b'\n') else {
                self.searched = self.unread.len();
                if self.searched <= LONGEST_LINE {
                    return None;
                }
                self.unread = Vec::new();
                self.searched = 0;
                let first_time = self.line == LineState::Reading;
                self.line = LineState::Skipping;
                return first_time.then_some(Err(TooLong));
            };
            let end = self.searched + offset;
            let rest = self.unread.split_off(end + 1);
            let mut line = std::mem::replace(&mut self.unread, rest);
            self.searched = 0;
            line.truncate(end);
            if self.line == LineState::Skipping {
                self.line = LineState::Reading;
                continue;
            }
            if line.len() > LONGEST_LINE {
                return Some(Err(TooLong));
            }
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Some(Ok(line));
        }
    }

    /// What a line says, or the answer to one that says nothing.
    fn understand(&mut self, line: &[u8]) -> Understood {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Understood::Nothing;
        }
        if let Some(refused) = reserved(line) {
            return Understood::Refused(refused);
        }
        let mut message = match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(line) {
            Ok(message) => message,
            Err(error) => return Understood::Refused(refusal(line, &error)),
        };
        match &mut message {
            JsonRpcMessage::Request(request) => {
                if is_long(&request.id) {
                    let message = format!("an `id` has at most {LONGEST_ID} bytes");
                    return Understood::Refused(error_line(
                        None,
                        ErrorCode::INVALID_REQUEST,
                        &message,
                    ));
                }
                if self.opened == Opened::NotYet
                    && let Some(message) = before_session(&request.request)
                {
                    let id = Some(request.id.clone());
                    return Understood::Refused(error_line(
                        id,
                        ErrorCode::INVALID_REQUEST,
                        message,
                    ));
                }
                if let Err(message) = self.running.begin(&request.id) {
                    let id = Some(request.id.clone());
                    return Understood::Refused(error_line(
                        id,
                        ErrorCode::INVALID_REQUEST,
                        message,
                    ));
                }
                if begins_session(&request.request) {
                    self.opened = Opened::Yes;
                }
                if let ClientRequest::CallToolRequest(call) = &mut request.request
                    && let Some(rounded) = digits::rounded(line)
                {
                    call.extensions.insert(rounded);
                }
            }
            _ if self.opened == Opened::NotYet => return Understood::Nothing,
            JsonRpcMessage::Notification(JsonRpcNotification {
                notification: ClientNotification::CancelledNotification(cancelled),
                ..
            }) => {
                if let Some(id) = &cancelled.params.request_id {
                    self.running.cancel(id);
                }
            }
            _ => {}
        }
        Understood::Message(Box::new(message))
    }
}

struct TooLong;

enum Understood {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    Refused(Vec<u8>),
    Nothing,
}

impl<R> Transport<RoleServer> for Lines<R>
where
    R: AsyncRead + Send + Unpin,
{
    type Error = io::Error;

    fn send(
        &mut self,
        mut item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        let running = self.running.clone();
        async move {
            if let JsonRpcMessage::Error(answer) = &mut item {
                say_which_methods(&mut answer.error);
            }
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let sent = match outgoing {
                Some(outgoing) => outgoing.send(line).await.map_err(|_| closed()),
                None => Err(closed()),
            };
            match &item {
                JsonRpcMessage::Response(response) => running.end(&response.id),
                JsonRpcMessage::Error(JsonRpcError { id: Some(id), .. }) => running.end(id),
                _ => {}
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.next_message().await;
        if message.is_none() {
            self.ended.cancel();
        }
        message
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing = None;
        if tokio::time::timeout(LAST_LINES, &mut self.writer)
            .await
            .is_err()
        {
            self.writer.abort();
        }
        Ok(())
    }
}

impl<R: AsyncRead + Send + Unpin> Lines<R> {
    /// The next message; `None` when the input has ended or nobody reads the answers.
    async fn next_message(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(refusal) = &self.refusal {
                // Cancel-safe: interrupted, nothing was sent.
                self.outgoing.as_ref()?.send(refusal.clone()).await.ok()?;
                self.refusal = None;
            }
            match self.take_line() {
                Some(Ok(line)) => match self.understand(&line) {
                    Understood::Message(message) => return Some(*message),
                    Understood::Refused(refusal) => self.refusal = Some(refusal),
                    Understood::Nothing => {}
                },
                Some(Err(TooLong)) => {
                    let message = format!("a message has at most {LONGEST_LINE} bytes");
                    self.refusal = Some(error_line(None, ErrorCode::INVALID_REQUEST, &message));
                }
                None => {
                    if let Some(last) = self.last {
                        // Answers are sent meanwhile: this is interrupted for each, and begun again.
                        _ = timeout_at(last, self.running.none()).await;
                        return None;
                    }
                    self.running.room().await;
                    self.unread.reserve(READ_AT_ONCE);
                    // Cancel-safe: interrupted, nothing was read.
                    match self.reader.read_buf(&mut self.unread).await {
                        Ok(0) => self.last = Some(Instant::now() + LAST_ANSWERS),
                        Ok(_) => {}
                        Err(error) => {
                            tracing::warn!(%error, "standard input failed");
                            return None;
                        }
                    }
                }
            }
        }
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the client no longer reads")
}

async fn write_lines<W: AsyncWrite + Unpin>(
    mut lines: mpsc::Receiver<Vec<u8>>,
    mut writer: W,
    ended: CancellationToken,
) {
    while let Some(line) = lines.recv().await {
        let written = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "standard output failed");
            // Nobody reads the answers any more.
            ended.cancel();
            return;
        }
    }
}
