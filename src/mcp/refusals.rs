//! Errors of the protocol itself, to lines that no call comes of.

use std::collections::HashMap;

use rmcp::model::{ClientRequest, ErrorCode, ErrorData, GetMeta as _, RequestId};
use serde_json::value::RawValue;

use super::tokens;

/// The id of the message in a line of JSON, as far as it has one: a batch has none.
fn id_of(line: &str) -> Option<RequestId> {
    let head: HashMap<String, &RawValue> = serde_json::from_str(line).ok()?;
    let id = head.get("id")?.get();
    // No object is an id, whatever its reader would make of it.
    let is_scalar = !id.starts_with(['{', '[']);
    is_scalar.then(|| serde_json::from_str(id).ok()).flatten()
}

/// The answer to a line with a key that would have a part of it read as something else. A line that
/// is no JSON has none.
pub(super) fn reserved(line: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line).ok()?;
    let key = tokens::reserved_key(text)?;
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    let shown: String = key.escape_debug().take(60).collect();
    let message = format!(
        "no object can have the key `{shown}` here; pass a document that has it as its text, in a string"
    );
    Some(error_line(id_of(text), ErrorCode::INVALID_PARAMS, &message))
}

/// The answer to a line that says nothing, for what its reader says of it.
pub(super) fn refusal(line: &[u8], error: &serde_json::Error) -> Vec<u8> {
    let id = std::str::from_utf8(line).ok().and_then(id_of);
    if error.is_data() {
        let message = "the line is no JSON-RPC 2.0 message";
        return error_line(id, ErrorCode::INVALID_REQUEST, message);
    }
    if error.to_string().starts_with("number out of range") {
        let message = "a number is beyond what a double holds; pass it as a string, and have the query read it as a number where the store does not";
        return error_line(id, ErrorCode::INVALID_PARAMS, message);
    }
    let message = "the line is no JSON in UTF-8";
    error_line(id, ErrorCode::PARSE_ERROR, message)
}

/// A line with an error.
pub(super) fn error_line(id: Option<RequestId>, code: ErrorCode, message: &str) -> Vec<u8> {
    let error = serde_json::json!({
        "jsonrpc": "2.0",
        "id": id,
        "error": {"code": code.0, "message": message},
    });
    format!("{error}\n").into_bytes()
}

/// What a client is told that asks for something before a session: the error, or `None` where the
/// request needs none or says what the stateless protocol asks of it.
pub(super) fn before_session(request: &ClientRequest) -> Option<&'static str> {
    let needs_none = matches!(
        request,
        ClientRequest::InitializeRequest(_)
            | ClientRequest::PingRequest(_)
            | ClientRequest::DiscoverRequest(_)
    );
    let is_stateless = request.get_meta().protocol_version().is_some();
    (!needs_none && !is_stateless).then_some(
        "the session has not begun: send `initialize` first, or the protocol's version and the client with each request, in `_meta`",
    )
}

/// What is said of a method that there is not.
pub(super) fn no_method(method: &str) -> String {
    let shown: String = method.escape_debug().take(60).collect();
    format!(
        "there is no method `{shown}`: this server has tools alone, by `tools/list` and `tools/call`"
    )
}

/// Makes a sentence of an error that is the name of a method, as the SDK has it.
pub(super) fn say_which_methods(error: &mut ErrorData) {
    if error.code == ErrorCode::METHOD_NOT_FOUND && !error.message.contains(' ') {
        error.message = no_method(&error.message).into();
    }
}
