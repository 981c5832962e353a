//! Typed skills (specification 5), invoked through the built program: what is refused, how each one
//! ends, what its caller is told, and what the journal says of it. The rules of contracts
//! themselves are in `tests/cases/contracts.md`.
#![cfg(all(unix, feature = "sqlite"))]

mod agents;
mod ends;
mod inputs;
mod journals;
mod load;
mod repeats;
mod results;
mod secrets;
mod terminal;
mod time;
mod typed_tools;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Map, Value, json};
use skillbundle_journal::{Filter, Reader, Record, Uuid};

use crate::project::{LEGACY, Project, Session, text_of};

/// A skill of this name in `content`. `contract` is laid over one that takes and returns any object,
/// and whose handler is `run.sh`.
fn skill(project: &Project, name: &str, contract: &Value, script: &str) {
    let mut whole = json!({
        "category": "execution",
        "input_schema": { "type": "object" },
        "output_schema": { "type": "object" },
        "handler": "run.sh"
    });
    for (key, value) in contract.as_object().expect("an object") {
        whole[key] = value.clone();
    }
    project
        .file(
            &format!("content/{name}.md"),
            format!("---\nkeywords: [zebra{name}]\ndescription: Does {name}\ncontract: {whole}\nscripts:\n  - file: run.sh\n    execution: server\n---\nText of {name}\n"),
        )
        .file(&format!("content/{name}/run.sh"), script);
}

/// A project with one such skill, `it`.
fn with_skill(contract: &Value, script: &str) -> Project {
    let project = Project::new();
    skill(&project, "it", contract, script);
    project
}

/// A server of `content`, whose scripts keep data in `data`.
fn serve(project: &Project, arguments: &[&str]) -> Session {
    start(project.command(), arguments)
}

fn start(mut command: Command, arguments: &[&str]) -> Session {
    command.args(["serve", "content", "--script-data", "data"]);
    command.args(arguments);
    let mut session = Session::start(command);
    session.initialize(LEGACY);
    session
}

/// The arguments of `invoke_skill`.
fn arguments(skill: &str, input: &Value) -> Value {
    json!({ "name": skill, "input": input, "invoking_agent": "TaskAgent" })
}

/// The result of an invocation with these arguments, which must come about, whether it succeeds or
/// not.
fn invoked(session: &mut Session, arguments: &Value) -> Value {
    let result = session.tool("invoke_skill", arguments);
    checked(&result, arguments)
}

/// Checks what holds for every result of an invocation.
fn checked(result: &Value, what: &Value) -> Value {
    let told: Value = serde_json::from_str(&text_of(result)).expect("the text is JSON");
    assert_eq!(told, result["structuredContent"], "{what}");
    assert!(told["invocation_id"].is_string(), "{what}: {told}");
    let is_success = told["success"] == true;
    assert_eq!(result["isError"] == true, !is_success, "{what}: {result}");
    assert_eq!(told["output_payload"].is_object(), is_success, "{told}");
    assert_eq!(told["failure_code"].is_string(), !is_success, "{told}");
    assert_eq!(told["failure_message"].is_string(), !is_success, "{told}");
    assert!(told["duration_ms"].is_u64(), "{told}");
    told
}

fn invoke(session: &mut Session, skill: &str, input: &Value) -> Value {
    invoked(session, &arguments(skill, input))
}

/// Asserts that nothing is invoked, for this reason.
fn refused(session: &mut Session, arguments: &Value, code: &str, words: &str) {
    let result = session.tool("invoke_skill", arguments);
    assert_eq!(result["isError"], true, "{arguments}: {result}");
    let told = &result["structuredContent"];
    assert_eq!(told["code"], code, "{arguments}: {told}");
    let message = told["error"].as_str().expect("a message");
    assert!(message.contains(words), "{arguments}: {message}");
}

fn journal_file(project: &Project) -> PathBuf {
    project.state().join("skillbundle/journal.db")
}

/// What the journal has, the latest first.
fn records(project: &Project) -> Vec<Record> {
    let reader = Reader::open(&journal_file(project)).expect("a journal");
    reader.list(&Filter::default()).expect("it can be read")
}

/// What the journal has of the invocation with this result.
fn record(project: &Project, result: &Value) -> Record {
    let id = result["invocation_id"].as_str().expect("an id");
    let id = Uuid::parse_str(id).expect("an id");
    let reader = Reader::open(&journal_file(project)).expect("a journal");
    let record = reader.show(id).expect("it can be read");
    record.unwrap_or_else(|| panic!("not recorded: {result}"))
}

/// Asserts that the journal says what the caller was told, and returns what it says to the operator
/// alone.
fn assert_recorded(project: &Project, told: &Value) -> Option<String> {
    let record = record(project, told);
    let result = record.result.expect("it has ended");
    let json = |text: Option<&String>| text.map(|it| serde_json::from_str(it).expect("JSON"));
    let said = json!({
        "status": record.status.as_str(),
        "success": result.success,
        "output_payload": json(result.output.as_ref()).unwrap_or(Value::Null),
        "failure_code": result.failure_code,
        "failure_message": result.failure_message,
        "failure_details": json(result.failure_details.as_ref()).unwrap_or(Value::Null),
        "duration_ms": result.duration_ms,
        "skill_name": record.invocation.skill,
        "correlation_id": record.invocation.correlation_id,
    });
    for (field, value) in said.as_object().expect("an object") {
        assert_eq!(*value, told[field], "{field}: {told}");
    }
    result.internal_detail
}

/// A file that handlers write, `None` if none has.
fn kept(project: &Project, name: &str) -> Option<String> {
    fs::read_to_string(project.path(&format!("data/{name}"))).ok()
}

/// These arguments with others over them.
fn with(arguments: &Value, more: &Value) -> Value {
    let both = [arguments, more].map(|it| it.as_object().expect("an object").clone());
    both.into_iter().flatten().collect::<Map<_, _>>().into()
}
