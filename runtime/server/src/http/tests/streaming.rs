//! Progress ahead of a response, clients that leave, and parameters that headers repeat, with methods
//! that only this build has.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::{Limits, bind_within};
use super::kit::{Running, legacy, modern, settings, skills};
use crate::{Extra, ExtraCall, ExtraMethod, ExtraResult, Options};

const MOMENT: Duration = Duration::from_millis(50);
const SOON: Duration = Duration::from_millis(300);

static EXTRA: Extra = Extra {
    methods: &[
        ExtraMethod {
            name: "test/progress",
            answer: progress,
        },
        ExtraMethod {
            name: "test/patient",
            answer: patient,
        },
        ExtraMethod {
            name: "test/announced",
            answer: announced,
        },
        ExtraMethod {
            name: "tools/call",
            answer: called,
        },
    ],
    schema,
};

/// Requests of `test/patient` that are being answered.
static WAITING: AtomicUsize = AtomicUsize::new(0);

fn progress<'a>(call: &'a ExtraCall<'a>) -> ExtraResult<'a> {
    Box::pin(async {
        for step in 1..=3 {
            call.notify("notifications/progress", json!({ "progress": step }));
            call.pause(MOMENT).await;
        }
        Ok(json!({ "done": true }))
    })
}

fn patient<'a>(call: &'a ExtraCall<'a>) -> ExtraResult<'a> {
    struct Waiting;
    impl Drop for Waiting {
        fn drop(&mut self) {
            WAITING.fetch_sub(1, Ordering::SeqCst);
        }
    }
    Box::pin(async {
        WAITING.fetch_add(1, Ordering::SeqCst);
        let _waiting = Waiting;
        if call.params["loud"] == true {
            call.notify("notifications/progress", json!({ "progress": 1 }));
        }
        call.pause(Duration::from_secs(3600)).await;
        Ok(Value::Null)
    })
}

/// Takes four times `SOON`, and says so if the parameters ask for it.
fn announced<'a>(call: &'a ExtraCall<'a>) -> ExtraResult<'a> {
    Box::pin(async {
        if call.params["announces"] == true {
            call.announce(Duration::from_secs(3600));
        }
        call.pause(SOON * 4).await;
        Ok(json!({ "done": true }))
    })
}

fn called<'a>(_: &'a ExtraCall<'a>) -> ExtraResult<'a> {
    Box::pin(async { Ok(json!({ "called": true })) })
}

fn schema(tool: &str) -> Option<Value> {
    (tool == "locate").then(|| {
        json!({ "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "place": { "properties": { "floor": { "type": "integer", "x-mcp-header": "Floor" } } },
            "note": { "type": "string" },
        }})
    })
}

fn start() -> Running {
    start_within(Limits::default())
}

fn start_within(limits: Limits) -> Running {
    let options = Options {
        extra: Some(&EXTRA),
        ..Options::default()
    };
    Running::of(bind_within(skills(), options, settings(), limits).unwrap())
}

#[test]
fn progress_is_streamed_ahead_of_the_response() {
    let server = start();
    let message = legacy("test/progress", json!({})).to_string();
    let reply = server.ask("POST /mcp", &[], &message);
    assert_eq!(reply.status, 200, "{reply:?}");
    for (name, value) in [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(reply.header(name), Some(value), "{reply:?}");
    }
    let events: Vec<Value> = reply
        .body
        .split_terminator("\n\n")
        .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
        .collect();
    let steps: Vec<_> = events.iter().map(|it| &it["params"]["progress"]).collect();
    assert_eq!(json!(steps), json!([1, 2, 3, null]));
    assert_eq!(
        events[3],
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "done": true } })
    );
    // The connection can be used again.
    let mut client = server.connect();
    for _ in 0..2 {
        assert!(client.ask("POST /mcp", &[], &message).body.contains("done"));
    }
}

#[test]
fn progress_of_a_tool_is_streamed_to_a_client_that_wants_it() {
    let server = Running::start(skills());
    let params = |meta: &Value| json!({ "name": "refresh_skills", "_meta": meta });
    let wanted = params(&json!({ "progressToken": "t" }));
    let reply = server.post(&legacy("tools/call", wanted.clone()));
    let events: Vec<&str> = reply.body.split_terminator("\n\n").collect();
    let [progress, response] = events.as_slice() else {
        panic!("{reply:?}")
    };
    assert!(
        progress.contains(r#""method":"notifications/progress","params":{"progressToken":"t","#)
    );
    assert!(response.contains("skills_reindexed"));
    let mut modern = modern("tools/call", json!({ "name": "refresh_skills" }));
    modern["params"]["_meta"]["progressToken"] = json!("t");
    let headers = [
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        "Mcp-Name: refresh_skills",
    ];
    let reply = server.ask("POST /mcp", &headers, &modern.to_string());
    assert_eq!(reply.body.matches("notifications/progress").count(), 1);
    let reply = server.post(&legacy("tools/call", params(&json!({}))));
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let no_events = ["Accept: application/json"];
    let message = legacy("tools/call", wanted).to_string();
    let reply = server.ask("POST /mcp", &no_events, &message);
    assert_eq!(reply.header("content-type"), Some("application/json"));
}

#[test]
fn a_client_that_takes_no_events_gets_the_response_alone() {
    let server = start();
    let message = legacy("test/progress", json!({})).to_string();
    let reply = server.ask("POST /mcp", &["Accept: application/json"], &message);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.json()["result"], json!({ "done": true }));
}

