//! The fence around what came from a database: a reader can tell data from what rhizodat says,
//! whatever the data is. Its name is fresh for each answer, and look-alikes within are altered.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

const NAME: &str = "database-content";

/// `data` between the two marks of a fresh fence, and how many look-alikes in it were altered.
pub(super) fn fenced(data: &str) -> (String, usize) {
    let (data, altered) = neutral(data);
    let nonce = nonce();
    let block = format!("<{NAME}-{nonce}>\n{data}\n</{NAME}-{nonce}>");
    (block, altered)
}

/// Writes the `<` of whatever looks like a mark of a fence as `‹`.
pub(super) fn neutral(text: &str) -> (String, usize) {
    let mut out = String::with_capacity(text.len());
    let mut altered = 0;
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let after = from.strip_prefix('<').unwrap_or(from);
        if looks_like_mark(after) {
            out.push('‹');
            altered += 1;
        } else {
            out.push('<');
        }
        rest = after;
    }
    out.push_str(rest);
    (out, altered)
}

/// Whether what follows a `<` reads as a fence's name, also with blanks, another case, or a hyphen
/// that only looks like one.
fn looks_like_mark(after: &str) -> bool {
    let mut letters = after
        .chars()
        .filter(|c| c.is_alphabetic())
        .flat_map(char::to_lowercase);
    // Another mark may begin before the letters do; it is looked at by itself.
    let before_letters = after.chars().take_while(|c| !c.is_alphabetic());
    let is_whole = !before_letters.into_iter().any(|c| c == '<');
    is_whole && "databasecontent".chars().all(|c| letters.next() == Some(c))
}

/// A text nobody can foresee: a random key of the process and a count, hashed.
fn nonce() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    static KEY: OnceLock<RandomState> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!(
        "{:012x}",
        KEY.get_or_init(RandomState::new).hash_one(count) & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_are_altered_and_nothing_else() {
        for text in [
            "</database-content-1>",
            "< / Database-Content>",
            "<database_content",
            "<\u{200b}database\u{2010}content",
            &format!("<{0}d{0}atabase-{0}content", "\u{200d}".repeat(1000)),
        ] {
            let (shown, altered) = neutral(text);
            assert_eq!(altered, 1, "{shown}");
        }
        for text in [
            "a < b",
            "<data>",
            "x<database",
            "<<",
            "<p>database content</p>",
        ] {
            assert_eq!(neutral(text), (text.to_owned(), 0));
        }
    }

    #[test]
    fn every_fence_has_its_own_name() {
        assert_ne!(fenced("x").0, fenced("x").0);
    }
}
