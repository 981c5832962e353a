//! Answers: both eras without a session, errors with the texts used over stdin, and the two health
//! checks.

use serde_json::{Value, json};
use skillbundle_format::write;

use super::kit::{Running, call, legacy, skills};
use crate::Embedded;
use crate::testing::{Fake, connected, folder, set};

#[test]
fn a_client_of_2026_07_28_needs_no_handshake() {
    let server = Running::start(skills());
    let discovered = server.post_modern("server/discover", None, json!({}));
    assert_eq!(discovered.status, 200, "{discovered:?}");
    let result = discovered.json()["result"].clone();
    assert!(result["supportedVersions"].is_array(), "{result}");

    let listed = server.post_modern("tools/list", None, json!({})).json()["result"].clone();
    assert_eq!(listed["resultType"], "complete");
    assert!(listed["ttlMs"].is_u64(), "{listed}");

    let params = json!({ "name": "skill", "arguments": { "name": "git" } });
    let called = server.post_modern("tools/call", Some("skill"), params);
    assert_eq!(called.header("content-type"), Some("application/json"));
    assert_eq!(called.header("mcp-session-id"), None);
    assert!(called.body.contains("# Git"), "{called:?}");
}

#[test]
fn an_older_client_initializes_and_goes_on_without_a_session() {
    let server = Running::start(skills());
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
        let opened = server.post(&legacy("initialize", params));
        assert_eq!(opened.status, 200, "{opened:?}");
        assert_eq!(opened.header("mcp-session-id"), None, "{opened:?}");
        assert_eq!(opened.json()["result"]["protocolVersion"], version);

        let told = server.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!((told.status, told.body.as_str()), (202, ""), "{told:?}");

        let header = format!("MCP-Protocol-Version: {version}");
        let list = legacy("tools/list", json!({})).to_string();
        let listed = server.ask("POST /mcp", &[&header], &list).json()["result"].clone();
        assert!(listed["tools"].is_array(), "{listed}");
        assert!(listed["ttlMs"].is_null(), "{listed}");

        let header = [header.as_str(), "Mcp-Session-Id: of-another-server"];
        let called = server.ask("POST /mcp", &header, &call("skill").to_string());
        assert!(called.body.contains("# Git"), "{called:?}");
    }
}

#[test]
fn a_connection_is_used_again() {
    let server = Running::start(skills());
    let mut client = server.connect();
    let message = call("skill").to_string();
    for _ in 0..3 {
        assert_eq!(client.ask("POST /mcp", &[], &message).status, 200);
    }
    client.send("POST /mcp", &[], &message);
    client.send("GET /healthz", &[], "");
    assert!(client.response().unwrap().body.contains("# Git"));
    assert!(client.response().unwrap().body.contains("ok"));
}

#[test]
fn only_posts_of_json_are_served() {
    let server = Running::start(skills());
    let message = call("skill").to_string();
    for (line, headers, status) in [
        ("GET /mcp", &[][..], 405),
        ("DELETE /mcp", &[], 405),
        ("PUT /mcp", &[], 405),
        ("OPTIONS /mcp", &[], 405),
        ("POST /", &[], 404),
        ("POST /mcp/", &[], 404),
        ("GET /skills", &[], 404),
        ("POST /mcp", &["Content-Type: text/plain"], 415),
        ("POST /mcp", &["Content-Type:"], 415),
        (
            "POST /mcp",
            &["Content-Type: application/json; charset=utf-8"],
            200,
        ),
        ("POST /mcp", &["Accept: text/html"], 406),
        ("POST /mcp?x=1", &[], 200),
    ] {
        let reply = server.ask(line, headers, &message);
        assert_eq!(reply.status, status, "{line} {headers:?}: {reply:?}");
        if line.ends_with(" /mcp") && status == 405 {
            assert_eq!(reply.header("allow"), Some("POST"));
        }
    }
}

/// Bodies that are not valid requests, with their status and code.
const BROKEN: &[(&str, u16, i64)] = &[
    ("garbage", 400, -32700),
    ("", 400, -32700),
    ("{", 400, -32700),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud800"}}"#,
        400,
        -32700,
    ),
    ("{}", 400, -32600),
    (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, 400, -32600),
    (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, -32600),
    (
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        400,
        -32600,
    ),
    (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 400, -32600),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
        200,
        -32602,
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}"#,
        200,
        -32602,
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skill","arguments":"x"}}"#,
        200,
        -32602,
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no-such-tool"}}"#,
        200,
        -32602,
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":1}}"#,
        200,
        -32602,
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":true}"#,
        200,
        -32602,
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
        200,
        -32602,
    ),
    (
        r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#,
        200,
        -32601,
    ),
];

