//! `get_skill` and `list_skills` (spec 3 §5.3, §8.1, §8.2).

use super::*;

#[test]
fn get_skill_gives_the_best_match_with_its_files() {
    let result = client(spec_tree()).tool(
        "get_skill",
        &json!({ "context": "Create a React login component with auth" }),
    );
    let answer = data(&result);
    assert_eq!(
        keys(&answer),
        [
            "skill_path",
            "score",
            "matched_keywords",
            "content",
            "assets",
            "scripts",
            "inherited_assets",
            "inherited_scripts",
            "ranker"
        ]
    );
    assert_eq!(
        (&answer["skill_path"], &answer["score"]),
        (&json!("ui/react/auth"), &json!(1.0))
    );
    assert_eq!(
        answer["matched_keywords"],
        json!(["react", "auth", "component", "login"])
    );
    assert!(
        answer["content"]
            .as_str()
            .unwrap()
            .starts_with("=== GLOBAL RULES (from _root.md) ===\n\n")
    );
    let template = json!({ "file": "assets/AuthProvider.tsx.template", "description": "About assets/AuthProvider.tsx.template", "type": "template" });
    assert!(
        answer["assets"].as_array().unwrap().contains(&template),
        "{answer}"
    );
    assert_eq!(
        answer["scripts"],
        json!([{ "file": "scripts/scaffold-auth.sh", "description": "About scripts/scaffold-auth.sh", "execution": "claude", "args": [
            { "name": "name", "description": "The name", "required": true },
            { "name": "dir", "description": "The dir", "required": false, "default": "src" },
        ] }])
    );
    let inherited = answer["inherited_assets"].as_array().unwrap();
    assert!(
        inherited
            .iter()
            .any(|file| file["file"] == "assets/component-base.tsx.template"
                && file["from"] == "ui/react/_index"
                && file["type"] == "template")
    );
    assert!(
        inherited
            .iter()
            .any(|file| file["file"] == "global.css" && file["from"] == "_root")
    );
    assert_eq!(answer["inherited_scripts"], json!([]));
}

#[test]
fn get_skill_lists_candidates_if_scores_are_close() {
    let mut skills = spec_tree();
    let result = client(skills.clone()).tool("get_skill", &json!({ "context": "auth" }));
    let answer = data(&result);
    assert_eq!(
        keys(&answer),
        ["ambiguous", "candidates", "message", "ranker"]
    );
    assert_eq!(
        answer["message"],
        "Multiple skills match. Specify your need or pick a skill_path."
    );
    assert_eq!(
        answer["candidates"],
        json!([
            { "skill_path": "api/auth", "score": 0.25, "description": "API authentication with JWT middleware", "matched_keywords": ["auth"], "ranker": "keywords" },
            { "skill_path": "ui/react/auth", "score": 0.25, "description": "React authentication components and patterns", "matched_keywords": ["auth"], "ranker": "keywords" },
        ])
    );
    // The thresholds are the content's; priority is a thousandth a step.
    skills.settings.ambiguity_threshold = 0.004;
    skills.skills[3].priority = 5.0;
    let answer = data(&client(skills.clone()).tool("get_skill", &json!({ "context": "auth" })));
    assert_eq!(
        (&answer["skill_path"], &answer["score"]),
        (&json!("ui/react/auth"), &json!(0.255))
    );
    skills.settings.min_score = 0.9;
    let mut client = client(skills);
    let answer = data(&client.tool("get_skill", &json!({ "context": "auth" })));
    assert_eq!(
        answer,
        json!({
            "no_match": true,
            "message": "No skill matches the given context.",
            "candidates": [
                { "skill_path": "ui/react/auth", "score": 0.255, "description": "React authentication components and patterns", "matched_keywords": ["auth"], "ranker": "keywords", "below_threshold": true },
                { "skill_path": "api/auth", "score": 0.25, "description": "API authentication with JWT middleware", "matched_keywords": ["auth"], "ranker": "keywords", "below_threshold": true },
            ],
            "ranker": "keywords",
        })
    );
    // A blank request is answered, and nothing comes close to it.
    for context in ["", " \n", "the of"] {
        let answer = data(&client.tool("get_skill", &json!({ "context": context })));
        assert_eq!(
            answer,
            json!({ "no_match": true, "message": "No skill matches the given context.", "ranker": "keywords" }),
            "{context:?}"
        );
    }
}

#[test]
fn get_skill_says_why_a_skill_of_the_folder_dialect_fits() {
    let mut client = client(spec_folders());
    let context = "Design a Postgres schema with the right indexes";
    let plain = data(&client.tool("get_skill", &json!({ "context": context })));
    assert!(plain.get("why").is_none() && plain.get("routing").is_none());
    let arguments = json!({ "context": context, "explain": true });
    let answer = data(&client.tool("get_skill", &arguments));
    assert_eq!(
        (&answer["skill_path"], &answer["ranker"]),
        (&json!("postgres"), &json!("bm25f/1")),
        "{answer}"
    );
    let why = &answer["why"];
    let name = json!(["name"]);
    let terms = why["terms"].as_array().unwrap();
    let term = terms.iter().find(|term| term["term"] == "postgr").unwrap();
    assert!(term["score"].as_f64().unwrap() > 0.0);
    assert_eq!(term["fields"][0], name[0], "{term}");
    assert_eq!(
        (&why["name_share"], &why["named"]),
        (&json!(1.0), &json!(false))
    );
    let parts = terms
        .iter()
        .chain(why["pairs"].as_array().unwrap())
        .map(|part| part["score"].as_f64().unwrap());
    let sum = parts.sum::<f64>() + why["name_score"].as_f64().unwrap();
    // Each part is rounded to six decimals.
    assert!(
        (sum - answer["score"].as_f64().unwrap()).abs() < 1e-4,
        "{answer}"
    );
    let routing = &answer["routing"];
    assert!(routing["confidence"].as_f64() >= routing["min_confidence"].as_f64());
    assert!(routing["margin"].as_f64() >= routing["min_margin"].as_f64());
    let nothing = data(&client.tool("get_skill", &json!({ "context": "what a lovely day" })));
    assert_eq!(
        (&nothing["no_match"], &nothing["ranker"]),
        (&json!(true), &json!("bm25f/1"))
    );
}

