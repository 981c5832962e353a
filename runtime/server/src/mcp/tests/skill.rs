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
    let structured = &result["structuredContent"];
    assert_eq!(
        keys(structured),
        [
            "name",
            "path",
            "description",
            "location",
            "base_directory",
            "digest",
            "content",
            "files"
        ]
    );
    assert_eq!(structured["location"], "project");
    assert_eq!(structured["files"], json!([]));
    assert!(text(&result).ends_with(structured["content"].as_str().unwrap()));
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
        let found = result["structuredContent"]["name"].as_str();
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
        assert_eq!(
            result["structuredContent"]["did_you_mean"], meant,
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
    assert!(text(&result).contains(&format!(
        "\n… and {} more; use skills_search\n",
        500 - shown
    )));
    let listed = client.request("tools/list", json!({}));
    let description = listed["result"]["tools"][0]["description"]
        .as_str()
        .unwrap();
    assert!(description.len() <= 4096, "{}", description.len());
    let named = description.matches("<name>").count();
    let described = description.matches("<description>").count();
    assert!(
        described > 3 && named > described + 10,
        "{described} described, {named} named"
    );
    assert!(description.contains(&format!(
        "… and {} more skills, 500 in all; find them with the skills_search tool.",
        500 - named
    )));
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
    let files = result["structuredContent"]["files"].as_array().unwrap();
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
    assert_eq!(result["structuredContent"]["digest"], expected);
}
