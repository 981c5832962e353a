//! `refresh_skills` (spec 3 §8.6), edits between calls, loads that fail, damaged bundles.

use super::*;

#[test]
fn refresh_skills_says_where_from_and_how_many() {
    let mut local = connected(Fake::slow(spec_folders()));
    assert_eq!(
        data(&local.tool("refresh_skills", &json!({}))),
        json!({ "success": true, "mode": "local", "skills_reindexed": 3, "message": "Reindexed from local directory (no git sync configured)." })
    );
    let mut archive = client(spec_folders());
    assert_eq!(
        data(&archive.tool("refresh_skills", &json!({})))["mode"],
        "archive"
    );
    let bytes: &'static [u8] = write(&spec_folders()).unwrap().leak();
    let answer = data(&connected(Embedded::new(bytes)).tool("refresh_skills", &json!({})));
    assert_eq!(
        (
            &answer["success"],
            &answer["mode"],
            &answer["skills_reindexed"]
        ),
        (&json!(true), &json!("embedded"), &json!(3))
    );
}

#[test]
fn progress_is_sent_to_a_client_that_wants_it() {
    let params = |token: Value| json!({ "name": "refresh_skills", "_meta": token });
    for token in [json!("a \"b\""), json!(7), json!(1.5)] {
        let mut legacy = client(spec_folders());
        let mut modern = unopened(Fake::new(spec_folders()), Options::default());
        let stateless = |mut params: Value| {
            let mut meta = with_meta(json!({}))["_meta"].take();
            meta["progressToken"] = params["_meta"]["progressToken"].take();
            params["_meta"] = meta;
            params
        };
        let given = params(json!({ "progressToken": token }));
        for (client, params) in [
            (&mut legacy, given.clone()),
            (&mut modern, stateless(given)),
        ] {
            client.send(&request("r", "tools/call", params));
            let progress = client.reply();
            assert_eq!(progress["method"], "notifications/progress");
            assert_eq!(
                progress["params"],
                json!({ "progressToken": token, "progress": 0.0, "message": "Loading the skills again" })
            );
            assert_eq!(client.reply()["id"], "r");
        }
    }
    let mut client = client(spec_folders());
    for meta in [json!({}), json!({ "progressToken": null })] {
        client.send(&request("r", "tools/call", params(meta)));
        assert_eq!(client.reply()["id"], "r");
    }
}

#[test]
fn a_second_refresh_is_answered_at_once() {
    let source = Fake::slow(spec_folders());
    let mut client = connected(source.clone());
    client.tool("skills_list", &json!({}));
    source.close_gate();
    client.send_line(r#"{"jsonrpc":"2.0","id":"first","method":"tools/call","params":{"name":"refresh_skills"}}"#);
    while source.loads() < 2 {
        std::thread::yield_now();
    }
    let second = data(&client.tool("refresh_skills", &json!({})));
    assert_eq!(
        (&second["success"], &second["mode"]),
        (&json!(false), &json!("local"))
    );
    source.open_gate();
    assert_eq!(
        client.reply()["result"]["structuredContent"]["success"],
        true
    );
    assert_eq!(
        data(&client.tool("refresh_skills", &json!({})))["success"],
        true,
        "and then again"
    );
}

#[test]
fn every_call_sees_the_last_edit() {
    for source in [Fake::new(spec_folders()), Fake::slow(spec_folders())] {
        let mut client = connected(source.clone());
        for round in 0..3 {
            let body = format!("\nround {round}\n");
            source.edit(set(vec![folder("git", "edited", &body)]));
            assert!(text(&client.tool("skill", &json!({ "name": "git" }))).ends_with(&body));
            let listed = client.request("tools/list", json!({})).to_string();
            assert!(
                listed.contains("<description>edited</description>")
                    && !listed.contains("postgres</name>")
            );
        }
    }
}

#[test]
fn a_failed_load_is_reported_and_keeps_the_old_skills() {
    let source = Fake::new(spec_folders());
    let mut client = connected(source.clone());
    client.tool("skills_list", &json!({}));
    source.break_down(Some("the archive is damaged"));
    assert!(text(&client.tool("skill", &json!({ "name": "git" }))).starts_with("Loading: git\n"));
    let result = client.tool("refresh_skills", &json!({}));
    let answer = data(&result);
    assert_eq!(
        (&result["isError"], &answer["success"]),
        (&json!(true), &json!(false))
    );
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .contains("the archive is damaged"),
        "{answer}"
    );
}

#[test]
fn without_skills_calls_report_the_reason() {
    let source = Fake::new(spec_folders());
    source.break_down(Some("no such directory"));
    let mut client = connected(source.clone());
    let listed = client.request("tools/list", json!({}));
    assert!(
        listed["result"]["tools"].as_array().unwrap().len() >= 4,
        "the tools are there"
    );
    for tool in ["skill", "get_skill", "skills_list", "list_skills"] {
        let arguments = match tool {
            "skill" => json!({ "name": "git" }),
            "get_skill" => json!({ "context": "git" }),
            _ => json!({}),
        };
        let result = client.tool(tool, &arguments);
        assert_eq!(
            (&result["isError"], &data(&result)["code"]),
            (&json!(true), &json!("skills_unavailable")),
            "{tool}"
        );
        assert!(text(&result).contains("no such directory"));
    }
    let refreshed = data(&client.tool("refresh_skills", &json!({})));
    assert_eq!(refreshed["message"], "a test: no such directory");
    source.break_down(None);
    assert!(
        client
            .tool("skill", &json!({ "name": "git" }))
            .get("isError")
            .is_none(),
        "and serves once it can"
    );
}

