//! The `skills_list` and `skills_search` tools of specification 4 over the wire.

use serde_json::{Value, json};

use crate::project::{LEGACY, Project, Session, text_of};

fn shelf() -> Project {
    let project = Project::new();
    project
        .file(
            "skills/bake/SKILL.md",
            "---\nname: Bread\ndescription: Bakes bread\n---\n\n# Bread\n\nFlour and water, ready.\n",
        )
        .file(
            "skills/team/brew/SKILL.md",
            "---\nname: brew\ndescription: Makes tea\n---\nWater first, then the FLOUR joke.\n",
        )
        .file(
            "skills/knit/SKILL.md",
            "---\nname: knit\ndescription: Makes socks\n---\nTwo needles.\n",
        );
    project
}

fn serve(project: &Project) -> Session {
    let mut session = project.serve(&["--dir", "skills"]);
    session.initialize(LEGACY);
    session
}

/// The structured result, which must be repeated as JSON or told in its text.
fn structured(session: &mut Session, tool: &str, arguments: &Value) -> Value {
    let mut result = session.tool(tool, arguments);
    assert!(result["isError"] != true, "{tool} {arguments}: {result}");
    assert!(
        !text_of(&result).is_empty(),
        "{tool} says nothing to people: {result}"
    );
    result["structuredContent"].take()
}

fn summary(install: &str, name: &str, description: &str, path: &str) -> Value {
    json!({
        "installName": install,
        "meta": { "name": name, "description": description },
        "skillPath": path,
        "skillFile": format!("{path}/SKILL.md")
    })
}

#[test]
fn every_skill_is_listed() {
    let project = shelf();
    let found = structured(&mut serve(&project), "skills_list", &json!({}));
    let wanted = [
        summary("bake", "Bread", "Bakes bread", "bake"),
        summary("knit", "knit", "Makes socks", "knit"),
        summary("brew", "brew", "Makes tea", "team/brew"),
    ];
    assert_eq!(found, json!({ "skills": wanted }));
}

/// Query, and the install names that hold it.
const FILTERS: [(&str, &[&str]); 7] = [
    ("br", &["bake", "brew"]),
    ("BREAD", &["bake"]),
    ("makes", &["knit", "brew"]),
    ("bake", &["bake"]),
    ("flour", &[]),
    ("nothing", &[]),
    ("", &["bake", "knit", "brew"]),
];

#[test]
fn the_list_can_be_filtered() {
    let project = shelf();
    let mut session = serve(&project);
    for (query, wanted) in FILTERS {
        let found = structured(&mut session, "skills_list", &json!({ "query": query }));
        let names: Vec<&str> = found["skills"]
            .as_array()
            .expect("skills")
            .iter()
            .filter_map(|s| s["installName"].as_str())
            .collect();
        assert_eq!(names, wanted, "{query:?}");
    }
}

#[test]
fn bodies_come_on_request_without_frontmatter() {
    let project = shelf();
    let ask = json!({ "query": "bread", "includeBody": true });
    let found = structured(&mut serve(&project), "skills_list", &ask);
    assert_eq!(
        found["skills"][0]["body"],
        "\n# Bread\n\nFlour and water, ready.\n"
    );
}

/// Query, limit, total, install names of the hits. Where there are none, no
/// skill comes close either.
const SEARCHES: [(&str, u64, u64, &[&str]); 7] = [
    ("water", 10, 2, &["bake", "brew"]),
    ("FLOUR  water", 10, 2, &["bake", "brew"]),
    ("flour tea", 10, 1, &["brew"]),
    ("flour", 1, 2, &["bake"]),
    ("ready.", 10, 1, &["bake"]),
    ("atere", 10, 0, &[]),
    ("wat", 25, 2, &["bake", "brew"]),
];

#[test]
fn a_search_wants_every_token() {
    let project = shelf();
    let mut session = serve(&project);
    for (query, limit, total, wanted) in SEARCHES {
        let ask = json!({ "query": query, "limit": limit });
        let found = structured(&mut session, "skills_search", &ask);
        assert_eq!(found["query"], query);
        assert_eq!(found["limit"], limit, "{query}");
        assert_eq!(found["total"], total, "{query}");
        let matched = if total > 0 { "all" } else { "none" };
        assert_eq!(found["match"], matched, "{query}");
        let results = found["results"].as_array().expect("results");
        let names: Vec<&str> = results
            .iter()
            .filter_map(|r| r["installName"].as_str())
            .collect();
        assert_eq!(names, wanted, "{query}");
        for result in results {
            assert_eq!(result["score"], query.split_whitespace().count(), "{query}");
            assert!(
                result["excerpt"].is_string() && result["meta"]["name"].is_string(),
                "{result}"
            );
        }
    }
}

/// Filters, query, rule, install names of the hits in order.
const FILTERED: [(&str, &str, &str, &[&str]); 8] = [
    // Every word in no skill, so the two that have one of them.
    ("", "water needles", "ranked", &["knit", "bake", "brew"]),
    ("", "how to knit?", "ranked", &["knit"]),
    ("path=team", "water", "all", &["brew"]),
    ("path=team/", "flour ready", "ranked", &["brew"]),
    ("path=tea", "water", "none", &[]),
    ("dialect=folder", "water", "all", &["bake", "brew"]),
    ("dialect=tree", "water", "none", &[]),
    ("tag=drinks", "water", "none", &[]),
];

