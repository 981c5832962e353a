//! The parts of a skill's frontmatter that ranking, filters and prompts need, extracted once when a
//! bundle is written. The keys are read at the top level and under `metadata`, because authors and
//! hosts use both.

use serde_json::{Map, Value};
use skillbundle_search::text::{Token, Tokenizer, fold};

use crate::model::SkillEntry;

/// Keys that hold lists of words and phrases.
const LISTS: &[&str] = &["keywords", "tags", "triggers"];

/// The subset of those keys that categorizes skills for users.
const LABELS: &[&str] = &["keywords", "tags"];

/// Keys that hold prose.
const PROSE: &[&str] = &["when_to_use", "when-to-use"];

/// Keys of `triggers` that list requests for other skills. Their words must not match this skill.
const AGAINST: &[&str] = &["negative", "should_not_trigger"];

/// The keys that say who may start a skill, in every spelling that hosts read.
const USER_INVOCABLE: &[&str] = &["user-invocable", "user_invocable", "userInvocable"];
const BARS_MODELS: &[&str] = &[
    "disable-model-invocation",
    "disable_model_invocation",
    "disableModelInvocation",
];
const ON_AT_FIRST: &[&str] = &["default-enabled", "default_enabled", "defaultEnabled"];

/// Words that mean no and yes, in lower case.
const NO: &[&str] = &["false", "no", "off", "0"];
const YES: &[&str] = &["true", "yes", "on", "1"];

/// Whether a frontmatter, as JSON, lets only people start the skill: it bars models, or the skill is
/// off until a person switches it on. Keys count at the top level and under `metadata`.
pub fn is_for_people_only(frontmatter_json: &str) -> bool {
    let keys = [BARS_MODELS, ON_AT_FIRST].concat();
    // Few skills have such a key, and looking for it is faster than parsing.
    if !keys.iter().any(|key| frontmatter_json.contains(key)) {
        return false;
    }
    let frontmatter = serde_json::from_str(frontmatter_json).unwrap_or_default();
    levels(&frontmatter).any(|map| says(map, BARS_MODELS, YES) || says(map, ON_AT_FIRST, NO))
}

/// The top level and `metadata`.
fn levels(frontmatter: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let metadata = frontmatter.get("metadata").and_then(Value::as_object);
    std::iter::once(frontmatter).chain(metadata)
}

/// Whether one of these keys has one of these words as its value: a boolean, text or a number.
fn says(map: &Map<String, Value>, keys: &[&str], words: &[&str]) -> bool {
    let mut values = keys.iter().filter_map(|key| map.get(*key));
    values.any(|value| match value {
        Value::String(word) => words.contains(&word.trim().to_lowercase().as_str()),
        Value::Number(number) => {
            let number = number.as_f64();
            words.iter().any(|word| word.parse().ok() == number)
        }
        value => words.contains(&value.to_string().as_str()),
    })
}

/// The values that the frontmatter declares.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FrontmatterTerms {
    /// Texts that the ranker indexes as keywords.
    pub(crate) keywords: Vec<String>,
    /// Text that the ranker indexes with the description.
    pub(crate) when_to_use: String,
    /// Tags and keywords in the form that a filter compares, see [`fold`].
    pub(crate) labels: Vec<String>,
    /// Declared keywords, tags and triggers as the author wrote them, without duplicates.
    pub(crate) phrases: Vec<String>,
    /// Whether the skill is excluded from the prompts.
    pub(crate) is_hidden: bool,
    /// The names of its arguments when used as a prompt.
    pub(crate) arguments: Vec<String>,
    /// The hint for all arguments together; may be empty.
    pub(crate) argument_hint: String,
}

impl FrontmatterTerms {
    pub(crate) fn of(skill: &SkillEntry) -> Self {
        let mut terms = Self::default();
        // The compiler wrote this JSON. If it cannot be parsed, it declares nothing.
        let frontmatter = serde_json::from_str(&skill.frontmatter_json);
        if let Ok(Value::Object(frontmatter)) = frontmatter {
            for map in levels(&frontmatter) {
                terms.take(map);
                terms.is_hidden |= says(map, USER_INVOCABLE, NO);
            }
            terms.take_prompt(&frontmatter);
        }
        terms
    }

    fn take(&mut self, map: &Map<String, Value>) {
        for (key, value) in LISTS.iter().filter_map(|key| Some((key, map.get(*key)?))) {
            let mut lines = Vec::new();
            texts(value, &mut lines);
            if LABELS.contains(key) {
                // A list in a single string is separated by commas.
                for label in lines.iter().flat_map(|line| line.split(',')) {
                    self.labels.push(fold(label));
                    self.add_phrase(label.trim());
                }
            } else {
                for line in &lines {
                    self.add_phrase(line);
                }
            }
            self.keywords.append(&mut lines);
        }
        for value in PROSE.iter().filter_map(|key| map.get(*key)) {
            let mut lines = Vec::new();
            texts(value, &mut lines);
            self.when_to_use.push_str(&lines.join("\n"));
            self.when_to_use.push('\n');
        }
    }

