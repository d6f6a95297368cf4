//! Linear forms of `instr`, `replace`, `trim` and `unhex`.
//!
//! SQLite's own take time in proportion to the product of their arguments' lengths inside one call,
//! where no time limit can reach them: minutes to days on a few megabytes. These give the same
//! answers, byte for byte, also for blobs.

use std::collections::HashSet;

use memchr::memmem;

/// Where `needle` begins in `haystack`, in bytes from one; 0 where it does not.
pub(crate) fn instr_bytes(haystack: &[u8], needle: &[u8]) -> i64 {
    if needle.is_empty() {
        return 1;
    }
    memmem::find(haystack, needle).map_or(0, |at| position(at + 1))
}

/// Where `needle` begins in `haystack`, in characters from one; 0 where it does not.
///
/// A character is what SQLite takes for one: a byte with the continuation bytes after it. So a
/// needle that begins with a continuation byte can only be found at the very start.
pub(crate) fn instr_text(haystack: &[u8], needle: &[u8]) -> i64 {
    let Some(&first) = needle.first() else {
        return 1;
    };
    if is_continuation(first) {
        return i64::from(haystack.starts_with(needle));
    }
    let Some(at) = memmem::find(haystack, needle) else {
        return 0;
    };
    let characters_after_the_first = haystack
        .get(1..=at)
        .unwrap_or_default()
        .iter()
        .filter(|&&byte| !is_continuation(byte))
        .count();
    position(characters_after_the_first + 1)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

fn position(at: usize) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX)
}

/// One call of `replace`, measured before it is done.
pub(crate) struct Replacing<'a> {
    subject: &'a [u8],
    pattern: &'a [u8],
    replacement: &'a [u8],
    finder: memmem::Finder<'a>,
}

impl<'a> Replacing<'a> {
    /// Every `pattern` in `subject` by `replacement`. `pattern` is not empty.
    pub(crate) fn new(subject: &'a [u8], pattern: &'a [u8], replacement: &'a [u8]) -> Self {
        Self {
            subject,
            pattern,
            replacement,
            finder: memmem::Finder::new(pattern),
        }
    }

    /// The length of the answer, unless it is beyond counting.
    pub(crate) fn length(&self) -> Option<usize> {
        let found = self.finder.find_iter(self.subject).count();
        let kept = self.subject.len() - found * self.pattern.len();
        found.checked_mul(self.replacement.len())?.checked_add(kept)
    }

    /// Writes the answer into a buffer of [`Replacing::length`] bytes.
    pub(crate) fn write(&self, mut buffer: &mut [u8]) {
        let mut kept_from = 0;
        for at in self.finder.find_iter(self.subject) {
            buffer = put(buffer, self.subject.get(kept_from..at).unwrap_or_default());
            buffer = put(buffer, self.replacement);
            kept_from = at + self.pattern.len();
        }
        put(buffer, self.subject.get(kept_from..).unwrap_or_default());
    }
}

/// Copies `part` to the front of `buffer` and answers what is left of it.
fn put<'a>(buffer: &'a mut [u8], part: &[u8]) -> &'a mut [u8] {
    let Some((front, rest)) = buffer.split_at_mut_checked(part.len()) else {
        return &mut [];
    };
    front.copy_from_slice(part);
    rest
}

/// `subject` without those of `characters` at its start, its end or both.
pub(crate) fn trim<'a>(subject: &'a [u8], characters: &[u8], start: bool, end: bool) -> &'a [u8] {
    let (set, lengths) = set_of(characters);
    let cut_start = |kept: &'a [u8]| {
        lengths.iter().find_map(|&length| {
            let (front, rest) = kept.split_at_checked(length)?;
            set.contains(front).then_some(rest)
        })
    };
    let cut_end = |kept: &'a [u8]| {
        lengths.iter().find_map(|&length| {
            let (rest, back) = kept.split_at_checked(kept.len().checked_sub(length)?)?;
            set.contains(back).then_some(rest)
        })
    };
    let mut kept = subject;
    while let Some(rest) = start.then(|| cut_start(kept)).flatten() {
        kept = rest;
    }
    while let Some(rest) = end.then(|| cut_end(kept)).flatten() {
        kept = rest;
    }
    kept
}

