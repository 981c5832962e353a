//! Golden transcripts: what a client and the shipped program say to each other.
//! Each file in `tests/wire` is one transcript: Markdown, in which each fenced
//! block is a step and everything else says why. `UPDATE_GOLDEN=1` rewrites the
//! blocks that hold what the server said: read the difference before you commit it.
//!
//! | block | means |
//! |---|---|
//! | `fixture NAME` | begins with a copy of `tests/fixtures/NAME` |
//! | `file PATH` | writes a file |
//! | `serve [ERA]` | starts `skillbundle serve` with these arguments and opens a session; without an era the transcript does that itself |
//! | `request METHOD` | sends a request with these params, or none |
//! | `result`, `error` | what the reply to it holds |
//! | `send` | sends a whole message |
//! | `raw` | sends each line as it is |
//! | `bytes` | sends one line without its end; `\n`, `\r`, `\\` and `\xff` are escapes |
//! | `long` | sends a line: the first text, the second repeated, the last |
//! | `receive` | the next message |
//! | `notifications N` | the next N notifications, before replies or after them |
//! | `close` | the client closes stdin |
//! | `exit` | the client has closed stdin, stdout holds no more, and the exit code is this |
//!
//! JSON is compared as values. Texts of several lines are shown as a list that
//! begins with `¶`; what a tool says twice, as text and as structured content, is
//! shown once. `{dir}` stands for the temporary folder, `{version}` for the
//! version of the package, `{ttl}` for the milliseconds until the next refresh,
//! `{cursor}` for the cursor of the last page; `{instructions}` and `{serverInfo}`
//! for what the transcripts of whole sessions show.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::mem;

use serde_json::{Map, Value, json};

use crate::project::{LEGACY, Project, Session, assert_golden, files_in, workspace};

