//! What drivers say, as it is repeated.

/// The words without the links that libraries put into their errors, which lead to the manuals of
/// programmers.
pub fn without_links(said: &str) -> String {
    let mut kept = String::with_capacity(said.len());
    for word in said.split_inclusive(' ') {
        if word.starts_with("https://") || word.starts_with("http://") {
            let before = kept.trim_end().trim_end_matches([':', ',']).len();
            kept.truncate(before);
        } else {
            if !kept.is_empty() && !kept.ends_with(' ') {
                kept.push(' ');
            }
            kept.push_str(word);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_left_out() {
        for (said, kept) in [
            (
                "peer closed connection without sending TLS close_notify: https://docs.rs/rustls/latest/x.html#unexpected-eof",
                "peer closed connection without sending TLS close_notify",
            ),
            ("see http://x, or ask", "see or ask"),
            ("bolt://h: it was closed", "bolt://h: it was closed"),
            ("", ""),
        ] {
            assert_eq!(without_links(said), kept);
        }
    }
}
