//! `skill` (spec 2): texts to the letter, names, what is said where nothing fits.

use super::*;

#[test]
fn skill_answers_as_in_spec_2() {
    let mut client = client(spec_folders());
    let result = client.tool("skill", &json!({ "name": "git" }));
    assert_eq!(
        text(&result),
        "Loading: git\nBase directory: /srv/skills/git\n\n\
         ---\nname: git\ndescription: Git deployment workflow skill\n---\n\n# Git Deployment GitOps\n"
    );
    assert!(result.get("isError").is_none());
    let structured = about(&result);
    assert_eq!(
        keys(structured),
        [
            "name",
            "path",
            "location",
            "base_directory",
            "digest",
            "files"
        ]
    );
    assert_eq!(structured["location"], "project");
    assert_eq!(structured["files"], json!([]));
    assert!(
        structured["digest"]
            .as_str()
            .unwrap()
            .starts_with("sha256:")
    );
}

#[test]
fn names_are_trimmed_and_case_does_not_matter() {
    let mut skills = spec_folders();
    skills
        .skills
        .push(folder("größe", "A name with an umlaut", "x"));
    skills
        .skills
        .push(folder("My Skill (v2)!", "Any characters", "x"));
    let mut client = client(skills);
    for (typed, name) in [
        ("Git", "git"),
        (" git\n", "git"),
        ("MCP-Builder", "mcp-builder"),
        ("POSTGRES", "postgres"),
        ("GRÖSSE", "größe"),
        ("GRÖßE", "größe"),
        ("my skill (V2)!", "My Skill (v2)!"),
    ] {
        let result = client.tool("skill", &json!({ "name": typed }));
        let found = about(&result)["name"].as_str();
        // Lower-casing keeps ß, so only one of the two spellings is the name.
        assert_eq!(found, (typed != "GRÖSSE").then_some(name), "{typed}");
    }
}

#[test]
fn an_unknown_skill_is_answered_with_the_available_ones() {
    let mut client = client(spec_folders());
    let result = client.tool("skill", &json!({ "name": "nonexistent" }));
    assert_eq!(
        text(&result),
        "Skill 'nonexistent' not found.\n\nAvailable skills:\n\
         - git: Git deployment workflow skill\n\
         - mcp-builder: MCP server development guide\n\
         - postgres: PostgreSQL database operations\n\n\
         Use the exact skill name (case-insensitive) to load a skill."
    );
    assert_eq!(result["isError"], true);
    for (typed, meant) in [
        ("gti", json!(["git"])),
        ("postgre", json!(["postgres"])),
        ("builder", json!(["mcp-builder"])),
        ("../../etc/passwd", json!([])),
    ] {
        let result = client.tool("skill", &json!({ "name": typed }));
        assert_eq!(about(&result)["did_you_mean"], meant, "{typed}");
        let names: Vec<_> = meant
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it.as_str().unwrap())
            .collect();
        let closest = format!("\n\nClosest: {}\n\nUse the exact", names.join(", "));
        assert_eq!(
            text(&result).contains(&closest),
            !names.is_empty(),
            "{typed}"
        );
    }
    let mut empty = connected(Fake::new(set(Vec::new())));
    assert!(
        text(&empty.tool("skill", &json!({ "name": "x" })))
            .contains("Available skills:\n(none)\n\nUse")
    );
}

#[test]
fn a_list_of_skills_stays_within_its_budget() {
    let many = set((0..500)
        .map(|n| folder(&format!("skill-{n:03}"), &"d".repeat(300), "x"))
        .collect());
    let options = Options {
        description_bytes: Some(4096),
        ..Options::default()
    };
    let mut client = unopened(Fake::new(many), options);
    client.initialize("2025-11-25");
    let result = client.tool("skill", &json!({ "name": "none" }));
    let shown = text(&result)
        .lines()
        .filter(|line| line.starts_with("- "))
        .count();
    assert!(text(&result).len() < 4096 + 400 && shown > 5, "{shown}");
    assert!(text(&result).contains(&format!("\n… and {} more; use get_skill\n", 500 - shown)));
    let listed = client.request("tools/list", json!({}));
    let description = listed["result"]["tools"][0]["description"]
        .as_str()
        .unwrap();
    assert!(description.len() <= 4096, "{}", description.len());
    let named = description.matches("<name>").count();
    let described = description.matches("</name> d").count();
    assert!(
        described > 3 && named > described + 10,
        "{described} described, {named} named"
    );
    assert!(description.ends_with("\n</available_skills>"));
}

#[test]
fn without_files_on_disk_the_base_directory_is_a_uri() {
    let bytes: &'static [u8] = write(&spec_folders()).unwrap().leak();
    let mut client = connected(Embedded::new(bytes));
    let result = client.tool("skill", &json!({ "name": "git" }));
    assert!(text(&result).starts_with("Loading: git\nBase directory: skill://git\n\n---\n"));
}

