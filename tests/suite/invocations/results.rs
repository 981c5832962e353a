//! How a handler ends: success, each failure of the taxonomy, and everything that its contract does
//! not promise, which is an internal error whose reason only the journal has.

use serde_json::{Value, json};

use super::{assert_recorded, invoke, kept, record, refused, serve, skill, with_skill};
use crate::project::Project;

const CODES: &[(&str, &str, &str, &str)] = &[
    (
        "VALIDATION_ERROR",
        "Input validation failed: odd 7",
        "recoverable",
        "Fix input and retry",
    ),
    (
        "NOT_FOUND",
        "Resource not found: odd 7",
        "recoverable",
        "Verify resource exists before operation",
    ),
    (
        "UNAUTHORIZED",
        "Access denied: odd 7",
        "fatal",
        "Check permissions or re-authenticate",
    ),
    (
        "RATE_EXCEEDED",
        "Rate limit exceeded. Retry after odd 7s",
        "recoverable",
        "Wait and retry with backoff",
    ),
    (
        "TIMEOUT",
        "Operation timed out after odd 7s",
        "recoverable",
        "Retry or increase timeout",
    ),
    (
        "PERSISTENCE_ERROR",
        "Database operation failed",
        "recoverable",
        "Retry operation",
    ),
    (
        "EXTERNAL_SERVICE_ERROR",
        "External service unavailable",
        "recoverable",
        "Service degradation active; retry later",
    ),
    (
        "INTERNAL_ERROR",
        "An unexpected error occurred",
        "fatal",
        "Contact support with correlation ID",
    ),
];

