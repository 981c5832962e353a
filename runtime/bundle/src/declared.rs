//! What the frontmatter says about when a skill is of use, beside its
//! description: the keys that authors and hosts use for it, at the top or
//! under `metadata`.

use serde_json::{Map, Value};

use crate::model::SkillEntry;
use crate::names::fold;

/// Lists of words and phrases.
const LISTS: &[&str] = &["keywords", "tags", "triggers"];

/// Of those, what sorts skills for people.
const LABELS: &[&str] = &["keywords", "tags"];

/// Prose.
const PROSE: &[&str] = &["when_to_use", "when-to-use"];

/// Keys of `triggers` whose requests are another skill's: their words must not find this one.
const AGAINST: &[&str] = &["negative", "should_not_trigger"];

/// What was declared.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) keywords: Vec<String>,
    pub(crate) when_to_use: String,
}

impl Declared {
    pub(crate) fn of(skill: &SkillEntry) -> Self {
        let mut declared = Self::default();
        each_map(&skill.frontmatter_json, |map| declared.take(map));
        declared
    }

    fn take(&mut self, map: &Map<String, Value>) {
        for value in LISTS.iter().filter_map(|key| map.get(*key)) {
            texts(value, &mut self.keywords);
        }
        for value in PROSE.iter().filter_map(|key| map.get(*key)) {
            let mut lines = Vec::new();
            texts(value, &mut lines);
            self.when_to_use.push_str(&lines.join("\n"));
            self.when_to_use.push('\n');
        }
    }
}

/// Whether the frontmatter has this tag among its tags or keywords, compared
/// as names are. `tag` is folded already.
pub(crate) fn has_tag(frontmatter_json: &str, tag: &str) -> bool {
    let mut tags = Vec::new();
    each_map(frontmatter_json, |map| {
        for value in LABELS.iter().filter_map(|key| map.get(*key)) {
            texts(value, &mut tags);
        }
    });
    tags.iter()
        .flat_map(|text| text.split(','))
        .any(|text| fold(text) == tag)
}

/// Gives the frontmatter, and what it has under `metadata`, to `take`.
fn each_map(frontmatter_json: &str, mut take: impl FnMut(&Map<String, Value>)) {
    if let Ok(Value::Object(frontmatter)) = serde_json::from_str(frontmatter_json) {
        take(&frontmatter);
        if let Some(Value::Object(metadata)) = frontmatter.get("metadata") {
            take(metadata);
        }
    }
}

/// A text, or those of a list, in order. A list in one text is parted by commas.
fn texts(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| texts(value, out)),
        // `triggers: {positive: [...]}`: what is under a key is text as well.
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| !AGAINST.contains(&key.as_str()))
            .for_each(|(_, value)| texts(value, out)),
        Value::Number(number) => out.push(number.to_string()),
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frontmatter, tag, whether it has it.
    const TAGS: &[(&str, &str, bool)] = &[
        (r#"{"tags":["PDF","forms"]}"#, "pdf", true),
        (r#"{"tags":["PDF","forms"]}"#, "form", false),
        (r#"{"tags":"pdf, Office Forms ,x"}"#, "office forms", true),
        (r#"{"keywords":["Été"]}"#, "été", true),
        (r#"{"metadata":{"tags":"a,b"}}"#, "b", true),
        (r#"{"metadata":{"keywords":["b"]}}"#, "b", true),
        (r#"{"tags":[2024,true,null]}"#, "2024", true),
        (r#"{"tags":[2024,true,null]}"#, "true", false),
        (r#"{"triggers":["pdf"],"name":"pdf"}"#, "pdf", false),
        (r#"{"metadata":"pdf"}"#, "pdf", false),
        ("[]", "pdf", false),
        ("", "pdf", false),
    ];

    #[test]
    fn a_tag_is_one_of_the_tags_or_keywords_whatever_its_case() {
        for (frontmatter, tag, expected) in TAGS {
            assert_eq!(
                has_tag(frontmatter, tag),
                *expected,
                "{tag} in {frontmatter}"
            );
        }
    }
}
