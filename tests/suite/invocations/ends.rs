//! Callers and servers that leave in the middle: nothing survives, and the journal says how far it
//! came.
#![cfg(target_os = "linux")]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{arguments, records, refused, serve, with, with_skill};
use crate::project::{LEGACY, Project, Session};
use crate::scripts::{is_alive, own_time, wait_until};
use skillbundle_testkit::Client;

pub(super) const ID: &str = "550e8400-e29b-41d4-a716-446655440000";

/// Options under which no handler runs out of time before a test gives up.
const LONG: [&str; 2] = ["--set", "scripts.timeout_seconds=300"];

/// A project whose handler sleeps, with a daemon.
fn sleeping(time: &str) -> Project {
    let script = format!("setsid sleep {time} &\nsleep {time}\n");
    with_skill(&json!({ "timeout_seconds": 300 }), &script)
}

fn named() -> Value {
    with(
        &arguments("it", &json!({})),
        &json!({ "invocation_id": ID }),
    )
}

/// Invokes `it` and does not wait.
fn begin(session: &mut Session) {
    let params = json!({ "name": "invoke_skill", "arguments": named() });
    session
        .send(&json!({ "jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": params }));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    Cancel,
    CloseStdin,
    CloseBoth,
    Terminate,
    Kill,
}

#[test]
fn whoever_leaves_the_handler_is_gone_and_the_journal_says_so() {
    for leave in [
        Leave::Cancel,
        Leave::CloseStdin,
        Leave::CloseBoth,
        Leave::Terminate,
        Leave::Kill,
    ] {
        let time = own_time();
        let project = sleeping(&time);
        let mut command = project.command();
        command.args(["serve", "content"]).args(LONG);
        let mut session = Session::over(Client::start_inline(command));
        session.initialize(LEGACY);
        begin(&mut session);
        wait_until("the handler runs", || is_alive(&time));
        let signal = |signal| {
            let id = i32::try_from(session.id()).expect("an id");
            kill_process(Pid::from_raw(id).expect("an id"), signal).expect("it runs");
        };
        match leave {
            Leave::Cancel => session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "call" } })),
            Leave::CloseStdin => session.close(),
            Leave::CloseBoth => {
                session.close_stdout();
                session.close();
            }
            Leave::Terminate => signal(Signal::TERM),
            Leave::Kill => signal(Signal::KILL),
        }
        wait_until(&format!("{leave:?} ends the handler"), || !is_alive(&time));
        if leave == Leave::Cancel {
            wait_until("it is recorded", || records(&project)[0].result.is_some());
            // The same call again gets the end of the first.
            let told = super::invoked(&mut session, &named());
            assert_eq!(told["failure_code"], "INTERNAL_ERROR", "{told}");
            assert_eq!(told["replayed"], true, "{told}");
            session.close();
        }
        session.wait();
        let all = records(&project);
        assert_eq!(all.len(), 1, "{leave:?}: {all:?}");
        if leave == Leave::Kill {
            assert_eq!(all[0].status.as_str(), "running");
            let mut session = serve(&project, &LONG);
            refused(
                &mut session,
                &named(),
                "invocation_unfinished",
                "its server ended before it did",
            );
            assert!(!is_alive(&time), "it is not run again");
            session.finish();
            continue;
        }
        assert_eq!(all[0].status.as_str(), "failed", "{leave:?}: {all:?}");
        let result = all[0].result.as_ref().expect("a result");
        assert_eq!(result.failure_code.as_deref(), Some("INTERNAL_ERROR"));
        let reason = result.internal_detail.as_deref().unwrap_or_default();
        let is_told = ["cancelled by the caller", "the caller was gone"];
        assert!(
            is_told.iter().any(|it| reason.contains(it)),
            "{leave:?}: {reason}"
        );
    }
}

/// At whatever moment it is cancelled, an invocation ends, and so does its id.
#[test]
fn a_call_that_is_cancelled_early_keeps_no_id() {
    let project = with_skill(&json!({}), "sleep 0.05; echo '{}'");
    let mut session = serve(&project, &[]);
    let ids: Vec<String> = (0..40)
        .map(|it| format!("550e8400-e29b-41d4-a716-4466554400{it:02}"))
        .collect();
    for (at, id) in ids.iter().enumerate() {
        let arguments = with(&named(), &json!({ "invocation_id": id }));
        let params = json!({ "name": "invoke_skill", "arguments": arguments });
        session
            .send(&json!({ "jsonrpc": "2.0", "id": at, "method": "tools/call", "params": params }));
        std::thread::sleep(std::time::Duration::from_micros(
            u64::try_from(at).expect("small") * 700,
        ));
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": at } }));
    }
    // Those that were done in time have answered.
    session.send(&json!({ "jsonrpc": "2.0", "id": "last", "method": "ping" }));
    while session.reply()["id"] != "last" {}
    for id in &ids {
        let arguments = with(&named(), &json!({ "invocation_id": id }));
        let mut reply = Value::Null;
        wait_until(&format!("{id} has ended"), || {
            let params = json!({ "name": "invoke_skill", "arguments": arguments });
            session.send(
                &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }),
            );
            // Replies to those that came too late to be cancelled may come between.
            reply = session.reply();
            while reply["id"] != *id {
                reply = session.reply();
            }
            reply["result"]["structuredContent"]["code"] != "invocation_unfinished"
        });
        assert!(
            reply["result"]["structuredContent"]["success"].is_boolean(),
            "{reply}"
        );
    }
    session.finish();
    let all = records(&project);
    assert!(all.iter().all(|it| it.result.is_some()), "{all:?}");
}

/// Over HTTP a client leaves by closing its connection.
#[test]
#[cfg(feature = "http")]
fn over_http_whoever_leaves_the_journal_says_so() {
    for ends in [None, Some(Signal::TERM), Some(Signal::KILL)] {
        let time = own_time();
        let project = sleeping(&time);
        let mut command = project.command();
        command
            .args(["serve", "content", "--http", ":0"])
            .args(LONG);
        let server = crate::http::Running::start(command);
        let mut client = server.connect();
        let params = json!({ "name": "invoke_skill", "arguments": named() });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        client.send("POST /mcp", &[], call.to_string());
        wait_until("the handler runs", || is_alive(&time));
        match ends {
            None => drop(client),
            Some(signal) => server.signal(signal),
        }
        wait_until(&format!("{ends:?}: the handler is gone"), || {
            !is_alive(&time)
        });
        if ends.is_none() {
            wait_until("it is recorded", || records(&project)[0].result.is_some());
        } else {
            server.end();
        }
        let all = records(&project);
        assert_eq!(all.len(), 1, "{ends:?}: {all:?}");
        let is_killed = ends == Some(Signal::KILL);
        let expected = if is_killed { "running" } else { "failed" };
        assert_eq!(all[0].status.as_str(), expected, "{ends:?}: {all:?}");
        assert_eq!(all[0].result.is_some(), !is_killed);
    }
}
