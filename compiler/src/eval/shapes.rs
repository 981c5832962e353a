//! Parses requests: the shapes of evaluation files and of `triggers` in frontmatter,
//! as tables. Skills are still the words that the author used.
//!
//! The tables hold what public skills use. Keys are compared in lower case without `_` and `-`,
//! since authors write `expected_skill`, `expectedSkill` and `expected-skill`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// What a bare request in a list means, and which keys change that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    /// It should find the skill that owns the list.
    Positive,
    /// It should not find the skill that owns the list.
    Negative,
    /// Positive unless `should_trigger` is false or a skill is named.
    Evals,
    /// `should_trigger` decides, or a skill is named.
    Triggers,
    /// A skill is named, or `should_trigger` decides.
    Routing,
}

/// Evaluation files by their name, in lower case and with `-` for `_`.
const FILES: &[(&str, ListKind)] = &[
    ("evals.json", ListKind::Evals),
    ("routing.json", ListKind::Routing),
    ("routing-cases.json", ListKind::Routing),
    ("trigger-case.json", ListKind::Triggers),
    ("trigger-cases.json", ListKind::Triggers),
    ("trigger-eval.json", ListKind::Triggers),
    ("trigger-evals.json", ListKind::Triggers),
    ("trigger-queries.json", ListKind::Triggers),
];

/// Keys of an object with lists of requests; `None` is the kind of the file.
const LISTS: &[(&str, Option<ListKind>)] = &[
    ("cases", None),
    ("direct", None),
    ("evals", None),
    ("indirect", None),
    ("prompts", None),
    ("queries", None),
    ("requests", None),
    ("tests", None),
    ("near_neighbor", Some(ListKind::Negative)),
    ("negative", Some(ListKind::Negative)),
    ("positive", Some(ListKind::Positive)),
    ("should_not_trigger", Some(ListKind::Negative)),
    ("should_trigger", Some(ListKind::Positive)),
];

/// Keys that name the skill that lists belong to.
const OWNERS: &[&str] = &["skillname", "skill"];

/// Keys with the text of a request.
const TEXTS: &[&str] = &["request", "query", "prompt", "q", "text", "input"];

/// Keys that say whether a request should find the skill that owns it.
const SHOULD: &[&str] = &["shouldtrigger", "expecttrigger", "expectedtrigger"];

/// Keys with the skills that a request should find.
const EXPECTED: &[&str] = &[
    "expect",
    "expected",
    "expectedskill",
    "expectedskills",
    "skill",
];

/// The subset of these keys that cannot mean the expected output.
const EXPECTED_SKILLS: &[&str] = &["expectedskill", "expectedskills"];

/// Keys with skills that are right, too.
const ACCEPTED: &[&str] = &["acceptableskills", "allowedskills"];

/// Keys with skills that a request should not find.
const NOT: &[&str] = &["not", "mustnotwin", "forbiddenskills", "unexpectedskills"];

/// Values of `expected` that mean the skill that owns the request, and whether it should be found.
const WORDS: &[(&str, bool)] = &[
    ("trigger", true),
    ("shouldtrigger", true),
    ("notrigger", false),
    ("shouldnottrigger", false),
];

/// The word for no skill.
const NONE: &str = "none";

/// Lists of requests in one value.
#[derive(Debug)]
pub(super) struct Lists<'a> {
    /// The skill that the whole value names as its owner.
    pub(super) owner: Option<String>,
    /// The requests.
    pub(super) requests: Vec<Listed<'a>>,
}

/// A request as it is in a list.
#[derive(Debug)]
pub(super) struct Listed<'a> {
    /// The skill that its group names as its owner.
    pub(super) owner: Option<String>,
    /// Its JSON.
    pub(super) raw: &'a RawValue,
    /// What it says, or a message about what is wrong with it.
    pub(super) request: Result<Request<'a>, String>,
}

/// A request with its verdict.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) text: String,
    /// The JSON of the text.
    pub(super) raw: &'a RawValue,
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

/// An object by the compared form of its keys.
type Object<'a> = BTreeMap<String, &'a RawValue>;

/// The kind of an evaluation file by its name; `None` for other files.
pub(super) fn kind(name: &str) -> Option<ListKind> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    let row = FILES.iter().find(|(known, _)| *known == name);
    row.map(|(_, kind)| *kind)
}

/// The lists in a value. The error is a message.
pub(super) fn lists(raw: &RawValue, kind: ListKind) -> Result<Lists<'_>, String> {
    let mut lists = Lists {
        owner: None,
        requests: Vec::new(),
    };
    if let Some(items) = items(raw) {
        add(&items, kind, &mut lists.requests)?;
        return Ok(lists);
    }
    let Some(object) = object(raw)? else {
        let found = describe(raw);
        return Err(format!("expected a list of requests, found {found}"));
    };
    lists.owner = owner(&object);
    let found = lists_of(&object, kind)?;
    if found.is_empty() {
        let keys: Vec<&str> = LISTS.iter().map(|(key, _)| *key).collect();
        let keys = quoted(&keys);
        return Err(format!("expected a list of requests under one of {keys}"));
    }
    for (kind, items) in found {
        add(&items, kind, &mut lists.requests)?;
    }
    Ok(lists)
}

