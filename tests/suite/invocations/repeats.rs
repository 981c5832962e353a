//! The same invocation again: it is carried out once, whoever asks how often.

use serde_json::{Value, json};

use super::{arguments, invoked, kept, records, refused, serve, skill, start, with};
use crate::project::Project;

const ID: &str = "550e8400-e29b-41d4-a716-446655440000";
const OTHER: &str = "550e8400-e29b-41d4-a716-446655440001";

/// A handler that counts its runs.
const COUNT: &str = "echo x >> $SKILL_DATA/count; n=$(wc -l < $SKILL_DATA/count); echo \"{\\\"n\\\": $n, \\\"token\\\": \\\"open\\\"}\"";
const FAIL: &str = "echo x >> $SKILL_DATA/failures; echo '{\"failure\": {\"code\": \"NOT_FOUND\", \"message\": \"it\"}}'; exit 1";

fn contract() -> Value {
    json!({
        "assigned_to": ["TaskAgent", "Orchestrator"],
        "failure_modes": ["NOT_FOUND"],
        "input_schema": {
            "type": "object",
            "properties": { "password": { "type": "string", "format": "password" }, "n": { "type": "integer" } }
        },
        "output_schema": { "type": "object", "properties": { "token": { "writeOnly": true } } }
    })
}

fn project() -> Project {
    let project = Project::new();
    skill(&project, "it", &contract(), COUNT);
    skill(&project, "other", &contract(), COUNT);
    skill(&project, "fails", &contract(), FAIL);
    project
}

fn ask(skill: &str, more: &Value) -> Value {
    let named = with(
        &arguments(skill, &json!({ "a": 1, "b": [2] })),
        &json!({ "invocation_id": ID }),
    );
    with(&named, more)
}

#[test]
fn a_repeated_id_gets_the_recorded_result_or_an_error() {
    let project = project();
    let mut session = serve(&project, &[]);
    let first = invoked(&mut session, &ask("it", &json!({})));
    assert_eq!(first["invocation_id"], ID);
    assert_eq!(first["output_payload"], json!({ "n": 1, "token": "open" }));
    assert!(first.get("replayed").is_none(), "{first}");
    let mut expected = first.clone();
    expected["replayed"] = json!(true);
    // Whatever the order of the keys, and whatever belongs to the call rather than the invocation.
    for more in [
        json!({}),
        json!({ "input": { "b": [2], "a": 1 } }),
        json!({ "correlation_id": OTHER }),
        json!({ "timeout_seconds": 1 }),
    ] {
        assert_eq!(invoked(&mut session, &ask("it", &more)), expected, "{more}");
    }
    let others = [
        ask("it", &json!({ "input": { "a": 1, "b": [3] } })),
        ask("it", &json!({ "input": {} })),
        ask("it", &json!({ "invoking_agent": "Orchestrator" })),
        ask("it", &json!({ "invoking_agent": "Nobody" })),
        ask("other", &json!({})),
    ];
    for other in &others {
        refused(
            &mut session,
            other,
            "invocation_id_reused",
            "use a new `invocation_id`",
        );
    }
    session.finish();
    // After a restart the journal knows, all but what is secret.
    let mut session = serve(&project, &[]);
    expected["output_payload"]["token"] = json!("[redacted]");
    assert_eq!(invoked(&mut session, &ask("it", &json!({}))), expected);
    for other in &others {
        refused(
            &mut session,
            other,
            "invocation_id_reused",
            "use a new `invocation_id`",
        );
    }
    assert_eq!(
        invoked(&mut session, &ask("it", &json!({ "invocation_id": OTHER })))["output_payload"]["n"],
        2
    );
    session.finish();
    assert_eq!(records(&project).len(), 2);
    // The terminal keeps to the same rules.
    let again = project.run(&[
        "invoke",
        "it",
        "content",
        "--agent",
        "TaskAgent",
        "--input",
        r#"{"b": [2], "a": 1}"#,
        "--id",
        ID,
        "--json",
    ]);
    let again: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(again["skill_result"], expected);
    assert_eq!(kept(&project, "count").as_deref(), Some("x\nx\n"));
}

