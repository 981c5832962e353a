//! Who may invoke what: the agents of the contract, the agent that the operator names, and over HTTP
//! the one whose token a request carries. Every denial is in the journal.

use serde_json::{Value, json};

use super::{arguments, assert_recorded, invoked, kept, records, serve, skill, with};
use crate::project::Project;

const TOUCH: &str = "echo x >> $SKILL_DATA/ran; echo \"{\\\"agent\\\": \\\"$SKILL_AGENT\\\"}\"";

fn project() -> Project {
    let project = Project::new();
    let assigned = json!({ "assigned_to": ["TaskAgent", "Orchestrator"] });
    skill(&project, "assigned", &assigned, TOUCH);
    skill(&project, "open", &json!({}), TOUCH);
    project
}

/// Options of the server, the agent that a call names, the skill, and why it is denied (empty if it
/// is not), or the agent that it is.
type Call = (
    &'static [&'static str],
    Option<&'static str>,
    &'static str,
    &'static str,
    &'static str,
);

const CALLS: &[Call] = &[
    (&[], Some("TaskAgent"), "assigned", "", "TaskAgent"),
    (&[], Some("Orchestrator"), "assigned", "", "Orchestrator"),
    (
        &[],
        Some("taskagent"),
        "assigned",
        "taskagent is not among the agents of this skill, TaskAgent, Orchestrator",
        "",
    ),
    (
        &[],
        Some("TaskAgent2"),
        "assigned",
        "TaskAgent2 is not among",
        "",
    ),
    (&[], Some("Anyone"), "open", "", "Anyone"),
    (&["--agent", "TaskAgent"], None, "assigned", "", "TaskAgent"),
    (
        &["--agent", "TaskAgent"],
        Some("TaskAgent"),
        "assigned",
        "",
        "TaskAgent",
    ),
    (
        &["--agent", "TaskAgent"],
        Some("Orchestrator"),
        "assigned",
        "the caller is TaskAgent, not Orchestrator",
        "",
    ),
    (
        &["--agent", "Reader"],
        None,
        "assigned",
        "Reader is not among",
        "",
    ),
    (
        &["--agent", "Reader"],
        Some("TaskAgent"),
        "open",
        "the caller is Reader, not TaskAgent",
        "",
    ),
    (&["--agent", "Reader"], None, "open", "", "Reader"),
];

#[test]
fn only_the_agents_of_the_contract_may() {
    let project = project();
    let mut ran = 0;
    for (at, (options, agent, skill, denied, is)) in CALLS.iter().enumerate() {
        let mut session = serve(&project, options);
        let mut ask = arguments(skill, &json!({}));
        match agent {
            Some(agent) => ask["invoking_agent"] = json!(agent),
            None => drop(
                ask.as_object_mut()
                    .expect("an object")
                    .remove("invoking_agent"),
            ),
        }
        let told = invoked(&mut session, &ask);
        if denied.is_empty() {
            ran += 1;
            assert_eq!(
                told["output_payload"]["agent"], *is,
                "{options:?} {ask}: {told}"
            );
        } else {
            assert_eq!(
                told["failure_code"], "UNAUTHORIZED",
                "{options:?} {ask}: {told}"
            );
            assert_eq!(told["severity"], "fatal");
            let message = told["failure_message"].as_str().expect("text");
            assert!(
                message.starts_with(&format!("Access denied: {denied}")),
                "{message}"
            );
        }
        assert_recorded(&project, &told);
        assert_eq!(records(&project).len(), at + 1);
        session.finish();
    }
    assert_eq!(
        kept(&project, "ran").map(|it| it.lines().count()),
        Some(ran)
    );
}

/// Who may not ask is not told what is wrong with the input.
#[test]
fn a_denial_comes_before_the_input_is_judged() {
    let project = Project::new();
    let contract = json!({ "assigned_to": ["TaskAgent"], "input_schema": { "type": "object", "required": ["a"] } });
    skill(&project, "it", &contract, TOUCH);
    let mut session = serve(&project, &[]);
    let ask = with(
        &arguments("it", &json!({})),
        &json!({ "invoking_agent": "Other" }),
    );
    let told = invoked(&mut session, &ask);
    assert_eq!(told["failure_code"], "UNAUTHORIZED", "{told}");
    session.finish();
}

#[cfg(feature = "http")]
mod http {
    use super::*;
    use crate::http::Running;

    const TASK: &str = "task-agent-token-0123456789";
    const READER: &str = "reader-token-0123456789abcdef";
    const SHARED: &str = "shared-token-0123456789abcdef";

    fn server(project: &Project, options: &[&str]) -> Running {
        let tokens = format!("# who may\n\nTaskAgent {TASK}\nReader {READER}\n");
        for (file, text) in [("tokens", tokens.as_str()), ("shared", SHARED)] {
            project.file(file, text);
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(project.path(file), mode).expect("it is ours");
        }
        let mut command = project.command();
        command.args(["serve", "content", "--script-data", "data", "--http", ":0"]);
        Running::start({
            command.args(["--agent-tokens", "tokens"]).args(options);
            command
        })
    }

