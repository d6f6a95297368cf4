//! The words, parameters and symbols of a Cypher text, as far as quotes and comments hide them. No wall
//! of a server that enforces READ stands on it.

/// What a piece of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A bare word.
    Word,
    /// A name in backticks, without them.
    Quoted,
    /// A parameter, without its `$`.
    Parameter,
    /// A literal in quotes.
    Text,
    Number,
    /// One character that is none of these.
    Symbol,
}

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// Where it begins, in bytes.
    pub(crate) start: usize,
}

impl Token<'_> {
    pub(crate) fn is_symbol(&self, symbol: char) -> bool {
        self.kind == Kind::Symbol && self.text.starts_with(symbol)
    }
}

/// The tokens of a text. What is not closed reaches to its end.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (kind, length) = next(rest);
        if let Some(kind) = kind {
            let whole = rest.get(..length).unwrap_or(rest);
            let inner = match kind {
                Kind::Quoted => whole.trim_matches('`'),
                Kind::Parameter => whole.trim_start_matches('$').trim_matches('`'),
                _ => whole,
            };
            found.push(Token {
                kind,
                text: inner,
                start: at,
            });
        }
        at += length.max(1);
    }
    found
}

/// The kind and length of what stands at the beginning; no kind for blanks and comments.
fn next(rest: &str) -> (Option<Kind>, usize) {
    let first = rest.chars().next().unwrap_or(' ');
    match first {
        _ if first.is_whitespace() || first == '\u{feff}' => (None, first.len_utf8()),
        '/' if rest.starts_with("//") => (None, rest.find(['\n', '\r']).unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") => {
            let end = rest.get(2..).and_then(|body| body.find("*/"));
            (None, end.map_or(rest.len(), |end| end + 4))
        }
        '\'' | '"' => (Some(Kind::Text), literal(rest, first)),
        '`' => (Some(Kind::Quoted), quoted(rest)),
        '$' => {
            let after = rest.get(1..).unwrap_or_default();
            let length = if after.starts_with('`') {
                quoted(after)
            } else {
                word(after)
            };
            match length {
                0 => (Some(Kind::Symbol), 1),
                length => (Some(Kind::Parameter), 1 + length),
            }
        }
        _ if first.is_ascii_digit() => (Some(Kind::Number), word(rest)),
        _ if first.is_alphabetic() || first == '_' => (Some(Kind::Word), word(rest)),
        _ => (Some(Kind::Symbol), first.len_utf8()),
    }
}

fn word(rest: &str) -> usize {
    rest.find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(rest.len())
}

/// The length of a literal, in which a backslash takes the next character along.
fn literal(rest: &str, quote: char) -> usize {
    let mut characters = rest.char_indices().skip(1);
    while let Some((index, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if character == quote {
            return index + 1;
        }
    }
    rest.len()
}

/// The length of a name in backticks, in which two of them are one.
fn quoted(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((index, character)) = characters.next() {
        if character != '`' {
            continue;
        }
        if characters.next_if(|(_, next)| *next == '`').is_none() {
            return index + 1;
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_comments_hide_what_is_in_them() {
        let text = "MATCH (n:`a``$1;`) // $2 ;\nWHERE n.x = 'it\\'s $3;' /* $4 */ AND \"$5\\\\\" < $6 RETURN $`7`, 1.5e3";
        let found: Vec<(Kind, &str)> = tokens(text)
            .into_iter()
            .filter(|token| !matches!(token.kind, Kind::Word | Kind::Symbol))
            .map(|token| (token.kind, token.text))
            .collect();
        assert_eq!(
            found,
            [
                (Kind::Quoted, "a``$1;"),
                (Kind::Text, "'it\\'s $3;'"),
                (Kind::Text, "\"$5\\\\\""),
                (Kind::Parameter, "6"),
                (Kind::Parameter, "7"),
                (Kind::Number, "1"),
                (Kind::Number, "5e3"),
            ]
        );
    }

    #[test]
    fn what_is_not_closed_reaches_to_the_end() {
        for text in ["'a ; b", "`a ; b", "/* a ; b", "\"\\", "// ;", "$", "é$ü ;"] {
            let end = tokens(text).last().map_or(0, |token| token.start);
            assert!(end <= text.len());
        }
        assert!(!tokens("'a ; b").iter().any(|token| token.is_symbol(';')));
    }
}