/// The bytes that the digits of `text` up to a NUL spell; between two pairs of them characters of
/// `ignored` may stand. `None` for anything else.
pub(crate) fn unhex(text: &[u8], ignored: &[u8]) -> Option<Vec<u8>> {
    let mut ignorable = HashSet::new();
    let mut rest = ignored;
    while let Some((character, after)) = read_character(rest) {
        ignorable.insert(character);
        rest = after;
    }
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut digits = text.split(|&byte| byte == 0).next().unwrap_or_default();
    while let Some(&first) = digits.first() {
        let Some(high) = hex_digit(first) else {
            let (character, after) = read_character(digits)?;
            if !ignorable.contains(&character) {
                return None;
            }
            digits = after;
            continue;
        };
        let low = digits.get(1).copied().and_then(hex_digit)?;
        bytes.push(high << 4 | low);
        digits = digits.get(2..).unwrap_or_default();
    }
    Some(bytes)
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

/// The first character as SQLite reads it, also of what is no UTF-8 (`sqlite3Utf8Read` in
/// `src/utf.c`), and what follows it.
fn read_character(text: &[u8]) -> Option<(u32, &[u8])> {
    let (&lead, mut rest) = text.split_first()?;
    if lead < 0xc0 {
        return Some((u32::from(lead), rest));
    }
    let mut code = u32::from(match lead {
        0xc0..=0xdf => lead & 0x1f,
        0xe0..=0xef => lead & 0x0f,
        0xf0..=0xf7 => lead & 0x07,
        0xf8..=0xfb => lead & 0x03,
        0xfc..=0xfd => lead & 0x01,
        _ => 0,
    });
    while let Some((&byte, after)) = rest
        .split_first()
        .filter(|(byte, _)| is_continuation(**byte))
    {
        code = (code << 6).wrapping_add(u32::from(byte & 0x3f));
        rest = after;
    }
    if code < 0x80 || code & 0xffff_f800 == 0xd800 {
        code = 0xfffd;
    }
    Some((code, rest))
}

/// The longest character of UTF-8.
const LONGEST: usize = 4;

/// The characters up to the first NUL, and their different lengths. A lead byte with more bytes
/// after it than UTF-8 knows is left out: it would cost the linear time.
fn set_of(characters: &[u8]) -> (HashSet<&[u8]>, Vec<usize>) {
    let mut set = HashSet::new();
    let mut lengths = Vec::new();
    let mut rest = characters
        .split(|&byte| byte == 0)
        .next()
        .unwrap_or_default();
    while let Some(&lead) = rest.first() {
        let mut length = 1;
        if lead >= 0xc0 {
            length += rest
                .iter()
                .skip(1)
                .take_while(|&&byte| is_continuation(byte))
                .count();
        }
        let (character, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        if length <= LONGEST && set.insert(character) && !lengths.contains(&length) {
            lengths.push(length);
        }
        rest = after;
    }
    (set, lengths)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use rusqlite::types::Value;

    /// Everything these functions see that is not plain: numbers, nulls, blobs, empty values,
    /// overlaps, characters of every length, broken UTF-8, a NUL within.
    const VALUES: [&str; 29] = [
        "null",
        "''",
        "x''",
        "'a'",
        "'aa'",
        "'aaa'",
        "'aab'",
        "'abaaab'",
        "1",
        "11",
        "-1.5",
        "1e400",
        "121",
        "'é'",
        "'aéb'",
        "'éa😀é'",
        "'😀'",
        "x'61'",
        "x'c3a9'",
        "cast(x'a9' as text)",
        "cast(x'a96180a9' as text)",
        "cast(x'ffc3c3a9' as text)",
        "x'6100c3a961'",
        "char(97, 0, 98)",
        "'6a é\u{ffff}6b'",
        "' é-'",
        "'6 a'",
        "char(54, 97, 0, 54)",
        "cast(x'eda080fe' as text)",
    ];

    fn answers(connection: &Connection, values: &[&str]) -> Vec<Value> {
        let mut answers = Vec::new();
        let mut ask = |sql: String| {
            let answer = connection.query_row(&sql, [], |row| {
                Ok((row.get::<_, Value>(0)?, row.get::<_, Value>(1)?))
            });
            let (answer, kind) = answer.unwrap_or_else(|error| panic!("{sql}: {error}"));
            answers.extend([Value::Text(sql), answer, kind]);
        };
        let told =
            |call: String| format!("with t(v) as (select {call}) select hex(v), typeof(v) from t");
        for first in values {
            ask(told(format!("trim({first})")));
            for second in values {
                for name in ["instr", "trim", "ltrim", "rtrim", "unhex"] {
                    ask(told(format!("{name}({first}, {second})")));
                }
                for third in values {
                    ask(told(format!("replace({first}, {second}, {third})")));
                }
            }
        }
        answers
    }

    #[test]
    fn the_linear_forms_answer_as_sqlite_does() {
        for encoding in ["utf-8", "utf-16le"] {
            // A blob read as UTF-16 may be broken in ways of its own.
            let mut values = VALUES.to_vec();
            values.retain(|value| encoding == "utf-8" || !value.contains("x'"));
            let theirs = Connection::open_in_memory().unwrap();
            let ours = Connection::open_in_memory().unwrap();
            for connection in [&theirs, &ours] {
                connection
                    .pragma_update(None, "encoding", encoding)
                    .unwrap();
            }
            crate::ffi::register_functions(&ours).unwrap();
            let (theirs, ours) = (answers(&theirs, &values), answers(&ours, &values));
            for (expected, found) in theirs.chunks(3).zip(ours.chunks(3)) {
                assert_eq!(found, expected, "{encoding}");
            }
        }
    }

    #[test]
    fn a_replacement_beyond_the_length_limit_is_refused_before_it_is_made() {
        let connection = Connection::open_in_memory().unwrap();
        crate::ffi::register_functions(&connection).unwrap();
        let long = "with t(s) as (select replace(hex(zeroblob(500000)), '0', 'xy')) \
                    select length(replace(s, 'x', s)) from t";
        let error = connection
            .query_row(long, [], |row| row.get::<_, i64>(0))
            .unwrap_err();
        assert_eq!(
            error.sqlite_error_code(),
            Some(rusqlite::ErrorCode::TooBig),
            "{error}"
        );
    }
}
