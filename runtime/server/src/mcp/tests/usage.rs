//! What is recorded of each call, on this machine and to be sent, and `report_usage` (spec 3 §8.5,
//! §10.2).

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use skillbundle_journal::{Destination, Options as JournalOptions};
use skillbundle_testkit::PATIENCE;

use super::*;
use crate::Recording;
use crate::analytics::EventType;

/// Text of a request and of a comment: it leaves this machine on request only.
const CANARY: &str = "canary-17";

fn lines_to(path: &Path) -> JournalOptions {
    JournalOptions::new(Destination::Jsonl(path.to_owned()))
}

fn recording_client(recording: Recording) -> Client {
    let options = Options {
        recording,
        ..Options::default()
    };
    let mut skills = spec_tree();
    skills
        .skills
        .push(folder("git", "Git deployment workflow", "\n# Git\n"));
    let mut client = unopened(Fake::new(skills), options);
    client.initialize("2025-11-25");
    client
}

/// So many events of a file, each without what differs from run to run. They are written while
/// nobody waits.
fn events(path: &Path, count: usize) -> Vec<Value> {
    let start = Instant::now();
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if text.lines().count() >= count && text.ends_with('\n') {
            let parsed = text.lines().map(|line| {
                let mut event: Value = serde_json::from_str(line).expect("each line is JSON");
                let fields = event.as_object_mut().expect("an object");
                assert!(fields.remove("id").is_some() && fields.remove("at").is_some());
                event
            });
            return parsed.collect();
        }
        assert!(
            start.elapsed() < PATIENCE,
            "{count} events expected: {text}"
        );
        sleep(Duration::from_millis(5));
    }
}

/// A request, and what becomes of it.
struct Use {
    method: &'static str,
    params: Value,
    /// The event of the journal.
    kept: Value,
    /// The type and, with texts, the data of the event that is sent.
    name: &'static str,
    data: Value,
}

impl Use {
    /// A call that is kept as it is sent.
    fn of(tool: &'static str, arguments: &Value, name: &'static str, data: Value) -> Self {
        let skill = data.get("skill_path").cloned().unwrap_or_default();
        let kept = json!({ "event": "analytics", "name": name, "skill": skill, "correlation_id": null, "body": data });
        Self {
            method: "tools/call",
            params: json!({ "name": tool, "arguments": arguments }),
            kept,
            name,
            data,
        }
    }

    /// The same for another method.
    fn of_method(method: &'static str, params: Value, data: Value) -> Self {
        Self {
            method,
            params,
            ..Self::of("", &Value::Null, "skill_loaded", data)
        }
    }

    /// A request to `get_skill`, and its decision.
    fn routed(name: &'static str, data: Value, outcome: &str, candidates: &Value) -> Self {
        let request = &data["context"];
        let chosen = data.get("skill_path");
        let kept = json!({ "event": "routing", "request": request, "chosen": chosen, "outcome": outcome, "candidates": candidates, "correlation_id": null });
        Self {
            kept,
            ..Self::of("get_skill", &json!({ "context": request }), name, data)
        }
    }
}

