//! PostgreSQL's own lexical rules (`src/backend/parser/scan.l`), as far as telling words, quotes,
//! comments, parentheses and semicolons apart needs them. Sessions pin
//! `standard_conforming_strings = on`, so the rules do not depend on the server's configuration.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A keyword or an unquoted identifier.
    Word,
    /// An identifier in double quotes.
    QuotedName,
    /// An identifier in double quotes with Unicode escapes (`U&"…"`).
    EscapedName,
    /// A string constant of any form.
    Text,
    /// `;`
    Semicolon,
    /// `(`
    Open,
    /// A comment that is not closed.
    Unclosed,
    /// Any other character or number.
    Other,
}

/// A token and its bytes in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    /// The token as written.
    pub(crate) text: &'a str,
    /// Where it ends in the text, in bytes.
    pub(crate) end: usize,
}

/// The tokens of `text`, without white space and comments. An unterminated quote ends at the end of
/// the text, and an unterminated comment is a token: the server refuses both.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer {
        text,
        bytes: text.as_bytes(),
        at: 0,
    };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next_token() {
        tokens.push(token);
    }
    tokens
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
}

/// How a run of white space and comments ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blank {
    Closed,
    Unclosed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Backslash {
    Escapes,
    Literal,
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn next_token(&mut self) -> Option<Token<'a>> {
        if self.skip_blank() == Blank::Unclosed {
            return Some(Token {
                kind: Kind::Unclosed,
                text: "",
                end: self.at,
            });
        }
        let start = self.at;
        let first = self.peek(0)?;
        let kind = match first {
            b'\'' => self.string(1, Backslash::Literal),
            b'"' => self.quoted_name(1, Kind::QuotedName),
            b'$' => self.dollar(),
            b';' => self.single(Kind::Semicolon),
            b'(' => self.single(Kind::Open),
            _ if is_name_start(first) => self.word(first),
            _ => self.single(Kind::Other),
        };
        Some(Token {
            kind,
            text: self.text.get(start..self.at).unwrap_or_default(),
            end: self.at,
        })
    }

    fn single(&mut self, kind: Kind) -> Kind {
        self.at += 1;
        kind
    }

    /// White space and comments. Block comments nest.
    fn skip_blank(&mut self) -> Blank {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(byte), _) if is_blank(byte) => self.at += 1,
                (Some(b'-'), Some(b'-')) => self.skip_line(),
                (Some(b'/'), Some(b'*')) => {
                    if self.skip_block() == Blank::Unclosed {
                        return Blank::Unclosed;
                    }
                }
                _ => return Blank::Closed,
            }
        }
    }

    fn skip_line(&mut self) {
        while self.peek(0).is_some_and(|byte| !is_newline(byte)) {
            self.at += 1;
        }
    }

    fn skip_block(&mut self) -> Blank {
        let mut depth = 0usize;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b'/'), Some(b'*')) => {
                    depth += 1;
                    self.at += 2;
                }
                (Some(b'*'), Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Blank::Closed;
                    }
                }
                (Some(_), _) => self.at += 1,
                (None, _) => return Blank::Unclosed,
            }
        }
    }

    /// A word, unless it is the prefix of a quote.
    fn word(&mut self, first: u8) -> Kind {
        match (first.to_ascii_lowercase(), self.peek(1), self.peek(2)) {
            (b'e', Some(b'\''), _) => return self.string(2, Backslash::Escapes),
            (b'b' | b'x' | b'n', Some(b'\''), _) => return self.string(2, Backslash::Literal),
            (b'u', Some(b'&'), Some(b'\'')) => return self.string(3, Backslash::Literal),
            (b'u', Some(b'&'), Some(b'"')) => return self.quoted_name(3, Kind::EscapedName),
            _ => {}
        }
        while self.peek(0).is_some_and(is_name_part) {
            self.at += 1;
        }
        Kind::Word
    }

    /// A string constant, with the segments that continue it after a line break.
    fn string(&mut self, opening: usize, backslash: Backslash) -> Kind {
        self.at += opening;
        loop {
            match (self.peek(0), self.peek(1)) {
                (None, _) => return Kind::Text,
                (Some(b'\\'), Some(_)) if backslash == Backslash::Escapes => self.at += 2,
                (Some(b'\''), Some(b'\'')) => self.at += 2,
                (Some(b'\''), _) => {
                    self.at += 1;
                    let Some(segment) = self.continuation() else {
                        return Kind::Text;
                    };
                    self.at = segment;
                }
                (Some(_), _) => self.at += 1,
            }
        }
    }

    /// Where the string goes on, if white space with a line break and another quote follow.
    fn continuation(&self) -> Option<usize> {
        let mut at = self.at;
        let mut broke_line = false;
        loop {
            let byte = self.bytes.get(at).copied()?;
            if is_newline(byte) {
                broke_line = true;
                at += 1;
            } else if is_blank(byte) {
                at += 1;
            } else if byte == b'-' && self.bytes.get(at + 1) == Some(&b'-') {
                while self.bytes.get(at).is_some_and(|&byte| !is_newline(byte)) {
                    at += 1;
                }
            } else {
                return (byte == b'\'' && broke_line).then_some(at + 1);
            }
        }
    }

    fn quoted_name(&mut self, opening: usize, kind: Kind) -> Kind {
        self.at += opening;
        loop {
            match (self.peek(0), self.peek(1)) {
                (None, _) => return kind,
                (Some(b'"'), Some(b'"')) => self.at += 2,
                (Some(b'"'), _) => {
                    self.at += 1;
                    return kind;
                }
                (Some(_), _) => self.at += 1,
            }
        }
    }

    /// `$1`, `$$…$$` or `$tag$…$tag$`.
    fn dollar(&mut self) -> Kind {
        let start = self.at;
        self.at += 1;
        if self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            while self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
                self.at += 1;
            }
            return Kind::Other;
        }
        let mut tag_end = self.at;
        while let Some(&byte) = self.bytes.get(tag_end) {
            let starts = is_name_start(byte);
            let goes_on = starts || (tag_end > self.at && byte.is_ascii_digit());
            if !goes_on {
                break;
            }
            tag_end += 1;
        }
        if self.bytes.get(tag_end) != Some(&b'$') {
            return Kind::Other;
        }
        let body = tag_end + 1;
        let delimiter = self.text.get(start..body).unwrap_or_default();
        let close = self.text.get(body..).and_then(|rest| rest.find(delimiter));
        self.at = match close {
            Some(offset) => body + offset + delimiter.len(),
            None => self.bytes.len(),
        };
        Kind::Text
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn is_newline(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_name_part(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit() || byte == b'$'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn quotes_and_comments_are_one_token_or_none() {
        for (text, expected) in [
            ("select 1", vec!["select", "1"]),
            ("a--b;\nc", vec!["a", "c"]),
            ("a/*;/*;*/;*/c", vec!["a", "c"]),
            ("'a;''b' ;", vec!["'a;''b'", ";"]),
            (r"E'a\';b' c", vec![r"E'a\';b'", "c"]),
            (r"'a\' ;", vec![r"'a\'", ";"]),
            ("'a'\n  'b;' c", vec!["'a'\n  'b;'", "c"]),
            ("E'a'\n'\\';' c", vec!["E'a'\n'\\';'", "c"]),
            ("$$;$1$$ $1", vec!["$$;$1$$", "$1"]),
            ("$a$ $b$;$a$ x$$y", vec!["$a$ $b$;$a$", "x$$y"]),
            ("\"a;\"\"b\";", vec!["\"a;\"\"b\"", ";"]),
            ("U&\"d\\0061\"(", vec!["U&\"d\\0061\"", "("]),
            ("naïve é", vec!["naïve", "é"]),
            ("/* open", vec![""]),
            ("a /* /* */", vec!["a", ""]),
            ("'open ;", vec!["'open ;"]),
        ] {
            assert_eq!(written(text), expected, "{text}");
        }
    }
}
