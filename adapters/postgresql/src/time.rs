//! Dates and times: PostgreSQL's `ISO` output style into ISO 8601. Years before 1 and after 9999
//! take ISO 8601's signed form, in which the year before 1 is 0.

/// A date: `2024-01-02`, `0044-03-15 BC`, `infinity`.
pub(crate) fn date(text: &str) -> Option<String> {
    if is_infinite(text) {
        return Some(text.to_owned());
    }
    let (date, era) = split_era(text);
    iso_date(date, era)
}

/// A timestamp: `2024-01-02 03:04:05.6`, also with ` BC`.
pub(crate) fn timestamp(text: &str) -> Option<String> {
    if is_infinite(text) {
        return Some(text.to_owned());
    }
    let (moment, era) = split_era(text);
    let (date, time) = moment.split_once(' ')?;
    let mut iso = iso_date(date, era)?;
    iso.push('T');
    iso.push_str(time);
    Some(iso)
}

/// A timestamp of a session in UTC, which ends in `+00`.
pub(crate) fn timestamp_with_zone(text: &str) -> Option<String> {
    if is_infinite(text) {
        return Some(text.to_owned());
    }
    let (moment, era) = split_era(text);
    let (date, time) = moment.strip_suffix("+00")?.split_once(' ')?;
    let mut iso = iso_date(date, era)?;
    iso.push('T');
    iso.push_str(time);
    iso.push('Z');
    Some(iso)
}

/// A time with its offset, whose minutes the server leaves out when they are zero.
pub(crate) fn time_with_zone(text: &str) -> Option<String> {
    let sign = text.rfind(['+', '-'])?;
    let offset = text.get(sign + 1..)?;
    let minutes = if offset.contains(':') { "" } else { ":00" };
    Some(format!("{text}{minutes}"))
}

#[derive(Clone, Copy)]
enum Era {
    Common,
    Before,
}

fn is_infinite(text: &str) -> bool {
    matches!(text, "infinity" | "-infinity")
}

fn split_era(text: &str) -> (&str, Era) {
    match text.strip_suffix(" BC") {
        Some(before) => (before, Era::Before),
        None => (text, Era::Common),
    }
}

fn iso_date(date: &str, era: Era) -> Option<String> {
    const LONGEST: usize = "2024-01-02T03:04:05.123456Z".len();
    if matches!(era, Era::Common) && date.len() == "2024-01-02".len() {
        let mut iso = String::with_capacity(LONGEST);
        iso.push_str(date);
        return Some(iso);
    }
    let (year, month_and_day) = date.split_once('-')?;
    let shown: i64 = year.parse().ok()?;
    let year = match era {
        Era::Common => shown,
        Era::Before => 1 - shown,
    };
    let sign = match year {
        ..0 => "-",
        0..=9999 => "",
        _ => "+",
    };
    Some(format!("{sign}{:04}-{month_and_day}", year.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_outside_four_digits_are_signed() {
        for (server, iso) in [
            ("2024-01-02", "2024-01-02"),
            ("0044-03-15 BC", "-0043-03-15"),
            ("0001-12-31 BC", "0000-12-31"),
            ("10000-01-01", "+10000-01-01"),
            ("infinity", "infinity"),
        ] {
            assert_eq!(date(server).as_deref(), Some(iso));
        }
        assert_eq!(
            timestamp_with_zone("4714-11-24 00:00:00.5+00 BC").as_deref(),
            Some("-4713-11-24T00:00:00.5Z")
        );
        assert_eq!(timestamp_with_zone("2024-01-02 03:04:05+02"), None);
        assert_eq!(
            time_with_zone("03:04:05-07").as_deref(),
            Some("03:04:05-07:00")
        );
        assert_eq!(
            time_with_zone("03:04:05+05:30").as_deref(),
            Some("03:04:05+05:30")
        );
    }
}
