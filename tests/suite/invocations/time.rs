//! Whose time is up: the contract's, the caller's, or the operator's, whichever is least.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{arguments, assert_recorded, invoked, serve, skill, with};
use crate::project::Project;
use crate::scripts::{is_alive, own_time, wait_until};

#[test]
fn the_least_of_three_limits_ends_a_handler_and_what_it_has_started() {
    let time = own_time();
    let script = format!("setsid sleep {time} &\nsleep {time}\n");
    let project = Project::new();
    // This one does not heed the request to end, which takes seconds.
    let stubborn = format!("trap '' TERM\n{script}");
    skill(
        &project,
        "stubborn",
        &json!({ "timeout_seconds": 1 }),
        &stubborn,
    );
    skill(&project, "short", &json!({ "timeout_seconds": 1 }), &script);
    skill(
        &project,
        "long",
        &json!({ "timeout_seconds": 300 }),
        &script,
    );
    for (skill, asked, set, seconds) in [
        ("stubborn", Value::Null, "scripts.timeout_seconds=60", "1"),
        ("short", json!(300), "scripts.timeout_seconds=60", "1"),
        ("long", json!(1), "scripts.timeout_seconds=60", "1"),
        ("long", json!(300), "scripts.timeout_seconds=2", "2"),
    ] {
        let mut session = serve(&project, &["--set", set]);
        let mut ask = arguments(skill, &json!({}));
        if !asked.is_null() {
            ask = with(&ask, &json!({ "timeout_seconds": asked }));
        }
        let told = invoked(&mut session, &ask);
        assert_eq!(told["status"], "timeout", "{told}");
        assert_eq!(told["failure_code"], "TIMEOUT", "{told}");
        assert_eq!(
            told["failure_message"],
            format!("Operation timed out after {seconds}s")
        );
        assert_eq!(told["severity"], "recoverable");
        assert_eq!(assert_recorded(&project, &told), None);
        wait_until("nothing is left", || !is_alive(&time));
        session.finish();
    }
}

/// A handler that is done in time is a success, whatever it has left behind; that is killed.
#[test]
fn a_daemon_of_a_handler_is_killed_with_it() {
    let time = own_time();
    let script = format!(
        "setsid sleep {time} < /dev/null > /dev/null 2>&1 &\nsetsid sleep {time} &\necho '{{}}'\n"
    );
    let project = super::with_skill(&json!({}), &script);
    let mut session = serve(&project, &[]);
    let told = invoked(&mut session, &arguments("it", &json!({})));
    assert_eq!(told["success"], true, "{told}");
    wait_until("no daemon is left", || !is_alive(&time));
    session.finish();
    let mut command = project.command();
    command.args([
        "invoke",
        "it",
        "content",
        "--input",
        "{}",
        "--script-data",
        "data",
    ]);
    let status = command.stdout(Stdio::null()).status().expect("it starts");
    assert!(status.success());
    wait_until("no daemon is left", || !is_alive(&time));
}
