//! Everything that is wrong with a configuration, reported at once.

use store::Problem;

/// The problems of one configuration, each with the name of what holds it. Displays one paragraph
/// per problem.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.paragraphs())]
pub struct Problems {
    found: Vec<Named>,
}

/// A problem, and the variable or option that holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The variable or option.
    pub subject: String,
    /// What is wrong with it.
    pub problem: Problem,
}

impl Problems {
    /// Adds a problem of the variable or option `subject`.
    pub fn push(&mut self, subject: impl Into<String>, problem: Problem) {
        self.found.push(Named {
            subject: subject.into(),
            problem,
        });
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The problems, in the order they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Named> {
        self.found.iter()
    }

    /// Whether a variable or option that begins with `prefix` has a problem.
    pub(super) fn concern(&self, prefix: &str) -> bool {
        self.found
            .iter()
            .any(|named| named.subject.starts_with(prefix))
    }

    fn paragraphs(&self) -> String {
        let paragraphs: Vec<String> = self.found.iter().map(paragraph).collect();
        paragraphs.join("\n\n")
    }
}

fn paragraph(named: &Named) -> String {
    let Named { subject, problem } = named;
    let error = format!("error: `{subject}`: {}", problem.message);
    match &problem.hint {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error,
    }
}
