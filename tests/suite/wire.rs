//! Golden transcripts: what goes over the pipes of the shipped binary, line by
//! line. Each file in `tests/wire` is one session, one JSON object a line:
//!
//! ```text
//! {"note": "…"}                    says why
//! {"fixture": "tree"}              begins with a copy of tests/fixtures/tree
//! {"file": ["a/SKILL.md", "…"]}    writes a file
//! {"serve": ["--dir", "."]}        starts `skillbundle serve` with these arguments
//! {"send": {…}}                    one message, as one line
//! {"raw": "…\n"}                   text as it is
//! {"hex": "ff0a"}                  bytes as they are
//! {"long": ["{", " ", 999, "}\n"]}  first text, another so many times, last text
//! {"expect": {…}}                  the next line of stdout
//! {"close": true}                  the client closes stdin
//! {"exit": 0}                      stdout has ended, the server has gone with this code
//! ```
//!
//! `{dir}` stands for the temporary folder, `{version}` for the version of the
//! package, `{ttl}` for the milliseconds until the next refresh; `{instructions}`
//! and `{serverInfo}` for what the transcripts of whole sessions show. `UPDATE_GOLDEN=1`
//! rewrites the `expect` lines: read the difference before you commit it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::project::{
    Client, LEGACY, Project, Session, assert_golden, assert_same, files_in, updating, workspace,
};

macro_rules! transcripts {
    ($($name:ident)*) => {
        const TRANSCRIPTS: &[&str] = &[$(stringify!($name)),*];

        $(#[test] fn $name() { play(stringify!($name)); })*
    };
}

transcripts! {
    session_2025_11_25
    session_2024_11_05
    session_unknown_version
    session_2026_07_28
    probe_then_initialize
    before_the_handshake
    second_handshake
    tools_succeed
    tools_refuse
    faulty_messages
    not_offered
    end_of_input
}

#[test]
fn every_transcript_is_played() {
    let listed: BTreeSet<String> = TRANSCRIPTS.iter().map(|t| format!("{t}.jsonl")).collect();
    let found = files_in("tests/wire");
    assert_eq!(found, listed, "add or remove the name in wire.rs");
}

/// Plays one transcript and compares what was heard with what it expects.
fn play(name: &str) {
    let path = workspace().join(format!("tests/wire/{name}.jsonl"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut player = Player {
        brief: !name.starts_with("session_2"),
        project: Project::new(),
        session: None,
    };
    let mut heard = String::new();
    for (number, line) in text.lines().enumerate() {
        let step: Value = serde_json::from_str(line)
            .unwrap_or_else(|e| panic!("{}:{}: {e}", path.display(), number + 1));
        let became = player.step(&step, &format!("{name}.jsonl:{}", number + 1));
        let _ = writeln!(heard, "{}", became.unwrap_or_else(|| line.to_owned()));
    }
    if updating() {
        assert_golden(&path, &heard);
    } else {
        assert_same(
            &format!("tests/wire/{name}.jsonl"),
            &shown(&text),
            &shown(&heard),
        );
    }
}

/// Objects compare whatever the order of their keys, so both sides are sorted
/// and spread over lines before they are compared.
fn shown(text: &str) -> String {
    text.lines()
        .map(|line| {
            let value: Value = serde_json::from_str(line).expect("a line of a transcript is JSON");
            serde_json::to_string_pretty(&sorted(value)).expect("JSON can be written") + "\n"
        })
        .collect()
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Object(object) => {
            let mut pairs: Vec<_> = object.into_iter().map(|(k, v)| (k, sorted(v))).collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(pairs.into_iter().collect())
        }
        other => other,
    }
}

struct Player {
    /// Whether to leave out texts that the `session` transcripts show in full.
    brief: bool,
    project: Project,
    session: Option<Session>,
}

impl Player {
    /// Does one step; gives the line that should stand there, where it may differ.
    fn step(&mut self, step: &Value, place: &str) -> Option<String> {
        let (kind, value) = step
            .as_object()
            .and_then(|s| s.iter().next())
            .unwrap_or_else(|| panic!("{place}: not a step"));
        match kind.as_str() {
            "note" => {}
            "fixture" => self.project = Project::from_fixture(text(value, place)),
            "file" => {
                self.project
                    .file(text(&value[0], place), text(&value[1], place));
            }
            "serve" => {
                let arguments: Vec<&str> = value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|a| text(a, place))
                    .collect();
                self.session = Some(self.project.serve(&arguments));
            }
            "send" => self.session(place).send(value),
            "raw" => self.session(place).send_raw(text(value, place).as_bytes()),
            "hex" => self.session(place).send_raw(&unhex(text(value, place))),
            "long" => {
                let times = usize::try_from(value[2].as_u64().expect("a count")).expect("a size");
                let middle = text(&value[1], place).repeat(times);
                let line = [text(&value[0], place), &middle, text(&value[3], place)].concat();
                self.session(place).send_raw(line.as_bytes());
            }
            "expect" => {
                let message = self.session(place).message();
                let dir = self.project.dir();
                let message = message.map_or(Value::Null, |m| normal(m, dir, self.brief));
                return Some(json!({ "expect": message }).to_string());
            }
            "close" => self.session(place).close(),
            "exit" => {
                let session = self.session(place);
                let rest = session.message();
                assert_eq!(rest, None, "{place}: more on stdout than was expected");
                return Some(json!({ "exit": session.wait().code }).to_string());
            }
            other => panic!("{place}: no step is called {other}"),
        }
        None
    }

    fn session(&mut self, place: &str) -> &mut Session {
        self.session
            .as_mut()
            .unwrap_or_else(|| panic!("{place}: nothing is being served"))
    }
}

fn text<'a>(value: &'a Value, place: &str) -> &'a str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{place}: text is wanted, found {value}"))
}

