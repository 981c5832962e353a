//! `skills_list` and `skills_search` (spec 4).

use super::*;

#[test]
fn skills_list_gives_metadata_and_on_demand_bodies() {
    let mut skills = spec_folders();
    skills
        .skills
        .push(folder("team/pdf", "Reads PDF files", "\n# PDF\n"));
    let mut client = client(skills);
    let result = client.tool("skills_list", &json!({ "query": "PDF" }));
    assert_eq!(
        result["structuredContent"],
        json!({ "skills": [{
            "installName": "pdf",
            "meta": { "name": "pdf", "description": "Reads PDF files" },
            "skillPath": "/srv/skills/team/pdf",
            "skillFile": "/srv/skills/team/pdf/SKILL.md",
        }] })
    );
    assert_eq!(
        text(&result),
        "1 skill matches \"PDF\"\n- pdf: Reads PDF files"
    );
    let all = client.tool("skills_list", &json!({ "includeBody": true }));
    assert!(
        text(&all).starts_with("4 skills\n- git: Git deployment workflow skill\n"),
        "{}",
        text(&all)
    );
    assert_eq!(all["structuredContent"]["skills"][3]["body"], "\n# PDF\n");
    // By description, and by nothing at all.
    assert_eq!(
        client.tool("skills_list", &json!({ "query": "database" }))["structuredContent"]["skills"]
            [0]["installName"],
        "postgres"
    );
    assert_eq!(
        client.tool("skills_list", &json!({ "query": "nothing" }))["structuredContent"],
        json!({ "skills": [] })
    );
}

#[test]
fn skills_search_requires_every_word_and_counts_beyond_its_limit() {
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
    let result = client.tool("skills_search", &json!({ "query": "GREEN boiling" }));
    let answer = &result["structuredContent"];
    assert_eq!(
        keys(answer),
        ["query", "limit", "total", "match", "results", "nextCursor"]
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
        client.tool("skills_search", &json!({ "query": "coffee" }))["structuredContent"],
        json!({
            "query": "coffee",
            "limit": 10,
            "total": 0,
            "match": "none",
            "results": [],
            "message": "No skill contains every word of \"coffee\"; search with match \"ranked\" for the closest.",
        })
    );
    assert_eq!(
        client.tool("skills_search", &json!({ "query": "tea", "limit": 25 }))["structuredContent"]
            ["results"]
            .as_array()
            .unwrap()
            .len(),
        25
    );
}

/// Six skills about tea, every second one in a tree.
fn shelf() -> SkillSet {
    let mut skills = Vec::new();
    for n in 0..3 {
        let path = format!("tea/green{n}");
        skills.push(folder(
            &path,
            "About green tea",
            "\nSteep it below boiling.\n",
        ));
        let path = format!("teapot{n}");
        skills.push(SkillEntry {
            frontmatter_json: json!({ "tags": ["Pots", "clay"] }).to_string(),
            ..tree(
                &path,
                "About teapots",
                &["pot"],
                "\nWarm it with boiling water.\n",
            )
        });
    }
    skills.sort_by(|a, b| a.path.cmp(&b.path));
    set(skills)
}

fn names(result: &Value) -> Vec<&str> {
    let results = result["structuredContent"]["results"].as_array();
    let results = results.unwrap_or_else(|| panic!("{result}"));
    let names = results.iter().map(|hit| hit["installName"].as_str());
    names.map(|name| name.expect("a name")).collect()
}

#[test]
fn the_closest_are_found_if_asked_for_and_marked_as_such() {
    let filler = "Nothing of interest stands here. ".repeat(20);
    let body = format!("\nGreen paint. {filler}Steep green tea below boiling. {filler}");
    let mut client = client(set(vec![
        folder("brew", "Makes drinks", &body),
        folder("coffee", "Roasts coffee beans", "\n# Beans\n"),
        folder("knit", "Makes socks", "\nTwo needles.\n"),
    ]));
    let query = "how do I steep green tea and coffee?";
    let result = client.tool("skills_search", &json!({ "query": query }));
    let nothing = format!(
        "No skill contains every word of \"{query}\"; search with match \"ranked\" for the closest."
    );
    assert_eq!(text(&result), nothing);
    assert_eq!(result["structuredContent"]["match"], "none");
    assert_eq!(result["structuredContent"]["message"], nothing);
    let query = json!({ "query": query, "match": "ranked" });
    let result = client.tool("skills_search", &query);
    let answer = &result["structuredContent"];
    assert_eq!(
        (&answer["match"], &answer["total"]),
        (&json!("ranked"), &json!(2))
    );
    let hit = |name: &str| {
        let results = answer["results"].as_array().unwrap();
        results
            .iter()
            .find(|hit| hit["installName"] == name)
            .unwrap_or_else(|| panic!("{name} is missing: {answer}"))
    };
    let excerpt = hit("brew")["excerpt"].as_str().unwrap();
    assert!(excerpt.contains("Steep green tea below"), "{excerpt}");
    assert!(excerpt.chars().count() <= 162, "{excerpt}");
    // The body says nothing of it, so the description does.
    assert_eq!(hit("coffee")["excerpt"], "Roasts coffee beans");
    let scores: Vec<f64> = answer["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["score"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(
        text(&result).starts_with(
            "The skills closest to \"how do I steep green tea and coffee?\", best first:\n- "
        ),
        "{}",
        text(&result)
    );
}

