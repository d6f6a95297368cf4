//! The form of results.

/// The language results are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// TOON: a table costs a model about half of what it costs as JSON.
    Toon,
    /// JSON.
    Json,
}

/// How the formats are written.
pub(super) const FORMATS: [(&str, Format); 2] = [("toon", Format::Toon), ("json", Format::Json)];

/// What a result consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Results {
    /// The fenced text.
    TextOnly,
    /// The same and structured content, with output schemas.
    Structured,
}
