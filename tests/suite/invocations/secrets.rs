//! What nobody but the handler may read: secrets of the input in the journal, in replies and in logs,
//! and what a failure says of the machine.

use std::fs;

use serde_json::{Value, json};

use super::{assert_recorded, invoke, journal_file, record, serve, skill, with_skill};
use crate::project::Project;

const CANARY: &str = "canary-Zq7\"ä-7781";

fn contract() -> Value {
    json!({
        "input_schema": {
            "type": "object",
            "properties": {
                "user": { "type": "string", "maxLength": 5 },
                "password": { "type": "string", "format": "password" },
                "deep": { "type": "array", "items": { "properties": { "key": { "writeOnly": true } } } }
            }
        },
        "output_schema": { "type": "object", "properties": { "token": { "type": "string", "writeOnly": true } } },
        "failure_modes": ["NOT_FOUND"]
    })
}

/// Handlers that do their worst with their input.
const LEAKS: &[&str] = &[
    "cat >&2; exit 1",
    "input=$(cat); echo $input; exit 1",
    "input=$(cat); echo \"not json $input\"",
    r#"input=$(cat); printf '{"failure":{"code":"NOT_FOUND","message":%s,"details":{"a":%s,"b":[%s]}}}' "$(printf '%s' "$input" | sed 's/.*"password":\("[^}]*"\),"user.*/\1/')" "$input" "$input"; exit 1"#,
    r#"input=$(cat); printf '{"failure":{"code":"%s"}}' "$(printf '%s' "$input" | sed 's/.*"password":"\(.*\)","user.*/\1/')"; exit 1"#,
    // At the cut of what the journal keeps of stderr.
    "input=$(cat); printf '%s' \"$input\" >&2; head -c 4060 /dev/zero | tr '\\0' x >&2; exit 1",
    "cat > /dev/null; exit 0",
];

/// A secret, or most of one.
fn leaks(text: &str) -> bool {
    text.contains("Zq7") || text.contains("7781") || text.contains("canary")
}

#[test]
fn a_secret_of_the_input_is_in_no_journal_reply_or_log() {
    let project = Project::new();
    for (at, script) in LEAKS.iter().enumerate() {
        skill(&project, &format!("leak_{at}"), &contract(), script);
    }
    let mut command = project.command();
    command
        .env("SKILLBUNDLE_LOG", "trace")
        .env("RUST_LOG", "trace");
    let mut session = super::start(command, &[]);
    let secret = json!({ "user": "ada", "password": CANARY, "deep": [{ "key": { "in": [CANARY] }, "n": 1 }] });
    let long = super::with(&secret, &json!({ "user": "much too long" }));
    for at in 0..LEAKS.len() {
        for input in [&secret, &long] {
            let told = invoke(&mut session, &format!("leak_{at}"), input);
            assert!(!leaks(&told.to_string()), "{at}: {told}");
            let internal = assert_recorded(&project, &told);
            assert!(
                !leaks(&internal.clone().unwrap_or_default()),
                "{at}: {internal:?}"
            );
            let recorded = record(&project, &told).invocation.input;
            let expected = json!({ "user": input["user"], "password": "[redacted]", "deep": [{ "key": "[redacted]", "n": 1 }] });
            assert_eq!(
                serde_json::from_str::<Value>(&recorded).expect("JSON"),
                expected
            );
        }
    }
    let ended = session.finish();
    assert!(!leaks(&ended.stderr), "{}", ended.stderr);
    let directory = journal_file(&project);
    for file in fs::read_dir(directory.parent().expect("a directory")).expect("it is there") {
        let bytes = fs::read(file.expect("a file").path()).expect("it can be read");
        assert!(!leaks(&String::from_utf8_lossy(&bytes)));
    }
}

#[test]
fn a_secret_of_the_output_reaches_its_caller_alone() {
    let project = with_skill(&contract(), r#"echo '{"token": "canary", "n": 1}'"#);
    let mut session = serve(&project, &[]);
    let told = invoke(&mut session, "it", &json!({}));
    assert_eq!(told["output_payload"], json!({ "token": "canary", "n": 1 }));
    let recorded = record(&project, &told).result.expect("a result").output;
    assert_eq!(recorded.as_deref(), Some(r#"{"token":"[redacted]","n":1}"#));
    session.finish();
}

/// What a handler reports, and what its caller reads: a message, and details.
const REPORTS: &[(&str, &str, &str, &str)] = &[
    (
        "cannot open '/srv/app/tasks.db'",
        r#"{"reason": "open(/srv/app/tasks.db) failed"}"#,
        "cannot open '[path]'",
        r#"{"reason": "open([path]) failed"}"#,
    ),
    (
        "DB=/srv/app/tasks.db",
        r#"{"url": "file:///srv/app/x", "C:\\Users\\ada": 1}"#,
        "DB=[path]",
        r#"{"url": "[path]", "[path]": 1}"#,
    ),
    (
        "Traceback (most recent call last):\\n  File \\\"x\\\"",
        r#"{"trace": ["x\n    at f (f.js:1:1)"]}"#,
        "[stack trace removed]",
        r#"{"trace": ["[stack trace removed]"]}"#,
    ),
    (
        "why",
        r#"{"env": {"HOME": "x"}, "environ": "y", "api_key": 1, "X-Auth-Token": [1], "n": null}"#,
        "why",
        r#"{"env": "[redacted]", "environ": "[redacted]", "api_key": "[redacted]", "X-Auth-Token": "[redacted]", "n": null}"#,
    ),
    ("  ", "{}", "no details were given", "{}"),
];

#[test]
fn what_a_failure_says_of_the_machine_is_removed() {
    let project = Project::new();
    for (at, (message, details, _, _)) in REPORTS.iter().enumerate() {
        let report = format!(
            r#"{{"failure": {{"code": "NOT_FOUND", "message": "{message}", "details": {details}}}}}"#
        );
        let script = format!("cat <<'END'\n{report}\nEND\nexit 1\n");
        skill(&project, &format!("report_{at}"), &contract(), &script);
    }
    let mut session = serve(&project, &[]);
    for (at, (_, _, message, details)) in REPORTS.iter().enumerate() {
        let told = invoke(&mut session, &format!("report_{at}"), &json!({}));
        assert_eq!(
            told["failure_message"],
            format!("Resource not found: {message}")
        );
        let details: Value = serde_json::from_str(details).expect("JSON");
        assert_eq!(told["failure_details"], details);
        assert_recorded(&project, &told);
    }
    session.finish();
}

/// Not even by the environment that a handler gets.
#[test]
fn a_handler_sees_nothing_of_the_environment_of_the_server() {
    let project = with_skill(
        &json!({}),
        "env | tr '\\n\"' '  ' | sed 's/^/{\"env\": \"/; s/$/\"}/'",
    );
    let mut command = project.command();
    command.env("SECRET_OF_SERVER", CANARY);
    let mut session = super::start(command, &[]);
    let told = invoke(&mut session, "it", &json!({}));
    assert_eq!(told["success"], true, "{told}");
    assert!(!leaks(&told.to_string()), "{told}");
    session.finish();
}