fn unhex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            std::str::from_utf8(pair)
                .ok()
                .and_then(|p| u8::from_str_radix(p, 16).ok())
        })
        .collect::<Option<Vec<u8>>>()
        .expect("hex digits in pairs")
}

/// Replaces what differs from run to run by its placeholder.
fn normal(value: Value, dir: &Path, brief: bool) -> Value {
    match value {
        Value::String(text) if text == env!("CARGO_PKG_VERSION") => "{version}".into(),
        Value::String(text) => text.replace(&dir.display().to_string(), "{dir}").into(),
        Value::Array(items) => items.into_iter().map(|v| normal(v, dir, brief)).collect(),
        Value::Object(object) => object
            .into_iter()
            .map(|(key, value)| {
                let value = match key.as_str() {
                    "ttlMs" if value.is_u64() => "{ttl}".into(),
                    "instructions" | "serverInfo" if brief => format!("{{{key}}}").into(),
                    _ => normal(value, dir, brief),
                };
                (key, value)
            })
            .collect(),
        other => other,
    }
}

/// Requests that are sent all at once are all answered, each once.
#[test]
fn pipelined_requests_are_all_answered() {
    let project = Project::from_fixture("tree");
    answer_all(project.serve(&["--dir", "."]), 500);
}

/// The same where the client reads so slowly that replies have to wait for room.
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
    let mut seen = BTreeSet::new();
    for _ in 0..count {
        let reply = session.message().expect("a reply for each request");
        let id = reply["id"].as_str().expect("our ids are texts").to_owned();
        assert!(reply["result"]["content"][0]["text"].is_string(), "{reply}");
        assert!(seen.insert(id), "answered twice: {reply}");
    }
    writer.join().expect("all requests were taken");
    let ended = session.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// The tools say the same in both eras; only the envelope differs.
#[test]
fn both_eras_answer_the_same() {
    let project = Project::from_fixture("tree");
    let mut old = project.serve(&["--dir", "."]);
    old.initialize(LEGACY);
    let mut new = project.serve(&["--dir", "."]);
    let discovered = new.discover();
    assert_eq!(discovered["resultType"], "complete");
    for (tool, arguments) in [
        (
            "get_skill",
            json!({ "context": "react auth login session" }),
        ),
        (
            "get_asset",
            json!({ "skill_path": "ui/react/auth", "file": "assets/logo.png" }),
        ),
        ("list_skills", json!({})),
        ("skills_list", json!({ "includeBody": true })),
        ("skills_search", json!({ "query": "token" })),
        ("skill", json!({ "name": "_root" })),
        ("skill", json!({ "name": "nobody" })),
    ] {
        let (one, other) = (old.tool(tool, &arguments), new.tool(tool, &arguments));
        for key in ["content", "structuredContent", "isError"] {
            assert_eq!(one[key], other[key], "{tool} {arguments}: {key}");
        }
        assert_eq!(other["resultType"], "complete", "{tool}");
    }
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

/// Neither a fault in the skills nor one in a call writes to stdout.
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

/// A client that goes away without a word does not leave a server behind.
#[test]
fn a_closed_stdout_ends_the_server() {
    use std::io::Write as _;
    use std::process::Stdio;
    let project = Project::from_fixture("tree");
    let mut command = project.command();
    command
        .args(["serve", "--dir", "."])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": { "name": "s", "version": "0" } }
    });
    // The server may be gone before the second line: then the pipe is broken.
    for _ in 0..2 {
        let _ = writeln!(stdin, "{hello}");
    }
    // stdin stays open: only the closed stdout can tell the server.
    let status = child.wait().expect("the server ends");
    drop(stdin);
    assert!(status.code().is_some(), "ended by a signal: {status}");
}
