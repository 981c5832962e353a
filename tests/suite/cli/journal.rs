//! `skillbundle journal`: what a person and a script see of a journal, and the settings that say
//! where it is.

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use skillbundle_journal::{
    Destination, Event, Invocation, InvocationResult, InvocationStatus, Journal, Options, Recorded,
    Retention, RoutingDecision, ScriptRun, Uuid,
};

use super::transcript::check;
use crate::project::{Project, finish};

/// Seconds after 2026-01-12T10:00:00Z.
fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_212_000 + seconds)
}

const fn id(number: u128) -> Uuid {
    Uuid::from_u128(0x0198_c1d2_7d3e_7000_8000_0000_0000_0000 + number)
}

/// A journal with a success, a failure, a timeout and an invocation that has not ended, and with
/// the events that belong to the failure.
pub(super) fn write_journal(path: &Path) {
    let retention = Retention {
        max_age: None,
        max_rows: None,
    };
    let journal = Journal::new(Options {
        retention,
        ..Options::new(Destination::Sqlite(path.to_owned()))
    });
    let created = |number: u128, skill: &str, seconds| {
        Event::Created(Invocation {
            id: id(number),
            skill: skill.to_owned(),
            agent: "TaskAgent".to_owned(),
            correlation_id: id(number + 0x100),
            input: format!("{{\"title\":\"Task {number}\"}}"),
            input_digest: [7; 32],
            created_at: at(seconds),
        })
    };
    let ended = |number: u128, status, code: Option<&str>, duration_ms, seconds| {
        let is_success = status == InvocationStatus::Completed;
        let text = |it: &str| Some(it.to_owned());
        Event::Ended(InvocationResult {
            invocation_id: id(number),
            success: is_success,
            output: is_success.then(|| "{\"task_id\":1}".to_owned()),
            failure_code: code.map(str::to_owned),
            failure_message: code.and_then(|_| text("It did not work\u{1b}[2J")),
            failure_details: code.and_then(|_| text("{\"tried\":2}")),
            internal_detail: code.and_then(|_| text("connection refused")),
            duration_ms,
            created_at: at(seconds),
            status,
        })
    };
    let script = Event::Script(ScriptRun {
        id: id(0x200),
        skill: "task_retrieval".to_owned(),
        script: "scripts/find.sh".to_owned(),
        correlation_id: Some(id(0x102)),
        exit_code: Some(3),
        signal: None,
        duration_ms: 12,
        isolation: "namespaces".to_owned(),
        timed_out: false,
        at: at(61),
    });
    let routing = Event::Routing(RoutingDecision {
        id: id(0x201),
        request: "find my tasks".to_owned(),
        chosen: Some("task_retrieval".to_owned()),
        outcome: "match".to_owned(),
        candidates: vec![("task_retrieval".to_owned(), 0.75)],
        correlation_id: Some(id(0x102)),
        at: at(59),
    });
    let analytics = Event::Analytics {
        id: id(0x202),
        name: "skill_loaded".to_owned(),
        skill: Some("pdf".to_owned()),
        correlation_id: None,
        body: "{\"skill_path\":\"pdf\",\"tool\":\"skill\"}".to_owned(),
        at: at(200),
    };
    for event in [
        created(1, "task_creation", 0),
        ended(1, InvocationStatus::Completed, None, 45, 1),
        routing,
        created(2, "task_retrieval", 60),
        script,
        ended(2, InvocationStatus::Failed, Some("NOT_FOUND"), 1200, 62),
        created(3, "task_retrieval", 120),
        ended(3, InvocationStatus::Timeout, Some("TIMEOUT"), 30_000, 150),
        created(4, "task_creation", 180),
        analytics,
    ] {
        let (sender, receiver) = mpsc::channel();
        journal.record(event, move |it| sender.send(it).expect("the test waits"));
        assert_eq!(receiver.recv(), Ok(Recorded::Committed));
    }
    journal.close(Duration::from_secs(60));
}

#[test]
fn the_journal_is_shown_counted_exported_and_pruned() {
    let project = Project::new();
    write_journal(&project.path("journal.db"));
    project.file("notes.txt", "no journal\n");
    check(&project, "journal", str::to_owned);
}

/// Without `--journal`, it is the file of the setting, or the usual one.
#[test]
fn the_settings_name_the_file() {
    let project = Project::new();
    let count = |ran: &skillbundle_testkit::Output| {
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let body: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        body["invocations"].as_array().map(Vec::len)
    };
    let none = project.run(&["journal"]);
    assert_eq!(none.code, Some(2));
    assert!(
        none.stderr.contains(".local/state/skillbundle/journal.db"),
        "{}",
        none.stderr
    );
    write_journal(&project.path(".local/state/skillbundle/journal.db"));
    assert_eq!(count(&project.run(&["journal", "--json"])), Some(4));

    let state = project.path("state");
    write_journal(&state.join("skillbundle/journal.db"));
    let mut command = project.command();
    command.env("XDG_STATE_HOME", &state);
    command.args(["journal", "--json", "--skill", "task_creation"]);
    assert_eq!(count(&finish(&mut command)), Some(2));

    write_journal(&project.path("other.db"));
    let mut command = project.command();
    command.env("SKILLBUNDLE_JOURNAL", "other.db");
    command.args(["journal", "--json", "--limit", "1"]);
    assert_eq!(count(&finish(&mut command)), Some(1));

    let mut command = project.command();
    command
        .env("SKILLBUNDLE_JOURNAL", "jsonl:events.jsonl")
        .arg("journal");
    let ran = finish(&mut command);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("lines of JSON"), "{}", ran.stderr);

    // A path in the operator's file is relative to it.
    let file = project.operator("journal:\n  destination: kept.db\n");
    write_journal(&file.with_file_name("kept.db"));
    assert_eq!(count(&project.run(&["journal", "--json"])), Some(4));
}

/// Only the environment may hold a password, and nothing prints it.
#[test]
fn the_password_of_a_server_is_never_printed() {
    let project = Project::new();
    let url = "postgres://me:hunter2@db.example.org/journal?sslmode=require";
    let shown = |ran: &skillbundle_testkit::Output| {
        for text in [&ran.stdout, &ran.stderr] {
            assert!(!text.contains("hunter2"), "{text}");
        }
    };
    for arguments in [
        &["config", "show"][..],
        &["config", "show", "--json"],
        &["journal"],
        &["doctor"],
    ] {
        let mut command = project.command();
        let ran = finish(command.env("SKILLBUNDLE_JOURNAL", url).args(arguments));
        shown(&ran);
        if cfg!(feature = "postgres") && arguments[0] == "config" {
            assert!(
                ran.stdout.contains("postgres://db.example.org/…"),
                "{}",
                ran.stdout
            );
        }
    }
    let set = format!("journal.destination={url}");
    let ran = project.run(&["config", "show", "--set", &set]);
    shown(&ran);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("holds a password"), "{}", ran.stderr);
    assert!(ran.stderr.contains("SKILLBUNDLE_JOURNAL"), "{}", ran.stderr);
    project.operator(format!("journal:\n  destination: {url}\n"));
    let ran = project.run(&["config", "show"]);
    shown(&ran);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("config.yaml:2) holds a password"),
        "{}",
        ran.stderr
    );
}
