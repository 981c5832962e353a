//! `skillbundle invoke`: exit codes, where the input comes from, and what a person reads.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{assert_recorded, journal_file, kept, skill};
use crate::project::Project;

fn project() -> Project {
    let project = Project::new();
    let contract = json!({
        "assigned_to": ["terminal", "TaskAgent"],
        "input_schema": { "type": "object", "properties": { "n": { "type": "integer" } } },
        "failure_modes": ["PERSISTENCE_ERROR"]
    });
    skill(
        &project,
        "it",
        &contract,
        "cat > $SKILL_DATA/input; echo '{\"n\": 1}'",
    );
    let failure = r#"{"failure": {"code": "PERSISTENCE_ERROR", "message": "x", "details": {"reason": "the disk is full", "n": 2}}}"#;
    skill(
        &project,
        "fails",
        &contract,
        &format!("echo '{failure}'; exit 1"),
    );
    skill(&project, "breaks", &contract, "echo why >&2; exit 1");
    skill(&project, "sleeps", &contract, "sleep 60");
    skill(
        &project,
        "others",
        &json!({ "assigned_to": ["Other"] }),
        "echo '{}'",
    );
    skill(&project, "described", &json!({ "handler": null }), "");
    project.file(
        "content/plain.md",
        "---\nkeywords: [zebraplain]\ndescription: Plain\n---\nText\n",
    );
    project.file("input.json", " {\"n\": 2}\n");
    project.file("list.json", "[1]");
    project.file("broken.json", "{\"n\": ");
    project.file("latin.json", b"{\"n\": \"\xe4\"}");
    project.file(
        "large.json",
        format!("{{\"a\": \"{}\"}}", "x".repeat(4 << 20)),
    );
    project
}

/// A command line, what is on stdin (`-` is nothing), the exit code, words of stdout and of stderr.
type Run = (
    &'static [&'static str],
    &'static str,
    i32,
    &'static str,
    &'static [&'static str],
);

