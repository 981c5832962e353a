//! The rules of `skills_list` and `skills_search` (spec 4), as tables: which
//! skills a query finds, in which order, and what surrounds a match.

use super::*;

/// Three skills; the folder of the first is not called like the skill.
fn skills() -> SkillSet {
    let bread = SkillEntry {
        name: "Bread".to_owned(),
        ..folder(
            "bake",
            "Bakes bread",
            "\n# Bread\n\nFlour and water, ready.\n",
        )
    };
    set(vec![
        bread,
        folder("knit", "Makes socks", "Two needles.\n"),
        folder(
            "team/brew",
            "Makes tea",
            "Water first, then the FLOUR joke.\n",
        ),
    ])
}

fn install_names(skills: &Value) -> Vec<&str> {
    let skills = skills.as_array().expect("a list of skills").iter();
    let names = skills.map(|skill| skill["installName"].as_str());
    names.map(|name| name.expect("a name")).collect()
}

/// Query, and the install names of the skills that are listed.
const LISTED: [(&str, &[&str]); 7] = [
    ("br", &["bake", "brew"]),
    ("BREAD", &["bake"]),
    ("makes", &["knit", "brew"]),
    ("bake", &["bake"]),
    ("flour", &[]),
    ("nothing", &[]),
    ("", &["bake", "knit", "brew"]),
];

#[test]
fn a_list_is_filtered_by_names_and_description() {
    let mut client = client(skills());
    for (query, wanted) in LISTED {
        let result = client.tool("skills_list", &json!({ "query": query }));
        let found = install_names(&result["structuredContent"]["skills"]);
        assert_eq!(found, wanted, "{query:?}");
    }
}

/// Query, filter, limit; total, which rule matched, install names of the hits.
type Search = (
    &'static str,
    &'static str,
    u64,
    u64,
    &'static str,
    &'static [&'static str],
);
const SEARCHES: [Search; 17] = [
    ("water", "", 10, 2, "all", &["bake", "brew"]),
    ("FLOUR  water", "", 10, 2, "all", &["bake", "brew"]),
    ("flour tea", "", 10, 1, "all", &["brew"]),
    ("flour", "", 1, 2, "all", &["bake"]),
    ("ready.", "", 10, 1, "all", &["bake"]),
    ("atere", "", 10, 0, "none", &[]),
    ("wat", "", 25, 2, "all", &["bake", "brew"]),
    // No skill holds both words; those that hold one have to be asked for.
    ("water needles", "", 10, 0, "none", &[]),
    (
        "water needles",
        "match=ranked",
        10,
        3,
        "ranked",
        &["knit", "bake", "brew"],
    ),
    ("how to knit?", "match=ranked", 10, 1, "ranked", &["knit"]),
    ("elephants", "match=ranked", 10, 0, "none", &[]),
    ("water", "path=team", 10, 1, "all", &["brew"]),
    ("flour ready", "path=team/", 10, 0, "none", &[]),
    ("water", "path=tea", 10, 0, "none", &[]),
    ("water", "dialect=folder", 10, 2, "all", &["bake", "brew"]),
    ("water", "dialect=tree", 10, 0, "none", &[]),
    ("water", "tag=drinks", 10, 0, "none", &[]),
];

#[test]
fn a_search_requires_every_token_or_ranks_if_asked_to() {
    let mut client = client(skills());
    for (query, filter, limit, total, matched, wanted) in SEARCHES {
        let place = format!("{query} {filter}");
        let mut arguments = json!({ "query": query, "limit": limit });
        if let Some((name, value)) = filter.split_once('=') {
            arguments[name] = json!(value);
        }
        let result = client.tool("skills_search", &arguments);
        let found = &result["structuredContent"];
        assert_eq!(
            (&found["query"], &found["limit"]),
            (&json!(query), &json!(limit)),
            "{place}"
        );
        assert_eq!(
            (&found["total"], &found["match"]),
            (&json!(total), &json!(matched)),
            "{place}"
        );
        assert_eq!(install_names(&found["results"]), wanted, "{place}");
        for hit in found["results"].as_array().expect("results") {
            assert!(hit["excerpt"].is_string() && hit["meta"]["name"].is_string());
            if matched == "all" {
                assert_eq!(hit["score"], query.split_whitespace().count(), "{place}");
            }
        }
    }
}

#[test]
fn an_excerpt_is_a_window_around_the_first_match() {
    let filler = "word ".repeat(200);
    let body = format!("{filler}needle {filler}\n");
    let mut client = client(set(vec![folder("long", "Long", &body)]));
    let result = client.tool("skills_search", &json!({ "query": "NEEDLE" }));
    let hit = &result["structuredContent"]["results"][0];
    let excerpt = hit["excerpt"].as_str().expect("an excerpt");
    let length = excerpt.chars().count();
    assert!(excerpt.contains("needle"), "{excerpt}");
    assert!((100..=220).contains(&length), "{length}: {excerpt}");
}
