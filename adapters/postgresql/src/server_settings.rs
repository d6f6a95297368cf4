//! libpq's `options`: settings that the server is given at the start of a session.

use store::Problem;

/// The settings of libpq's `options`: `-c name=value` or `--name=value`, separated by blanks that a
/// backslash keeps.
pub(crate) fn server_settings(text: &str) -> Result<Vec<(String, String)>, Problem> {
    let problem = || {
        Problem::new("`options` is not understood")
            .with_hint("write `options=-c%20name=value`, several separated by `%20`")
    };
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => word.extend(characters.next()),
            ' ' => words.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty())),
            other => word.push(other),
        }
    }
    words.extend(Some(word).filter(|w| !w.is_empty()));

    let mut settings = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let assignment = match word.as_str() {
            "-c" => rest.next().ok_or_else(problem)?.as_str(),
            other => other
                .strip_prefix("--")
                .or(other.strip_prefix("-c"))
                .ok_or_else(problem)?,
        };
        let (name, value) = assignment.split_once('=').ok_or_else(problem)?;
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}
