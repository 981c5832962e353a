//! What is refused before a tool looks at the skills.

use super::*;

#[test]
fn wrong_arguments_are_refused_with_what_was_expected_and_found() {
    let mut client = client(spec_folders());
    for (tool, arguments, argument, expected, found) in [
        ("skill", json!({}), "name", "a string", "nothing"),
        ("skill", json!({ "name": null }), "name", "a string", "null"),
        (
            "skill",
            json!({ "name": ["git"] }),
            "name",
            "a string",
            "an array",
        ),
        (
            "get_skill",
            json!({ "context": 7 }),
            "context",
            "a string",
            "a number",
        ),
        (
            "list_skills",
            json!({ "path": true }),
            "path",
            "a string",
            "true or false",
        ),
        (
            "get_asset",
            json!({ "skill_path": "git" }),
            "file",
            "a string",
            "nothing",
        ),
        (
            "skills_list",
            json!({ "includeBody": "yes" }),
            "includeBody",
            "true or false",
            "a string",
        ),
        (
            "skills_search",
            json!({ "query": "" }),
            "query",
            "a non-empty string",
            "an empty string",
        ),
        (
            "skills_search",
            json!({ "query": "x", "limit": 0 }),
            "limit",
            "a whole number from 1 to 25",
            "0",
        ),
        (
            "skills_search",
            json!({ "query": "x", "limit": 26 }),
            "limit",
            "a whole number from 1 to 25",
            "26",
        ),
        (
            "skills_search",
            json!({ "query": "x", "limit": -1 }),
            "limit",
            "a whole number from 1 to 25",
            "-1",
        ),
        (
            "skills_search",
            json!({ "query": "x", "limit": 2.5 }),
            "limit",
            "a whole number from 1 to 25",
            "2.5",
        ),
        (
            "skills_search",
            json!({ "query": "x", "limit": 1e300 }),
            "limit",
            "a whole number from 1 to 25",
            "1e+300",
        ),
        (
            "skills_search",
            json!({ "query": "x", "limit": "5" }),
            "limit",
            "a whole number from 1 to 25",
            "a string",
        ),
        (
            "skills_search",
            json!({ "query": "x", "dialect": "Tree" }),
            "dialect",
            "folder or tree",
            "\"Tree\"",
        ),
        (
            "skills_search",
            json!({ "query": "x", "tag": ["web"] }),
            "tag",
            "a string",
            "an array",
        ),
    ] {
        let result = client.tool(tool, &arguments);
        let structured = data(&result);
        assert_eq!(result["isError"], true, "{tool} {arguments}");
        assert_eq!(
            structured["error"],
            format!("invalid argument `{argument}`: expected {expected}, found {found}"),
            "{tool} {arguments}"
        );
        assert_eq!(
            (&structured["argument"], &structured["expected"]),
            (&json!(argument), &json!(expected))
        );
    }
    for name in ["", " \t\n"] {
        let refused = data(&client.tool("skill", &json!({ "name": name })));
        assert_eq!(refused["error"], "Skill name cannot be empty");
        assert_eq!(refused["code"], "invalid_argument");
    }
    for (tool, arguments) in [
        ("skills_search", json!({ "query": "git", "limit": 25.0 })),
        ("skills_search", json!({ "query": "git", "limit": null })),
        ("skills_list", json!({ "query": null })),
    ] {
        assert!(
            client.tool(tool, &arguments).get("isError").is_none(),
            "{tool} {arguments}"
        );
    }
}
