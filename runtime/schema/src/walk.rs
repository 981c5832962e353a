//! A schema applied to a value step by step, as far as it matters which schema meets which part of
//! the value: to count the steps of validation before it begins, and to find what is secret.
//!
//! Every branch counts, whether or not it would be taken: `anyOf`, `not` and `if` as much as
//! `allOf`. So the count is an upper bound, and a part is secret if any branch says so.

use serde_json::{Map, Value};

use crate::{Problem, REDACTED};

/// Steps that the validation of one value may take: how many times a schema meets a part of it. A
/// schema of a hundred properties over a list of a thousand items takes 100,000.
pub const MAX_STEPS: usize = 500_000;

/// Allowed values that take as long as one step, …
const CHOICES_PER_STEP: usize = 16;
/// … and bytes of a text that a pattern is searched for in.
const BYTES_PER_STEP: usize = 64;

/// What the value of a keyword is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Schema,
    Schemas,
    SchemaMap,
    Other,
}

/// The keywords of draft 2020-12 that hold schemas.
pub(crate) fn shape(keyword: &str) -> Shape {
    match keyword {
        "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "items"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Shape::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Shape::Schemas,
        "$defs" | "definitions" | "dependentSchemas" | "patternProperties" | "properties" => {
            Shape::SchemaMap
        }
        _ => Shape::Other,
    }
}

/// The schemas that apply to the same value: references and combinations.
pub(crate) fn in_place<'a>(
    document: &'a Value,
    schema: &'a Value,
) -> impl Iterator<Item = &'a Value> {
    let map = schema.as_object();
    let get = move |keyword: &str| map.and_then(|map| map.get(keyword));
    let target = get("$ref")
        .and_then(Value::as_str)
        .and_then(|it| it.strip_prefix('#'))
        .and_then(|place| resolve(document, place));
    let single = ["not", "if", "then", "else"].into_iter().filter_map(get);
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(get);
    let lists = lists.filter_map(Value::as_array).flatten();
    let dependent = get("dependentSchemas").and_then(Value::as_object);
    let dependent = dependent.into_iter().flat_map(Map::values);
    let all = target.into_iter().chain(single).chain(lists);
    all.chain(dependent)
}

/// The schemas that apply to a member of an object.
fn of_member<'a>(schema: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a Value> {
    let named = schema.get("properties").and_then(|it| it.get(name));
    // Which patterns match is not asked: all may.
    let patterns = schema.get("patternProperties").and_then(Value::as_object);
    let patterns = patterns.into_iter().flat_map(Map::values);
    let others = ["additionalProperties", "unevaluatedProperties"];
    let others = others.into_iter().filter_map(|it| schema.get(it));
    // Without these two, what is listed by name is no secret because of other names.
    let others = others.filter(move |_| named.is_none());
    named.into_iter().chain(patterns).chain(others)
}

/// The schemas that apply to an item of a list.
fn of_item(schema: &Map<String, Value>, at: usize) -> impl Iterator<Item = &Value> {
    let by_place = schema.get("prefixItems").and_then(|it| it.get(at));
    let others = ["items", "contains", "unevaluatedItems"];
    let others = others.into_iter().filter_map(|it| schema.get(it));
    by_place.into_iter().chain(others)
}

/// How often the schemas that apply in place are gone through: those that `unevaluated…` asks about
/// are evaluated once more to find out what they cover.
fn rounds(schema: &Map<String, Value>) -> usize {
    let asks = ["unevaluatedProperties", "unevaluatedItems"];
    1 + usize::from(asks.iter().any(|it| schema.contains_key(*it)))
}

/// Fails if the validation of this value would take too many steps.
pub(crate) fn steps(document: &Value, value: &Value) -> Result<(), Problem> {
    let mut left = MAX_STEPS;
    count(document, document, value, &mut left).ok_or_else(|| Problem {
        pointer: String::new(),
        message: format!(
            "the value is too large or too deep for its schema: validating it takes more than {MAX_STEPS} steps"
        ),
    })
}

