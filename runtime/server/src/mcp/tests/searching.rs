//! `skills_list` and `skills_search` (spec 4).

use super::*;

#[test]
fn skills_list_gives_metadata_and_on_demand_bodies() {
    let mut skills = spec_folders();
    skills
        .skills
        .push(folder("team/pdf", "Reads PDF files", "\n# PDF\n"));
    let mut client = client(skills);
    let result = client.call("skills_list", json!({ "query": "PDF" }));
    assert_eq!(
        result["structuredContent"],
        json!({ "skills": [{
            "installName": "pdf",
            "meta": { "name": "pdf", "description": "Reads PDF files" },
            "skillPath": "team/pdf",
            "skillFile": "team/pdf/SKILL.md",
        }] })
    );
    assert_eq!(
        text(&result),
        "1 skill matches \"PDF\"\n- pdf: Reads PDF files"
    );
    let all = client.call("skills_list", json!({ "includeBody": true }));
    assert!(
        text(&all).starts_with("4 skills\n- git: Git deployment workflow skill\n"),
        "{}",
        text(&all)
    );
    assert_eq!(all["structuredContent"]["skills"][3]["body"], "\n# PDF\n");
    // By description, and by nothing at all.
    assert_eq!(
        client.call("skills_list", json!({ "query": "database" }))["structuredContent"]["skills"]
            [0]["installName"],
        "postgres"
    );
    assert_eq!(
        client.call("skills_list", json!({ "query": "nothing" }))["structuredContent"],
        json!({ "skills": [] })
    );
}

#[test]
fn skills_search_wants_every_word_and_counts_beyond_its_limit() {
    let skills = set((0..30)
        .map(|n| {
            folder(
                &format!("s{n:02}"),
                "About tea",
                "\nGreen tea is steeped below boiling.\n",
            )
        })
        .collect());
    let mut client = client(skills);
    let result = client.call("skills_search", json!({ "query": "GREEN boiling" }));
    let answer = &result["structuredContent"];
    assert_eq!(
        keys(answer),
        ["query", "limit", "total", "match", "results"]
    );
    assert_eq!(
        (&answer["query"], &answer["limit"], &answer["total"]),
        (&json!("GREEN boiling"), &json!(10), &json!(30))
    );
    assert_eq!(answer["results"].as_array().unwrap().len(), 10);
    let first = &answer["results"][0];
    assert_eq!(
        keys(first),
        [
            "installName",
            "meta",
            "skillPath",
            "skillFile",
            "score",
            "excerpt"
        ]
    );
    assert_eq!(first["score"], 2);
    assert!(first["excerpt"].as_str().unwrap().contains("Green tea"));
    assert!(
        text(&result)
            .starts_with("30 skills match \"GREEN boiling\", the first 10 of them\n- s00: "),
        "{}",
        text(&result)
    );
    assert_eq!(
        client.call("skills_search", json!({ "query": "green coffee" }))["structuredContent"]["total"],
        0
    );
    assert_eq!(client.call("skills_search", json!({ "query": "tea", "limit": 25 }))["structuredContent"]["results"].as_array().unwrap().len(), 25);
}

#[test]
fn where_no_skill_holds_every_word_the_closest_are_named_as_such() {
    let mut client = client(spec_folders());
    let query = "which indexes does a slow postgres query want, zzzz?";
    let result = client.call("skills_search", json!({ "query": query }));
    let answer = &result["structuredContent"];
    assert_eq!(
        (&answer["match"], &answer["total"]),
        (&json!("ranked"), &json!(0)),
        "{answer}"
    );
    assert_eq!(answer["results"][0]["meta"]["name"], "postgres");
    assert!(answer["results"][0]["score"].as_f64().unwrap() > 0.0);
    assert!(
        text(&result).contains("no skill holds every word, the closest are\n- postgres: "),
        "{}",
        text(&result)
    );
    let limited = client.call("skills_search", json!({ "query": query, "limit": 1 }));
    assert_eq!(
        limited["structuredContent"]["results"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    // All words found: as the specification says. None known: nothing.
    for (query, how) in [("postgres", "all"), ("zzzz qqqq", "all")] {
        let answer = client.call("skills_search", json!({ "query": query }));
        assert_eq!(answer["structuredContent"]["match"], how, "{query}");
    }
}
