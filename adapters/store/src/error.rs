//! What can go wrong in a store, as a stable code that callers branch on and a message that people
//! read. Messages never hold a secret: adapters pass what a driver says through [`crate::Dsn::redact`].

use std::fmt;

/// The stable codes of errors, as callers see them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// A parameter of the call is wrong; the message names it.
    InvalidArgument,
    /// No store has this name.
    UnknownStore,
    /// What was named does not exist.
    NotFound,
    /// This deployment or the store's account does not permit it.
    NotPermitted,
    /// The store could not be reached, or the connection to it was lost.
    StoreUnreachable,
    /// The store's account could do more than read.
    UnsafeRole,
    /// The text is not one read statement.
    QueryRejected,
    /// The store refused or failed the statement.
    QueryFailed,
    /// A value could not be decoded; the message names its column.
    UndecodableValue,
    /// A limit would be passed.
    LimitExceeded,
    /// The time allowed is over.
    Timeout,
    /// The store is locked or all its places are taken.
    Busy,
    /// A fault of the gateway itself.
    Internal,
}

impl Code {
    /// Every code, in the order they are documented.
    pub const ALL: [Self; 13] = [
        Self::InvalidArgument,
        Self::UnknownStore,
        Self::NotFound,
        Self::NotPermitted,
        Self::StoreUnreachable,
        Self::UnsafeRole,
        Self::QueryRejected,
        Self::QueryFailed,
        Self::UndecodableValue,
        Self::LimitExceeded,
        Self::Timeout,
        Self::Busy,
        Self::Internal,
    ];

    /// The code as callers see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid_argument",
            Self::UnknownStore => "unknown_store",
            Self::NotFound => "not_found",
            Self::NotPermitted => "not_permitted",
            Self::StoreUnreachable => "store_unreachable",
            Self::UnsafeRole => "unsafe_role",
            Self::QueryRejected => "query_rejected",
            Self::QueryFailed => "query_failed",
            Self::UndecodableValue => "undecodable_value",
            Self::LimitExceeded => "limit_exceeded",
            Self::Timeout => "timeout",
            Self::Busy => "busy",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A place in the caller's text. Both count from one, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character within it.
    pub column: usize,
}

impl Position {
    /// The position of the character with this index (from zero) in `text`.
    pub fn of_character(text: &str, index: usize) -> Self {
        let before = text.chars().take(index);
        let (mut line, mut column) = (1, 1);
        for character in before {
            if character == '\n' {
                line += 1;
                column = 1;
            } else {
                column += 1;
            }
        }
        Self { line, column }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

/// An error of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// What callers branch on.
    pub code: Code,
    /// What happened, lower-case, without a full stop; the server's own words where it has some.
    pub message: String,
    /// What the caller can do about it.
    pub hint: Option<String>,
    /// The server's own code, such as an SQLSTATE.
    pub server_code: Option<String>,
    /// Where in the caller's text.
    pub position: Option<Position>,
}

impl Error {
    /// An error with a code and what happened.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
            server_code: None,
            position: None,
        }
    }

    /// The same with what the caller can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with the server's own code.
    #[must_use]
    pub fn with_server_code(mut self, code: impl Into<String>) -> Self {
        self.server_code = Some(code.into());
        self
    }

    /// The same with a place in the caller's text.
    #[must_use]
    pub fn at(mut self, position: Option<Position>) -> Self {
        self.position = position;
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match (&self.server_code, self.position) {
            (Some(code), Some(position)) => write!(f, " ({code}, {position})"),
            (Some(code), None) => write!(f, " ({code})"),
            (None, Some(position)) => write!(f, " ({position})"),
            (None, None) => Ok(()),
        }
    }
}
