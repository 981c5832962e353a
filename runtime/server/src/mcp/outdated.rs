//! How answers say that a skill is served in its last good version, since its file does not load any
//! more: an author who has just broken a file would otherwise take the old text for the new one.

use std::time::Duration;

use serde_json::{Value, json};

use crate::source::OutdatedSkill;

/// The member of an answer, described for its schema.
macro_rules! schema {
    () => {
        r#""outdated": { "type": "string", "description": "This is the last good version: what is wrong with the file since then" }"#
    };
}
pub(crate) use schema;

/// One sentence for a model or a person.
pub(crate) fn sentence(skill: &OutdatedSkill) -> String {
    let age = skill.since.elapsed().unwrap_or_default();
    format!(
        "This is the last good version, because the file has not loaded for {}: {}",
        roughly(age),
        skill.reason
    )
}

/// All of them, for an answer about all skills.
pub(crate) fn list(skills: &[OutdatedSkill]) -> Value {
    let entry = |skill: &OutdatedSkill| json!({ "path": skill.path, "outdated": sentence(skill) });
    skills.iter().map(entry).collect()
}

/// A time in its largest whole unit: `2 minutes`.
fn roughly(time: Duration) -> String {
    let seconds = time.as_secs();
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_their_largest_unit() {
        let cases = [
            (0, "0 seconds"),
            (1, "1 second"),
            (150, "2 minutes"),
            (7300, "2 hours"),
            (90_000, "1 day"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(roughly(Duration::from_secs(seconds)), expected);
        }
    }
}