fn count(document: &Value, schema: &Value, value: &Value, left: &mut usize) -> Option<()> {
    *left = left.checked_sub(1)?;
    let Value::Object(map) = schema else {
        return Some(());
    };
    *left = left.checked_sub(extra_steps(map, value))?;
    for _ in 0..rounds(map) {
        for applied in in_place(document, schema) {
            count(document, applied, value, left)?;
        }
    }
    match value {
        Value::Object(members) => {
            let of_names = map.get("propertyNames").filter(|it| it.is_object());
            for (name, member) in members {
                for schema in of_member(map, name) {
                    count(document, schema, member, left)?;
                }
                if let Some(schema) = of_names {
                    count(document, schema, &Value::from(name.as_str()), left)?;
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                for schema in of_item(map, at) {
                    count(document, schema, item, left)?;
                }
            }
        }
        _ => {}
    }
    Some(())
}

/// Steps of the keywords that hold no schemas and take longer than one: a list of allowed values is
/// gone through, and a pattern reads the whole text.
fn extra_steps(schema: &Map<String, Value>, value: &Value) -> usize {
    let choices = schema.get("enum").and_then(Value::as_array);
    let choices = choices.map_or(0, |it| it.len() / CHOICES_PER_STEP);
    let text = value.as_str().filter(|_| schema.contains_key("pattern"));
    choices + text.map_or(0, |it| it.len() / BYTES_PER_STEP)
}

/// See [`crate::Schema::redact`].
pub(crate) fn redact(document: &Value, value: &Value) -> Value {
    let mut left = MAX_STEPS;
    redacted(document, &[document], value, &mut left).unwrap_or_else(|| REDACTED.into())
}

/// The value under all schemas that apply to it; `None` if that takes too many steps.
fn redacted(
    document: &Value,
    schemas: &[&Value],
    value: &Value,
    left: &mut usize,
) -> Option<Value> {
    let mut all: Vec<&Map<String, Value>> = Vec::new();
    let mut open: Vec<&Value> = schemas.to_vec();
    while let Some(schema) = open.pop() {
        *left = left.checked_sub(1)?;
        let Value::Object(map) = schema else { continue };
        if is_secret(map) {
            return Some(REDACTED.into());
        }
        all.push(map);
        open.extend(in_place(document, schema));
    }
    Some(match value {
        Value::Object(members) => {
            let mut kept = Map::with_capacity(members.len());
            for (name, member) in members {
                let below: Vec<&Value> = all.iter().flat_map(|it| of_member(it, name)).collect();
                kept.insert(name.clone(), redacted(document, &below, member, left)?);
            }
            kept.into()
        }
        Value::Array(items) => {
            let mut kept = Vec::with_capacity(items.len());
            for (at, item) in items.iter().enumerate() {
                let below: Vec<&Value> = all.iter().flat_map(|it| of_item(it, at)).collect();
                kept.push(redacted(document, &below, item, left)?);
            }
            kept.into()
        }
        other => other.clone(),
    })
}

fn is_secret(schema: &Map<String, Value>) -> bool {
    schema.get("writeOnly") == Some(&Value::Bool(true))
        || schema.get("format").and_then(Value::as_str) == Some("password")
}

/// The place that a JSON Pointer, perhaps in a URI fragment, leads to, if a schema can be there.
pub(crate) fn resolve<'a>(document: &'a Value, pointer: &str) -> Option<&'a Value> {
    let found = document.pointer(&percent_decoded(pointer)?)?;
    matches!(found, Value::Object(_) | Value::Bool(_)).then_some(found)
}

/// RFC 3986 percent decoding.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Appends a segment to a JSON Pointer.
pub(crate) fn push(pointer: &mut String, segment: &str) {
    pointer.push('/');
    pointer.push_str(&segment.replace('~', "~0").replace('/', "~1"));
}
