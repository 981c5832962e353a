//! What a server on standard input and output records of each use of a skill: every type of event
//! with its fields, what it never records, and nothing at all where nobody has asked for it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::project::{LEGACY, Project, Session};

/// Values of arguments and of inputs: nobody may read them in a journal of uses.
const SECRET: &str = "canary-of-an-argument";

/// A skill with a script and a file, one with a contract, and one to be told apart from it.
fn project() -> Project {
    let project = Project::new();
    let script = |name: &str| format!("scripts:\n  - file: {name}\n    execution: server\n");
    project
        .file("content/_root.md", "---\ndescription: Rules\nkeywords: [global]\n---\nRules\n")
        .file(
            "content/forms.md",
            format!("---\ndescription: Fills in forms\nkeywords: [forms, pdf]\nassets:\n  - file: fields.txt\n    type: template\n{}---\nForms\n", script("fill.sh")),
        )
        .file("content/forms/fields.txt", "name\n")
        .file("content/forms/fill.sh", "exit 3\n")
        .file("content/letters.md", "---\ndescription: Writes letters\nkeywords: [forms, letters]\n---\nLetters\n")
        .file(
            "content/typed.md",
            format!("---\ndescription: Typed\nkeywords: [typed]\ncontract:\n  category: execution\n  input_schema: {{type: object}}\n  output_schema: {{type: object}}\n  handler: run.sh\n{}---\nTyped\n", script("run.sh")),
        )
        .file("content/typed/run.sh", "echo '{}'\n");
    project
}

fn serve(project: &Project, arguments: &[&str]) -> Session {
    let mut session = project.serve(&[&["content"], arguments].concat());
    session.initialize(LEGACY);
    session
}

/// Every way to use a skill, once.
fn use_all(session: &mut Session) {
    for (tool, arguments) in [
        ("get_skill", json!({ "context": "fill in a pdf of forms" })),
        ("get_skill", json!({ "context": "forms" })),
        ("get_skill", json!({ "context": "elephants" })),
        ("skills_search", json!({ "query": "letters" })),
        ("skill", json!({ "name": "forms" })),
        (
            "get_asset",
            json!({ "skill_path": "forms", "file": "fields.txt" }),
        ),
        (
            "run_script",
            json!({ "skill_path": "forms", "file": "fill.sh", "args": { "name": SECRET } }),
        ),
        (
            "report_usage",
            json!({ "skill_path": "forms", "useful": false, "comment": "no \u{1b}[2Jfields" }),
        ),
        ("refresh_skills", json!({})),
    ] {
        let result = session.tool(tool, &arguments);
        assert!(result["isError"] != true, "{tool}: {result}");
    }
    session.result("resources/read", json!({ "uri": "skill://forms/SKILL.md" }));
    session.result("prompts/get", json!({ "name": "letters" }));
}