    fn call(agent: Option<&str>) -> String {
        let mut arguments = arguments("assigned", &json!({}));
        match agent {
            Some(agent) => arguments["invoking_agent"] = json!(agent),
            None => drop(
                arguments
                    .as_object_mut()
                    .expect("an object")
                    .remove("invoking_agent"),
            ),
        }
        let params = json!({ "name": "invoke_skill", "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
    }

    fn ask(server: &Running, token: &str, agent: Option<&str>) -> (u16, Value) {
        let token = format!("Authorization: Bearer {token}");
        let headers = ["Accept: application/json", token.as_str()];
        let reply = server.connect().ask("POST /mcp", &headers, &call(agent));
        let body = serde_json::from_str(&reply.body).unwrap_or_default();
        (reply.status, body)
    }

    #[test]
    fn a_token_says_which_agent_asks() {
        let project = project();
        let server = server(&project, &[]);
        for (token, agent, denied) in [
            (TASK, None, ""),
            (TASK, Some("TaskAgent"), ""),
            (
                TASK,
                Some("Orchestrator"),
                "the caller is TaskAgent, not Orchestrator",
            ),
            (READER, None, "Reader is not among"),
            (READER, Some("Reader"), "Reader is not among"),
            (
                READER,
                Some("TaskAgent"),
                "the caller is Reader, not TaskAgent",
            ),
        ] {
            let (status, reply) = ask(&server, token, agent);
            assert_eq!(status, 200, "{reply}");
            let told = super::super::checked(&reply["result"], &json!(agent));
            assert_recorded(&project, &told);
            if denied.is_empty() {
                assert_eq!(told["output_payload"]["agent"], "TaskAgent", "{told}");
                continue;
            }
            assert_eq!(told["failure_code"], "UNAUTHORIZED", "{told}");
            let message = told["failure_message"].as_str().expect("text");
            assert!(message.contains(denied), "{message}");
        }
        for token in [
            "",
            "wrong-token-0123456789",
            &TASK[1..],
            SHARED,
            "TaskAgent",
        ] {
            let (status, reply) = ask(&server, token, None);
            assert_eq!((status, &reply["result"]), (401, &Value::Null), "{token}");
        }
        assert_eq!(records(&project).len(), 6);
        assert_eq!(kept(&project, "ran").as_deref(), Some("x\nx\n"));
        let (_, output, errors) = {
            server.signal(rustix::process::Signal::TERM);
            server.end()
        };
        for token in [TASK, READER] {
            assert!(!output.contains(token) && !errors.contains(token));
        }
    }

    /// A token of an agent says more than the operator's word about the others.
    #[test]
    fn a_shared_token_is_no_agent_but_the_operators() {
        let project = project();
        let server = server(
            &project,
            &["--token-file", "shared", "--agent", "Orchestrator"],
        );
        for (token, agent, is) in [
            (SHARED, None, Some("Orchestrator")),
            (SHARED, Some("TaskAgent"), None),
            (TASK, None, Some("TaskAgent")),
            (TASK, Some("Orchestrator"), None),
            (READER, Some("Orchestrator"), None),
        ] {
            let (status, reply) = ask(&server, token, agent);
            assert_eq!(status, 200, "{reply}");
            let told = &reply["result"]["structuredContent"];
            assert_eq!(told["output_payload"]["agent"].as_str(), is, "{told}");
        }
    }

    /// A client that leaves in the middle of a call with a chosen id leaves an end behind.
    #[test]
    fn a_client_that_leaves_early_leaves_no_id_without_an_end() {
        let project = project();
        skill(&project, "assigned", &json!({}), "sleep 0.05; echo '{}'");
        let server = server(&project, &[]);
        let token = format!("Authorization: Bearer {TASK}");
        let headers = ["Accept: application/json", token.as_str()];
        let message = |id: &str| {
            let arguments = with(
                &arguments("assigned", &json!({})),
                &json!({ "invocation_id": id }),
            );
            let params = json!({ "name": "invoke_skill", "arguments": arguments });
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
                .to_string()
        };
        let ids: Vec<String> = (0..40)
            .map(|it| format!("550e8400-e29b-41d4-a716-4466554401{it:02}"))
            .collect();
        for (at, id) in ids.iter().enumerate() {
            let mut client = server.connect();
            client.send("POST /mcp", &headers, message(id));
            std::thread::sleep(std::time::Duration::from_millis(
                u64::try_from(at).expect("small") * 2,
            ));
        }
        for id in &ids {
            crate::scripts::wait_until(&format!("{id} has ended"), || {
                let reply = server
                    .connect()
                    .ask("POST /mcp", &headers, &message(id))
                    .json();
                let told = &reply["result"]["structuredContent"];
                told["success"].is_boolean()
            });
        }
        let all = records(&project);
        assert!(all.iter().all(|it| it.result.is_some()), "{all:?}");
    }
}
