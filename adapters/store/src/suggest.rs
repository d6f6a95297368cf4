//! The nearest names to a misspelt one, for hints.

/// The longest text, in bytes, that could be a slip of a name.
const LONGEST: usize = 200;

/// Up to three of `known` that are close to `given`, nearest first.
///
/// Close is a Damerau–Levenshtein distance of at most a third of the longer name (at least one), or
/// a name that begins with or contains the other. Case is ignored.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // The distance takes time in proportion to both lengths, and no name is this long.
    if given.len() > LONGEST {
        return Vec::new();
    }
    let given = given.to_lowercase();
    let mut scored: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|candidate| {
            let lower = candidate.to_lowercase();
            let distance = strsim::damerau_levenshtein(&given, &lower);
            let longer = given.chars().count().max(lower.chars().count());
            let contained = given.len() >= 3 && lower.contains(&given)
                || lower.len() >= 3 && given.contains(&lower);
            (distance <= (longer / 3).max(1) || contained).then_some((distance, candidate))
        })
        .collect();
    scored.sort_by(|(left, left_name), (right, right_name)| {
        left.cmp(right).then_with(|| left_name.cmp(right_name))
    });
    scored.dedup();
    scored
        .into_iter()
        .take(3)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// Names in backticks, joined for a sentence that leaves a choice: "`a`, `b` or `c`".
pub fn or_list(names: &[&str]) -> String {
    list(names, "or")
}

/// Names in backticks, joined for a sentence that tells all: "`a`, `b` and `c`".
pub fn and_list(names: &[&str]) -> String {
    list(names, "and")
}

fn list(names: &[&str], joint: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} {joint} {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first_and_far_ones_not_at_all() {
        let known = ["orders", "order_lines", "customers", "audit"];
        assert_eq!(nearest("order", known), ["orders", "order_lines"]);
        assert_eq!(nearest("Custmers", known), ["customers"]);
        assert!(nearest("xyz", known).is_empty());
        assert!(nearest(&"orders".repeat(100), known).is_empty());
        assert_eq!(or_list(&["a", "b", "c"]), "`a`, `b` or `c`");
        assert_eq!(and_list(&["a", "b"]), "`a` and `b`");
    }
}