fn uses() -> Vec<Use> {
    let task = format!("Create a React login component with auth {CANARY}");
    let unknown = format!("elephants {CANARY}");
    let loaded = |tool: &str| json!({ "skill_path": "git", "tool": tool });
    let search = |query: &str| json!({ "query": query });
    let asset = |file: &str| json!({ "skill_path": "ui/react/auth", "file": file });
    let template = "assets/AuthProvider.tsx.template";
    vec![
        Use::routed(
            "skill_served",
            json!({ "context": task, "skill_path": "ui/react/auth", "score": 1.0, "matched_keywords": ["react", "auth", "component", "login"], "was_ambiguous": false }),
            "match",
            &json!([
                ["ui/react/auth", 1.0],
                ["ui/react/_index", 1.0 / 3.0],
                ["api/auth", 0.25]
            ]),
        ),
        Use::routed(
            "ambiguous",
            json!({ "context": "auth", "candidates": ["api/auth", "ui/react/auth"] }),
            "ambiguous",
            &json!([["api/auth", 0.25], ["ui/react/auth", 0.25]]),
        ),
        Use::routed(
            "no_match",
            json!({ "context": unknown }),
            "no_match",
            &json!([]),
        ),
        Use::of(
            "skills_search",
            &search("git deployment"),
            "skills_offered",
            json!({ "context": "git deployment", "tool": "skills_search", "candidates": ["git"] }),
        ),
        Use::of(
            "skills_search",
            &search(&unknown),
            "skills_offered",
            json!({ "context": unknown, "tool": "skills_search", "candidates": [] }),
        ),
        Use::of(
            "skill",
            &json!({ "name": "GIT" }),
            "skill_loaded",
            loaded("skill"),
        ),
        Use::of_method(
            "resources/read",
            json!({ "uri": "skill://git/SKILL.md" }),
            loaded("resources/read"),
        ),
        Use::of_method(
            "prompts/get",
            json!({ "name": "git" }),
            loaded("prompts/get"),
        ),
        Use::of(
            "get_asset",
            &asset(template),
            "asset_served",
            json!({ "skill_path": "ui/react/auth", "file": template, "asset_type": "template", "is_inherited": false, "size_bytes": 12 }),
        ),
        Use::of(
            "get_asset",
            &asset("global.css"),
            "asset_served",
            json!({ "skill_path": "ui/react/auth", "file": "global.css", "asset_type": "other", "is_inherited": true, "size_bytes": 5 }),
        ),
        Use::of(
            "report_usage",
            &json!({ "skill_path": "git", "useful": false, "comment": CANARY }),
            "skill_feedback",
            json!({ "skill_path": "git", "useful": false, "comment": CANARY }),
        ),
        Use::of(
            "report_usage",
            &json!({ "skill_path": "git", "useful": true }),
            "skill_feedback",
            json!({ "skill_path": "git", "useful": true, "comment": null }),
        ),
        Use::of(
            "refresh_skills",
            &json!({}),
            "refresh",
            json!({ "mode": "archive", "success": true, "commit_hash": null, "files_changed": null, "skills_reindexed": 7 }),
        ),
    ]
}

#[test]
fn each_use_is_kept_once_and_sent_once_with_the_fields_of_its_type() {
    for texts in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let (kept, sent) = (directory.path().join("kept"), directory.path().join("sent"));
        let mut client = recording_client(Recording {
            journal: lines_to(&kept),
            calls: true,
            analytics: lines_to(&sent),
            texts,
        });
        let uses = uses();
        for Use { method, params, .. } in &uses {
            let answer = client.request(method, params.clone());
            assert!(answer["result"]["isError"].is_null(), "{params}: {answer}");
        }
        // What fails is no use.
        for (tool, arguments) in [
            ("skill", json!({ "name": "gti" })),
            ("get_asset", json!({ "skill_path": "git", "file": "none" })),
            (
                "report_usage",
                json!({ "skill_path": "gti", "useful": true }),
            ),
        ] {
            assert_eq!(client.tool(tool, &arguments)["isError"], true, "{tool}");
        }
        end(client).0.expect("the session ends well");
        let kept = events(&kept, uses.len());
        assert_eq!(kept.len(), uses.len());
        let sent_events = events(&sent, uses.len());
        assert_eq!(sent_events.len(), uses.len());
        for (at, it) in uses.into_iter().enumerate() {
            assert_eq!(kept[at], it.kept, "{}", it.params);
            let found = &sent_events[at];
            assert_eq!(found["name"], it.name, "{}", it.params);
            let of_type = EventType::find(it.name).expect("it is in the table");
            assert_eq!(keys(&found["body"]), of_type.fields, "{}", it.name);
            let mut data = it.data;
            for text in of_type.texts.iter().filter(|_| !texts) {
                data[*text] = Value::Null;
            }
            assert_eq!(found["body"], data, "{}", it.params);
        }
        let sent = fs::read_to_string(&sent).unwrap();
        assert_eq!(sent.contains(CANARY), texts);
    }
}

