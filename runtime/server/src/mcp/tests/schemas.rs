//! What tools answer is what their output schemas say.

use super::*;

/// The first place where a value does not fit a schema of the few words that
/// ours use: type, properties, items, enum.
fn misfit(schema: &Value, value: &Value, place: &str) -> Option<String> {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let wanted = &schema["type"];
    if *wanted != kind && !(*wanted == "number" && kind == "integer") {
        return Some(format!("{place}: {kind} instead of {wanted}"));
    }
    if let Some(choices) = schema["enum"].as_array()
        && !choices.contains(value)
    {
        return Some(format!("{place}: {value} is none of {choices:?}"));
    }
    match value {
        Value::Array(items) => items
            .iter()
            .find_map(|item| misfit(&schema["items"], item, &format!("{place}[]"))),
        Value::Object(members) => members.iter().find_map(|(key, member)| {
            let place = format!("{place}.{key}");
            match (&schema["properties"][key], &schema["properties"]) {
                (Value::Null, Value::Null) if schema["description"].is_string() => None,
                (Value::Null, _) => Some(format!("{place} is not in the schema")),
                (schema, _) => misfit(schema, member, &place),
            }
        }),
        _ => None,
    }
}

#[test]
fn every_answer_fits_the_schema_of_its_tool() {
    let mut folders = spec_folders();
    folders.skills[0].files = vec![crate::testing::file(
        "notes.txt",
        skillbundle_format::Role::Asset,
        Some(b"notes\n"),
    )];
    let calls = [
        ("skill", json!({ "name": "git" })),
        ("skill", json!({ "name": "ui/react/auth" })),
        ("skill", json!({ "name": "gti" })),
        ("skill", json!({})),
        (
            "get_skill",
            json!({ "context": "react auth login component" }),
        ),
        ("get_skill", json!({ "context": "auth" })),
        ("get_skill", json!({ "context": "git deployment workflow" })),
        ("get_skill", json!({ "context": "elephants" })),
        ("get_skill", json!({ "context": 1 })),
        ("skills_search", json!({ "query": "git deployment" })),
        ("skills_search", json!({ "query": "auth", "limit": 1 })),
        ("skills_search", json!({ "query": "server elephants" })),
        ("skills_search", json!({ "query": "x", "cursor": "stale" })),
        ("skills_search", json!({ "query": "x", "limit": 99 })),
        ("skills_list", json!({ "includeBody": true })),
        ("skills_list", json!({ "made": "up" })),
        ("list_skills", json!({})),
        ("list_skills", json!({ "path": "ui" })),
        ("list_skills", json!({ "path": "nowhere" })),
        (
            "get_asset",
            json!({ "skill_path": "ui/react/auth", "file": "assets/latin1.txt" }),
        ),
        (
            "get_asset",
            json!({ "skill_path": "ui/react/auth", "file": "global.css" }),
        ),
        (
            "get_asset",
            json!({ "skill_path": "ui/react/auth", "file": "assets/missing.txt" }),
        ),
        (
            "get_asset",
            json!({ "skill_path": "git", "file": "notes.txt" }),
        ),
        ("get_asset", json!({ "skill_path": "git", "file": "../x" })),
        (
            "report_usage",
            json!({ "skill_path": "git", "useful": true }),
        ),
        ("report_usage", json!({ "skill_path": "git" })),
        ("refresh_skills", json!({})),
    ];
    for set in [folders, spec_tree()] {
        let mut client = client_of_all(set);
        let listed = client.request("tools/list", json!({}));
        let schemas = listed["result"]["tools"].as_array().unwrap();
        for (name, arguments) in &calls {
            let tool = schemas.iter().find(|tool| tool["name"] == *name).unwrap();
            let answer = client.tool(name, arguments);
            if tool.get("outputSchema").is_none() {
                continue;
            }
            let fault = misfit(&tool["outputSchema"], &answer["structuredContent"], name);
            assert_eq!(fault, None, "{name} {arguments}: {answer}");
        }
    }
}