#[test]
fn a_damaged_body_is_reported_and_other_skills_are_served() {
    let mut bytes = write(&spec_folders()).unwrap();
    let needle = b"# Git Deployment GitOps";
    let at = bytes
        .windows(needle.len())
        .position(|window| window == needle)
        .expect("bodies lie open in the archive");
    bytes[at] ^= 1;
    let mut client = connected(Embedded::new(bytes.leak()));
    let result = client.tool("skill", &json!({ "name": "git" }));
    assert_eq!(
        (&result["isError"], &data(&result)["code"]),
        (&json!(true), &json!("skills_unavailable"))
    );
    assert!(text(&result).contains("damaged"), "{}", text(&result));
    assert!(
        client
            .tool("skill", &json!({ "name": "postgres" }))
            .get("isError")
            .is_none()
    );
}

#[test]
fn hostile_names_find_nothing_outside() {
    let mut client = client(spec_tree());
    for name in [
        "../../../etc/passwd",
        ".ssh/id_rsa",
        "/etc/passwd",
        "skill://git",
        "file:///etc/passwd",
        "a\0b",
        "..%2f..%2fetc",
        "C:\\Windows",
        "\u{202e}git",
    ] {
        let result = client.tool("skill", &json!({ "name": name }));
        assert_eq!(about(&result)["code"], "skill_not_found", "{name:?}");
        let result = client.tool(
            "get_asset",
            &json!({ "skill_path": name, "file": "global.css" }),
        );
        assert_eq!(
            result["structuredContent"]["code"], "skill_not_found",
            "{name:?}"
        );
    }
}

/// Longer than a change is held back until nothing moves any more.
const SETTLED: std::time::Duration = std::time::Duration::from_millis(1200);

#[test]
fn a_changed_list_is_reported_once_and_only_if_its_text_differs() {
    let source = Fake::new(spec_folders());
    let mut client = connected(source.clone());
    client.request("tools/list", json!({}));
    // The body of a skill stands in no list.
    let mut skills = spec_folders();
    skills.skills[0] = folder("git", "Git deployment workflow skill", "\nOther words.\n");
    source.edit(skills);
    client.tool("skill", &json!({ "name": "git" }));
    std::thread::sleep(SETTLED);
    client.request("ping", json!({}));
    // Two edits, one notice.
    source.edit(set(vec![folder("new", "Something new", "x")]));
    client.tool("skill", &json!({ "name": "new" }));
    source.edit(spec_tree());
    client.tool("list_skills", &json!({}));
    for list in ["tools", "resources", "prompts"] {
        let method = format!("notifications/{list}/list_changed");
        assert_eq!(
            client.reply(),
            json!({ "jsonrpc": "2.0", "method": method })
        );
    }
    std::thread::sleep(SETTLED);
    client.request("ping", json!({}));
    let (ended, rest) = end(client);
    assert!(ended.is_ok() && rest.is_empty(), "{rest:?}");
}

#[test]
fn the_first_load_is_no_change_and_the_second_may_be() {
    for source in [Fake::new(spec_folders()), Fake::slow(spec_folders())] {
        let mut client = connected(source.clone());
        client.tool("skill", &json!({ "name": "git" }));
        std::thread::sleep(SETTLED);
        client.request("ping", json!({}));
        source.edit(spec_tree());
        client.tool("list_skills", &json!({}));
        assert_eq!(client.reply()["method"], "notifications/tools/list_changed");
    }
}

#[test]
fn a_list_made_without_skills_is_stale_once_they_load() {
    let source = Fake::slow(spec_folders());
    source.break_down(Some("the disk is gone"));
    let mut client = connected(source.clone());
    client.request("tools/list", json!({}));
    source.break_down(None);
    client.tool("skill", &json!({ "name": "git" }));
    assert_eq!(client.reply()["method"], "notifications/tools/list_changed");
}

#[test]
fn only_skills_that_can_change_declare_notifications() {
    let bytes: &'static [u8] = write(&spec_folders()).unwrap().leak();
    let promised =
        |mut client: Client| client.initialize("2025-11-25")["capabilities"]["tools"].clone();
    let embedded = unopened(Embedded::new(bytes), Options::default());
    assert_eq!(promised(embedded), json!({}));
    let local = unopened(Fake::slow(spec_folders()), Options::default());
    assert_eq!(promised(local), json!({ "listChanged": true }));
}

#[test]
fn every_answer_about_an_outdated_skill_says_so() {
    let source = Fake::new(spec_folders());
    source.outdate("git", "skills/git/SKILL.md:2: expected a name");
    let mut client = connected(source);
    let expected = "This is the last good version, because the file has not loaded for 2 minutes: \
                    skills/git/SKILL.md:2: expected a name";
    let loaded = client.tool("skill", &json!({ "name": "git" }));
    assert!(text(&loaded).contains(&format!("\nNote: {expected}\n")));
    assert_eq!(about(&loaded)["outdated"], expected);
    let listed = client.tool("skills_list", &json!({ "query": "git" }));
    let listed = &listed["structuredContent"]["skills"][0];
    assert_eq!(listed["outdated"], expected);
    let refreshed = data(&client.tool("refresh_skills", &json!({})));
    assert_eq!(
        refreshed["outdated"],
        json!([{ "path": "git", "outdated": expected }])
    );
    let other = client.tool("skill", &json!({ "name": "postgres" }));
    assert!(!text(&other).contains("last good"));
    assert!(about(&other).get("outdated").is_none());
}