/// What the operator has chosen, which of three calls are kept, and what feedback is told.
#[test]
fn without_calls_only_feedback_is_kept() {
    let off = || JournalOptions::default();
    for (journal, calls, analytics, expected_kept, expected_sent, recorded) in [
        (true, true, true, 3, 3, true),
        (true, true, false, 3, 0, true),
        (true, false, false, 1, 0, true),
        // What is sent is kept.
        (true, false, true, 3, 3, true),
        (false, true, true, 0, 3, true),
        (false, true, false, 0, 0, false),
        (false, false, false, 0, 0, false),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let (kept, sent) = (directory.path().join("kept"), directory.path().join("sent"));
        let mut client = recording_client(Recording {
            journal: if journal { lines_to(&kept) } else { off() },
            calls,
            analytics: if analytics { lines_to(&sent) } else { off() },
            texts: false,
        });
        client.tool("skill", &json!({ "name": "git" }));
        client.tool("get_skill", &json!({ "context": "react auth" }));
        let answer = client.tool(
            "report_usage",
            &json!({ "skill_path": "git", "useful": true }),
        );
        assert_eq!(data(&answer)["recorded"], recorded, "{answer}");
        let message = data(&answer)["message"].as_str().unwrap().to_owned();
        if recorded {
            assert_eq!(message, "Feedback recorded for git");
        } else {
            assert!(
                message.contains("`skillbundle serve --journal on`"),
                "{message}"
            );
        }
        end(client).0.expect("the session ends well");
        for (path, expected) in [(&kept, expected_kept), (&sent, expected_sent)] {
            match expected {
                0 => assert!(!path.exists(), "nothing is made"),
                _ => assert_eq!(events(path, expected).len(), expected),
            }
        }
    }
}

/// A journal that cannot be written: what is sent is recorded, else nothing is.
#[test]
fn feedback_that_is_lost_is_not_called_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let impossible = lines_to(directory.path());
    let sent = directory.path().join("sent");
    for (analytics, recorded) in [(JournalOptions::default(), false), (lines_to(&sent), true)] {
        let mut client = recording_client(Recording {
            journal: impossible.clone(),
            calls: false,
            analytics,
            texts: false,
        });
        let answer = client.tool(
            "report_usage",
            &json!({ "skill_path": "git", "useful": true }),
        );
        assert_eq!(data(&answer)["recorded"], recorded, "{answer}");
    }
}

#[test]
fn report_usage_takes_what_its_schema_says() {
    let mut client = client(spec_folders());
    let long = "ä".repeat(4097);
    for (arguments, expected) in [
        (
            json!({ "useful": true }),
            "invalid argument `skill_path`: expected a string, found nothing",
        ),
        (
            json!({ "skill_path": "git" }),
            "invalid argument `useful`: expected true or false, found nothing",
        ),
        (
            json!({ "skill_path": "git", "useful": "yes" }),
            "invalid argument `useful`: expected true or false, found a string",
        ),
        (
            json!({ "skill_path": "git", "useful": true, "comment": 5 }),
            "invalid argument `comment`: expected a string, found a number",
        ),
        (
            json!({ "skill_path": "git", "useful": true, "comment": long }),
            "invalid argument `comment`: expected at most 4096 characters, found 4097",
        ),
        (
            json!({ "skill_path": "git", "useful": true, "stars": 5 }),
            "unknown argument `stars`: expected skill_path, useful, comment",
        ),
        (
            json!({ "skill_path": "gti", "useful": true }),
            "skill not found: gti; did you mean `git`? `skills_search` lists the paths",
        ),
    ] {
        let answer = client.tool("report_usage", &arguments);
        assert_eq!(data(&answer)["error"], expected, "{arguments}");
    }
    // A name leads to a path, null and blank are no comment, and 4,096 characters are not too many.
    for comment in [json!(null), json!("  "), json!("ä".repeat(4096))] {
        let arguments = json!({ "skill_path": "GIT", "useful": false, "comment": comment });
        let answer = client.tool("report_usage", &arguments);
        assert!(
            data(&answer)["message"].as_str().unwrap().contains(" git "),
            "{answer}"
        );
    }
}