#[test]
fn broken_messages_are_answered_as_over_stdin() {
    let server = Running::start(skills());
    for (body, status, code) in BROKEN {
        let reply = server.ask("POST /mcp", &[], body);
        assert_eq!(
            (reply.status, reply.code()),
            (*status, *code),
            "{body}: {reply:?}"
        );
    }
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for (method, status, code) in [("no/such", 200, -32601), ("tools/call", 400, -32700)] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"name":"skill","arguments":{{"a":{deep}}}}}}}"#
        );
        let reply = server.ask("POST /mcp", &[], &message);
        assert_eq!((reply.status, reply.code()), (status, code), "{reply:?}");
        assert_eq!(reply.json()["id"], 1, "{reply:?}");
    }
    assert_eq!(server.post(&call("skill")).status, 200, "it still serves");
}

#[test]
fn wrong_parameters_get_the_same_error_over_stdin() {
    let server = Running::start(skills());
    let mut piped = connected(skills());
    for params in [
        json!({ "name": 7 }),
        json!({}),
        json!({ "name": "skill", "arguments": [] }),
    ] {
        let over_http = server.post(&legacy("tools/call", params.clone())).json();
        let over_stdin = piped.request("tools/call", params);
        assert_eq!(over_http["error"], over_stdin["error"]);
    }
}

#[test]
fn a_method_that_is_unknown_is_not_found_in_the_modern_era() {
    let server = Running::start(skills());
    let reply = server.post_modern("no/such", None, json!({}));
    assert_eq!((reply.status, reply.code()), (404, -32601), "{reply:?}");
    let reply = server.post_modern("initialize", None, json!({}));
    assert_eq!((reply.status, reply.code()), (404, -32601), "{reply:?}");
    let reply = server.post_modern("tools/call", None, json!({ "name": 7 }));
    assert_eq!(reply.code(), -32602, "{reply:?}");
}

#[test]
fn a_panic_in_a_tool_is_answered_and_the_next_call_works() {
    let server = Running::start(skills());
    let reply = server.post(&call("panics"));
    assert_eq!((reply.status, reply.code()), (200, -32603), "{reply:?}");
    assert!(!reply.body.contains("a fault in a tool"), "{reply:?}");
    assert!(server.post(&call("skill")).body.contains("# Git"));
}

#[test]
fn health_checks_say_no_more_than_needed() {
    let source = skills();
    source.break_down(Some("/secret/place: no such directory"));
    let server = Running::start(source.clone());
    let alive = server.ask("GET /healthz", &[], "");
    assert_eq!(
        (alive.status, alive.json()),
        (200, json!({ "status": "ok" }))
    );

    let reply = server.ask("GET /readyz", &[], "");
    assert_eq!(
        (reply.status, &reply.json()["status"]),
        (503, &Value::from("not ready"))
    );
    assert!(!reply.body.contains("secret"), "{reply:?}");

    source.break_down(None);
    let reply = server.ask("GET /readyz", &[], "");
    assert_eq!(
        (reply.status, reply.json()),
        (200, json!({ "status": "ready" }))
    );
    assert_eq!(server.ask("POST /readyz", &[], "").status, 405);
}

#[test]
fn a_load_under_way_does_not_delay_health_checks() {
    let source = Fake::slow(set(vec![folder("git", "Git workflow", "\n# Git\n")]));
    source.close_gate();
    let server = Running::start(source.clone());
    let reply = server.ask("GET /readyz", &[], "");
    assert_eq!(reply.status, 503, "{reply:?}");
    assert_eq!(server.ask("GET /healthz", &[], "").status, 200);
    source.open_gate();
    assert!(server.post(&call("skill")).body.contains("# Git"));
    assert_eq!(server.ask("GET /readyz", &[], "").status, 200);
}

#[test]
fn readyz_shows_the_digest_of_embedded_skills() {
    let bytes = write(&set(vec![folder("git", "Git workflow", "\n# Git\n")])).unwrap();
    let bytes: &'static [u8] = Box::leak(bytes.into_boxed_slice());
    let server = Running::start(Embedded::new(bytes));
    let reply = server.ask("GET /readyz", &[], "").json();
    let digest = skillbundle_format::Bundle::from_bytes(bytes)
        .unwrap()
        .content_hex();
    assert_eq!(reply, json!({ "status": "ready", "bundle": digest }));
}
