//! What the frontmatter says about when a skill is of use, beside its
//! description: the keys that authors and hosts use for it, at the top or
//! under `metadata`.

use serde_json::{Map, Value};
use skillbundle_search::text::{Token, Tokenizer, fold};

use crate::model::SkillEntry;

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

/// The declared keywords, tags and triggers that say something and all of whose
/// terms are held, as the author wrote them, each once.
pub(crate) fn held_keywords(frontmatter_json: &str, holds: impl Fn(&str) -> bool) -> Vec<String> {
    // Most skills declare none; to know that, nothing need be parsed.
    if !LISTS.iter().any(|key| has_text(frontmatter_json, key)) {
        return Vec::new();
    }
    let mut keywords = Vec::new();
    each_map(frontmatter_json, |map| {
        for (key, value) in LISTS.iter().filter_map(|key| Some((key, map.get(*key)?))) {
            let mut lines = Vec::new();
            texts(value, &mut lines);
            if LABELS.contains(key) {
                let parts = lines.iter().flat_map(|line| line.split(','));
                keywords.extend(parts.map(|part| part.trim().to_owned()));
            } else {
                keywords.append(&mut lines);
            }
        }
    });
    let mut tokenizer = Tokenizer::default();
    let mut held: Vec<String> = Vec::new();
    for keyword in keywords {
        if !held.contains(&keyword) && is_held(&mut tokenizer, &keyword, &holds) {
            held.push(keyword);
        }
    }
    held
}

/// Whether the JSON may have a key or value that begins with `word`.
fn has_text(json: &str, word: &str) -> bool {
    let mut found = json.match_indices(word);
    found.any(|(at, _)| json[..at].ends_with('"'))
}

/// Whether the text has terms, and all of them are held.
fn is_held(tokenizer: &mut Tokenizer, text: &str, holds: impl Fn(&str) -> bool) -> bool {
    let (mut some, mut all) = (false, true);
    tokenizer.tokens(text, |token| {
        if let Token::Term(term) = token {
            some = true;
            all &= holds(term);
        }
    });
    some && all
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

    /// Frontmatter, the terms that are held, the keywords that therefore are.
    const HELD: &[(&str, &str, &[&str])] = &[
        (
            r#"{"keywords":["PDF Forms","merge"]}"#,
            "form pdf",
            &["PDF Forms"],
        ),
        (r#"{"keywords":["PDF Forms","merge"]}"#, "form", &[]),
        (
            r#"{"keywords":["Forms","form","Forms"]}"#,
            "form",
            &["Forms", "form"],
        ),
        (
            r#"{"tags":"pdf, Office Forms ,x"}"#,
            "form offic pdf",
            &["pdf", "Office Forms"],
        ),
        (
            r#"{"triggers":["Fill in, sign and send"]}"#,
            "fill sign send",
            &["Fill in, sign and send"],
        ),
        (
            r#"{"triggers":["Fill in, sign and send"]}"#,
            "fill sign",
            &[],
        ),
        (
            r#"{"triggers":{"positive":["fill"],"negative":["sign"]}}"#,
            "fill sign",
            &["fill"],
        ),
        (
            r#"{"metadata":{"tags":"b1"},"keywords":["a1"],"triggers":["c1"],"tags":["d1"]}"#,
            "a1 b1 c1 d1",
            &["a1", "d1", "c1", "b1"],
        ),
        (r#"{"keywords":["the of","","!"]}"#, "the of", &[]),
        (
            r#"{"keywords":["合同审查"]}"#,
            "合同 同审 审查",
            &["合同审查"],
        ),
        (r#"{"keywords":[]}"#, "pdf", &[]),
        (r#"{"name":"pdf","description":"pdf"}"#, "pdf", &[]),
        (r#"{"description":"about keywords"}"#, "keyword", &[]),
        ("", "pdf", &[]),
    ];

    #[test]
    fn a_keyword_is_held_with_all_of_its_terms() {
        for (frontmatter, terms, expected) in HELD {
            let held = held_keywords(frontmatter, |term| terms.split(' ').any(|it| it == term));
            assert_eq!(held, *expected, "{terms} in {frontmatter}");
        }
    }
}