macro_rules! transcripts {
    ($($name:ident)*) => {
        const TRANSCRIPTS: &[&str] = &[$(stringify!($name)),*];

        $(#[test] fn $name() { replay(stringify!($name)); })*
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
    methods_2025_11_25
    methods_2026_07_28
    tools_succeed
    tools_refuse
    report_usage
    faulty_messages
    not_offered
    end_of_input
}

#[test]
fn every_transcript_is_replayed() {
    let listed: BTreeSet<String> = TRANSCRIPTS.iter().map(|t| format!("{t}.md")).collect();
    let found = files_in("tests/wire");
    assert_eq!(found, listed, "add or remove the name in wire.rs");
}

/// Replays a transcript and compares what the server said.
fn replay(name: &str) {
    let path = workspace().join(format!("tests/wire/{name}.md"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut player = Player {
        brief: !name.starts_with("session_2"),
        project: Project::new(),
        session: None,
        reply: None,
        cursor: String::new(),
    };
    let mut replayed = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let info = line.trim_start_matches('`');
        let fence = &line[..line.len() - info.len()];
        if fence.len() < 3 {
            let _ = writeln!(replayed, "{line}");
            continue;
        }
        let mut body = String::new();
        for (_, line) in lines.by_ref().take_while(|(_, line)| *line != fence) {
            let _ = writeln!(body, "{line}");
        }
        let place = format!("{name}.md:{}", number + 1);
        let said = player.step(info, &body, &place);
        let (info, body) = said.unwrap_or((info.to_owned(), body));
        let _ = writeln!(replayed, "{fence}{info}\n{body}{fence}");
    }
    assert_golden(&path, &replayed);
}

struct Player {
    /// Whether to leave out texts that the transcripts of whole sessions show.
    brief: bool,
    project: Project,
    session: Option<Session>,
    /// The reply to the last request.
    reply: Option<Value>,
    /// The cursor of the last page.
    cursor: String,
}

impl Player {
    /// Does one step. For what the server said, returns the block that should
    /// stand in its place.
    fn step(&mut self, info: &str, body: &str, place: &str) -> Option<(String, String)> {
        let (kind, argument) = info.split_once(' ').unwrap_or((info, ""));
        let parse = || -> Value {
            serde_json::from_str(body).unwrap_or_else(|e| panic!("{place}: not JSON: {e}"))
        };
        let said = match kind {
            "fixture" => {
                self.project = Project::from_fixture(argument);
                return None;
            }
            "file" => {
                self.project.file(argument, body);
                return None;
            }
            "serve" => {
                self.serve(argument, body, place);
                return None;
            }
            "result" | "error" => {
                let reply = self.reply.take();
                let mut reply = reply.unwrap_or_else(|| panic!("{place}: nothing was requested"));
                let kind = ["error", "result"]
                    .into_iter()
                    .find(|k| reply.get(k).is_some());
                let kind = kind.unwrap_or_else(|| panic!("{place}: neither in {reply}"));
                let value = reply[kind].take();
                return Some((kind.to_owned(), self.shown(value)));
            }
            "request" => {
                let params = match body {
                    "" => Value::Null,
                    body => from_json(&body.replace("{cursor}", &self.cursor), place),
                };
                self.reply = Some(self.session(place).request(argument, params));
                return None;
            }
            "send" => {
                self.session(place).send(&parse());
                return None;
            }
            "raw" => {
                self.session(place).send_raw(body.as_bytes());
                return None;
            }
            "bytes" => {
                let line = body.strip_suffix('\n').unwrap_or(body);
                self.session(place).send_raw(&unescape(line, place));
                return None;
            }
            "long" => {
                let line = long(&parse(), place);
                self.session(place).send_raw(line.as_bytes());
                return None;
            }
            "close" => {
                self.session(place).close();
                return None;
            }
            "receive" => self.session(place).message().unwrap_or_default(),
            "notifications" => self
                .session(place)
                .take_notifications(count(argument, place))
                .into(),
            "exit" => {
                let session = self.session(place);
                session.close();
                let rest = session.message();
                assert_eq!(rest, None, "{place}: more on stdout than was expected");
                json!(session.wait().code)
            }
            other => panic!("{place}: no step is called {other}"),
        };
        Some((info.to_owned(), self.shown(said)))
    }

    fn serve(&mut self, era: &str, arguments: &str, place: &str) {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let mut session = self.project.serve(&arguments);
        match era {
            "" => {}
            LEGACY => drop(session.initialize(LEGACY)),
            "2026-07-28" => drop(session.discover()),
            other => panic!("{place}: no era is called {other}"),
        }
        self.session = Some(session);
    }

    fn session(&mut self, place: &str) -> &mut Session {
        let session = self.session.as_mut();
        session.unwrap_or_else(|| panic!("{place}: nothing is being served"))
    }

    /// A value as it stands in a transcript.
    fn shown(&mut self, value: Value) -> String {
        let mut out = String::new();
        pretty(&self.normal(value), 0, &mut out);
        out.push('\n');
        out
    }

    /// Replaces what differs from run to run by its placeholder, sorts members,
    /// and splits texts into lines.
    fn normal(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) if text == env!("CARGO_PKG_VERSION") => "{version}".into(),
            Value::String(text) => {
                let text = text.replace(&self.project.dir().display().to_string(), "{dir}");
                if text.trim_end().contains('\n') {
                    ["¶"].into_iter().chain(text.split('\n')).collect()
                } else {
                    text.into()
                }
            }
            Value::Array(items) => items.into_iter().map(|item| self.normal(item)).collect(),
            Value::Object(mut object) => {
                say_once(&mut object);
                if let Some(Value::String(cursor)) = object.get_mut("nextCursor") {
                    self.cursor = mem::replace(cursor, "{cursor}".to_owned());
                }
                if let Some(ttl) = object.get_mut("ttlMs").filter(|ttl| ttl.is_u64()) {
                    *ttl = "{ttl}".into();
                }
                for key in ["instructions", "serverInfo"] {
                    if let Some(value) = object.get_mut(key).filter(|_| self.brief) {
                        *value = format!("{{{key}}}").into();
                    }
                }
                object.sort_keys();
                let normal = object.into_iter().map(|(key, it)| (key, self.normal(it)));
                Value::Object(normal.collect())
            }
            other => other,
        }
    }
}

/// Tools repeat their structured content as the text of the first block.
fn say_once(result: &mut Map<String, Value>) {
    let Some(structured) = result.get("structuredContent").cloned() else {
        return;
    };
    let text = result
        .get_mut("content")
        .map(|content| &mut content[0]["text"]);
    if let Some(Value::String(text)) = text
        && serde_json::from_str(text).is_ok_and(|repeated: Value| repeated == structured)
    {
        "{structuredContent}".clone_into(text);
    }
}

/// The width up to which a value stands on one line.
const WIDTH: usize = 100;

/// JSON with short values on one line and the members of long ones below each other.
fn pretty(value: &Value, depth: usize, out: &mut String) {
    let short = value.to_string();
    let (open, close, items): (_, _, Vec<(String, &Value)>) = match value {
        Value::Array(items) if !items.is_empty() => (
            '[',
            ']',
            items.iter().map(|item| (String::new(), item)).collect(),
        ),
        Value::Object(object) if !object.is_empty() => {
            let member = |(key, item)| (format!("{}: ", json!(key)), item);
            ('{', '}', object.iter().map(member).collect())
        }
        _ => return out.push_str(&short),
    };
    if short.chars().count() + 2 * depth <= WIDTH {
        return out.push_str(&short);
    }
    out.push(open);
    let last = items.len() - 1;
    for (at, (key, item)) in items.into_iter().enumerate() {
        let _ = write!(out, "\n{}{key}", "  ".repeat(depth + 1));
        pretty(item, depth + 1, out);
        if at < last {
            out.push(',');
        }
    }
    let _ = write!(out, "\n{}{close}", "  ".repeat(depth));
}

fn from_json(text: &str, place: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{place}: not JSON: {e}"))
}

fn count(text: &str, place: &str) -> usize {
    text.parse().unwrap_or_else(|e| panic!("{place}: {e}"))
}

/// First text, second text, how many times, last text.
fn long(parts: &Value, place: &str) -> String {
    let text = |at: usize| {
        parts[at]
            .as_str()
            .unwrap_or_else(|| panic!("{place}: {at}"))
    };
    let times = parts[2]
        .as_u64()
        .and_then(|times| usize::try_from(times).ok());
    let middle = text(1).repeat(times.unwrap_or_else(|| panic!("{place}: no count")));
    [text(0), &middle, text(3), "\n"].concat()
}

/// The bytes of a line with escapes.
fn unescape(line: &str, place: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = line;
    while let Some((plain, escape)) = rest.split_once('\\') {
        bytes.extend_from_slice(plain.as_bytes());
        let (byte, length) = match escape.as_bytes() {
            [b'n', ..] => (b'\n', 1),
            [b'r', ..] => (b'\r', 1),
            [b'\\', ..] => (b'\\', 1),
            [b'x', _, _, ..] => match u8::from_str_radix(&escape[1..3], 16) {
                Ok(byte) => (byte, 3),
                Err(e) => panic!("{place}: {e}"),
            },
            _ => panic!("{place}: unknown escape"),
        };
        bytes.push(byte);
        rest = &escape[length..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
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
