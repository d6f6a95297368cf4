//! What is wrong with a configuration.

/// Something wrong in a configuration, with what mends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, in one sentence, lower-case without a full stop.
    pub message: String,
    /// What mends it.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem that speaks for itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }

    /// A parameter names a file that cannot be used.
    pub fn of_file(parameter: &str, path: &str, why: impl std::fmt::Display) -> Self {
        Self::new(format!(
            "`{parameter}`: the file `{path}` cannot be read: {why}"
        ))
        .with_hint("check the path, and that the gateway's account may read the file")
    }

    /// The same with what mends it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
