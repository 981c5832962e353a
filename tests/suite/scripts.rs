//! Scripts of skills, run by the built program: which ones run and which are refused, what they
//! see, how they end, and what a client gets. How a process is isolated and killed is tested in
//! `runtime/exec`. Levels of isolation that the machine does not offer are left out with a word.
#![cfg(unix)]

mod arguments;
mod cascade;
mod data;
mod directories;
mod endings;
#[cfg(feature = "http")]
mod http;
mod policy;
mod results;
mod terminal;

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::project::{LEGACY, PATIENCE, Project, Session, say, text_of};

/// Between two looks at something that is waited for.
const PAUSE: Duration = Duration::from_millis(20);

/// Options under which no script runs out of time before a test gives up.
const LONG: [&str; 2] = ["--set", "scripts.timeout_seconds=3600"];

/// A folder skill of this name with `run.sh`, which a server may run. `more` is further frontmatter
/// of the script, indented by four spaces.
fn skill(project: &Project, folder: &str, name: &str, more: &str, script: &str) {
    project
        .file(
            &format!("{folder}/{name}.md"),
            format!(
                "---\ndescription: Runs {name}\nkeywords: [zebra{name}]\nscripts:\n  - file: run.sh\n    execution: server\n{more}---\nText of {name}\n"
            ),
        )
        .file(&format!("{folder}/{name}/run.sh"), script);
}

/// A project with one such skill, `it`, in the directory `content`.
fn with_script(script: &str) -> Project {
    let project = Project::new();
    skill(&project, "content", "it", "", script);
    project
}

/// A session with a server of `content`.
fn serve(project: &Project, arguments: &[&str]) -> Session {
    start(project.command(), &[&["content"], arguments].concat())
}

fn start(mut command: Command, arguments: &[&str]) -> Session {
    command.arg("serve").args(arguments);
    let mut session = Session::start(command);
    session.initialize(LEGACY);
    session
}

/// The arguments of a call of `run.sh` of a skill.
fn call(skill: &str, args: &Value) -> Value {
    json!({ "skill_path": skill, "file": "run.sh", "args": args })
}

/// Calls `run_script`, checks that text and structured content agree, and returns the result and
/// whether it is an error.
fn run(session: &mut Session, arguments: &Value) -> (Value, bool) {
    let result = session.tool("run_script", arguments);
    let text: Value = serde_json::from_str(&text_of(&result)).expect("the text is JSON");
    assert_eq!(text, result["structuredContent"], "{arguments}");
    (text, result["isError"] == true)
}

/// The result of a script that must run, whether it succeeds or not.
fn ran(session: &mut Session, arguments: &Value) -> Value {
    let (result, is_error) = run(session, arguments);
    assert!(!is_error, "{arguments}: {result}");
    result
}

/// Asserts that a call is refused with this code, and a message with these words.
fn refused(session: &mut Session, arguments: &Value, code: &str, words: &str) {
    let (result, is_error) = run(session, arguments);
    assert!(is_error, "{arguments}: {result}");
    assert_eq!(result["code"], code, "{arguments}: {result}");
    let message = result["error"].as_str().expect("a message");
    assert!(message.contains(words), "{arguments}: {message}");
}

/// The result of a script of `content` under these options of `serve`, which must run.
fn once(project: &Project, options: &[&str]) -> Value {
    let mut session = serve(project, options);
    let result = ran(&mut session, &call("it", &json!({})));
    session.finish();
    result
}

/// The levels of isolation that this machine offers, strongest first.
pub(crate) fn levels() -> Vec<&'static str> {
    let project = with_script("true");
    let all = ["namespaces", "bubblewrap", "landlock", "weak"];
    let is_there = |level: &&str| {
        let set = format!("scripts.isolation={level}");
        let there = once(&project, &["--set", &set])["isolation"] == **level;
        if !there {
            say(&format!(
                "skipped: this machine has no isolation by {level}"
            ));
        }
        there
    };
    all.into_iter().filter(is_there).collect()
}

/// A number of seconds that no other process on this machine sleeps for.
pub(crate) fn own_time() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}.{count:04}", 100_000 + std::process::id() % 1_000_000)
}

/// Whether a process of any namespace has this word among its arguments.
pub(crate) fn is_alive(word: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("this system has /proc");
    processes.flatten().any(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|it| it == word.as_bytes())
    })
}

/// Waits until something is the case.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "never happened: {what}");
        std::thread::sleep(PAUSE);
    }
}
