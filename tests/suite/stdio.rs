//! The shipped program at its pipes: bursts, slow readers, closed ends, and that
//! stdout carries nothing but messages. What the messages are is in `wire.rs`.

use std::collections::BTreeSet;
use std::fs;

use serde_json::json;

use crate::project::{Client, LEGACY, Project, Session};

/// Requests that are sent all at once are all answered, each once.
#[test]
fn pipelined_requests_are_all_answered() {
    let project = Project::from_fixture("tree");
    answer_all(project.serve(&["--dir", "."]), 500);
}

/// The same if the client reads so slowly that replies have to wait for room in the pipe.
#[test]
fn a_slow_reader_gets_every_reply() {
    let project = Project::from_fixture("tree");
    let mut command = project.command();
    command.args(["serve", "--dir", "."]);
    answer_all(Session::over(Client::start_slow(command)), 1500);
}

fn answer_all(mut session: Session, count: usize) {
    session.initialize(LEGACY);
    let call = |id: usize| {
        json!({
            "jsonrpc": "2.0", "id": format!("r{id}"), "method": "tools/call",
            "params": { "name": "get_skill", "arguments": { "context": "react auth login session" } }
        })
    };
    // From a thread of its own: a server that waits for its client reads nothing.
    let mut requests = String::new();
    for id in 0..count {
        requests.push_str(&call(id).to_string());
        requests.push('\n');
    }
    let writer = session.send_aside(requests);
    let (mut seen, mut results) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..count {
        let reply = session.message().expect("a reply for each request");
        let id = reply["id"].as_str().expect("our ids are texts").to_owned();
        assert!(reply["result"]["content"][0]["text"].is_string(), "{reply}");
        results.insert(reply["result"].to_string());
        assert!(seen.insert(id), "answered twice: {reply}");
    }
    writer.join().expect("all requests were read");
    assert_eq!(results.len(), 1, "one question has one answer");
    let ended = session.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// Requests that are still in the pipe when the client closes it are answered.
#[test]
fn requests_before_the_end_of_input_are_answered() {
    let project = Project::from_fixture("tree");
    let mut session = project.serve(&["--dir", "."]);
    session.initialize(LEGACY);
    for id in 100..120 {
        session.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {} }));
    }
    let ended = {
        session.close();
        let mut ids = BTreeSet::new();
        while let Some(reply) = session.message() {
            ids.extend(reply["id"].as_u64());
        }
        assert_eq!(ids, (100..120).collect());
        session.wait()
    };
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// Diagnostics about skills and failed calls go to stderr; stdout carries messages only.
#[test]
fn diagnostics_go_to_stderr() {
    let project = Project::new();
    project
        .file(
            "skills/bad/SKILL.md",
            "---\nname: bad\n---\nno description\n",
        )
        .skill("skills/good", "good", "Good");
    let mut session = project.serve(&["--dir", "skills"]);
    session.initialize(LEGACY);
    session.tool_text("skill", &json!({ "name": "good" }));
    session.tool_error("skill", &json!({ "name": "bad" }));
    let ended = session.finish();
    assert!(
        ended.stderr.contains("skills/bad/SKILL.md"),
        "nothing about it on stderr: {ended:?}"
    );
}

#[test]
fn text_is_utf8_in_every_locale() {
    let project = Project::new();
    let description = "Größe — für „alle“ ✓ 日本";
    project.skill("skills/local", "local", description);
    for language in ["C", "POSIX", "de_DE.ISO-8859-1", "ja_JP.SJIS"] {
        let mut command = project.command();
        command
            .env("LC_ALL", language)
            .env("LANG", language)
            .args(["serve", "--dir", "skills"]);
        let mut session = Session::start(command);
        session.initialize(LEGACY);
        let text = session.tool_text("skill", &json!({ "name": "local" }));
        assert!(
            text.contains(&format!("description: {description}\n")),
            "{language}: {text}"
        );
    }
}

/// `serve </dev/null`: with nobody to answer, the skills are loaded to show whether they can be.
#[test]
fn a_server_that_is_asked_nothing_says_whether_its_skills_load() {
    let project = Project::new();
    project
        .skill("good/git", "git", "Commit with care")
        .skill("partly/git", "git", "Commit with care")
        .file("partly/bad/SKILL.md", "---\nname: bad\n---\nText\n");
    let bundle = fs::read(project.bundle_file(&["good"], "good.skb")).expect("it was written");
    project.file("cut.skb", &bundle[..bundle.len() / 2]);
    for (path, code, said) in [
        ("good", 0, ""),
        ("good.skb", 0, ""),
        ("partly", 0, ""),
        ("cut.skb", 2, "error: cut.skb: bundle is cut short"),
        ("nowhere", 2, "error: "),
    ] {
        let ran = project.run(&["serve", path]);
        assert_eq!(ran.code, Some(code), "{path}: {}", ran.stderr);
        assert_eq!(
            ran.stderr.is_empty(),
            said.is_empty(),
            "{path}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains(said), "{path}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{path}");
    }
}
