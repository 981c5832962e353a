//! What the frontmatter says about when a skill is of use, beside its
//! description: the keys that authors and hosts use for it, at the top or
//! under `metadata`.

use serde_json::{Map, Value};

use crate::model::SkillEntry;

/// Lists of words and phrases.
const LISTS: &[&str] = &["keywords", "tags", "triggers"];

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
        if let Ok(Value::Object(frontmatter)) = serde_json::from_str(&skill.frontmatter_json) {
            declared.take(&frontmatter);
            if let Some(Value::Object(metadata)) = frontmatter.get("metadata") {
                declared.take(metadata);
            }
        }
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
