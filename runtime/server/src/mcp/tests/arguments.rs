//! What is refused before a tool looks at the skills.

use super::*;

#[test]
fn wrong_arguments_are_refused_with_what_was_expected_and_found() {
    let mut client = client(spec_folders());
    for (tool, arguments, argument, expected, found) in [
        ("skill", json!({}), "name", "a text", "nothing"),
        ("skill", json!({ "name": null }), "name", "a text", "null"),
        (
            "skill",
            json!({ "name": "" }),
            "name",
            "a text that is not empty",
            "an empty one",
        ),
        (
            "skill",
            json!({ "name": " \t\n" }),
            "name",
            "a text that is not empty",
            "an empty one",
        ),
        (
            "skill",
            json!({ "name": ["git"] }),
            "name",
            "a text",
            "a list",
        ),
        (
            "get_skill",
            json!({ "context": 7 }),
            "context",
            "a text",
            "a number",
        ),
        (
            "list_skills",
            json!({ "path": true }),
            "path",
            "a text",
            "true or false",
        ),
        (
            "get_asset",
            json!({ "skill_path": "git" }),
            "file",
            "a text",
            "nothing",
        ),
        (
            "skills_list",
            json!({ "includeBody": "yes" }),
            "includeBody",
            "true or false",
            "a text",
        ),
        (
            "skills_search",
            json!({ "query": "" }),
            "query",
            "a text that is not empty",
            "an empty one",
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
            "a text",
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
            "a text",
            "a list",
        ),
    ] {
        let result = client.call(tool, arguments.clone());
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
    for (tool, arguments) in [
        ("skills_search", json!({ "query": "git", "limit": 25.0 })),
        ("skills_search", json!({ "query": "git", "limit": null })),
        ("skills_list", json!({ "query": null })),
    ] {
        assert!(
            client
                .call(tool, arguments.clone())
                .get("isError")
                .is_none(),
            "{tool} {arguments}"
        );
    }
}
