//! What a server sends to the operator's HTTP server: everything once, with the fields that are
//! documented, without what people have written unless that is asked for, and nothing at all unless
//! somebody has named a server.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};
use skillbundle_server::analytics::EventType;

use crate::project::{LEGACY, Project, Session};

/// In requests, comments, arguments, files and the address.
const CANARY: &str = "canary";

/// An HTTP server on this machine that accepts everything, or nothing.
struct Collector {
    port: u16,
    bodies: Arc<Mutex<Vec<String>>>,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    fn start(status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let ending = Arc::new(AtomicBool::new(false));
        let (own, end) = (Arc::clone(&bodies), Arc::clone(&ending));
        let thread = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if end.load(Ordering::Acquire) {
                    return;
                }
                let body = answer(stream, status);
                own.lock().expect("no panic").extend(body);
            }
        });
        Self {
            port,
            bodies,
            ending,
            thread: Some(thread),
        }
    }

    /// The variable that names it.
    fn variable(&self) -> (&'static str, String) {
        let address = format!("http://127.0.0.1:{}/{CANARY}?t={CANARY}", self.port);
        ("ANALYTICS_ENDPOINT", address)
    }

    fn bodies(&self) -> Vec<String> {
        self.bodies.lock().expect("no panic").clone()
    }

    /// All events that have come.
    fn events(&self) -> Vec<Value> {
        let bodies = self.bodies();
        let bodies = bodies.iter().map(|it| serde_json::from_str(it));
        let events = bodies.flat_map(|it: Result<Value, _>| {
            let body = it.expect("JSON");
            body["events"].as_array().expect("a list").clone()
        });
        events.collect()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Release);
        // Wakes it.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Reads a request and answers it. Returns its body if it is accepted.
fn answer(stream: TcpStream, status: &str) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = String::new();
    reader
        .by_ref()
        .take(length)
        .read_to_string(&mut body)
        .ok()?;
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
    reader.into_inner().write_all(head.as_bytes()).ok()?;
    status.starts_with('2').then_some(body)
}

fn project() -> Project {
    let project = Project::new();
    project
        .file(
            "content/_root.md",
            "---\ndescription: Rules\nkeywords: [global]\n---\nRules\n",
        )
        .file(
            "content/forms.md",
            "---\ndescription: Fills in forms\nkeywords: [forms]\nassets:\n  - file: a.txt\nscripts:\n  - file: fill.sh\n    execution: server\n---\nText with canary\n",
        )
        .file("content/forms/a.txt", "canary\n")
        .file("content/forms/fill.sh", "echo canary\n");
    project
}

/// Starts a server with these variables, uses it, and lets it end.
fn use_and_end(project: &Project, variables: &[(&str, String)], options: &[&str]) -> String {
    let mut command = project.command();
    command
        .env("USER", "ann")
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .args(["serve", "content"])
        .args(options);
    let mut session = Session::start(command);
    session.initialize(LEGACY);
    for (tool, arguments) in [
        ("get_skill", json!({ "context": "canary forms" })),
        ("get_skill", json!({ "context": "canary elephants" })),
        ("skills_search", json!({ "query": "canary" })),
        ("skill", json!({ "name": "forms" })),
        (
            "get_asset",
            json!({ "skill_path": "forms", "file": "a.txt" }),
        ),
        (
            "run_script",
            json!({ "skill_path": "forms", "file": "fill.sh", "args": { "name": "canary" } }),
        ),
        (
            "report_usage",
            json!({ "skill_path": "forms", "useful": true, "comment": "canary" }),
        ),
        ("refresh_skills", json!({})),
    ] {
        let result = session.tool(tool, &arguments);
        assert!(result["isError"] != true, "{tool}: {result}");
    }
    let ended = session.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stderr
}

/// How often each type of event occurs.
fn counts(events: &[Value]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for event in events {
        let name = event["type"].as_str().expect("a word").to_owned();
        *counts.entry(name).or_default() += 1;
    }
    counts
}

/// What the uses above are.
fn expected() -> BTreeMap<String, usize> {
    [
        "skill_served",
        "no_match",
        "skills_offered",
        "skill_loaded",
        "asset_served",
        "script_executed",
        "skill_feedback",
        "refresh",
    ]
    .map(|it| (it.to_owned(), 1))
    .into()
}