/// The events of a journal, the oldest first: kind, and what it says without what differs from run to
/// run.
fn events(project: &Project, journal: &str) -> Vec<(String, Value)> {
    let ran = project.run(&["journal", "events", "--json", "--journal", journal]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let read: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let events = read["events"].as_array().expect("a list").iter().rev();
    let events = events.map(|it| {
        let mut body = it["body"].clone();
        for varies in ["id", "at", "duration_ms", "isolation", "correlation_id"] {
            body.as_object_mut().expect("an object").remove(varies);
        }
        (it["event"].as_str().expect("a word").to_owned(), body)
    });
    events.collect()
}

#[test]
fn every_use_is_recorded_once_with_its_fields() {
    let project = project();
    let mut session = serve(
        &project,
        &["--journal", "uses.db", "--set", "journal.calls=true"],
    );
    use_all(&mut session);
    let ended = session.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let routed = |request: &str, outcome: &str, chosen: Value, candidates: Value| {
        let body = json!({ "request": request, "chosen": chosen, "outcome": outcome, "candidates": candidates });
        ("routing".to_owned(), body)
    };
    let analytics = |name: &str, skill: Value, body: Value| {
        let body = json!({ "name": name, "skill": skill, "body": body });
        ("analytics".to_owned(), body)
    };
    let script = json!({ "skill": "forms", "script": "fill.sh", "exit_code": 3, "signal": null, "timed_out": false });
    let loaded = |skill: &str, tool: &str| {
        analytics(
            "skill_loaded",
            json!(skill),
            json!({ "skill_path": skill, "tool": tool }),
        )
    };
    let expected = [
        routed(
            "fill in a pdf of forms",
            "match",
            json!("forms"),
            json!([["forms", 1.0], ["letters", 0.5]]),
        ),
        routed(
            "forms",
            "ambiguous",
            json!(null),
            json!([["forms", 0.5], ["letters", 0.5]]),
        ),
        routed("elephants", "no_match", json!(null), json!([])),
        analytics(
            "skills_offered",
            json!(null),
            json!({ "context": "letters", "tool": "skills_search", "candidates": ["letters"] }),
        ),
        loaded("forms", "skill"),
        analytics(
            "asset_served",
            json!("forms"),
            json!({ "skill_path": "forms", "file": "fields.txt", "asset_type": "template", "is_inherited": false, "size_bytes": 5 }),
        ),
        ("script".to_owned(), script),
        analytics(
            "skill_feedback",
            json!("forms"),
            json!({ "skill_path": "forms", "useful": false, "comment": "no \u{1b}[2Jfields" }),
        ),
        analytics(
            "refresh",
            json!(null),
            json!({ "mode": "local", "success": true, "commit_hash": null, "files_changed": null, "skills_reindexed": 4 }),
        ),
        loaded("forms", "resources/read"),
        loaded("letters", "prompts/get"),
    ];
    let found = events(&project, "uses.db");
    for (at, expected) in expected.iter().enumerate() {
        assert_eq!(found.get(at), Some(expected), "event {at}");
    }
    assert_eq!(found.len(), expected.len());
    // The log has the words, and none that a terminal obeys.
    assert!(
        ended.stderr.contains("forms was not useful"),
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains('\u{1b}'), "{:?}", ended.stderr);
    assert_nowhere(project.dir(), SECRET);
    // What was recorded is what is counted.
    let ran = project.run(&["stats", "content", "--json", "--journal", "uses.db"]);
    let stats: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let totals = json!({
        "use_count": 5, "served_count": 1, "loaded_count": 3, "invoked_count": 0, "script_run_count": 1,
        "asset_served_count": 1, "offered_count": 4, "not_found_count": 1, "ambiguous_count": 1,
        "helpful_count": 0, "unhelpful_count": 1,
    });
    assert_eq!(stats["usage_totals"], totals);
    assert_eq!(stats["never_used"], json!(["typed"]));
}

/// No file below the directory holds the text.
fn assert_nowhere(directory: &Path, text: &str) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            assert_nowhere(&path, text);
            continue;
        }
        let bytes = fs::read(&path).expect("a file");
        let found = bytes.windows(text.len()).any(|it| it == text.as_bytes());
        assert!(!found, "{} has it", path.display());
    }
}

/// An invocation is one use, and its handler no second one.
#[test]
fn an_invocation_is_counted_once() {
    let project = project();
    let mut session = serve(
        &project,
        &["--journal", "uses.db", "--set", "journal.calls=true"],
    );
    let call = json!({ "name": "typed", "input": {}, "invoking_agent": "A" });
    let result = session.tool("invoke_skill", &call);
    assert!(result["isError"] != true, "{result}");
    session.finish();
    let ran = project.run(&["stats", "content", "--json", "--journal", "uses.db"]);
    let stats: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(stats["usage_totals"]["use_count"], 1);
    assert_eq!(stats["usage_totals"]["invoked_count"], 1);
    assert_eq!(stats["skill_usage"][0]["skill_path"], "typed");
}

/// What is recorded by default is what somebody does on purpose; without a journal, nothing is, and no
/// file is made.
#[test]
fn without_being_asked_a_server_records_what_is_done_on_purpose() {
    let project = project();
    let mut session = serve(&project, &["--journal", "uses.db"]);
    use_all(&mut session);
    session.finish();
    let found = events(&project, "uses.db");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].1["name"], "skill_feedback");

    for (arguments, says) in [
        (
            &["--journal", "off", "--set", "journal.calls=true"][..],
            false,
        ),
        (&["--journal", "off"], false),
    ] {
        let project = self::project();
        let before = files(project.dir());
        let mut session = serve(&project, arguments);
        use_all(&mut session);
        let told = session.tool_json(
            "report_usage",
            &json!({ "skill_path": "forms", "useful": true }),
        );
        assert_eq!(told["recorded"], says, "{told}");
        session.finish();
        assert_eq!(files(project.dir()), before, "{arguments:?}");
    }
}