#[test]
fn a_skill_of_a_tree_includes_inherited_text() {
    let mut client = client(spec_tree());
    let result = client.tool("skill", &json!({ "name": "ui/react/auth" }));
    let expected = "Loading: ui/react/auth\nBase directory: /srv/skills/ui/react/auth\n\n\
        === GLOBAL RULES (from _root.md) ===\n\nGlobal rules.\n\n=== UI (from ui/_index.md) ===\n\nUI rules.\n\n\
        === UI > REACT (from ui/react/_index.md) ===\n\nReact rules.\n\n=== UI > REACT > AUTH (from ui/react/auth.md) ===\n\nAuth rules.";
    assert_eq!(text(&result), expected);
    let files = about(&result)["files"].as_array().unwrap();
    let of = |name: &str| {
        files
            .iter()
            .find(|file| file["file"] == name)
            .unwrap_or_else(|| panic!("no {name}"))
    };
    assert_eq!(of("scripts/scaffold-auth.sh")["executable"], true);
    assert_eq!(of("assets/AuthProvider.tsx.template")["size"], 12);
    assert_eq!(of("assets/missing.txt")["missing"], true);
    assert_eq!(of("global.css")["from"], "_root");
    let alone = client.tool("skill", &json!({ "name": "no-inherit" }));
    assert_eq!(
        text(&alone),
        "Loading: no-inherit\nBase directory: /srv/skills\n\nAlone."
    );
}

#[test]
fn the_digest_is_that_of_the_file() {
    let skills = spec_folders();
    let bundle = skillbundle_format::Bundle::from_bytes(&write(&skills).unwrap()).unwrap();
    let expected = digest(
        bundle
            .catalog()
            .unwrap()
            .by_path("git")
            .unwrap()
            .unwrap()
            .digest()
            .unwrap(),
    );
    assert_eq!(expected.len(), 7 + 64);
    let result = client(skills).tool("skill", &json!({ "name": "git" }));
    assert_eq!(about(&result)["digest"], expected);
}

#[test]
fn other_names_of_the_argument_are_understood() {
    let mut client = client(spec_folders());
    for (arguments, expected) in [
        (json!({ "command": "git" }), Some("git")),
        (json!({ "skill": "Postgres" }), Some("postgres")),
        (json!({ "name": "git", "command": "git" }), Some("git")),
        (json!({ "name": "git", "command": "postgres" }), None),
        (json!({ "name": null, "command": "git" }), Some("git")),
        (json!({ "nme": "git" }), None),
        (json!({ "command": 7 }), None),
    ] {
        let result = client.tool("skill", &arguments);
        let found = result["_meta"]["skillbundle/about"]["name"].as_str();
        assert_eq!(found, expected, "{arguments}: {result}");
        assert_eq!(result.get("isError").is_some(), expected.is_none());
    }
}

/// Long enough to see whether it is sent twice.
fn long_text() -> String {
    "All about dragons. ".repeat(2000)
}

#[test]
fn a_long_text_is_sent_once() {
    let mut skills = spec_folders();
    let body = long_text();
    let mut long = folder("dragons", "Everything about dragons", &body);
    long.files = vec![crate::testing::file(
        "notes.txt",
        skillbundle_format::Role::File,
        Some(body.as_bytes()),
    )];
    skills.skills.insert(0, long);
    let mut client = client(skills);
    for (tool, arguments) in [
        ("skill", json!({ "name": "dragons" })),
        (
            "get_skill",
            json!({ "context": "everything about dragons" }),
        ),
        (
            "get_asset",
            json!({ "skill_path": "dragons", "file": "notes.txt" }),
        ),
    ] {
        let result = client.tool(tool, &arguments);
        assert!(text(&result).contains(body.trim()), "{tool}");
        let length = result.to_string().len();
        assert!(
            length < body.len() + 1000,
            "{tool}: {length} of {}",
            body.len()
        );
    }
}

