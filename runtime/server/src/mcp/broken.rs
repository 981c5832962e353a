//! How answers say that the file of a skill does not load: an author who has just broken a file
//! would otherwise take its last good version for the new one, or look for a skill that is missing.

use std::time::Duration;

use serde_json::{Value, json};

use crate::source::BrokenSkill;

/// The member of a skill that is outdated, described for its schema.
macro_rules! outdated_schema {
    () => {
        r#""outdated": { "type": "string", "description": "This is the last good version: what is wrong with the file since then" }"#
    };
}
pub(crate) use outdated_schema;

/// The member of an answer about all skills, described for its schema.
macro_rules! not_served_schema {
    () => {
        r#""not_served": { "type": "array", "description": "Skills that are missing because their files do not load: path and reason", "items": { "type": "object" } }"#
    };
}
pub(crate) use not_served_schema;

/// The members that [`add_all`] adds, described for their schema.
macro_rules! all_schema {
    () => {
        concat!(
            r#""outdated": { "type": "array", "description": "Skills served in their last good version, and what is wrong with their files", "items": { "type": "object" } },
    "#,
            crate::mcp::broken::not_served_schema!()
        )
    };
}
pub(crate) use all_schema;

/// One sentence for a model or a person.
pub(crate) fn sentence(skill: &BrokenSkill) -> String {
    let what = if skill.is_served {
        "This is the last good version, because the file"
    } else {
        "Its file"
    };
    let age = roughly(skill.since.elapsed().unwrap_or_default());
    format!("{what} has not loaded for {age}: {}", skill.reason)
}

/// Adds all of them to an answer about all skills, if there are any.
pub(crate) fn add_all(answer: &mut Value, skills: &[BrokenSkill]) {
    let served = skills.iter().filter(|it| it.is_served);
    let outdated = list(served.map(|it| json!({ "path": it.path, "outdated": sentence(it) })));
    let not_served = not_served(skills, |_| true);
    for (name, list) in [("outdated", outdated), ("not_served", not_served)] {
        if let Some(list) = list {
            answer[name] = list;
        }
    }
}

/// Those that are not served and whose paths are wanted.
pub(crate) fn missing(
    skills: &[BrokenSkill],
    wanted: impl Fn(&str) -> bool,
) -> impl Iterator<Item = &BrokenSkill> {
    skills
        .iter()
        .filter(move |it| !it.is_served && wanted(&it.path))
}

/// The same for an answer about all skills. `None` if there are none.
pub(crate) fn not_served(skills: &[BrokenSkill], wanted: impl Fn(&str) -> bool) -> Option<Value> {
    let entry = |it: &BrokenSkill| json!({ "path": it.path, "reason": sentence(it) });
    list(missing(skills, wanted).map(entry))
}

fn list(entries: impl Iterator<Item = Value>) -> Option<Value> {
    let entries: Vec<_> = entries.collect();
    (!entries.is_empty()).then_some(entries.into())
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