    fn add_phrase(&mut self, phrase: &str) {
        if !self.phrases.iter().any(|known| known == phrase) {
            self.phrases.push(phrase.to_owned());
        }
    }

    fn take_prompt(&mut self, frontmatter: &Map<String, Value>) {
        self.arguments = frontmatter.get("arguments").map(words).unwrap_or_default();
        self.argument_hint = match frontmatter.get("argument-hint") {
            None => String::new(),
            Some(Value::String(hint)) => hint.clone(),
            // YAML reads an unquoted `[topic]` as a list.
            Some(hint) => {
                let words = words(hint).into_iter().map(|word| format!("[{word}]"));
                words.collect::<Vec<_>>().join(" ")
            }
        };
    }
}

/// The phrases that have at least one term and for which `holds` is true for every term.
pub(crate) fn held<'a>(phrases: &[&'a str], holds: impl Fn(&str) -> bool) -> Vec<&'a str> {
    let mut tokenizer = Tokenizer::default();
    let is_held = |phrase: &&&str| {
        let (mut some, mut all) = (false, true);
        tokenizer.tokens(phrase, |token| {
            if let Token::Term(term) = token {
                some = true;
                all &= holds(term);
            }
        });
        some && all
    };
    phrases.iter().filter(is_held).copied().collect()
}

/// The words of a string, or the strings of a list.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(words) => words.split_whitespace().map(str::to_owned).collect(),
        Value::Array(items) => {
            let texts = items.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// A string, or the strings of a list, in order.
fn texts(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| texts(value, out)),
        // `triggers: {positive: [...]}`: the values under a key count as text too.
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
    use crate::sample::skill;

    fn read(frontmatter: &str) -> FrontmatterTerms {
        FrontmatterTerms::of(&SkillEntry {
            frontmatter_json: frontmatter.to_owned(),
            ..skill("a", "text\n")
        })
    }

    /// Frontmatter, whether it is a prompt, its arguments, its hint.
    const PROMPTS: &[(&str, bool, &[&str], &str)] = &[
        ("{}", true, &[], ""),
        (r#"{"user-invocable":false}"#, false, &[], ""),
        (r#"{"user-invocable":"No"}"#, false, &[], ""),
        (r#"{"user-invocable":0}"#, false, &[], ""),
        (r#"{"user-invocable":"yes"}"#, true, &[], ""),
        (r#"{"user-invocable":1}"#, true, &[], ""),
        (r#"{"userInvocable":"off"}"#, false, &[], ""),
        (r#"{"metadata":{"user_invocable":false}}"#, false, &[], ""),
        (r#"{"arguments":"file line"}"#, true, &["file", "line"], ""),
        (r#"{"arguments":["a b",7]}"#, true, &["a b"], ""),
        (r#"{"argument-hint":"[topic]"}"#, true, &[], "[topic]"),
        (r#"{"argument-hint":["a","b"]}"#, true, &[], "[a] [b]"),
    ];

    #[test]
    fn prompts_have_the_arguments_that_the_frontmatter_declares() {
        for (frontmatter, offered, arguments, hint) in PROMPTS {
            let read = read(frontmatter);
            assert_eq!(!read.is_hidden, *offered, "{frontmatter}");
            assert_eq!(read.arguments, *arguments, "{frontmatter}");
            assert_eq!(read.argument_hint, *hint, "{frontmatter}");
        }
    }

    #[test]
    fn a_model_is_barred_by_any_spelling_that_hosts_read() {
        for (frontmatter, expected) in [
            ("{}", false),
            (r#"{"disable-model-invocation":true}"#, true),
            (r#"{"disable-model-invocation":false}"#, false),
            (r#"{"disable-model-invocation":"Yes "}"#, true),
            (r#"{"disable-model-invocation":1}"#, true),
            (r#"{"disable-model-invocation":1.0}"#, true),
            (r#"{"disable-model-invocation":0}"#, false),
            (r#"{"disable-model-invocation":"maybe"}"#, false),
            (r#"{"disable_model_invocation":"on"}"#, true),
            (r#"{"metadata":{"disableModelInvocation":true}}"#, true),
            (r#"{"default-enabled":false}"#, true),
            (r#"{"default-enabled":true}"#, false),
            (r#"{"description":"disable-model-invocation: true"}"#, false),
            (r#"["disable-model-invocation"]"#, false),
        ] {
            assert_eq!(is_for_people_only(frontmatter), expected, "{frontmatter}");
        }
    }

    /// Frontmatter, tag, whether the frontmatter has the tag.
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
                read(frontmatter).labels.iter().any(|label| label == tag),
                *expected,
                "{tag} in {frontmatter}"
            );
        }
    }

    /// Frontmatter, the terms of the request, the keywords that match as a result.
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
            let read = read(frontmatter);
            let phrases: Vec<&str> = read.phrases.iter().map(String::as_str).collect();
            let held = held(&phrases, |term| terms.split(' ').any(|it| it == term));
            assert_eq!(held, *expected, "{terms} in {frontmatter}");
        }
    }
}
