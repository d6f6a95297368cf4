//! Moments, days, times and durations in ISO 8601, over the whole range that a server has: years from
//! −999,999,999 to 999,999,999.

use std::fmt::Write as _;

const NANOSECONDS: i64 = 1_000_000_000;
const DAY: i64 = 86_400;

/// A date: days since 1970-01-01.
pub(crate) fn date(days: i64) -> String {
    let (year, month, day) = civil(days);
    let mut out = String::with_capacity(16);
    // ISO 8601 wants a sign for years of more than four digits; writing to a String cannot fail.
    let _ = match year {
        0..=9999 => write!(out, "{year:04}"),
        10_000.. => write!(out, "+{year}"),
        _ => write!(out, "-{:04}", year.unsigned_abs()),
    };
    let _ = write!(out, "-{month:02}-{day:02}");
    out
}

/// A time of day: nanoseconds since midnight. `None` beyond a day.
pub(crate) fn time(nanoseconds: i64) -> Option<String> {
    let seconds = nanoseconds.div_euclid(NANOSECONDS);
    if !(0..DAY).contains(&seconds) {
        return None;
    }
    let mut out = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    fraction(nanoseconds.rem_euclid(NANOSECONDS), &mut out);
    Some(out)
}

/// A time of day at an offset: nanoseconds since midnight there, seconds east of UTC.
pub(crate) fn time_at(nanoseconds: i64, offset: i64) -> Option<String> {
    let mut out = time(nanoseconds)?;
    let east = offset.unsigned_abs();
    if offset == 0 {
        out.push('Z');
        return Some(out);
    }
    let sign = if offset < 0 { '-' } else { '+' };
    let _ = write!(out, "{sign}{:02}:{:02}", east / 3600, east / 60 % 60);
    if !east.is_multiple_of(60) {
        let _ = write!(out, ":{:02}", east % 60);
    }
    Some(out)
}

/// A date with a time: seconds since 1970-01-01T00:00, and nanoseconds more.
pub(crate) fn moment(seconds: i64, nanoseconds: i64) -> Option<String> {
    if !(0..NANOSECONDS).contains(&nanoseconds) {
        return None;
    }
    let of_day = seconds.rem_euclid(DAY) * NANOSECONDS + nanoseconds;
    let mut out = date(seconds.div_euclid(DAY));
    out.push('T');
    out.push_str(&time(of_day)?);
    Some(out)
}

/// A duration, as Neo4j writes it: months, days and seconds are kept apart, for none is a fixed number
/// of the others.
pub(crate) fn duration(months: i64, days: i64, seconds: i64, nanoseconds: i64) -> Option<String> {
    if !(0..NANOSECONDS).contains(&nanoseconds) {
        return None;
    }
    let mut out = String::from("P");
    let mut part = |count: i64, unit: char| {
        if count != 0 {
            let _ = write!(out, "{count}{unit}");
        }
    };
    part(months / 12, 'Y');
    part(months % 12, 'M');
    part(days, 'D');
    if seconds != 0 || nanoseconds != 0 {
        // −1.5 s is sent as −2 s and half a second.
        let is_negative = seconds < 0;
        let (whole, rest) = if is_negative && nanoseconds > 0 {
            (seconds + 1, NANOSECONDS - nanoseconds)
        } else {
            (seconds, nanoseconds)
        };
        out.push('T');
        let mut part = |count: i64, unit: char| {
            if count != 0 {
                let _ = write!(out, "{count}{unit}");
            }
        };
        part(whole / 3600, 'H');
        part(whole / 60 % 60, 'M');
        let second = whole % 60;
        if second != 0 || rest != 0 {
            let sign = if is_negative { "-" } else { "" };
            let _ = write!(out, "{sign}{}", second.unsigned_abs());
            fraction(rest, &mut out);
            out.push('S');
        }
    }
    if out.len() == 1 {
        out.push_str("T0S");
    }
    Some(out)
}

/// As many digits as are needed.
fn fraction(nanoseconds: i64, out: &mut String) {
    if nanoseconds != 0 {
        let digits = format!("{nanoseconds:09}");
        let _ = write!(out, ".{}", digits.trim_end_matches('0'));
    }
}

/// Year, month and day in the proleptic Gregorian calendar: Howard Hinnant's `civil_from_days`,
/// <https://howardhinnant.github.io/date_algorithms.html>.
fn civil(days: i64) -> (i64, i64, i64) {
    // No server sends days whose years do not fit.
    let shifted = days.saturating_add(719_468);
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_reach_from_end_to_end() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (-719_528, "0000-01-01"),
            (-719_529, "-0001-12-31"),
            (2_932_897, "+10000-01-01"),
            (365_241_780_471, "+999999999-12-31"),
            (-365_243_219_162, "-999999999-01-01"),
        ] {
            assert_eq!(date(days), expected);
        }
    }

    #[test]
    fn times_and_durations_keep_every_digit() {
        assert_eq!(time(0).unwrap(), "00:00:00");
        assert_eq!(time(86_399_999_999_999).unwrap(), "23:59:59.999999999");
        assert_eq!(time(86_400_000_000_000), None);
        assert_eq!(time_at(1_500_000, -3600).unwrap(), "00:00:00.0015-01:00");
        assert_eq!(time_at(0, 20_700).unwrap(), "00:00:00+05:45");
        assert_eq!(moment(-1, 500_000_000).unwrap(), "1969-12-31T23:59:59.5");
        for ((months, days, seconds, nanoseconds), expected) in [
            ((0, 0, 0, 0), "PT0S"),
            ((14, -3, 3661, 0), "P1Y2M-3DT1H1M1S"),
            ((0, 0, -2, 500_000_000), "PT-1.5S"),
            ((0, 0, -1, 999_000_000), "PT-0.001S"),
            ((0, 0, -3661, 0), "PT-1H-1M-1S"),
            ((-1, 0, 0, 1), "P-1MT0.000000001S"),
        ] {
            let written = duration(months, days, seconds, nanoseconds);
            assert_eq!(written.as_deref(), Some(expected));
        }
    }
}