/// The files of the buffer, without those that hold nothing.
fn buffered(project: &Project) -> Vec<PathBuf> {
    let entries = fs::read_dir(project.state().join("skillbundle"));
    let paths = entries
        .into_iter()
        .flatten()
        .map(|it| it.expect("there").path());
    let is_buffer = |path: &PathBuf| {
        let name = path.file_name().and_then(|it| it.to_str());
        name.is_some_and(|it| it.starts_with("analytics-buffer"))
    };
    let has_something = |path: &PathBuf| fs::metadata(path).is_ok_and(|it| it.len() > 0);
    paths
        .filter(|it| is_buffer(it) && has_something(it))
        .collect()
}

#[test]
fn uses_arrive_once_without_what_people_have_written() {
    let project = project();
    let collector = Collector::start("204 No Content");
    let log = use_and_end(&project, &[collector.variable()], &[]);
    assert!(!log.contains(CANARY), "{log}");
    let events = collector.events();
    assert_eq!(counts(&events), expected());
    for event in &events {
        let keys: Vec<&String> = event.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["id", "type", "timestamp", "server_id", "data"]);
        assert_eq!(event["server_id"], "dev-ann");
        let name = event["type"].as_str().expect("a word");
        let kind = EventType::find(name).expect("a type that is documented");
        let data = event["data"].as_object().expect("an object");
        assert!(data.keys().eq(kind.fields), "{event}");
        assert!(kind.texts.iter().all(|it| data[*it].is_null()), "{event}");
    }
    let all = collector.bodies().concat();
    assert!(!all.contains(CANARY), "{all}");
    assert_eq!(buffered(&project), [] as [PathBuf; 0]);
}

#[test]
fn what_people_have_written_is_sent_if_the_operator_asks_for_it() {
    let project = project();
    let collector = Collector::start("200 OK");
    let texts = [
        "--set",
        "analytics.texts=true",
        "--set",
        "analytics.server_id=lab",
    ];
    use_and_end(&project, &[collector.variable()], &texts);
    let events = collector.events();
    assert_eq!(counts(&events), expected());
    for event in &events {
        assert_eq!(event["server_id"], "lab");
        let name = event["type"].as_str().expect("a word");
        let kind = EventType::find(name).expect("a type that is documented");
        for text in kind.texts {
            let text = event["data"][*text].as_str().expect("text");
            assert!(text.contains(CANARY), "{event}");
        }
        // Arguments, outputs and contents of files are no texts of this kind.
        let mut data = event["data"].clone();
        for text in kind.texts {
            data[*text] = Value::Null;
        }
        assert!(!data.to_string().contains(CANARY), "{event}");
    }
}

#[test]
fn what_a_server_could_not_send_is_sent_by_the_next_one() {
    let project = project();
    let refusing = Collector::start("503 Busy");
    let gone = Collector::start("200 OK").variable();
    for variable in [refusing.variable(), gone] {
        let log = use_and_end(&project, &[variable], &[]);
        assert_eq!(log.matches("analytics events wait").count(), 1, "{log}");
        assert!(!log.contains(CANARY), "{log}");
    }
    for path in buffered(&project) {
        let text = fs::read_to_string(&path).expect("text");
        assert!(!text.contains(CANARY), "{text}");
    }
    let collector = Collector::start("200 OK");
    use_and_end(&project, &[collector.variable()], &[]);
    let thrice = expected()
        .into_iter()
        .map(|(name, count)| (name, 3 * count));
    assert_eq!(counts(&collector.events()), thrice.collect());
    assert_eq!(buffered(&project), [] as [PathBuf; 0]);
}

#[test]
fn nothing_is_sent_unless_somebody_wants_it() {
    let collector = Collector::start("200 OK");
    let variable = collector.variable();
    let no = ("DO_NOT_TRACK", "1".to_owned());
    for (variables, options) in [
        (&[][..], &[][..]),
        (&[], &["--set", "analytics.enabled=true"]),
        (
            std::slice::from_ref(&variable),
            &["--set", "analytics.enabled=false"],
        ),
        (&[variable.clone(), no.clone()], &[]),
        (&[no], &["--set", "analytics.enabled=true"]),
    ] {
        let project = project();
        use_and_end(&project, variables, options);
        assert_eq!(buffered(&project), [] as [PathBuf; 0], "{variables:?}");
    }
    assert_eq!(collector.bodies(), [] as [String; 0]);
}