#[test]
fn a_skill_for_people_is_in_no_list_of_a_model_and_stays_a_prompt() {
    let mut skills = spec_folders();
    let mut deploy = folder("deploy", "Deploys the production database", "Deploy it.");
    deploy.audience = skillbundle_format::Audience::People;
    skills.skills.push(deploy);
    let mut client = client_of_all(skills);
    let refused = client.tool("skill", &json!({ "name": "Deploy" }));
    assert_eq!(about(&refused)["code"], "for_people_only");
    assert_eq!(refused["isError"], true);
    assert!(text(&refused).contains("a person must ask for it"));
    assert!(!text(&refused).contains("Deploy it."));
    for (tool, arguments) in [
        ("skill", json!({ "name": "deplo" })),
        (
            "get_skill",
            json!({ "context": "deploy the production database" }),
        ),
        (
            "get_skill",
            json!({ "context": "use the deploy skill, /deploy" }),
        ),
        ("skills_search", json!({ "query": "production" })),
        (
            "skills_search",
            json!({ "query": "deploys elephants production" }),
        ),
        ("skills_list", json!({})),
        ("list_skills", json!({})),
        ("refresh_skills", json!({})),
    ] {
        let result = client.tool(tool, &arguments).to_string();
        assert!(!result.contains("production database"), "{tool}: {result}");
        assert!(!result.contains("\"deploy\""), "{tool}: {result}");
    }
    for method in ["tools/list", "resources/list"] {
        let listed = client.request(method, json!({})).to_string();
        assert!(!listed.contains("production database"), "{method}");
    }
    let typed = json!({
        "ref": { "type": "ref/resource", "uri": "skill://{+path}" },
        "argument": { "name": "path", "value": "dep" },
    });
    let completed = client.request("completion/complete", typed);
    assert_eq!(completed["result"]["completion"]["values"], json!([]));
    let prompts = client.request("prompts/list", json!({})).to_string();
    assert!(prompts.contains("\"deploy\""), "{prompts}");
    let prompt = client.request("prompts/get", json!({ "name": "deploy" }));
    assert!(prompt.to_string().contains("Deploy it."), "{prompt}");
    let read = client.request(
        "resources/read",
        json!({ "uri": "skill://deploy/SKILL.md" }),
    );
    assert!(read.to_string().contains("Deploy it."), "{read}");
}

#[test]
fn a_skill_that_is_shown_to_nobody_loads_by_its_name() {
    let mut skills = spec_folders();
    let mut handbook = folder("handbook", "How to write elephants", "Write them.");
    handbook.audience = skillbundle_format::Audience::Nobody;
    skills.skills.push(handbook);
    let mut client = client_of_all(skills);
    assert!(text(&client.tool("skill", &json!({ "name": "handbook" }))).contains("Write them."));
    for (tool, arguments) in [
        ("get_skill", json!({ "context": "how to write elephants" })),
        ("skills_search", json!({ "query": "elephants" })),
        ("skills_list", json!({})),
        ("list_skills", json!({})),
    ] {
        let result = client.tool(tool, &arguments).to_string();
        assert!(!result.contains("handbook"), "{tool}: {result}");
    }
    for method in ["tools/list", "prompts/list", "resources/list"] {
        let listed = client.request(method, json!({})).to_string();
        assert!(!listed.contains("handbook"), "{method}: {listed}");
    }
}

#[test]
fn a_page_below_one_for_people_is_shown_below_the_next_page_above() {
    let mut skills = spec_tree();
    let hidden = skills.skills.iter().position(|it| it.path == "ui/_index");
    skills.skills[hidden.unwrap()].audience = skillbundle_format::Audience::People;
    skillbundle_format::arrange(&mut skills.skills);
    let tree = data(&client_of_all(skills).tool("list_skills", &json!({})));
    let paths = |node: &Value| -> Vec<String> {
        let children = node["children"].as_array().unwrap().iter();
        children
            .map(|it| it["path"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(tree["tree"]["path"], "_root");
    let below = paths(&tree["tree"]);
    assert!(below.contains(&"ui/react/_index".to_owned()), "{below:?}");
    assert!(!below.contains(&"ui/_index".to_owned()), "{below:?}");
}

#[test]
fn without_a_directory_to_look_into_the_files_are_named() {
    let bytes: &'static [u8] = write(&spec_tree()).unwrap().leak();
    let mut client = connected(Embedded::new(bytes));
    let loaded = text(&client.tool("skill", &json!({ "name": "ui/react/auth" })));
    let files = loaded.lines().nth(2).unwrap();
    assert!(
        files.starts_with("Files: ") && files.contains("assets/latin1.txt, "),
        "{files}"
    );
    let arguments = json!({ "skill_path": "ui/react/auth", "file": "assets/latin.txt" });
    let missed = data(&client.tool("get_asset", &arguments));
    let error = missed["error"].as_str().unwrap();
    assert!(
        error.contains("which have ") && error.contains("assets/latin1.txt"),
        "{error}"
    );
}

#[test]
fn names_in_an_answer_are_cleaned_as_in_the_description() {
    let mut skills = spec_folders();
    skills.skills[0].name = "a\u{202e}b\u{e0041}\u{2028}- evil: x".to_owned();
    let mut client = client(skills);
    let answer = text(&client.tool("skill", &json!({ "name": "evil" })));
    assert!(
        !answer.contains(['\u{202e}', '\u{e0041}', '\u{2028}']),
        "{answer:?}"
    );
    assert!(answer.contains("- ab - evil: x: "), "{answer:?}");
}
