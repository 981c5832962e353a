//! Parses requests: the shapes of evaluation files and of `triggers` in frontmatter,
//! as tables. Skills are still the words that the author used.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

/// What a bare request in a list means, and which keys change that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    /// It should find the skill that owns the list.
    Positive,
    /// It should not find the skill that owns the list.
    Negative,
    /// Positive unless `should_trigger` is false.
    Evals,
    /// `should_trigger` decides.
    Triggers,
    /// `expect` and `not` name skills, or `should_trigger` decides.
    Routing,
}

/// Evaluation files by their name, `_` written as `-`.
const FILES: &[(&str, ListKind)] = &[
    ("evals.json", ListKind::Evals),
    ("routing.json", ListKind::Routing),
    ("trigger-eval.json", ListKind::Triggers),
    ("trigger-evals.json", ListKind::Triggers),
];

/// Keys of an object with lists of requests; `None` is the kind of the file.
const LISTS: &[(&str, Option<ListKind>)] = &[
    ("evals", None),
    ("queries", None),
    ("requests", None),
    ("negative", Some(ListKind::Negative)),
    ("positive", Some(ListKind::Positive)),
    ("should_not_trigger", Some(ListKind::Negative)),
    ("should_trigger", Some(ListKind::Positive)),
];

/// Keys with the text of a request.
const TEXTS: &[&str] = &["request", "query", "prompt", "q"];

/// Keys with the skills that a request should find.
const EXPECTED: &[&str] = &["expect", "skill"];

/// Lists of requests in one value.
#[derive(Debug)]
pub(super) struct Lists<'a> {
    /// The skill that owns them, if named.
    pub(super) skill_name: Option<String>,
    /// The requests, each with the kind of its list.
    pub(super) requests: Vec<(ListKind, &'a RawValue)>,
}

/// A request with its verdict.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) text: String,
    pub(super) verdict: Verdict,
}

/// Which skills a request should find.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Whether it should find the skill that owns it.
    Own(bool),
    /// Skills, one of which it should find (none at all if empty; undecided if
    /// `None`), and skills that it should not find.
    Named(Option<Vec<String>>, Vec<String>),
}

/// The kind of an evaluation file by its name; `None` for other files.
pub(super) fn kind(name: &str) -> Option<ListKind> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let row = FILES.iter().find(|(known, _)| *known == name);
    row.map(|(_, kind)| *kind)
}

/// The lists in a value. The error is a message.
pub(super) fn lists(raw: &RawValue, kind: ListKind) -> Result<Lists<'_>, String> {
    let mut lists = Lists {
        skill_name: None,
        requests: Vec::new(),
    };
    if let Some(items) = items(raw) {
        lists.requests = items.into_iter().map(|item| (kind, item)).collect();
        return Ok(lists);
    }
    let object: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get())
        .map_err(|_| format!("expected a list of requests, found {}", describe(raw)))?;
    let known = LISTS.iter().filter(|(key, _)| object.contains_key(*key));
    for (key, own) in known.clone() {
        let items = items(object[*key]).ok_or_else(|| {
            let found = describe(object[*key]);
            format!("`{key}` should be a list of requests, but is {found}")
        })?;
        let kind = own.unwrap_or(kind);
        lists
            .requests
            .extend(items.into_iter().map(|item| (kind, item)));
    }
    if known.count() == 0 {
        let keys: Vec<&str> = LISTS.iter().map(|(key, _)| *key).collect();
        let keys = quoted(&keys);
        return Err(format!("expected a list of requests under one of {keys}"));
    }
    let name = object.get("skill_name");
    lists.skill_name = name.and_then(|name| serde_json::from_str(name.get()).ok());
    Ok(lists)
}

/// One request of a list. The error is a message.
pub(super) fn request(raw: &RawValue, kind: ListKind) -> Result<Request, String> {
    let value: Value = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    let text = match &value {
        Value::String(text) => Some(text.as_str()),
        value => TEXTS.iter().find_map(|key| value.get(key)?.as_str()),
    };
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        let keys = quoted(TEXTS);
        return Err(format!("expected a text, or an object with one of {keys}"));
    };
    Ok(Request {
        text: text.to_owned(),
        verdict: verdict(&value, kind)?,
    })
}

fn verdict(value: &Value, kind: ListKind) -> Result<Verdict, String> {
    match (kind, value.get("should_trigger")) {
        (ListKind::Positive, _) | (ListKind::Evals, None) => return Ok(Verdict::Own(true)),
        (ListKind::Negative, _) => return Ok(Verdict::Own(false)),
        (_, Some(Value::Bool(should))) => return Ok(Verdict::Own(*should)),
        (_, Some(_)) => return Err("`should_trigger` should be `true` or `false`".to_owned()),
        (ListKind::Triggers, None) => {
            return Err("`should_trigger` is missing".to_owned());
        }
        (ListKind::Routing, None) => {}
    }
    let expected = EXPECTED.iter().find_map(|key| value.get(key));
    let not = value.get("not");
    if expected.is_none() && not.is_none() {
        return Err("`expect` is missing: a skill, or `null` for none".to_owned());
    }
    Ok(Verdict::Named(
        expected.map(names).transpose()?,
        not.map_or(Ok(Vec::new()), names)?,
    ))
}

/// A name, a list of names, or `null`.
fn names(value: &Value) -> Result<Vec<String>, String> {
    const WRONG: &str = "`expect` and `not` should be a skill, a list of skills, or `null`";
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

/// What a value is, in words.
fn describe(raw: &RawValue) -> &'static str {
    match raw.get().bytes().next() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "text",
        Some(b'n') => "`null`",
        Some(b't' | b'f') => "`true` or `false`",
        _ => "a number",
    }
}

fn quoted(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    keys.join(", ")
}