/// A handler that reports the failure that its input names.
const REPORT: &str = r#"read -r line
code=${line#*\"code\":\"}
code=${code%%\"*}
printf '{"failure":{"code":"%s","message":"odd 7","details":{"n":7}}}' "$code"
exit 3
"#;

#[test]
fn each_failure_that_is_declared_reaches_the_caller_as_the_specification_words_it() {
    let codes: Vec<&str> = CODES.iter().map(|it| it.0).collect();
    let project = with_skill(&json!({ "failure_modes": codes }), REPORT);
    skill(&project, "declares_none", &json!({}), REPORT);
    let mut session = serve(&project, &[]);
    for (code, message, severity, action) in CODES {
        let told = invoke(&mut session, "it", &json!({ "code": code }));
        assert_eq!(told["failure_code"], *code, "{told}");
        assert_eq!(told["failure_message"], *message, "{told}");
        assert_eq!(told["failure_details"], json!({ "n": 7 }), "{told}");
        assert_eq!(told["severity"], *severity, "{told}");
        assert_eq!(told["suggested_action"], *action, "{told}");
        assert_eq!(told["status"], "failed", "{told}");
        assert_eq!(assert_recorded(&project, &told), None);
        let told = invoke(&mut session, "declares_none", &json!({ "code": code }));
        assert_eq!(told["failure_code"], "INTERNAL_ERROR", "{told}");
        assert_eq!(told["failure_details"], Value::Null, "{told}");
        let reason = assert_recorded(&project, &told).expect("a reason");
        assert!(
            reason.contains(code) && reason.contains("does not declare"),
            "{reason}"
        );
    }
    session.finish();
}

/// What a handler does, the failure code (empty if it succeeds), and words of the reason in the
/// journal.
const ENDS: &[(&str, &str, &str)] = &[
    (r#"echo '{"n": 1}'"#, "", ""),
    (
        r#"echo '  {"n": 1, "more": [true]}  '; echo noise >&2"#,
        "",
        "",
    ),
    (r#"echo '{"n": "1"}'"#, "INTERNAL_ERROR", "output_schema"),
    (r#"echo '{"n": 1.5}'"#, "INTERNAL_ERROR", "output_schema"),
    ("echo '{}'", "INTERNAL_ERROR", "output_schema"),
    ("echo '[1]'", "INTERNAL_ERROR", "output_schema"),
    ("echo null", "INTERNAL_ERROR", "output_schema"),
    ("", "INTERNAL_ERROR", "not one JSON object"),
    ("true; echo why >&2", "INTERNAL_ERROR", "stderr: why"),
    (
        r#"echo '{"n": 1} {"n": 1}'"#,
        "INTERNAL_ERROR",
        "not one JSON object",
    ),
    (
        r#"echo 'log'; echo '{"n": 1}'"#,
        "INTERNAL_ERROR",
        "not one JSON object",
    ),
    (
        r#"printf '{"n": 1\377}'"#,
        "INTERNAL_ERROR",
        "not one JSON object",
    ),
    (
        r#"printf '\357\273\277{"n": 1}'"#,
        "INTERNAL_ERROR",
        "not one JSON object",
    ),
    (
        r#"echo '{"n": 1, "s": "\ud800"}'"#,
        "INTERNAL_ERROR",
        "not one JSON object",
    ),
    (
        r#"echo '{"n": 1e400}'"#,
        "INTERNAL_ERROR",
        "not one JSON object",
    ),
    (
        r#"echo '{"n": NaN}'"#,
        "INTERNAL_ERROR",
        "not one JSON object",
    ),
    (
        r#"echo '{"n": 1}'; exit 1"#,
        "INTERNAL_ERROR",
        "exit code 1",
    ),
    (
        r#"echo '{"n": 1}'; kill -SEGV $$"#,
        "INTERNAL_ERROR",
        "signal 11",
    ),
    (
        r#"echo '{"failure": {"code": "NOT_FOUND", "message": "x"}}'"#,
        "INTERNAL_ERROR",
        "output_schema",
    ),
    (
        r#"echo '{"failure": {"code": "NOT_FOUND"}}'; exit 1"#,
        "NOT_FOUND",
        "",
    ),
    (
        r#"echo '{"failure": {"code": "not_found"}}'; exit 1"#,
        "INTERNAL_ERROR",
        "does not declare",
    ),
    (
        r#"echo '{"failure": {"code": "NOT_FOUND", "message": 1}}'; exit 1"#,
        "INTERNAL_ERROR",
        "reports no failure",
    ),
    (
        r#"echo '{"failure": {"code": "NOT_FOUND", "details": "x"}}'; exit 1"#,
        "INTERNAL_ERROR",
        "reports no failure",
    ),
    (
        r#"echo '{"failure": "NOT_FOUND"}'; exit 1"#,
        "INTERNAL_ERROR",
        "reports no failure",
    ),
    (
        "echo 'Traceback (most recent call last):' >&2; exit 1",
        "INTERNAL_ERROR",
        "Traceback",
    ),
    ("exit 255", "INTERNAL_ERROR", "exit code 255"),
    // Deeper than anything that is read.
    (
        r#"printf '{"n": 1, "d":'; printf '[%.0s' {1..3000}; printf ']%.0s' {1..3000}; echo '}'"#,
        "INTERNAL_ERROR",
        "not one JSON object",
    ),
];

#[test]
fn nothing_but_what_the_output_schema_accepts_is_a_success() {
    let project = Project::new();
    let contract = json!({
        "output_schema": { "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } },
        "failure_modes": ["NOT_FOUND"]
    });
    for (at, (script, _, _)) in ENDS.iter().enumerate() {
        skill(&project, &format!("end_{at}"), &contract, script);
    }
    let mut session = serve(&project, &[]);
    for (at, (script, code, reason)) in ENDS.iter().enumerate() {
        let told = invoke(&mut session, &format!("end_{at}"), &json!({}));
        let internal = assert_recorded(&project, &told);
        if code.is_empty() {
            assert_eq!(told["output_payload"]["n"], 1, "{script}: {told}");
            assert_eq!(told["status"], "completed");
            assert_eq!(internal, None, "{script}");
            continue;
        }
        assert_eq!(told["failure_code"], *code, "{script}: {told}");
        assert_eq!(told["status"], "failed", "{script}");
        let internal = internal.unwrap_or_default();
        assert!(internal.contains(reason), "{script}: {internal}");
        if *code == "INTERNAL_ERROR" {
            assert_eq!(told["failure_message"], "An unexpected error occurred");
            assert_eq!(told["failure_details"], Value::Null);
        }
    }
    assert_eq!(session.finish().code, Some(0));
}

/// The journal shows each state while the invocation is in it.
#[test]
fn an_invocation_is_running_while_its_handler_runs() {
    let script =
        "touch $SKILL_DATA/begun; until [ -e $SKILL_DATA/go ]; do sleep 0.05; done; echo '{}'";
    let project = with_skill(&json!({}), script);
    let mut session = serve(&project, &[]);
    let id = "550e8400-e29b-41d4-a716-446655440000";
    let arguments = json!({ "name": "it", "input": { "a": 1 }, "invoking_agent": "TaskAgent", "invocation_id": id, "correlation_id": id });
    let params = json!({ "name": "invoke_skill", "arguments": arguments });
    session.send(&json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }));
    crate::scripts::wait_until("the handler runs", || kept(&project, "begun").is_some());
    let known = json!({ "invocation_id": id });
    let running = record(&project, &known);
    assert_eq!(running.status.as_str(), "running");
    assert_eq!(running.invocation.input, r#"{"a":1}"#);
    assert_eq!(running.invocation.agent, "TaskAgent");
    assert!(running.result.is_none());
    let listed = project.run(&["journal", "list", "--status", "running", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    assert_eq!(listed["invocations"][0]["id"], id, "{listed}");
    assert_eq!(listed["invocations"][0]["ending"], Value::Null);
    project.file("data/go", "");
    let told = super::checked(&session.reply()["result"], &known);
    assert_eq!(told["correlation_id"], id);
    assert_recorded(&project, &told);
    let shown = project.run(&["journal", "show", id, "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!(shown["invocation"]["status"], "completed", "{shown}");
    assert_eq!(shown["invocation"]["ending"]["success"], true);
    assert_eq!(shown["events"][0]["event"], "script", "{shown}");
    session.finish();
}

#[test]
fn what_cannot_be_invoked_is_an_error_and_leaves_no_record() {
    let project = with_skill(&json!({}), "echo '{}'");
    project.file(
        "content/plain.md",
        "---\nkeywords: [zebraplain]\ndescription: Plain\n---\nText\n",
    );
    skill(&project, "described", &json!({ "handler": null }), "");
    let mut session = serve(&project, &[]);
    let ask = |more: Value| super::with(&super::arguments("it", &json!({})), &more);
    for (more, code, words) in [
        (json!({ "name": "gone" }), "skill_not_found", "gone"),
        (
            json!({ "name": "descrbed" }),
            "skill_not_found",
            "did you mean `described`?",
        ),
        (json!({ "name": "" }), "invalid_argument", "name"),
        (json!({ "name": "plain" }), "no_contract", "no contract"),
        (json!({ "name": "described" }), "no_handler", "no handler"),
        (json!({ "input": [] }), "invalid_argument", "input"),
        (json!({ "input": null }), "invalid_argument", "input"),
        (json!({ "input": "{}" }), "invalid_argument", "input"),
        (json!({ "correlation_id": "x" }), "invalid_argument", "UUID"),
        (
            json!({ "correlation_id": "550e8400e29b41d4a716446655440000" }),
            "invalid_argument",
            "UUID",
        ),
        (
            json!({ "correlation_id": 1 }),
            "invalid_argument",
            "correlation_id",
        ),
        (
            json!({ "invocation_id": "{550e8400-e29b-41d4-a716-446655440000}" }),
            "invalid_argument",
            "UUID",
        ),
        (
            json!({ "invoking_agent": "" }),
            "invalid_argument",
            "invoking_agent",
        ),
        (
            json!({ "invoking_agent": null }),
            "invalid_argument",
            "invoking_agent",
        ),
        (
            json!({ "invoking_agent": "a b" }),
            "invalid_argument",
            "invoking_agent",
        ),
        (
            json!({ "invoking_agent": "a\u{0}" }),
            "invalid_argument",
            "invoking_agent",
        ),
        (
            json!({ "invoking_agent": "a".repeat(65) }),
            "invalid_argument",
            "invoking_agent",
        ),
        (
            json!({ "timeout_seconds": 0 }),
            "invalid_argument",
            "timeout_seconds",
        ),
        (
            json!({ "timeout_seconds": 301 }),
            "invalid_argument",
            "timeout_seconds",
        ),
        (
            json!({ "timeout_seconds": 1.5 }),
            "invalid_argument",
            "timeout_seconds",
        ),
        (json!({ "agent": "TaskAgent" }), "invalid_argument", "agent"),
    ] {
        refused(&mut session, &ask(more), code, words);
    }
    session.finish();
    assert!(
        !super::journal_file(&project).exists(),
        "nothing was invoked"
    );
}
