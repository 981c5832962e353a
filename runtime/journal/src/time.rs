//! Points in time: microseconds since 1970 where they are stored, RFC 3339 in UTC where people and
//! programs read them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: i64 = 86_400;

/// Microseconds since the beginning of 1970 UTC; negative before it.
pub(crate) fn to_microseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
        Err(error) => i64::try_from(error.duration().as_micros()).map_or(i64::MIN, |it| -it),
    }
}

/// The point in time that many microseconds after the beginning of 1970 UTC.
pub(crate) fn from_microseconds(microseconds: i64) -> SystemTime {
    let distance = Duration::from_micros(microseconds.unsigned_abs());
    let time = if microseconds < 0 {
        UNIX_EPOCH.checked_sub(distance)
    } else {
        UNIX_EPOCH.checked_add(distance)
    };
    time.unwrap_or(UNIX_EPOCH)
}

/// The time in RFC 3339, in UTC, with microseconds: `2026-01-12T10:00:00.045000Z`.
pub fn rfc3339(time: SystemTime) -> String {
    let microseconds = to_microseconds(time);
    let seconds = microseconds.div_euclid(1_000_000);
    let (year, month, day) = civil(seconds.div_euclid(SECONDS_PER_DAY));
    let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let fraction = microseconds.rem_euclid(1_000_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
}

/// The point in time that a date (`2026-01-12`, its beginning in UTC) or a date with time
/// (`2026-01-12T10:00:00Z`, `2026-01-12 10:00:00.5+01:00`) of RFC 3339 names; `None` if it is none.
pub fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    let (date, rest) = text.split_at_checked(10)?;
    let (year, month, day) = (
        number(date, 0..4)?,
        number(date, 5..7)?,
        number(date, 8..10)?,
    );
    let is_date = date.as_bytes()[4] == b'-' && date.as_bytes()[7] == b'-';
    let days = days_of(year, month, day);
    // A day that does not exist, such as 30 February, is another day when it is read back.
    if !is_date || civil(days) != (year, month, day) {
        return None;
    }
    let midnight = days.checked_mul(SECONDS_PER_DAY * 1_000_000)?;
    if rest.is_empty() {
        return Some(from_microseconds(midnight));
    }
    Some(from_microseconds(midnight + time_of_day(rest)?))
}

/// Microseconds since midnight UTC of `T10:00:00.5+01:00`.
fn time_of_day(text: &str) -> Option<i64> {
    let rest = text.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let (hour, minute, second) = (
        number(clock, 0..2)?,
        number(clock, 3..5)?,
        number(clock, 6..8)?,
    );
    let separators = [clock.as_bytes()[2], clock.as_bytes()[5]];
    // 60 is a leap second.
    if separators != *b"::" || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let digits = rest.strip_prefix('.').map_or(0, |rest| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit);
        1 + digits.count()
    });
    let (fraction, zone) = rest.split_at_checked(digits)?;
    let fraction = match fraction.strip_prefix('.') {
        None => 0,
        Some("") => return None,
        Some(digits) => format!("{digits:0<6}").get(..6)?.parse().ok()?,
    };
    let offset = offset_minutes(zone)?;
    Some(((hour * 60 + minute - offset) * 60 + second) * 1_000_000 + fraction)
}

/// Minutes east of UTC of `Z`, `+01:00` or `-08:00`.
fn offset_minutes(zone: &str) -> Option<i64> {
    let (sign, rest) = match zone.as_bytes().first()? {
        b'Z' | b'z' if zone.len() == 1 => return Some(0),
        b'+' => (1, &zone[1..]),
        b'-' => (-1, &zone[1..]),
        _ => return None,
    };
    if rest.len() != 5 || rest.as_bytes()[2] != b':' {
        return None;
    }
    let (hours, minutes) = (number(rest, 0..2)?, number(rest, 3..5)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

fn number(text: &str, range: std::ops::Range<usize>) -> Option<i64> {
    let digits = text.get(range)?;
    let is_number = digits.bytes().all(|it| it.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// Year, month and day of the day that many days after 1970-01-01. The arithmetic counts years from
/// March, so that the leap day is the last one:
/// <https://howardhinnant.github.io/date_algorithms.html>.
const fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + (month <= 2) as i64;
    (year, month, day)
}

/// The inverse of [`civil`].
const fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year - (month <= 2) as i64;
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let from_march = (month + 9) % 12;
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    era * 146_097 + of_era - 719_468
}

/// A time in JSON: RFC 3339.
pub(crate) mod microseconds {
    use std::time::SystemTime;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::rfc3339(*time))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SystemTime, D::Error> {
        let text = String::deserialize(from)?;
        super::parse_rfc3339(&text).ok_or_else(|| D::Error::custom("expected a time of RFC 3339"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read() {
        for (microseconds, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (1_768_212_000_045_001, "2026-01-12T10:00:00.045001Z"),
            (4_107_542_399_999_999, "2100-02-28T23:59:59.999999Z"),
        ] {
            let time = from_microseconds(microseconds);
            assert_eq!(to_microseconds(time), microseconds);
            assert_eq!(rfc3339(time), text);
            assert_eq!(parse_rfc3339(text), Some(time), "{text}");
        }
    }

    #[test]
    fn dates_zones_and_mistakes() {
        for (text, expected) in [
            ("2026-01-12", Some("2026-01-12T00:00:00.000000Z")),
            ("2026-01-12T10:00:00Z", Some("2026-01-12T10:00:00.000000Z")),
            (
                "2026-01-12 10:00:00.5+01:00",
                Some("2026-01-12T09:00:00.500000Z"),
            ),
            (
                "2026-01-01t00:30:00.1234567+01:00",
                Some("2025-12-31T23:30:00.123456Z"),
            ),
            (
                "2026-01-12T10:00:00-08:30",
                Some("2026-01-12T18:30:00.000000Z"),
            ),
            ("2026-02-30", None),
            ("2026-13-01", None),
            ("2026-1-1", None),
            ("2026-01-12T10:00Z", None),
            ("2026-01-12T10:00:00", None),
            ("2026-01-12T10:00:00.Z", None),
            ("2026-01-12T24:00:00Z", None),
            ("2026-01-12T10:00:00+1:00", None),
            ("yesterday", None),
            ("2026-01-1ä", None),
            ("", None),
        ] {
            let found = parse_rfc3339(text).map(rfc3339);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
