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

    /// The same with what mends it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
