//! Times as people type and read them.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use skillbundle_journal::{parse_rfc3339, rfc3339};

use crate::cli::output::with_help;

/// Seconds of each unit.
const UNITS: [(char, u64); 5] = [
    ('s', 1),
    ('m', 60),
    ('h', 3600),
    ('d', 86_400),
    ('w', 604_800),
];

/// The time that an option names: a span before now, or a date of RFC 3339.
pub(crate) fn parse(option: &str, text: &str, now: SystemTime) -> Result<SystemTime> {
    let parsed = span(text).and_then(|span| now.checked_sub(span));
    parsed.or_else(|| parse_rfc3339(text)).ok_or_else(|| {
        with_help(
            &format!("{option}: expected a time, found `{text}`"),
            "write a span such as 30m, 2h or 3d, or a date such as 2026-01-12",
        )
    })
}

fn span(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let (_, seconds) = UNITS.iter().find(|(letter, _)| *letter == unit)?;
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    Some(Duration::from_secs(number.checked_mul(*seconds)?))
}

/// The time in a table: UTC, to the second.
pub(crate) fn to_second(time: SystemTime) -> String {
    let text = rfc3339(time);
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_dates_are_times() {
        let now = parse_rfc3339("2026-01-12T10:00:00Z").unwrap();
        for (text, expected) in [
            ("0s", Some("2026-01-12T10:00:00Z")),
            ("90s", Some("2026-01-12T09:58:30Z")),
            ("30m", Some("2026-01-12T09:30:00Z")),
            ("2h", Some("2026-01-12T08:00:00Z")),
            ("3d", Some("2026-01-09T10:00:00Z")),
            ("2w", Some("2025-12-29T10:00:00Z")),
            ("2026-01-01", Some("2026-01-01T00:00:00Z")),
            ("2026-01-01T00:00:00+02:00", Some("2025-12-31T22:00:00Z")),
            ("", None),
            ("d", None),
            ("-1d", None),
            ("1.5h", None),
            ("3 days", None),
            ("99999999999999999999d", None),
            ("yesterday", None),
            ("3ä", None),
        ] {
            let found = parse("--since", text, now).ok().map(to_second);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