#[test]
fn get_skill_names_the_declared_keywords_of_the_folder_dialect_that_a_request_holds() {
    let mut skills = spec_folders();
    for skill in &mut skills.skills {
        skill.frontmatter_json = r#"{"keywords":["Schemas"],"tags":"indexes, backups"}"#.to_owned();
    }
    let ask = |skills: &SkillSet, context| {
        let mut client = client(skills.clone());
        data(&client.tool("get_skill", &json!({ "context": context })))
    };
    let answer = ask(&skills, "Design a Postgres schema with the right index");
    assert_eq!(
        (&answer["skill_path"], &answer["matched_keywords"]),
        (&json!("postgres"), &json!(["Schemas", "indexes"])),
        "{answer}"
    );
    // All three declare it, which makes it tell little, and nothing tells them apart.
    skills.settings.min_confidence = Some(0.0);
    let answer = ask(&skills, "backups");
    let candidates = answer["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 3, "{answer}");
    for candidate in candidates {
        assert_eq!(candidate["matched_keywords"], json!(["backups"]));
    }
}

#[test]
fn the_number_of_candidates_follows_the_content_configuration() {
    let mut skills = set((0..6)
        .map(|n| tree(&format!("s{n}"), "d", &["auth"], "x"))
        .collect());
    for (most, shown) in [(3, 3), (5, 5), (1, 1), (0, 1)] {
        skills.settings.max_results = most;
        let answer = data(&client(skills.clone()).tool("get_skill", &json!({ "context": "auth" })));
        assert_eq!(answer["candidates"].as_array().unwrap().len(), shown);
    }
}

#[test]
fn an_empty_library_matches_nothing() {
    let mut client = client(set(Vec::new()));
    let answer = data(&client.tool("get_skill", &json!({ "context": "anything" })));
    assert_eq!(
        (&answer["no_match"], &answer["message"]),
        (&json!(true), &json!("No skill matches the given context."))
    );
    assert_eq!(
        client.tool("skills_list", &json!({}))["structuredContent"],
        json!({ "skills": [] })
    );
    assert_eq!(
        data(&client.tool("list_skills", &json!({})))["tree"]["children"],
        json!([])
    );
    assert_eq!(
        client.tool("skills_search", &json!({ "query": "x" }))["structuredContent"]["total"],
        0
    );
}

fn outline(node: &Value) -> Value {
    let children: Vec<_> = node["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(outline)
        .collect();
    if children.is_empty() {
        node["path"].clone()
    } else {
        json!({ node["path"].as_str().unwrap(): children })
    }
}

#[test]
fn list_skills_shows_parents_above_children() {
    let mut client = client(spec_tree());
    let whole = data(&client.tool("list_skills", &json!({})));
    let node = &whole["tree"];
    assert_eq!(
        keys(node),
        [
            "name",
            "path",
            "description",
            "keywords",
            "assetCount",
            "scriptCount",
            "children"
        ]
    );
    assert_eq!(node["name"], "root");
    assert_eq!(
        outline(node),
        json!({ "_root": [{ "ui/_index": [{ "ui/react/_index": ["ui/react/auth"] }] }, "api/auth", "no-inherit"] })
    );
    for (path, expected) in [
        (
            "ui",
            json!({ "ui/_index": [{ "ui/react/_index": ["ui/react/auth"] }] }),
        ),
        (
            "ui/_index",
            json!({ "ui/_index": [{ "ui/react/_index": ["ui/react/auth"] }] }),
        ),
        ("ui/react/", json!({ "ui/react/_index": ["ui/react/auth"] })),
        ("api", json!("api/auth")),
    ] {
        let branch = data(&client.tool("list_skills", &json!({ "path": path })));
        assert_eq!(outline(&branch["tree"]), expected, "{path}");
    }
    let auth = data(&client.tool("list_skills", &json!({ "path": "ui/react/auth" })));
    assert_eq!(
        (
            &auth["tree"]["assetCount"],
            &auth["tree"]["scriptCount"],
            &auth["tree"]["name"]
        ),
        (&json!(4), &json!(1), &json!("auth"))
    );
    assert_eq!(
        auth["tree"]["keywords"],
        json!(["react", "auth", "component", "login"])
    );
    let unknown = client.tool("list_skills", &json!({ "path": "nowhere" }));
    assert_eq!(
        (&unknown["isError"], &data(&unknown)["code"]),
        (&json!(true), &json!("skill_not_found"))
    );
}

#[test]
fn skills_without_a_common_parent_get_a_node_above_them() {
    let whole = data(&client(spec_folders()).tool("list_skills", &json!({})));
    assert_eq!(
        (&whole["tree"]["name"], outline(&whole["tree"])),
        (
            &json!("root"),
            json!({ "": ["git", "mcp-builder", "postgres"] })
        )
    );
}
