//! Many at once, too many, and handlers that write or fork without end.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    arguments, assert_recorded, checked, invoke, invoked, kept, records, serve, skill, with,
    with_skill,
};
use crate::project::Session;
use crate::scripts::wait_until;

fn send(session: &mut Session, id: u64, arguments: &Value) {
    let params = json!({ "name": "invoke_skill", "arguments": arguments });
    session.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
}

/// Every call runs or waits; those beyond are told to come back, and the server answers others
/// meanwhile.
#[test]
fn what_is_beyond_the_queue_is_told_to_come_back() {
    const CALLS: u64 = 48;
    let script =
        "echo x >> $SKILL_DATA/began; until [ -e $SKILL_DATA/go ]; do sleep 0.05; done; echo '{}'";
    let project = with_skill(&json!({}), script);
    let mut session = serve(&project, &[]);
    let named = |id: u64| {
        let named = format!("550e8400-e29b-41d4-a716-4466554402{id:02}");
        with(
            &arguments("it", &json!({ "id": id })),
            &json!({ "invocation_id": named }),
        )
    };
    for id in 0..CALLS {
        send(&mut session, id, &named(id));
    }
    let busy = session.reply();
    let told = checked(&busy["result"], &busy);
    assert_eq!(told["failure_code"], "RATE_EXCEEDED", "{told}");
    assert_eq!(
        told["failure_message"],
        "Rate limit exceeded. Retry after 1s"
    );
    assert_eq!(told["severity"], "recoverable");
    let reason = assert_recorded(&project, &told).expect("a reason");
    assert!(reason.contains("scripts run"), "{reason}");
    wait_until("some run", || kept(&project, "began").is_some());
    project.file("data/go", "");
    let mut ended = BTreeSet::from([busy["id"].as_u64().expect("an id")]);
    let mut succeeded = 0;
    while (ended.len() as u64) < CALLS {
        let reply = session.reply();
        let told = checked(&reply["result"], &reply);
        match told["failure_code"].as_str() {
            None => succeeded += 1,
            Some(code) => assert_eq!(code, "RATE_EXCEEDED", "{told}"),
        }
        assert!(
            ended.insert(reply["id"].as_u64().expect("an id")),
            "{reply}"
        );
    }
    assert_eq!(
        kept(&project, "began").map(|it| it.lines().count()),
        Some(succeeded)
    );
    // The id that was turned away is free.
    let again = named(busy["id"].as_u64().expect("an id"));
    let told = invoked(&mut session, &again);
    assert_eq!(told["success"], true, "{told}");
    assert_eq!(told["replayed"], Value::Null, "{told}");
    session.finish();
    assert_eq!(records(&project).len() as u64, CALLS + 1);
    assert!(records(&project).iter().all(|it| it.result.is_some()));
}

/// Eight servers on one journal and one data directory, as eight clients start them.
#[test]
fn eight_clients_at_once_get_each_their_own_result() {
    const CALLS: usize = 4;
    let project = with_skill(&json!({}), "cat");
    let threads: Vec<_> = (0..8)
        .map(|client| {
            let mut command = project.command();
            command.args(["serve", "content", "--script-data", "data"]);
            std::thread::spawn(move || {
                let mut session = Session::start(command);
                session.initialize(crate::project::LEGACY);
                for call in 0..CALLS {
                    let input = json!({ "client": client, "call": call });
                    let told = invoke(&mut session, "it", &input);
                    assert_eq!(told["output_payload"], input, "{told}");
                }
                let ended = session.finish();
                assert_eq!(ended.code, Some(0));
                let is_lost = ended.stderr.contains("not recorded");
                assert!(!is_lost, "{}", ended.stderr);
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    let all = records(&project);
    assert_eq!(all.len(), 8 * CALLS);
    for record in all {
        let result = record.result.expect("it has ended");
        assert_eq!(result.output, Some(record.invocation.input));
    }
}

/// Handlers that go too far, words of what the journal says of it.
const TOO_FAR: &[(&str, &str)] = &[
    (
        "head -c 1000000000 /dev/zero",
        "more than `scripts.max_output_bytes` allows",
    ),
    (
        "printf '{\"a\": \"'; head -c 3000000 /dev/zero | tr '\\0' x; echo '\"}'",
        "more than `scripts.max_output_bytes` allows",
    ),
    ("head -c 1000000000 /dev/zero >&2; exit 1", "exit code 1"),
    (
        "exec < /dev/null > /dev/null; exit 0",
        "not one JSON object",
    ),
    ("exec 1>&-; exit 0", "not one JSON object"),
];

#[test]
#[cfg(target_os = "linux")]
fn a_handler_that_goes_too_far_costs_the_server_nothing() {
    let project = crate::project::Project::new();
    for (at, (script, _)) in TOO_FAR.iter().enumerate() {
        skill(
            &project,
            &format!("far_{at}"),
            &json!({ "timeout_seconds": 60 }),
            script,
        );
    }
    let mut session = serve(&project, &[]);
    for (at, (script, words)) in TOO_FAR.iter().enumerate() {
        let told = invoke(&mut session, &format!("far_{at}"), &json!({}));
        assert_eq!(told["failure_code"], "INTERNAL_ERROR", "{script}: {told}");
        let reason = assert_recorded(&project, &told).expect("a reason");
        assert!(reason.contains(words), "{script}: {reason}");
        assert!(reason.len() < 8 * 1024, "{script}: {}", reason.len());
    }
    // In KiB; what was written is a million.
    assert!(session.memory("VmHWM") < 200_000);
    session.finish();
}