#[test]
fn an_answer_that_takes_a_while_is_streamed_to_a_client_that_accepts_events() {
    let server = start_within(Limits {
        until_stream: MOMENT,
        ..Limits::default()
    });
    let message = legacy("test/announced", json!({})).to_string();
    for (accept, kind) in [
        ("application/json, text/event-stream", "text/event-stream"),
        ("text/event-stream", "text/event-stream"),
        ("application/json", "application/json"),
    ] {
        let header = format!("Accept: {accept}");
        let reply = server.ask("POST /mcp", &[&header], &message);
        assert_eq!(reply.header("content-type"), Some(kind), "{reply:?}");
        assert!(
            reply.body.contains(r#""result":{"done":true}"#),
            "{reply:?}"
        );
        // A quick answer stays JSON.
        let reply = server.ask(
            "POST /mcp",
            &[&header],
            &legacy("ping", json!({})).to_string(),
        );
        let is_json = reply.header("content-type") == Some("application/json");
        assert_eq!(is_json, accept.contains("json"), "{reply:?}");
    }
}

/// Scripts announce how long they may take. What does not is cut off as before.
#[test]
fn a_task_may_take_as_long_as_it_has_announced() {
    for until_stream in [MOMENT, Duration::from_secs(3600)] {
        let server = start_within(Limits {
            request: SOON,
            stream: SOON,
            until_stream,
            ..Limits::default()
        });
        for (accept, announces) in [
            ("application/json, text/event-stream", true),
            ("application/json", true),
            ("application/json, text/event-stream", false),
            ("application/json", false),
        ] {
            let params = json!({ "announces": announces });
            let message = legacy("test/announced", params).to_string();
            let header = format!("Accept: {accept}");
            let reply = server.ask("POST /mcp", &[&header], &message);
            let is_stream = reply.header("content-type") == Some("text/event-stream");
            let status = if announces || is_stream { 200 } else { 504 };
            assert_eq!(reply.status, status, "{accept} {announces}: {reply:?}");
            let is_done = reply.body.contains(r#""result":{"done":true}"#);
            assert_eq!(is_done, announces, "{accept}: {reply:?}");
            let is_error = reply.body.contains("the answer took too long");
            assert_eq!(is_error, !announces, "{accept}: {reply:?}");
        }
    }
}

#[test]
fn a_client_that_disconnects_ends_its_request() {
    let server = start();
    for loud in [false, true] {
        let mut client = server.connect();
        client.send(
            "POST /mcp",
            &[],
            legacy("test/patient", json!({ "loud": loud })).to_string(),
        );
        while WAITING.load(Ordering::SeqCst) == 0 {
            thread::sleep(MOMENT);
        }
        drop(client);
        while WAITING.load(Ordering::SeqCst) > 0 {
            thread::sleep(MOMENT);
        }
    }
}

#[test]
fn a_stream_that_takes_too_long_ends_and_its_turn_is_free() {
    let server = start_within(Limits {
        requests: 1,
        stream: MOMENT,
        ..Limits::default()
    });
    let mut client = server.connect();
    let long = legacy("test/progress", json!({})).to_string();
    let reply = client.ask("POST /mcp", &[], &long);
    let last = reply.body.trim_end().rsplit("data: ").next();
    let last: Value = serde_json::from_str(last.expect("an event")).unwrap();
    assert_eq!(
        (&last["id"], &last["error"]["code"]),
        (&json!(1), &json!(-32603))
    );
    let next = client.ask("POST /mcp", &[], &legacy("ping", json!({})).to_string());
    assert_eq!(next.status, 200, "{next:?}");
}

#[test]
fn headers_repeat_the_parameters_that_a_schema_names() {
    let server = start();
    for (arguments, headers, status) in [
        (
            json!({ "region": "eu" }),
            &["Mcp-Param-Region: eu"][..],
            200,
        ),
        (
            json!({ "region": "eu" }),
            &["mcp-param-region: =?base64?ZXU=?="],
            200,
        ),
        (json!({ "region": "eu" }), &["Mcp-Param-Region: us"], 400),
        (
            json!({ "region": "eu" }),
            &["Mcp-Param-Region: =?base64?ZXU?="],
            400,
        ),
        (
            json!({ "region": "eu" }),
            &["Mcp-Param-Region: eu", "Mcp-Param-Region: eu"],
            400,
        ),
        (json!({ "region": "eu" }), &[], 400),
        (json!({}), &["Mcp-Param-Region: eu"], 400),
        (json!({ "region": null }), &[], 200),
        (
            json!({ "place": { "floor": 7 } }),
            &["Mcp-Param-Floor: 7"],
            200,
        ),
        (json!({ "place": { "floor": 7 } }), &[], 400),
        (json!({ "note": "x" }), &["Mcp-Param-Note: y"], 200),
    ] {
        let params = json!({ "name": "locate", "arguments": arguments });
        let message = modern("tools/call", params).to_string();
        let mut all = vec![
            "MCP-Protocol-Version: 2026-07-28",
            "Mcp-Method: tools/call",
            "Mcp-Name: locate",
        ];
        all.extend(headers);
        let reply = server.ask("POST /mcp", &all, &message);
        assert_eq!(reply.status, status, "{arguments} {headers:?}: {reply:?}");
        if status == 400 {
            assert_eq!(reply.code(), -32020, "{reply:?}");
        }
    }
}
