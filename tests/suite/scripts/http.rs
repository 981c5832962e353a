//! Scripts over HTTP: JSON for a quick one, events for one that takes a while, and an end when the
//! client leaves.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{LONG, call, is_alive, own_time, wait_until, with_script};
use crate::http::Running;
use crate::project::Project;

const EITHER: &str = "Accept: application/json, text/event-stream";

fn server(project: &Project) -> Running {
    let mut command = project.command();
    command
        .args(["serve", "content", "--http", ":0"])
        .args(LONG);
    Running::start(command)
}

fn message(progress_token: Option<&str>) -> String {
    let mut params = json!({ "name": "run_script", "arguments": call("it", &json!({})) });
    if let Some(token) = progress_token {
        params["_meta"] = json!({ "progressToken": token });
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// The messages of a stream of events; comments are left out.
fn events(body: &str) -> Vec<Value> {
    let lines = body.lines().filter_map(|line| line.strip_prefix("data: "));
    lines
        .map(|it| serde_json::from_str(it).expect("JSON"))
        .collect()
}

#[test]
fn a_script_is_answered_with_json_or_with_events() {
    for (script, accept, kind) in [
        ("echo out", EITHER, "application/json"),
        ("echo out", "Accept: text/event-stream", "text/event-stream"),
        ("sleep 2; echo out", EITHER, "text/event-stream"),
        (
            "sleep 2; echo out",
            "Accept: application/json",
            "application/json",
        ),
    ] {
        let project = with_script(script);
        let server = server(&project);
        // The skills are loaded, and the runner is found.
        let warm = server
            .connect()
            .ask("POST /mcp", &["Accept: application/json"], &message(None));
        assert_eq!(warm.status, 200, "{warm:?}");
        let reply = server.connect().ask("POST /mcp", &[accept], &message(None));
        assert_eq!(reply.status, 200, "{reply:?}");
        // A busy machine may take a second for a quick script.
        if !script.starts_with("echo") {
            assert_eq!(
                reply.header("content-type"),
                Some(kind),
                "{script} {accept}"
            );
        }
        let response = match reply.header("content-type") {
            Some("application/json") => reply.json(),
            _ => events(&reply.body).pop().expect("an event"),
        };
        assert_eq!(
            response["result"]["structuredContent"]["stdout"], "out\n",
            "{response}"
        );
    }
}

#[test]
fn progress_is_streamed_while_a_script_runs() {
    let project = with_script("for i in 1 2 3 4 5 6; do echo line $i; sleep 0.5; done");
    let server = server(&project);
    let reply = server
        .connect()
        .ask("POST /mcp", &[EITHER], &message(Some("t")));
    let events = events(&reply.body);
    let progress = events
        .iter()
        .filter(|it| it["params"]["progressToken"] == "t");
    assert!(progress.count() >= 2, "{events:?}");
    let last = events.last().expect("a response");
    assert_eq!(
        last["result"]["structuredContent"]["exit_code"], 0,
        "{last}"
    );
}

#[test]
#[cfg(target_os = "linux")]
fn a_script_ends_when_its_client_leaves_or_the_server_ends() {
    for ends in [None, Some(Signal::TERM), Some(Signal::KILL)] {
        for accept in [EITHER, "Accept: application/json"] {
            let time = own_time();
            let project = with_script(&format!("trap '' TERM; setsid sleep {time} & sleep {time}"));
            let server = server(&project);
            let mut client = server.connect();
            client.send("POST /mcp", &[accept], message(None));
            wait_until("the script runs", || is_alive(&time));
            match ends {
                None => drop(client),
                Some(signal) => server.signal(signal),
            }
            wait_until(&format!("{ends:?}: the script is gone"), || {
                !is_alive(&time)
            });
        }
    }
}

/// What a script wrote can be read in another request, since nothing is bound to a connection.
#[test]
fn binary_output_is_read_in_a_request_of_its_own() {
    let project = with_script("printf '\\377'");
    let server = server(&project);
    let reply = server
        .connect()
        .ask("POST /mcp", &["Accept: application/json"], &message(None));
    let uri = reply.json()["result"]["content"][1]["uri"].clone();
    let read =
        json!({ "jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": { "uri": uri } });
    let reply = server.connect().ask(
        "POST /mcp",
        &["Accept: application/json"],
        &read.to_string(),
    );
    assert_eq!(
        reply.json()["result"]["contents"][0]["blob"],
        "/w==",
        "{reply:?}"
    );
}

/// At whatever moment it leaves: while the script is planned, waits, is started, or runs.
#[test]
#[cfg(target_os = "linux")]
fn a_client_that_leaves_early_leaves_no_script() {
    let time = own_time();
    let project = with_script(&format!("sleep {time}"));
    let server = server(&project);
    for pause in 0..60 {
        let mut client = server.connect();
        client.send("POST /mcp", &[EITHER], message(None));
        std::thread::sleep(Duration::from_millis(pause));
    }
    // Not before the last one had its chance to start.
    let params = json!({ "name": "skill", "arguments": { "name": "it" } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let reply = server
        .connect()
        .ask("POST /mcp", &[EITHER], &call.to_string());
    assert_eq!(reply.status, 200, "{reply:?}");
    for _ in 0..10 {
        wait_until("no script is left", || !is_alive(&time));
        std::thread::sleep(Duration::from_millis(20));
    }
}
