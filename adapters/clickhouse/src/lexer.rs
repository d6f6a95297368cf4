//! ClickHouse's lexical rules, as far as needed to tell words, names, texts, comments and signs
//! apart. Nothing here keeps a write out: the server parses what it is given, alone.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A word or a number.
    Word,
    /// A name in backticks or double quotes.
    QuotedName,
    /// A text in single quotes or between dollars.
    Text,
    /// Any other character.
    Sign,
}

/// A token and where it begins, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    pub(crate) start: usize,
}

/// The tokens of a text, without white space and comments.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(first) = rest.chars().next() else {
            break;
        };
        let (kind, length) = if first.is_whitespace() {
            (None, first.len_utf8())
        } else if rest.starts_with("--") || rest.starts_with("#!") || rest.starts_with("# ") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (None, rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if first == '\'' {
            (Some(Kind::Text), quoted(rest, '\''))
        } else if first == '`' || first == '"' {
            (Some(Kind::QuotedName), quoted(rest, first))
        } else if let Some(length) = heredoc(rest) {
            (Some(Kind::Text), length)
        } else if first.is_alphanumeric() || first == '_' {
            let length = rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
                .unwrap_or(rest.len());
            (Some(Kind::Word), length)
        } else {
            (Some(Kind::Sign), first.len_utf8())
        };
        if let (Some(kind), Some(text)) = (kind, rest.get(..length)) {
            tokens.push(Token {
                kind,
                text,
                start: at,
            });
        }
        at += length.max(1);
    }
    tokens
}

/// The length of a quoted token; a quote doubled or behind a backslash does not end it.
fn quoted(rest: &str, quote: char) -> usize {
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((index, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if character == quote {
            if characters.peek().is_some_and(|(_, next)| *next == quote) {
                characters.next();
            } else {
                return index + 1;
            }
        }
    }
    rest.len()
}

/// The length of `$tag$…$tag$`, where one begins here.
fn heredoc(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('$')?;
    let tag = after.find('$')?;
    if !after
        .get(..tag)?
        .chars()
        .all(|c| c.is_alphanumeric() || c == '_')
    {
        return None;
    }
    let mark = rest.get(..tag + 2)?;
    let end = rest.get(mark.len()..)?.find(mark)?;
    Some(mark.len() * 2 + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_texts_and_comments_are_no_words() {
        let words: Vec<&str> =
            tokens("select 'a;\\'b''c' /* ; */ -- ;\n, `x;` # ;\n from $t$;$t$, \"é\" ;")
                .iter()
                .map(|token| token.text)
                .collect();
        assert_eq!(
            words,
            [
                "select",
                "'a;\\'b''c'",
                ",",
                "`x;`",
                "from",
                "$t$;$t$",
                ",",
                "\"é\"",
                ";"
            ]
        );
    }
}
