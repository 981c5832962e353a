//! `--typed-tools`: each skill with a handler is a tool of its own, whose arguments are the input and
//! whose result is the output.

use serde_json::{Value, json};

use super::{assert_recorded, kept, record, records, serve, skill, start};
use crate::project::{Project, Session, text_of};

const TOUCH: &str = "echo x >> $SKILL_DATA/ran; echo '{\"done\": true}'";

fn input() -> Value {
    json!({ "type": "object", "required": ["title"], "properties": { "title": { "type": "string" } }, "additionalProperties": false })
}

fn output() -> Value {
    json!({ "type": "object", "required": ["done"], "properties": { "done": { "type": "boolean" } } })
}

fn project() -> Project {
    let project = Project::new();
    let contract = json!({ "input_schema": input(), "output_schema": output(), "assigned_to": ["suite", "TaskAgent"], "failure_modes": ["NOT_FOUND"] });
    skill(&project, "create", &contract, TOUCH);
    skill(
        &project,
        "fails",
        &contract,
        "echo '{\"failure\": {\"code\": \"NOT_FOUND\", \"message\": \"it\"}}'; exit 1",
    );
    // The built-in tools have these names.
    skill(&project, "skills_search", &contract, TOUCH);
    skill(&project, "invoke_skill", &contract, TOUCH);
    skill(&project, "described", &json!({ "handler": null }), "");
    project
}

fn tools(session: &mut Session) -> Vec<Value> {
    let mut tools = session.result("tools/list", json!({}));
    tools["tools"].take().as_array().expect("a list").clone()
}

fn names(session: &mut Session) -> Vec<String> {
    let tools = tools(session);
    let names = tools
        .iter()
        .map(|it| it["name"].as_str().expect("a name").to_owned());
    names.collect()
}

#[test]
fn each_skill_with_a_handler_is_listed_once_with_its_schemas() {
    let project = project();
    let mut session = serve(&project, &["--typed-tools"]);
    // The skills are loaded with the first call.
    session.tool("skill", &json!({ "name": "create" }));
    let all = tools(&mut session);
    for name in ["create", "fails", "skills_search", "invoke_skill"] {
        let found: Vec<&Value> = all.iter().filter(|it| it["name"] == name).collect();
        assert_eq!(found.len(), 1, "{name}: {all:?}");
        let is_typed = found[0]["inputSchema"] == input();
        assert_eq!(is_typed, !name.contains("skill"), "{}", found[0]);
        if is_typed {
            assert_eq!(found[0]["outputSchema"], output());
            assert_eq!(found[0]["description"], format!("Does {name}"));
        }
    }
    assert!(all.iter().all(|it| it["name"] != "described"), "{all:?}");
    // A built-in tool stays what it is.
    let text = session.tool_text("skill", &json!({ "name": "create" }));
    assert!(text.contains("Text of create"), "{text}");
    assert_eq!(kept(&project, "ran"), None);
    session.finish();
}