const RUNS: &[Run] = &[
    (
        &["it", "--input", r#"{"n": 2}"#],
        "-",
        0,
        "{\n  \"n\": 1\n}\n",
        &[],
    ),
    (
        &["it", "--input", r#"  {"n": 2}"#],
        "-",
        0,
        "{\n  \"n\": 1\n}\n",
        &[],
    ),
    (
        &["it", "--input", "input.json"],
        "-",
        0,
        "{\n  \"n\": 1\n}\n",
        &[],
    ),
    (
        &["it", "--input", "-"],
        "{\"n\": 2}",
        0,
        "{\n  \"n\": 1\n}\n",
        &[],
    ),
    (
        &["content/it.md"],
        "-",
        2,
        "",
        &["no input was given", "--input -"],
    ),
    (
        &["it"],
        "-",
        2,
        "",
        &["no input was given", "--input '{…}'"],
    ),
    (&["it", "--input", "-"], "", 2, "", &["stdin is no JSON"]),
    (
        &["it", "--input", "-"],
        "[]",
        2,
        "",
        &["stdin has no JSON object", "an input is an object"],
    ),
    (
        &["it", "--input", "list.json"],
        "-",
        2,
        "",
        &["list.json has no JSON object"],
    ),
    (
        &["it", "--input", "broken.json"],
        "-",
        2,
        "",
        &["broken.json is no JSON"],
    ),
    (
        &["it", "--input", "latin.json"],
        "-",
        2,
        "",
        &["latin.json", "UTF-8"],
    ),
    (
        &["it", "--input", "large.json"],
        "-",
        2,
        "",
        &["large.json has more than 4194304 bytes"],
    ),
    (&["it", "--input", "none.json"], "-", 2, "", &["none.json"]),
    (&["it", "--input", "content"], "-", 2, "", &["content"]),
    (&["it", "--input", "{"], "-", 2, "", &["--input is no JSON"]),
    (
        &["it", "--input", r#"{"n": "x"}"#],
        "-",
        1,
        "",
        &[
            "VALIDATION_ERROR: Input validation failed: /n",
            "details: {\"errors\":[",
            "help: fix input and retry; `skillbundle journal show ",
        ],
    ),
    (
        &["fails", "--input", "{}"],
        "-",
        1,
        "",
        &[
            "error: PERSISTENCE_ERROR: Database operation failed\n",
            "details: {\"reason\":\"the disk is full\",\"n\":2}\n",
            "help: retry operation; ",
        ],
    ),
    (
        &["breaks", "--input", "{}"],
        "-",
        1,
        "",
        &["error: INTERNAL_ERROR: An unexpected error occurred\nhelp: contact support"],
    ),
    (
        &["sleeps", "--input", "{}", "--timeout", "1"],
        "-",
        1,
        "",
        &["TIMEOUT: Operation timed out after 1s"],
    ),
    (
        &["others", "--input", "{}"],
        "-",
        1,
        "",
        &["UNAUTHORIZED: Access denied: terminal is not among the agents of this skill, Other"],
    ),
    (
        &["others", "--input", "{}", "--agent", "Other"],
        "-",
        0,
        "{}\n",
        &[],
    ),
    (
        &["it", "--input", "{}", "--agent", "a b"],
        "-",
        2,
        "",
        &["a b"],
    ),
    (&["it", "--input", "{}", "--id", "x"], "-", 2, "", &["--id"]),
    (
        &["it", "--input", "{}", "--correlation", "x"],
        "-",
        2,
        "",
        &["--correlation"],
    ),
    (
        &["it", "--input", "{}", "--timeout", "0"],
        "-",
        2,
        "",
        &["--timeout"],
    ),
    (
        &["it", "--input", "{}", "--timeout", "301"],
        "-",
        2,
        "",
        &["--timeout"],
    ),
    (
        &["described", "--input", "{}"],
        "-",
        2,
        "",
        &["no handler", "skillbundle show"],
    ),
    (
        &["plain", "--input", "{}"],
        "-",
        2,
        "",
        &["no contract", "skillbundle show"],
    ),
    (
        &["gone", "--input", "{}"],
        "-",
        2,
        "",
        &["skill not found: gone"],
    ),
    (
        &["breakss", "--input", "{}"],
        "-",
        2,
        "",
        &["did you mean `breaks`?"],
    ),
];

#[test]
fn exit_codes_and_what_a_person_reads() {
    let project = project();
    for (line, stdin, code, stdout, words) in RUNS {
        let mut command = project.command();
        command
            .arg("invoke")
            .arg(line[0])
            .arg("content")
            .args(&line[1..]);
        command.args(["--script-data", "data"]);
        let is_piped = *stdin != "-";
        command.stdin(if is_piped {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(stdin.as_bytes()).expect("it reads");
        }
        let done = child.wait_with_output().expect("it ends");
        let (out, err) = (
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr),
        );
        let what = format!("{line:?}: {out}{err}");
        assert_eq!(done.status.code(), Some(*code), "{what}");
        assert_eq!(out, *stdout, "{what}");
        for words in *words {
            assert!(err.contains(words), "{words}: {what}");
        }
        if *code == 0 {
            assert_eq!(err, "", "{what}");
        }
    }
    let input = kept(&project, "input").expect("it ran");
    assert_eq!(input, r#"{"n":2}"#);
}

#[test]
fn json_has_the_whole_result_whether_it_succeeds_or_not() {
    let project = project();
    let id = "550e8400-e29b-41d4-a716-446655440000";
    for (skill, code, success) in [("it", 0, true), ("fails", 1, false)] {
        let line = [
            "invoke",
            skill,
            "content",
            "--input",
            "{}",
            "--script-data",
            "data",
            "--json",
            "--correlation",
            id,
        ];
        let done = project.run(&line);
        assert_eq!(done.code, Some(code), "{done:?}");
        assert_eq!(done.stderr, "");
        let body: Value = serde_json::from_str(&done.stdout).expect("JSON");
        let told = &body["skill_result"];
        assert_eq!(
            (&told["success"], &told["correlation_id"]),
            (&json!(success), &json!(id))
        );
        assert_recorded(&project, told);
    }
    let done = project.run(&["invoke", "gone", "content", "--input", "{}", "--json"]);
    assert_eq!(done.code, Some(2), "{done:?}");
}

#[test]
fn the_project_and_the_operator_decide_as_for_scripts() {
    let project = project();
    project.file(".git/HEAD", "ref: refs/heads/main\n");
    let line = [
        "invoke",
        "it",
        "content",
        "--input",
        "{}",
        "--script-data",
        "data",
    ];
    let done = project.run(&line);
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(done.stderr.contains("--allow-project-scripts"), "{done:?}");
    assert!(!journal_file(&project).exists());
    let done = project.run(&[&line[..], &["--allow-project-scripts"]].concat());
    assert_eq!(done.code, Some(0), "{done:?}");
    let done = project.run(
        &[
            &line[..],
            &["--allow-project-scripts", "--set", "scripts.enabled=false"],
        ]
        .concat(),
    );
    assert_eq!(done.code, Some(2), "{done:?}");
}

/// Nothing outlives a command that is interrupted, and the journal does not call it done.
#[test]
#[cfg(target_os = "linux")]
fn an_interrupted_command_leaves_nothing_running() {
    use rustix::process::{Pid, Signal, kill_process};

    use crate::scripts::{is_alive, own_time, wait_until};
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let time = own_time();
        let project = Project::new();
        skill(
            &project,
            "it",
            &json!({}),
            &format!("setsid sleep {time} &\nsleep {time}"),
        );
        let mut command = project.command();
        command.args(["invoke", "it", "content", "--input", "{}"]);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        wait_until("it runs", || is_alive(&time));
        // What is killed sooner may not even have made the journal.
        wait_until("it is recorded", || {
            let reader = skillbundle_journal::Reader::open(&journal_file(&project));
            let all = reader.and_then(|it| it.list(&skillbundle_journal::Filter::default()));
            all.is_ok_and(|it| !it.is_empty())
        });
        let id = Pid::from_raw(i32::try_from(child.id()).expect("an id")).expect("an id");
        kill_process(id, signal).expect("it runs");
        assert!(!child.wait().expect("it ends").success());
        wait_until("nothing is left", || !is_alive(&time));
        let all = super::records(&project);
        assert_eq!(all.len(), 1);
        assert_ne!(all[0].status.as_str(), "completed", "{signal:?}");
    }
}
