//! Who is shown a skill: models and people, people only, or nobody, who must know its name.

use serde_json::{Value, json};

use crate::project::{LEGACY, Project, Session};

/// The names that `list --json` prints.
fn listed(project: &Project, words: &[&str]) -> Vec<String> {
    let ran = project.run(&[&["list", "--json"], words].concat());
    let printed: Value = serde_json::from_str(&ran.stdout).expect(&ran.stderr);
    let skills = printed["skills"].as_array().expect("skills").iter();
    skills
        .map(|it| it["name"].as_str().expect("a name").to_owned())
        .collect()
}

/// Frontmatter or settings, and whether models may start the skill.
const DECLARATIONS: [(&str, &str, bool); 8] = [
    ("plain", "", true),
    ("barred", "disable-model-invocation: true\n", false),
    ("barred-in-words", "disable_model_invocation: yes\n", false),
    (
        "barred-below",
        "metadata:\n  disableModelInvocation: on\n",
        false,
    ),
    ("off", "default-enabled: false\n", false),
    ("open", "disable-model-invocation: false\n", true),
    ("codex", "", false),
    ("codex-open", "", true),
];

fn declared() -> Project {
    let project = Project::new();
    for (name, keys, _) in DECLARATIONS {
        let text = format!(
            "---\nname: {name}\ndescription: Feeds the dragons of {name}\n{keys}---\nDragons of {name}.\n"
        );
        project.file(&format!("skills/{name}/SKILL.md"), &text);
    }
    let policy = |allowed| format!("policy:\n  allow_implicit_invocation: {allowed}\n");
    project.file("skills/codex/agents/openai.yaml", policy(false));
    project.file("skills/codex-open/agents/openai.yaml", policy(true));
    project
}

#[test]
fn what_keeps_a_skill_from_models_in_any_host_keeps_it_from_them_here() {
    let project = declared();
    let mut session = project.serve(&["--dir", "skills", "--tools", "all"]);
    session.initialize(LEGACY);
    let lists = session.tool("skills_list", &json!({}));
    let found = session.tool("skills_search", &json!({"query": "dragons", "limit": 25}));
    let prompts = session.result("prompts/list", json!({}));
    let names = |list: &Value, name: &str| -> Vec<String> {
        let list = list.as_array().expect("a list").iter();
        let text = |it: &Value| it.pointer(name).and_then(Value::as_str).map(str::to_owned);
        list.filter_map(text).collect()
    };
    let lists = names(&lists["structuredContent"]["skills"], "/meta/name");
    let found = names(&found["structuredContent"]["results"], "/meta/name");
    let prompts = names(&prompts["prompts"], "/name");
    for (name, _, for_models) in DECLARATIONS {
        let is_in = |names: &[String]| names.iter().any(|it| it == name);
        assert_eq!(is_in(&lists), for_models, "{name} in skills_list");
        assert_eq!(is_in(&found), for_models, "{name} in skills_search");
        assert!(is_in(&prompts), "{name} in prompts/list");
        let loaded = session.tool("skill", &json!({ "name": name }));
        assert_eq!(loaded["isError"] != true, for_models, "{loaded}");
        let routed = session.tool_text("get_skill", &json!({"context": format!("/{name}")}));
        assert_eq!(routed.contains(&format!("Dragons of {name}.")), for_models);
    }
    session.finish();
    // People see them all.
    assert_eq!(
        listed(&project, &["--dir", "skills"]).len(),
        DECLARATIONS.len()
    );
    let found = project.run(&["search", "--dir", "skills", "--json", "barred"]);
    assert!(found.stdout.contains("\"barred\""), "{}", found.stdout);
}

#[test]
fn a_skill_is_kept_from_models_as_soon_as_its_settings_say_so() {
    let project = Project::new();
    project.skill("skills/deploy", "deploy", "Deploys dragons");
    project.skill("skills/feed", "feed", "Feeds dragons");
    let mut session = project.serve(&["--dir", "skills", "--tools", "all"]);
    session.initialize(LEGACY);
    let total = |session: &mut Session| {
        let found = session.tool("skills_search", &json!({"query": "dragons"}));
        found["structuredContent"]["total"].as_u64()
    };
    assert_eq!(total(&mut session), Some(2));
    let settings = "skills/deploy/agents/openai.yaml";
    project.file(settings, "policy:\n  allow_implicit_invocation: false\n");
    assert_eq!(total(&mut session), Some(1));
    project.file(settings, "policy: {}\n");
    assert_eq!(total(&mut session), Some(2));
    session.finish();
}

#[test]
fn the_handbook_stands_back_where_there_are_other_skills() {
    let project = Project::new();
    let handbook = listed(&project, &[]);
    assert!(
        handbook.contains(&"writing-skills".to_owned()),
        "{handbook:?}"
    );

    project.skill(
        ".claude/skills/zebra",
        "zebra",
        "Writes the description of a zebra",
    );
    assert_eq!(listed(&project, &[]), ["zebra"]);
    let all = listed(&project, &["--all"]);
    assert_eq!(all.len(), handbook.len() + 1);
    let mut session = project.serve(&["--tools", "all"]);
    session.initialize(LEGACY);
    let request = json!({"context": "write the frontmatter of a skill"});
    let routed = session.tool_text("get_skill", &request);
    assert!(!routed.contains("writing-skills"), "{routed}");
    for (tool, arguments) in [
        ("skills_list", json!({})),
        ("list_skills", json!({})),
        ("skills_search", json!({"query": "frontmatter"})),
    ] {
        let answer = session.tool(tool, &arguments).to_string();
        assert!(!answer.contains("writing-skills"), "{tool}: {answer}");
    }
    for method in ["tools/list", "prompts/list", "resources/list"] {
        let answer = session.result(method, json!({})).to_string();
        assert!(!answer.contains("writing-skills"), "{method}: {answer}");
    }
    let text = session.tool_text("skill", &json!({"name": "writing-skills"}));
    assert!(text.starts_with("Loading: writing-skills\n"), "{text}");
    session.finish();
}

#[test]
fn what_is_baked_in_can_be_left_out() {
    let project = Project::new();
    assert_eq!(listed(&project, &["--no-embedded"]), [""; 0]);
    project.skill(".claude/skills/zebra", "zebra", "About a zebra");
    assert_eq!(listed(&project, &["--no-embedded", "--all"]), ["zebra"]);
    let mut session = project.serve(&["--no-embedded"]);
    session.initialize(LEGACY);
    let answer = session.tool("skill", &json!({"name": "writing-skills"}));
    assert_eq!(answer["isError"], true, "{answer}");
    session.finish();
    let ran = project.run(&["list", "--no-embedded", "--dir", "."]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("--no-embedded leaves out"),
        "{}",
        ran.stderr
    );
}
