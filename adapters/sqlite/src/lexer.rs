//! SQLite's lexical rules: where tokens begin and end. It finds the end of the first statement and
//! reads names out of DDL; what a statement may do is never decided here.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A keyword, a bare name or a number.
    Word,
    /// `'…'`, `"…"`, `` `…` `` or `[…]`.
    Quoted,
    /// One character of anything else.
    Mark,
}

/// One token of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'a> {
    /// What it is.
    pub(crate) kind: Kind,
    /// Its text.
    pub(crate) text: &'a str,
    /// The byte where it begins.
    pub(crate) start: usize,
}

impl Token<'_> {
    /// The byte after its last.
    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether it is this mark, or this word in whatever case.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.kind != Kind::Quoted && self.text.eq_ignore_ascii_case(text)
    }

    /// The name it stands for, without quotes.
    pub(crate) fn name(&self) -> String {
        if self.kind != Kind::Quoted {
            return self.text.to_owned();
        }
        let mut inner = self.text.chars();
        let open = inner.next().unwrap_or_default();
        inner.next_back();
        if open == '[' {
            inner.as_str().to_owned()
        } else {
            let quote = String::from(open);
            inner.as_str().replace(&quote.repeat(2), &quote)
        }
    }
}

/// The tokens of a text, without blanks and comments.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(at..)?;
            let first = rest.chars().next()?;
            if let Some(length) = blank(first, rest) {
                at += length;
                continue;
            }
            let (kind, length) = match first {
                '\'' | '"' | '`' => (Kind::Quoted, quoted(first, rest)),
                '[' => (
                    Kind::Quoted,
                    rest.find(']').map_or(rest.len(), |end| end + 1),
                ),
                _ if in_word(first) => {
                    (Kind::Word, rest.find(|c| !in_word(c)).unwrap_or(rest.len()))
                }
                _ => (Kind::Mark, first.len_utf8()),
            };
            let start = at;
            at += length;
            return Some(Token {
                kind,
                text: rest.get(..length)?,
                start,
            });
        }
    })
}

/// The length of the blank or comment that `rest` begins with.
fn blank(first: char, rest: &str) -> Option<usize> {
    match first {
        ' ' | '\t' | '\n' | '\u{c}' | '\r' | '\u{feff}' => Some(first.len_utf8()),
        '-' if rest.starts_with("--") => Some(rest.find('\n').unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") && rest.len() > 2 => {
            let inside = rest.get(2..)?;
            Some(inside.find("*/").map_or(rest.len(), |end| end + 4))
        }
        _ => None,
    }
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

/// The length of a quoted token, in which a doubled quote is one within.
fn quoted(quote: char, rest: &str) -> usize {
    let mut at = 1;
    while let Some(end) = rest.get(at..).and_then(|inside| inside.find(quote)) {
        at += end + 1;
        if !rest.get(at..).is_some_and(|after| after.starts_with(quote)) {
            return at;
        }
        at += 1;
    }
    rest.len()
}

/// How many statements a text holds, and the first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Statements<'a> {
    /// Blanks, comments and semicolons.
    None,
    /// One, from the text's start to before the semicolon that ends it.
    One(&'a str),
    /// More than one; the second begins at this byte.
    Several(usize),
}

/// Finds the first statement of a text and whether it is the only one.
pub(crate) fn statements(text: &str) -> Statements<'_> {
    let mut begun = false;
    let mut end = None;
    for token in tokens(text) {
        match (token.is(";"), end) {
            (true, None) if begun => end = Some(token.start),
            (true, _) => {}
            (false, None) => begun = true,
            (false, Some(_)) => return Statements::Several(token.start),
        }
    }
    if begun {
        Statements::One(text.get(..end.unwrap_or(text.len())).unwrap_or(text))
    } else {
        Statements::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_ends_at_the_first_semicolon_outside_quotes_and_comments() {
        for (text, expected) in [
            ("", Statements::None),
            (" ;-- a\n/* b ;", Statements::None),
            ("select 1", Statements::One("select 1")),
            ("select ';' ; ; -- x", Statements::One("select ';' ")),
            (";select 1;/**/", Statements::One(";select 1")),
            (
                "select \"a;\"\"b\", [c;], `d;`",
                Statements::One("select \"a;\"\"b\", [c;], `d;`"),
            ),
            (
                "select 1 /*;*/ -- ;\n;",
                Statements::One("select 1 /*;*/ -- ;\n"),
            ),
            ("select 1 /*/;*/", Statements::One("select 1 /*/;*/")),
            ("select 'open ; ", Statements::One("select 'open ; ")),
            ("select 1; select 2", Statements::Several(10)),
            ("select 1;\u{b}", Statements::Several(9)),
            ("select 1 --\n; drop table t", Statements::Several(14)),
        ] {
            assert_eq!(statements(text), expected, "{text}");
        }
    }

    #[test]
    fn names_lose_their_quotes() {
        let names: Vec<String> = tokens("a \"b\"\"c\" [d] `e``f` 'g'''")
            .map(|token| token.name())
            .collect();
        assert_eq!(names, ["a", "b\"c", "d", "e`f", "g'"]);
    }
}