#[test]
fn the_closest_follow_and_filters_narrow() {
    let project = shelf();
    let mut session = serve(&project);
    for (filter, query, matched, wanted) in FILTERED {
        let mut ask = json!({ "query": query });
        if let Some((name, value)) = filter.split_once('=') {
            ask[name] = json!(value);
        }
        let found = structured(&mut session, "skills_search", &ask);
        let results = found["results"].as_array().expect("results");
        let names: Vec<&str> = results
            .iter()
            .filter_map(|r| r["installName"].as_str())
            .collect();
        assert_eq!(
            (&found["match"], names.as_slice()),
            (&json!(matched), wanted),
            "{query} {filter}"
        );
        assert_eq!(found["total"], wanted.len(), "{query} {filter}");
    }
    project.file(
        "skills/late/SKILL.md",
        "---\nname: late\ndescription: Late\nmetadata:\n  tags: \"hot, Drinks\"\n---\nWater.\n",
    );
    let ask = json!({ "query": "water", "tag": "drinks" });
    let found = structured(&mut session, "skills_search", &ask);
    assert_eq!(found["results"][0]["installName"], "late");
}

#[test]
fn pages_end_where_the_skills_do_and_break_where_they_change() {
    let project = Project::new();
    for n in 0..12 {
        project.skill(&format!("skills/s{n:02}"), &format!("s{n:02}"), "Alike");
    }
    let mut session = serve(&project);
    let first = structured(&mut session, "skills_search", &json!({ "query": "alike" }));
    let again = json!({ "query": "alike", "cursor": first["nextCursor"] });
    let second = structured(&mut session, "skills_search", &again);
    assert_eq!(second["results"].as_array().expect("results").len(), 2);
    assert_eq!(
        (&second["total"], &second["nextCursor"]),
        (&json!(12), &Value::Null)
    );
    project.skill("skills/late", "late", "Alike");
    let refused = session.tool_error("skills_search", &again);
    assert!(refused.contains("skills have changed"), "{refused}");
}

#[test]
fn a_search_returns_ten_unless_told() {
    let project = Project::new();
    for n in 0..30 {
        project.skill(&format!("skills/s{n:02}"), &format!("s{n:02}"), "Alike");
    }
    let mut session = serve(&project);
    let found = structured(&mut session, "skills_search", &json!({ "query": "alike" }));
    assert_eq!((&found["limit"], &found["total"]), (&json!(10), &json!(30)));
    assert_eq!(found["results"].as_array().expect("results").len(), 10);
}

#[test]
fn an_excerpt_is_a_window_around_the_first_match() {
    let project = Project::new();
    let filler = "word ".repeat(200);
    project.file(
        "skills/long/SKILL.md",
        format!("---\nname: long\ndescription: Long\n---\n{filler}needle {filler}\n"),
    );
    let found = structured(
        &mut serve(&project),
        "skills_search",
        &json!({ "query": "NEEDLE" }),
    );
    let excerpt = found["results"][0]["excerpt"].as_str().expect("an excerpt");
    assert!(excerpt.contains("needle"), "{excerpt}");
    let length = excerpt.chars().count();
    assert!(
        (100..=220).contains(&length),
        "{length} characters: {excerpt}"
    );
}

#[test]
fn wrong_arguments_are_refused_and_named() {
    let project = shelf();
    let mut session = serve(&project);
    for (tool, arguments, named) in [
        ("skills_search", json!({}), "query"),
        ("skills_search", json!({ "query": "" }), "query"),
        (
            "skills_search",
            json!({ "query": "x", "limit": 0 }),
            "limit",
        ),
        (
            "skills_search",
            json!({ "query": "x", "limit": 26 }),
            "limit",
        ),
        (
            "skills_search",
            json!({ "query": "x", "limit": "many" }),
            "limit",
        ),
        (
            "skills_search",
            json!({ "query": "x", "colour": 1 }),
            "colour",
        ),
        ("skills_list", json!({ "query": 3 }), "query"),
        (
            "skills_list",
            json!({ "includeBody": "yes" }),
            "includeBody",
        ),
        ("skills_list", json!({ "colour": 1 }), "colour"),
    ] {
        let text = session.tool_error(tool, &arguments);
        assert!(text.contains(named), "{tool} {arguments}: {text}");
    }
}

#[test]
fn the_dotted_names_of_the_specification_are_understood() {
    let project = shelf();
    let mut session = serve(&project);
    let dotted = session.tool("skills.list", &json!({}));
    assert_eq!(dotted, session.tool("skills_list", &json!({})));
    let dotted = session.tool("skills.search", &json!({ "query": "water" }));
    assert_eq!(
        dotted,
        session.tool("skills_search", &json!({ "query": "water" }))
    );
}

#[test]
fn both_tools_see_the_latest_files() {
    let project = shelf();
    let mut session = serve(&project);
    let water = json!({ "query": "water" });
    assert_eq!(
        structured(&mut session, "skills_search", &water)["total"],
        2
    );
    project.skill("skills/late", "late", "Needs water too");
    assert_eq!(
        structured(&mut session, "skills_search", &water)["total"],
        3
    );
    std::fs::remove_dir_all(project.path("skills/bake")).expect("it was there");
    assert_eq!(
        structured(&mut session, "skills_search", &water)["total"],
        2
    );
    let all = structured(&mut session, "skills_list", &json!({}));
    assert_eq!(all["skills"].as_array().expect("skills").len(), 3);
}