#[test]
fn a_success_is_the_output_and_a_failure_has_no_structured_content() {
    let project = project();
    let mut session = serve(&project, &["--typed-tools", "--agent", "TaskAgent"]);
    let result = session.tool("create", &json!({ "title": "a" }));
    assert_eq!(
        result["structuredContent"],
        json!({ "done": true }),
        "{result}"
    );
    assert_eq!(text_of(&result), r#"{"done":true}"#);
    assert_ne!(result["isError"], true);
    assert_eq!(records(&project)[0].invocation.skill, "create");
    for (tool, input, code) in [
        ("fails", json!({ "title": "a" }), "NOT_FOUND"),
        ("create", json!({}), "VALIDATION_ERROR"),
        ("create", json!({ "title": 1 }), "VALIDATION_ERROR"),
        (
            "create",
            json!({ "title": "a", "invoking_agent": "x" }),
            "VALIDATION_ERROR",
        ),
    ] {
        let result = session.tool(tool, &input);
        assert_eq!(result["isError"], true, "{result}");
        assert!(result.get("structuredContent").is_none(), "{result}");
        let told: Value = serde_json::from_str(&text_of(&result)).expect("JSON");
        assert_eq!(told["failure_code"], code, "{told}");
        assert_recorded(&project, &told);
    }
    assert_eq!(kept(&project, "ran").as_deref(), Some("x\n"));
    for (name, part) in [
        ("described", "no handler"),
        ("gone", "unknown tool"),
        ("Create", "unknown tool"),
    ] {
        let reply = session.request("tools/call", json!({ "name": name, "arguments": {} }));
        assert!(
            reply["error"].is_object() || reply["result"]["isError"] == true,
            "{reply}"
        );
        assert!(reply.to_string().contains(part), "{name}: {reply}");
    }
    session.finish();
}

/// The agent is the one that the operator names, or that the call names, or the client.
#[test]
fn the_agent_of_a_typed_tool_is_told_beside_its_input() {
    let project = project();
    let id = "550e8400-e29b-41d4-a716-446655440000";
    for (options, meta, agent, is_allowed) in [
        (&[][..], json!({}), "unknown", false),
        (
            &[],
            json!({ "skillbundle/invoking_agent": "TaskAgent", "skillbundle/correlation_id": id }),
            "TaskAgent",
            true,
        ),
        (
            &[],
            json!({ "skillbundle/invoking_agent": "Other" }),
            "Other",
            false,
        ),
        (
            &[],
            json!({ "skillbundle/invoking_agent": "no name" }),
            "unknown",
            false,
        ),
        (
            &["--agent", "Reader"],
            json!({ "skillbundle/invoking_agent": "TaskAgent" }),
            "Reader",
            false,
        ),
        (&["--agent", "TaskAgent"], json!({}), "TaskAgent", true),
    ] {
        let mut session = start(project.command(), &[&["--typed-tools"], options].concat());
        let result = session.result(
            "tools/call",
            json!({ "name": "create", "arguments": { "title": "a" }, "_meta": meta }),
        );
        assert_eq!(result["isError"] != true, is_allowed, "{meta}: {result}");
        let record = records(&project).remove(0);
        assert_eq!(record.invocation.agent, agent, "{meta}");
        if meta["skillbundle/correlation_id"] == id {
            assert_eq!(record.invocation.correlation_id.to_string(), id);
        }
        session.finish();
    }
    let mut session = serve(&project, &["--typed-tools"]);
    let result = session.result("tools/call", json!({ "name": "create", "arguments": {}, "_meta": { "skillbundle/correlation_id": "x" } }));
    assert_eq!(
        result["structuredContent"]["code"], "invalid_argument",
        "{result}"
    );
    // In the stateless era each request names the client.
    let mut session = serve(&project, &["--typed-tools"]);
    session.discover();
    let result = session.tool("create", &json!({ "title": "a" }));
    assert_eq!(result["structuredContent"]["done"], true, "{result}");
    assert_eq!(records(&project)[0].invocation.agent, "suite");
}

/// Nothing is offered that could not be carried out, or that the operator has not asked for.
#[test]
fn without_the_option_or_without_scripts_no_skill_is_a_tool() {
    let project = project();
    let told = json!({ "name": "create", "arguments": { "title": "a" } });
    for (options, invokes) in [
        (&[][..], true),
        (&["--typed-tools", "--set", "scripts.enabled=false"], false),
        (&["--tools", "skill"], false),
    ] {
        let mut session = serve(&project, options);
        session.tool("skill", &json!({ "name": "create" }));
        let names = names(&mut session);
        assert!(
            !names.iter().any(|it| it == "create"),
            "{options:?}: {names:?}"
        );
        assert_eq!(
            names.iter().any(|it| it == "invoke_skill"),
            invokes,
            "{options:?}"
        );
        let reply = session.request("tools/call", told.clone());
        assert!(
            reply["error"].is_object() || reply["result"]["isError"] == true,
            "{options:?}: {reply}"
        );
        session.finish();
    }
    assert_eq!(kept(&project, "ran"), None);
    // The project's own skills wait for the operator's word.
    project.file(".git/HEAD", "ref: refs/heads/main\n");
    let mut session = serve(&project, &["--typed-tools"]);
    session.tool("skill", &json!({ "name": "create" }));
    assert!(!names(&mut session).iter().any(|it| it == "create"));
    let result = session.tool("create", &json!({ "title": "a" }));
    assert_eq!(
        result["structuredContent"]["code"], "script_of_project",
        "{result}"
    );
    assert_eq!(kept(&project, "ran"), None);
    session.finish();
    let mut session = serve(&project, &["--typed-tools", "--allow-project-scripts"]);
    session.tool("skill", &json!({ "name": "create" }));
    assert!(names(&mut session).iter().any(|it| it == "create"));
    session.finish();
}

/// Same record as by `invoke_skill`.
#[test]
fn what_a_typed_tool_does_is_recorded_like_any_invocation() {
    let project = project();
    let mut session = serve(&project, &["--typed-tools", "--agent", "TaskAgent"]);
    session.tool("create", &json!({ "title": "a" }));
    session.finish();
    let first = records(&project).remove(0);
    let told = json!({ "invocation_id": first.invocation.id.to_string() });
    assert_eq!(record(&project, &told).status.as_str(), "completed");
    assert_eq!(first.invocation.input, r#"{"title":"a"}"#);
}
