//! How authors write requests down: the shapes of evaluation files and of
//! `triggers` in frontmatter, as tables. Skills are still the words that the
//! author used for them.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

/// What a bare request of a list says, and which keys say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// It should find the skill that the list belongs to.
    Positive,
    /// It should not find that skill.
    Negative,
    /// Positive, unless `should_trigger` says otherwise.
    Evals,
    /// `should_trigger` says which.
    Triggers,
    /// `expect` and `not` name skills; or `should_trigger` says which.
    Routing,
}

/// Evaluation files by their name, `_` written as `-`.
const FILES: &[(&str, Reading)] = &[
    ("evals.json", Reading::Evals),
    ("routing.json", Reading::Routing),
    ("trigger-eval.json", Reading::Triggers),
    ("trigger-evals.json", Reading::Triggers),
];

/// Keys of an object that hold lists of requests. Nothing: as its file is read.
const LISTS: &[(&str, Option<Reading>)] = &[
    ("evals", None),
    ("queries", None),
    ("requests", None),
    ("negative", Some(Reading::Negative)),
    ("positive", Some(Reading::Positive)),
    ("should_not_trigger", Some(Reading::Negative)),
    ("should_trigger", Some(Reading::Positive)),
];

/// Keys that hold the words of a request.
const TEXTS: &[&str] = &["request", "query", "prompt", "q"];

/// Keys that name the skills that a request should find.
const EXPECTED: &[&str] = &["expect", "skill"];

/// Lists of requests in one value.
#[derive(Debug)]
pub(super) struct Lists<'a> {
    /// The skill that they belong to, where the value names it.
    pub(super) skill_name: Option<String>,
    /// The requests, as they are to be read.
    pub(super) requests: Vec<(Reading, &'a RawValue)>,
}

/// A request and what its author says about it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) text: String,
    pub(super) verdict: Verdict,
}

/// Which skills a request should find.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The skill that it belongs to, or not that one.
    Own(bool),
    /// One of the first, or no skill at all where they are empty; nothing is
    /// said about it where there is no list. None of the second.
    Named(Option<Vec<String>>, Vec<String>),
}

/// How a file of this name is read, if it is an evaluation file.
pub(super) fn reading(name: &str) -> Option<Reading> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let row = FILES.iter().find(|(known, _)| *known == name);
    row.map(|(_, reading)| *reading)
}

/// The lists of a value, or what is wrong with it.
pub(super) fn lists(raw: &RawValue, reading: Reading) -> Result<Lists<'_>, String> {
    let mut lists = Lists {
        skill_name: None,
        requests: Vec::new(),
    };
    if let Some(items) = items(raw) {
        lists.requests = items.into_iter().map(|item| (reading, item)).collect();
        return Ok(lists);
    }
    let object: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get()).map_err(|_| {
        format!(
            "a list of requests was expected, and {} was found",
            kind(raw)
        )
    })?;
    let known = LISTS.iter().filter(|(key, _)| object.contains_key(*key));
    for (key, own) in known.clone() {
        let items = items(object[*key]).ok_or_else(|| {
            let found = kind(object[*key]);
            format!("`{key}` should be a list of requests, and {found} was found")
        })?;
        let reading = own.unwrap_or(reading);
        lists
            .requests
            .extend(items.into_iter().map(|item| (reading, item)));
    }
    if known.count() == 0 {
        let keys: Vec<String> = LISTS.iter().map(|(key, _)| format!("`{key}`")).collect();
        let keys = keys.join(", ");
        return Err(format!(
            "a list of requests was expected under one of {keys}"
        ));
    }
    let name = object.get("skill_name");
    lists.skill_name = name.and_then(|name| serde_json::from_str(name.get()).ok());
    Ok(lists)
}

/// One request of a list, or what is wrong with it.
pub(super) fn request(raw: &RawValue, reading: Reading) -> Result<Request, String> {
    let value: Value = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    let text = match &value {
        Value::String(text) => Some(text.as_str()),
        value => TEXTS.iter().find_map(|key| value.get(key)?.as_str()),
    };
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Err(format!(
            "a request was expected: its words, or an object with them under {}",
            quoted(TEXTS)
        ));
    };
    Ok(Request {
        text: text.to_owned(),
        verdict: verdict(&value, reading)?,
    })
}

fn verdict(value: &Value, reading: Reading) -> Result<Verdict, String> {
    match (reading, value.get("should_trigger")) {
        (Reading::Positive, _) | (Reading::Evals, None) => return Ok(Verdict::Own(true)),
        (Reading::Negative, _) => return Ok(Verdict::Own(false)),
        (_, Some(Value::Bool(should))) => return Ok(Verdict::Own(*should)),
        (_, Some(_)) => return Err("`should_trigger` must be `true` or `false`".to_owned()),
        (Reading::Triggers, None) => {
            return Err("`should_trigger`: `true` or `false`, is missing".to_owned());
        }
        (Reading::Routing, None) => {}
    }
    let expected = EXPECTED.iter().find_map(|key| value.get(key));
    let not = value.get("not");
    if expected.is_none() && not.is_none() {
        return Err(
            "`expect` is missing: the skill that should be found, or `null` for none".to_owned(),
        );
    }
    Ok(Verdict::Named(
        expected.map(names).transpose()?,
        not.map_or(Ok(Vec::new()), names)?,
    ))
}

/// A name, a list of names, or nothing.
fn names(value: &Value) -> Result<Vec<String>, String> {
    const WRONG: &str = "`expect` and `not` take a skill's path or name, a list of them, or `null`";
    let name = |value: &Value| value.as_str().map(str::to_owned).ok_or(WRONG.to_owned());
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(values) => values.iter().map(name).collect(),
        value => Ok(vec![name(value)?]),
    }
}

fn items(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

/// What a value is, in a word.
fn kind(raw: &RawValue) -> &'static str {
    match raw.get().bytes().next() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a text",
        Some(b'n') => "`null`",
        Some(b't' | b'f') => "`true` or `false`",
        _ => "a number",
    }
}

fn quoted(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    keys.join(", ")
}
