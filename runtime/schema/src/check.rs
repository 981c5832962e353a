//! Whether a schema is one, and within the bounds of this crate.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::Problem;
use crate::walk;

/// Bytes of a schema as JSON.
pub const MAX_BYTES: usize = 64 * 1024;
/// Values in a schema.
pub const MAX_NODES: usize = 4_096;
/// Levels of nesting in a schema.
pub const MAX_DEPTH: usize = 32;

/// The draft, as `$schema` names it.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Keywords that give a place another name. References are JSON Pointers only, so that a reader, and
/// the walk over values, finds the place without a table of names.
const NAMES: [&str; 4] = ["$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef"];

pub(crate) fn problems(document: &Value) -> Vec<Problem> {
    if let Some(problem) = too_large(document) {
        return vec![problem];
    }
    let draft = jsonschema::draft202012::meta::validator();
    let mut problems: Vec<Problem> = draft
        .iter_errors(document)
        .map(|error| {
            let pointer = error.instance_path().to_string();
            // The draft says it by a choice of two schemas, which helps nobody.
            let is_type = error.schema_path().to_string().ends_with("/type/anyOf");
            let message = if is_type {
                "unknown type".to_owned()
            } else {
                error.to_string()
            };
            Problem { pointer, message }
        })
        .collect();
    if problems.is_empty() {
        let mut places = Vec::new();
        collect(document, &mut String::new(), &mut places);
        for (pointer, schema) in &places {
            references(document, pointer, schema, &mut problems);
        }
        if problems.is_empty() {
            problems.extend(endless(document, &places));
        }
    }
    problems
}

fn too_large(document: &Value) -> Option<Problem> {
    let mut nodes = 0;
    let mut deepest = 0;
    let mut open = vec![(document, 1)];
    while let Some((value, depth)) = open.pop() {
        nodes += 1;
        deepest = deepest.max(depth);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|it| (it, depth + 1))),
            Value::Object(map) => open.extend(map.values().map(|it| (it, depth + 1))),
            _ => {}
        }
    }
    let bytes = document.to_string().len();
    let message = if bytes > MAX_BYTES {
        format!("the schema has {bytes} bytes; at most {MAX_BYTES} are allowed")
    } else if nodes > MAX_NODES {
        format!("the schema has {nodes} values; at most {MAX_NODES} are allowed")
    } else if deepest > MAX_DEPTH {
        format!("the schema is nested {deepest} levels deep; at most {MAX_DEPTH} are allowed")
    } else {
        return None;
    };
    Some(Problem {
        pointer: String::new(),
        message,
    })
}

/// Every schema inside a schema, with its place.
fn collect<'a>(
    schema: &'a Value,
    pointer: &mut String,
    out: &mut Vec<(String, &'a Map<String, Value>)>,
) {
    let Value::Object(map) = schema else { return };
    out.push((pointer.clone(), map));
    for (keyword, value) in map {
        let length = pointer.len();
        walk::push(pointer, keyword);
        match walk::shape(keyword) {
            walk::Shape::Schema => collect(value, pointer, out),
            walk::Shape::Schemas => {
                let items = value.as_array().into_iter().flatten().enumerate();
                for (at, item) in items {
                    let length = pointer.len();
                    walk::push(pointer, &at.to_string());
                    collect(item, pointer, out);
                    pointer.truncate(length);
                }
            }
            walk::Shape::SchemaMap => {
                for (name, item) in value.as_object().into_iter().flatten() {
                    let length = pointer.len();
                    walk::push(pointer, name);
                    collect(item, pointer, out);
                    pointer.truncate(length);
                }
            }
            walk::Shape::Other => {}
        }
        pointer.truncate(length);
    }
}

/// References lead to a schema in the same document.
fn references(
    document: &Value,
    pointer: &str,
    schema: &Map<String, Value>,
    out: &mut Vec<Problem>,
) {
    let mut add = |keyword: &str, message: String| {
        let mut pointer = pointer.to_owned();
        walk::push(&mut pointer, keyword);
        out.push(Problem { pointer, message });
    };
    for keyword in NAMES.iter().filter(|it| schema.contains_key(**it)) {
        let message = format!("`{keyword}` is not supported; write `$ref: \"#/$defs/NAME\"`");
        add(keyword, message);
    }
    if schema.contains_key("$id") && !pointer.is_empty() {
        add("$id", "`$id` is allowed at the top only".to_owned());
    }
    if let Some(Value::String(draft)) = schema.get("$schema")
        && draft.trim_end_matches('#') != DRAFT
    {
        add("$schema", format!("schemas are of draft 2020-12: {DRAFT}"));
    }
    if let Some(Value::String(target)) = schema.get("$ref") {
        let Some(place) = target.strip_prefix('#') else {
            let message = "references lead to the same schema: `#/$defs/NAME`";
            return add("$ref", message.to_owned());
        };
        if walk::resolve(document, place).is_none() {
            add("$ref", "the reference leads to no schema".to_owned());
        }
    }
}

/// A schema that applies itself to the same value would never be done.
fn endless(document: &Value, places: &[(String, &Map<String, Value>)]) -> Option<Problem> {
    fn leads_back<'a>(
        document: &'a Value,
        schema: &'a Value,
        above: &mut Vec<*const Value>,
        done: &mut HashSet<*const Value>,
    ) -> bool {
        let this = std::ptr::from_ref(schema);
        if above.contains(&this) {
            return true;
        }
        if !done.insert(this) {
            return false;
        }
        above.push(this);
        let found = walk::in_place(document, schema)
            .any(|schema| leads_back(document, schema, above, done));
        above.pop();
        found
    }
    let mut done = HashSet::new();
    for (pointer, _) in places {
        let Some(schema) = document.pointer(pointer) else {
            continue;
        };
        if leads_back(document, schema, &mut Vec::new(), &mut done) {
            return Some(Problem {
                pointer: pointer.to_owned(),
                message: "it refers to itself for the same value, without end".to_owned(),
            });
        }
    }
    None
}