/// Adds the items of a list: requests, or objects that name a skill and have lists for it.
fn add<'a>(
    items: &[&'a RawValue],
    kind: ListKind,
    out: &mut Vec<Listed<'a>>,
) -> Result<(), String> {
    for raw in items {
        let object = object(raw);
        // A request with a mistake is reported by itself.
        let group = object.as_ref().ok().and_then(Option::as_ref);
        let group = group.filter(|it| first(it, TEXTS).is_none());
        let owner = group.and_then(owner);
        let found = match (group, &owner) {
            (Some(group), Some(_)) => lists_of(group, ListKind::Evals)?,
            _ => Vec::new(),
        };
        if found.is_empty() {
            out.push(Listed {
                owner: None,
                raw,
                request: object.and_then(|it| request(raw, it, kind)),
            });
        }
        for (kind, items) in found {
            let listed = |raw: &'a RawValue| Listed {
                owner: owner.clone(),
                raw,
                request: self::object(raw).and_then(|it| request(raw, it, kind)),
            };
            out.extend(items.into_iter().map(listed));
        }
    }
    Ok(())
}

/// All lists of an object, each with its kind.
fn lists_of<'a>(
    object: &Object<'a>,
    kind: ListKind,
) -> Result<Vec<(ListKind, Vec<&'a RawValue>)>, String> {
    let mut lists = Vec::new();
    for (key, own) in LISTS {
        let Some(raw) = object.get(&compared(key)) else {
            continue;
        };
        let items = items(raw).ok_or_else(|| {
            let found = describe(raw);
            format!("`{key}` should be a list of requests, but is {found}")
        })?;
        lists.push((own.unwrap_or(kind), items));
    }
    Ok(lists)
}

/// One request of a list, and as an object if it is one. The error is a message.
fn request<'a>(
    raw: &'a RawValue,
    object: Option<Object<'a>>,
    kind: ListKind,
) -> Result<Request<'a>, String> {
    let object = object.unwrap_or_default();
    let json = if object.is_empty() {
        Some(raw)
    } else {
        first(&object, TEXTS)
    };
    let text = json.and_then(|json| serde_json::from_str::<String>(json.get()).ok());
    match (text, json) {
        (Some(text), Some(raw)) if !text.trim().is_empty() => Ok(Request {
            verdict: verdict(&object, kind)?,
            text,
            raw,
        }),
        _ => Err(format!(
            "expected a text, or an object with one of {}",
            quoted(TEXTS)
        )),
    }
}

fn verdict(object: &Object<'_>, kind: ListKind) -> Result<Verdict, String> {
    match kind {
        ListKind::Positive => return Ok(Verdict::Own(true)),
        ListKind::Negative => return Ok(Verdict::Own(false)),
        ListKind::Evals | ListKind::Triggers | ListKind::Routing => {}
    }
    if let Some(should) = value(object, SHOULD) {
        let should = should.as_bool().map(Verdict::Own);
        return should.ok_or_else(|| "`should_trigger` should be `true` or `false`".to_owned());
    }
    let is_evals = kind == ListKind::Evals;
    let expected = value(object, if is_evals { EXPECTED_SKILLS } else { EXPECTED });
    if let Some(own) = expected.as_ref().and_then(word) {
        return Ok(Verdict::Own(own));
    }
    let not = value(object, NOT);
    match (kind, &expected, &not) {
        (ListKind::Evals, None, None) => return Ok(Verdict::Own(true)),
        (ListKind::Triggers, None, None) => {
            return Err("`should_trigger` is missing".to_owned());
        }
        (_, None, None) => {
            return Err("`expect` is missing: a skill, or `null` for none".to_owned());
        }
        _ => {}
    }
    let accepted = value(object, ACCEPTED).map_or(Ok(Vec::new()), |it| names(&it))?;
    let expected = expected.map(|it| names(&it)).transpose()?;
    Ok(Verdict::Named(
        expected.map(|it| [it, accepted].concat()),
        not.map_or(Ok(Vec::new()), |it| names(&it))?,
    ))
}

/// Whether `expected` says that the skill that owns the request should be found, in words.
fn word(value: &Value) -> Option<bool> {
    let text = match value {
        Value::Bool(should) => return Some(*should),
        value => compared(value.as_str()?),
    };
    let row = WORDS.iter().find(|(word, _)| *word == text);
    row.map(|(_, should)| *should)
}

/// A name, a list of names, or `null` or `none`.
fn names(value: &Value) -> Result<Vec<String>, String> {
    const WRONG: &str = "`expect` and `not` should be a skill, a list of skills, or `null`";
    let name = |value: &Value| value.as_str().map(str::to_owned).ok_or(WRONG.to_owned());
    match value {
        Value::Null => Ok(Vec::new()),
        Value::String(word) if compared(word) == NONE => Ok(Vec::new()),
        Value::Array(values) => values.iter().map(name).collect(),
        value => Ok(vec![name(value)?]),
    }
}

fn items(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

/// An object, if it is one. The error is a message: of two values of a key, a reader would take either.
fn object(raw: &RawValue) -> Result<Option<Object<'_>>, String> {
    let Ok(Pairs(pairs)) = serde_json::from_str(raw.get()) else {
        return Ok(None);
    };
    let mut object = Object::new();
    for (key, value) in pairs {
        if object.insert(compared(&key), value).is_some() {
            return Err(format!("`{key}` is given twice"));
        }
    }
    Ok(Some(object))
}

/// The keys and values of an object as they are written, each of them.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Pairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

/// The form in which keys and words are compared.
fn compared(key: &str) -> String {
    let kept = key.chars().filter(|it| !matches!(it, '_' | '-' | ' '));
    kept.map(|it| it.to_ascii_lowercase()).collect()
}

fn first<'a>(object: &Object<'a>, keys: &[&str]) -> Option<&'a RawValue> {
    keys.iter().find_map(|key| object.get(*key).copied())
}

fn value(object: &Object<'_>, keys: &[&str]) -> Option<Value> {
    first(object, keys).and_then(|raw| serde_json::from_str(raw.get()).ok())
}

/// The skill that an object names as the owner of its lists.
fn owner(object: &Object<'_>) -> Option<String> {
    first(object, OWNERS).and_then(|raw| serde_json::from_str(raw.get()).ok())
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