/// A server that nobody uses makes no journal.
#[test]
fn a_journal_is_made_by_the_first_use() {
    let project = project();
    let mut session = serve(&project, &["--set", "journal.calls=true"]);
    session.request("tools/list", json!({}));
    session.finish();
    assert!(!project.state().exists());
}

/// The files below a directory.
fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The events that wait to be sent, the oldest first.
#[cfg(feature = "analytics")]
fn waiting(project: &Project) -> Vec<Value> {
    let of_buffer = |path: &Path| {
        let name = path.file_name().map(|it| it.to_string_lossy());
        name.is_some_and(|it| it.starts_with("analytics-buffer") && it.ends_with(".jsonl"))
    };
    let mut events = Vec::new();
    for file in files(&project.state()) {
        if of_buffer(&file) {
            let text = fs::read_to_string(&file).expect("text");
            let lines = text.lines().map(serde_json::from_str);
            events.extend(lines.map(|it| it.expect("each line is JSON")));
        }
    }
    events.sort_by_key(|it: &Value| it["timestamp"].to_string());
    events
}

/// What is sent has every type of event with exactly its fields, and no text unless that is wanted.
#[test]
#[cfg(feature = "analytics")]
fn every_type_is_sent_with_its_fields_and_texts_only_on_request() {
    use std::collections::BTreeSet;

    use skillbundle_server::analytics::{EVENT_TYPES, EventType};

    for texts in [false, true] {
        let project = project();
        let setting = format!("analytics.texts={texts}");
        // Nobody listens at this port: what is sent stays where it waits.
        let endpoint = "analytics.endpoint=http://127.0.0.1:9/events";
        let mut session = serve(
            &project,
            &[
                "--journal",
                "off",
                "--set",
                "analytics.enabled=true",
                "--set",
                endpoint,
                "--set",
                &setting,
            ],
        );
        use_all(&mut session);
        let told = session.tool_json(
            "report_usage",
            &json!({ "skill_path": "forms", "useful": true }),
        );
        assert_eq!(told["recorded"], true, "it waits to be sent: {told}");
        // The run of a handler is sent, and not what it was given.
        let invocation =
            json!({ "name": "typed", "input": { "it": SECRET }, "invoking_agent": "A" });
        let result = session.tool("invoke_skill", &invocation);
        assert!(result["isError"] != true, "{result}");
        let ended = session.finish();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let events = waiting(&project);
        assert_eq!(events.len(), 13, "{events:?}");
        let mut seen = BTreeSet::new();
        for event in &events {
            let name = event["type"].as_str().expect("a type");
            let of_type = EventType::find(name).expect("it is in the table");
            let data = event["data"].as_object().expect("an object");
            let keys: Vec<&str> = data.keys().map(String::as_str).collect();
            assert_eq!(keys, of_type.fields, "{name}");
            for text in of_type.texts {
                let is_praise = name == "skill_feedback" && data["useful"] == true;
                assert_eq!(data[*text].is_string(), texts && !is_praise, "{event}");
            }
            seen.insert(name.to_owned());
        }
        let all: BTreeSet<String> = EVENT_TYPES.iter().map(|it| it.name.to_owned()).collect();
        assert_eq!(seen, all);
        let scripts = events.iter().filter(|it| it["type"] == "script_executed");
        let scripts = scripts.map(|it| {
            let mut data = it["data"].clone();
            assert!(data["duration_ms"].take().is_u64());
            data
        });
        let script = |skill, file, success, exit_code, args_provided| json!({ "skill_path": skill, "file": file, "execution_mode": "server", "success": success, "exit_code": exit_code, "duration_ms": null, "args_provided": args_provided });
        let expected = [
            script("forms", "fill.sh", false, 3, true),
            script("typed", "run.sh", true, 0, false),
        ];
        assert_eq!(scripts.collect::<Vec<_>>(), expected);
        assert_nowhere(project.dir(), SECRET);
        if !texts {
            assert_nowhere(project.dir(), "elephants");
        }
    }
}