#[test]
fn failures_are_recorded_under_their_id_as_well() {
    let project = project();
    let mut session = serve(&project, &[]);
    for (more, code) in [
        (json!({}), "NOT_FOUND"),
        (
            json!({ "invocation_id": OTHER, "input": { "n": "x" } }),
            "VALIDATION_ERROR",
        ),
        (
            json!({ "invocation_id": "550e8400-e29b-41d4-a716-446655440002", "invoking_agent": "Nobody" }),
            "UNAUTHORIZED",
        ),
    ] {
        let first = invoked(&mut session, &ask("fails", &more));
        assert_eq!(first["failure_code"], code, "{first}");
        let mut expected = first.clone();
        expected["replayed"] = json!(true);
        assert_eq!(invoked(&mut session, &ask("fails", &more)), expected);
    }
    session.finish();
    assert_eq!(kept(&project, "failures").as_deref(), Some("x\n"));
}

/// Without a journal a server knows what it has done itself.
#[test]
fn without_a_journal_an_id_is_known_until_the_server_ends() {
    let project = project();
    for count in [1, 2] {
        let mut session = serve(&project, &["--set", "journal.destination=off"]);
        for is_replay in [Value::Null, json!(true), json!(true)] {
            let told = invoked(&mut session, &ask("it", &json!({})));
            assert_eq!(told["output_payload"]["n"], count);
            assert_eq!(told["replayed"], is_replay, "{told}");
        }
        session.finish();
    }
    assert!(!super::journal_file(&project).exists());
}

#[test]
fn of_many_calls_at_once_with_one_id_one_is_carried_out() {
    let project = project();
    let slow = format!("sleep 0.3; {COUNT}");
    skill(&project, "it", &contract(), &slow);
    // Two servers on one journal, and several calls to each.
    let mut sessions = [0, 1].map(|_| serve(&project, &[]));
    let params = json!({ "name": "invoke_skill", "arguments": ask("it", &json!({})) });
    for session in &mut sessions {
        for id in 0..6 {
            session.send(
                &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }),
            );
        }
    }
    let mut carried_out = 0;
    for session in &mut sessions {
        for _ in 0..6 {
            let reply = session.reply();
            let told = &reply["result"]["structuredContent"];
            match told["code"].as_str() {
                Some(code) => assert_eq!(code, "invocation_unfinished", "{reply}"),
                None if told["replayed"] == true => {}
                None => {
                    carried_out += 1;
                    assert_eq!(told["success"], true, "{reply}");
                }
            }
        }
    }
    assert_eq!(carried_out, 1);
    for mut session in sessions {
        let told = invoked(&mut session, &ask("it", &json!({})));
        assert_eq!(told["output_payload"]["n"], 1);
        assert_eq!(told["replayed"], true, "{told}");
        session.finish();
    }
    assert_eq!(kept(&project, "count").as_deref(), Some("x\n"));
}

/// A caller with another identity gets neither the result nor the id.
#[test]
fn a_caller_that_claims_to_be_another_agent_gets_nothing_of_it() {
    let project = project();
    let mut session = serve(&project, &[]);
    let first = invoked(&mut session, &ask("it", &json!({})));
    session.finish();
    let mut session = start(project.command(), &["--agent", "Orchestrator"]);
    for id in [ID, OTHER] {
        let told = invoked(&mut session, &ask("it", &json!({ "invocation_id": id })));
        assert_eq!(told["failure_code"], "UNAUTHORIZED", "{told}");
        assert_ne!(told["invocation_id"], id, "{told}");
        assert_eq!(told["output_payload"], Value::Null);
    }
    session.finish();
    let mut session = serve(&project, &[]);
    assert_eq!(
        invoked(&mut session, &ask("it", &json!({})))["output_payload"]["n"],
        first["output_payload"]["n"]
    );
    assert_eq!(
        invoked(&mut session, &ask("it", &json!({ "invocation_id": OTHER })))["success"],
        true
    );
    session.finish();
    assert_eq!(records(&project).len(), 4);
}