#[test]
fn filters_narrow_both_rules_and_are_off_unless_given() {
    let mut client = client(shelf());
    let green = ["green0", "green1", "green2"];
    let pots = ["teapot0", "teapot1", "teapot2"];
    let both = [green, pots].concat();
    for (filters, matched, wanted) in [
        (json!({}), "all", &both[..]),
        (
            json!({ "path": null, "tag": null, "dialect": null }),
            "all",
            &both,
        ),
        (json!({ "path": "", "tag": " " }), "all", &both),
        (json!({ "path": "tea" }), "all", &green),
        (json!({ "path": "/tea/" }), "all", &green),
        (json!({ "path": "tea/green1" }), "all", &green[1..2]),
        (json!({ "dialect": "tree" }), "all", &pots),
        (
            json!({ "dialect": "folder", "path": "teapot0" }),
            "none",
            &[],
        ),
        (json!({ "tag": "pots" }), "all", &pots),
        (json!({ "tag": "pot" }), "none", &[]),
    ] {
        let mut arguments = json!({ "query": "boiling" });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(filters.as_object().unwrap().clone());
        let result = client.tool("skills_search", &arguments);
        assert_eq!(names(&result), wanted, "{filters}");
        assert_eq!(result["structuredContent"]["match"], matched, "{filters}");
    }
    // Others hold every word, but none of those that were asked for.
    let result = client.tool(
        "skills_search",
        &json!({ "query": "steep boiling", "dialect": "tree", "match": "ranked" }),
    );
    assert_eq!(names(&result), pots);
    assert_eq!(result["structuredContent"]["match"], "ranked");
    assert!(
        text(&result)
            .starts_with("The skills closest to \"steep boiling\" (only dialect tree), best first"),
        "{}",
        text(&result)
    );
}

#[test]
fn pages_follow_one_another_to_the_end() {
    let mut client = client(shelf());
    for (query, rule) in [("boiling", "all"), ("boiling teapots of steel", "ranked")] {
        let whole = client.tool("skills_search", &json!({ "query": query, "match": rule }));
        let mut arguments = json!({ "query": query, "match": rule, "limit": 4 });
        let mut found = Vec::new();
        for page in 1.. {
            let result = client.tool("skills_search", &arguments);
            let answer = &result["structuredContent"];
            assert_eq!(answer["total"], 6);
            found.extend(answer["results"].as_array().unwrap().clone());
            match &answer["nextCursor"] {
                Value::Null => {
                    assert_eq!(page, 2);
                    assert!(text(&result).contains("5 to 6 of"), "{}", text(&result));
                    break;
                }
                cursor => {
                    let more = format!("search again with cursor {}", cursor.as_str().unwrap());
                    assert!(text(&result).ends_with(&more), "{}", text(&result));
                    arguments["cursor"] = cursor.clone();
                    // How many a page has may change on the way.
                    arguments["limit"] = json!(3);
                }
            }
        }
        assert_eq!(json!(found), whole["structuredContent"]["results"]);
    }
}

#[test]
fn a_cursor_of_another_search_or_state_is_rejected() {
    let source = Fake::new(shelf());
    let mut client = connected(source.clone());
    let first = json!({ "query": "boiling", "limit": 2 });
    let result = client.tool("skills_search", &first);
    let cursor = &result["structuredContent"]["nextCursor"];
    for (changed, found) in [
        (json!({ "cursor": "" }), "something else"),
        (json!({ "cursor": "not a cursor" }), "something else"),
        (json!({ "cursor": "AAAA" }), "something else"),
        (json!({ "query": "tea" }), "one of another search"),
        (json!({ "path": "tea" }), "one of another search"),
        (json!({ "tag": "tea" }), "one of another search"),
        (json!({ "dialect": "tree" }), "one of another search"),
    ] {
        let mut arguments = json!({ "query": "boiling", "cursor": cursor });
        arguments
            .as_object_mut()
            .unwrap()
            .extend(changed.as_object().unwrap().clone());
        let refused = data(&client.tool("skills_search", &arguments));
        assert_eq!(
            (&refused["argument"], &refused["found"]),
            (&json!("cursor"), &json!(found)),
            "{changed}"
        );
    }
    source.edit(spec_folders());
    let stale = json!({ "query": "boiling", "cursor": cursor });
    let refused = client.tool("skills_search", &stale);
    assert_eq!(refused["isError"], true);
    assert_eq!(
        data(&refused),
        json!({
            "error": "stale cursor: the skills have changed since it was issued; search again without `cursor`",
            "code": "stale_cursor",
        })
    );
}

#[test]
fn names_come_before_descriptions_and_these_before_bodies() {
    let body = "\nDeploy rollback. ".repeat(30);
    let mut skills: Vec<SkillEntry> = (0..20)
        .map(|n| folder(&format!("a{n:02}"), "Says something else", &body))
        .collect();
    skills.push(folder("notes", "Deploy with a rollback", "\nText.\n"));
    skills.push(folder("rollback-deploy", "Ships", "\nText.\n"));
    skills.push(folder("team/deploy-rollback", "Ships", "\nText.\n"));
    skills.sort_by(|a, b| a.path.cmp(&b.path));
    let mut client = client(set(skills));
    let ask = |query: &str| json!({ "query": query, "limit": 5 });
    let result = client.tool("skills_search", &ask("deploy rollback"));
    let expected = ["deploy-rollback", "rollback-deploy", "notes", "a00", "a01"];
    assert_eq!(names(&result), expected);
    assert_eq!(result["structuredContent"]["total"], 23);
    let score = &result["structuredContent"]["results"][0]["score"];
    assert_eq!(score, 2, "the number of words, as specification 4 says");
    // Parts of words are no terms; the text decides.
    let result = client.tool("skills_search", &ask("depl rollb"));
    assert_eq!(
        names(&result),
        ["rollback-deploy", "deploy-rollback", "notes", "a00", "a01"]
    );
}
