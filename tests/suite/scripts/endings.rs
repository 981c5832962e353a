//! Progress while a script runs, and how it ends when its caller no longer wants it: nothing that it
//! has started survives, and what can still be answered is.
#![cfg(target_os = "linux")]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{LONG, call, is_alive, own_time, serve, wait_until, with_script};
use crate::project::{LEGACY, Session};
use skillbundle_testkit::Client;

/// A script that sleeps for longer than any test, and starts a daemon that does, too. Neither heeds
/// the request to end.
fn stubborn(time: &str) -> String {
    format!("trap '' TERM\nsetsid sleep {time} &\necho ready\nsleep {time}\n")
}

/// Calls the script of `it` and does not wait.
fn begin(session: &mut Session, progress_token: Option<&str>) {
    let mut params = json!({ "name": "run_script", "arguments": call("it", &json!({})) });
    if let Some(token) = progress_token {
        params["_meta"] = json!({ "progressToken": token });
    }
    session.send(
        &json!({ "jsonrpc": "2.0", "id": "script", "method": "tools/call", "params": params }),
    );
}

fn signal(id: u32, signal: Signal) {
    let id = i32::try_from(id).expect("an id");
    kill_process(Pid::from_raw(id).expect("an id"), signal).expect("it runs");
}

#[test]
fn a_client_that_wants_progress_gets_the_last_line() {
    let script = "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.5; done";
    for token in [Some("token"), None] {
        let project = with_script(script);
        let mut session = serve(&project, &[]);
        begin(&mut session, token);
        let mut messages: Vec<Value> = Vec::new();
        while messages.last().is_none_or(|it| it["id"] != "script") {
            messages.push(session.reply());
        }
        let response = messages.pop().expect("a response");
        assert_eq!(
            response["result"]["structuredContent"]["success"], true,
            "{response}"
        );
        if token.is_none() {
            assert!(messages.is_empty(), "{messages:?}");
            continue;
        }
        assert!(messages.len() >= 2, "{messages:?}");
        let mut before = 0.0;
        for notification in &messages {
            assert_eq!(notification["method"], "notifications/progress");
            let params = &notification["params"];
            assert_eq!(params["progressToken"], "token");
            let progress = params["progress"].as_f64().expect("a number");
            assert!(progress > before, "{messages:?}");
            before = progress;
        }
        let last = messages.last().expect("one")["params"]["message"].clone();
        assert!(
            last.as_str().is_some_and(|it| it.starts_with("line ")),
            "{last}"
        );
        session.finish();
    }
}

/// What a caller can do to a script that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    Cancel,
    CloseBoth,
    Terminate,
    Interrupt,
    Kill,
}

#[test]
fn a_script_whose_caller_leaves_is_gone_with_all_it_started() {
    for leave in [
        Leave::Cancel,
        Leave::CloseBoth,
        Leave::Terminate,
        Leave::Interrupt,
        Leave::Kill,
    ] {
        let time = own_time();
        let project = with_script(&stubborn(&time));
        let mut command = project.command();
        command.args(["serve", "content"]).args(LONG);
        let mut session = Session::over(Client::start_inline(command));
        session.initialize(LEGACY);
        begin(&mut session, None);
        wait_until("the script runs", || is_alive(&time));
        let id = session.id();
        match leave {
            Leave::Cancel => session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "script" } })),
            Leave::CloseBoth => {
                session.close_stdout();
                session.close();
            }
            Leave::Terminate => signal(id, Signal::TERM),
            Leave::Interrupt => signal(id, Signal::INT),
            Leave::Kill => signal(id, Signal::KILL),
        }
        wait_until(&format!("{leave:?} ends the script"), || !is_alive(&time));
        if leave == Leave::Cancel {
            // Nothing was sent for it: the next message answers the next request.
            let text = session.tool_text("get_skill", &json!({ "context": "zebrait" }));
            assert!(text.contains("Text of it"), "{text}");
            session.close();
        }
        session.wait();
    }
}

#[test]
fn a_client_that_closes_stdin_still_gets_the_result_of_a_short_script() {
    let project = with_script("sleep 1; echo late");
    let mut session = serve(&project, &[]);
    begin(&mut session, None);
    session.close();
    let reply = session.reply();
    assert_eq!(
        reply["result"]["structuredContent"]["stdout"], "late\n",
        "{reply}"
    );
    assert!(session.message().is_none());
    assert_eq!(session.wait().code, Some(0));
}

#[test]
fn a_long_script_does_not_keep_a_server_whose_client_has_gone() {
    let time = own_time();
    let project = with_script(&stubborn(&time));
    let mut session = serve(&project, &LONG);
    begin(&mut session, None);
    wait_until("the script runs", || is_alive(&time));
    session.close();
    session.wait();
    wait_until("the script is gone", || !is_alive(&time));
}
