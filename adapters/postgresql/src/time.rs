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
    iso.push_str(clock(time)?);
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
    iso.push_str(clock(time)?);
    iso.push('Z');
    Some(iso)
}

/// A time: `03:04:05.6`.
pub(crate) fn time(text: &str) -> Option<String> {
    clock(text).map(str::to_owned)
}

/// A time with its offset, whose minutes the server leaves out when they are zero.
pub(crate) fn time_with_zone(text: &str) -> Option<String> {
    let sign = text.find(['+', '-'])?;
    clock(text.get(..sign)?)?;
    let offset = text.get(sign + 1..)?;
    let parts = offset.split(':').count();
    let is_offset = parts <= 3 && offset.split(':').all(is_two_digits);
    let minutes = if parts > 1 { "" } else { ":00" };
    is_offset.then(|| format!("{text}{minutes}"))
}

/// A duration in ISO 8601, as `iso_8601` writes it: `P1Y-2M3DT4H5M-6.7S`, `PT0S`.
pub(crate) fn interval(text: &str) -> Option<String> {
    if is_infinite(text) {
        return Some(text.to_owned());
    }
    let (date, time) = match text.strip_prefix('P')?.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text.strip_prefix('P')?, None),
    };
    let is_duration = has_units(date, "YMD")
        && time.is_none_or(|time| !time.is_empty() && has_units(time, "HMS"))
        && text.len() > 1;
    is_duration.then(|| text.to_owned())
}

/// What bounds a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Date,
    Timestamp,
    TimestampWithZone,
}

/// A range of moments, or several in braces: its canonical text, whose bounds are in the `ISO` style
/// too.
pub(crate) fn range(text: &str, bound: Bound) -> Option<String> {
    let read = match bound {
        Bound::Date => date,
        Bound::Timestamp => timestamp,
        Bound::TimestampWithZone => timestamp_with_zone,
    };
    // None of these stands within a bound.
    let around: &[char] = &['{', '}', '[', ']', '(', ')', '"'];
    let bounds = text.split(',').map(|part| part.trim_matches(around));
    let mut are_moments = bounds.map(|one| matches!(one, "" | "empty") || read(one).is_some());
    are_moments.all(|is_one| is_one).then(|| text.to_owned())
}

/// `HH:MM:SS`, with a fraction or without one.
fn clock(text: &str) -> Option<&str> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let is_clock = whole.len() == "03:04:05".len()
        && whole.split(':').count() == 3
        && whole.split(':').all(is_two_digits)
        && fraction.is_none_or(are_digits);
    is_clock.then_some(text)
}

/// Whether a text is numbers with these units, each at most once and in this order; only seconds
/// have a fraction.
fn has_units(mut text: &str, units: &str) -> bool {
    for unit in units.chars() {
        let Some((number, rest)) = text.split_once(unit) else {
            continue;
        };
        let number = number.strip_prefix('-').unwrap_or(number);
        let (whole, fraction) = match number.split_once('.') {
            Some((whole, fraction)) if unit == 'S' => (whole, fraction),
            _ => (number, "0"),
        };
        if !are_digits(whole) || !are_digits(fraction) {
            return false;
        }
        text = rest;
    }
    text.is_empty()
}

fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_two_digits(text: &str) -> bool {
    text.len() == 2 && are_digits(text)
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
    // Another `DateStyle` writes `02.01.2024`, `01/02/2024` or `01-02-2024`.
    let (shown, month_and_day) = date.split_once('-')?;
    let (month, day) = month_and_day.split_once('-')?;
    let is_date =
        shown.len() >= 4 && are_digits(shown) && is_two_digits(month) && is_two_digits(day);
    if !is_date {
        return None;
    }
    if matches!(era, Era::Common) && date.len() == "2024-01-02".len() {
        let mut iso = String::with_capacity(LONGEST);
        iso.push_str(date);
        return Some(iso);
    }
    let shown: i64 = shown.parse().ok()?;
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
    #[test]
    fn the_text_of_another_style_is_none() {
        for text in [
            "02.01.2024",
            "01/02/2024",
            "01-02-2024",
            "2024-1-02",
            "2024-01-02x",
            "2024-01-02 00:00:00",
            "",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
        for text in [
            "Tue Jan 02 03:04:05 2024",
            "02.01.2024 03:04:05",
            "2024-01-02 3:04:05",
            "2024-01-02 03:04:05+00",
            "2024-01-02 03:04:05.",
            "2024-01-02 03:04:05 AD",
        ] {
            assert_eq!(timestamp(text), None, "{text}");
        }
        for text in [
            "2024-01-02 03:04:05 UTC",
            "2024-01-02 03:04:05",
            "02.01.2024 03:04:05+00",
        ] {
            assert_eq!(timestamp_with_zone(text), None, "{text}");
        }
        for text in ["03:04", "03:04:05 PM", "03:04:05+00"] {
            assert_eq!(time(text), None, "{text}");
        }
        for text in ["03:04:05", "03:04:05+5", "03:04:05+05:3", "03:04+05"] {
            assert_eq!(time_with_zone(text), None, "{text}");
        }
        assert_eq!(
            time_with_zone("03:04:05.5-00:01:15").as_deref(),
            Some("03:04:05.5-00:01:15")
        );
    }

    #[test]
    fn an_interval_is_a_duration() {
        for text in [
            "PT0S",
            "P1Y",
            "P1Y-2M3DT4H5M-6.789S",
            "P-178000000Y",
            "PT-0.000001S",
            "infinity",
        ] {
            assert_eq!(interval(text).as_deref(), Some(text));
        }
        for text in [
            "P",
            "PT",
            "P1",
            "1 year 2 mons",
            "@ 1 year",
            "1-2 3 4:05:06",
            "PT1.5M",
            "P1D2Y",
            "04:05:06",
            "P1YT",
            "PTS",
        ] {
            assert_eq!(interval(text), None, "{text}");
        }
    }

    #[test]
    fn ranges_have_bounds_of_one_style() {
        for (text, bound) in [
            ("empty", Bound::Date),
            ("[2024-01-02,)", Bound::Date),
            ("{}", Bound::Date),
            (
                "{[2024-01-02,2024-01-03),[10000-01-01,infinity)}",
                Bound::Date,
            ),
            (
                "[\"2024-01-02 00:00:00\",\"0044-03-15 00:00:00 BC\"]",
                Bound::Timestamp,
            ),
            ("(,\"2024-01-02 00:00:00.5+00\")", Bound::TimestampWithZone),
        ] {
            assert_eq!(range(text, bound).as_deref(), Some(text));
        }
        for (text, bound) in [
            ("[02.01.2024,)", Bound::Date),
            ("[\"Tue Jan 02 00:00:00 2024\",)", Bound::Timestamp),
            ("[\"2024-01-02 00:00:00+02\",)", Bound::TimestampWithZone),
        ] {
            assert_eq!(range(text, bound), None, "{text}");
        }
    }
}
