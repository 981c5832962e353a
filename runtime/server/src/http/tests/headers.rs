//! What headers and messages must say for one another, and what the client accepts.

use serde_json::{Value, json};

use super::kit::{Running, skills};
use crate::testing::{Fake, folder, set};

const V: &str = "MCP-Protocol-Version: 2026-07-28";
const OLD: &str = "MCP-Protocol-Version: 2025-11-25";
const CALL: &str = "Mcp-Method: tools/call";
const SKILL: &str = "Mcp-Name: skill";

const FULL: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
const WITHOUT_CAPABILITIES: &str =
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
const OLD_META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}"#;
const FUTURE: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01","io.modelcontextprotocol/clientCapabilities":{}}"#;
const CLIENT: &str = r#""capabilities":{},"clientInfo":{"name":"t","version":"0"}"#;

const JSON: Option<&str> = Some("application/json");
const EVENTS: Option<&str> = Some("text/event-stream");

/// Headers, a method, its parameters, the status and the code of the error; 0 if there is none.
type Row<'a> = (&'a [&'a str], &'a str, &'a [&'a str], u16, i64);

fn post(server: &Running, row: &Row<'_>) -> (u16, i64) {
    let (headers, method, params, ..) = row;
    let params = params.join(",");
    let message =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#);
    let reply = server.ask("POST /mcp", headers, &message);
    assert_eq!(
        reply.header("content-type"),
        Some("application/json"),
        "{row:?}: {reply:?}"
    );
    let json = reply.json();
    assert_eq!(json["id"], 1, "{row:?}: {reply:?}");
    (reply.status, json["error"]["code"].as_i64().unwrap_or(0))
}

#[test]
fn headers_and_messages_must_agree() {
    let servers = [
        Running::start(skills()),
        Running::start(Fake::slow(set(vec![folder("git", "Git", "\n# Git\n")]))),
    ];
    let call: &[&str] = &[r#""name":"skill","arguments":{"name":"git"}"#, FULL];
    let old_call: &[&str] = &[r#""name":"skill","arguments":{"name":"git"}"#];
    let offer = |version: &str| format!(r#""protocolVersion":"{version}",{CLIENT}"#);
    let (offer_old, offer_new) = (offer("2025-11-25"), offer("2026-07-28"));
    #[rustfmt::skip]
    let rows: &[Row<'_>] = &[
        // Older revisions: no header is needed, and those of 2026-07-28 are ignored.
        (&[], "tools/call", old_call, 200, 0),
        (&[OLD], "tools/call", old_call, 200, 0),
        (&[OLD, "Mcp-Method: ping", "Mcp-Name: x"], "tools/call", old_call, 200, 0),
        (&["MCP-Protocol-Version: 2031-01-01"], "tools/call", old_call, 400, -32022),
        (&["MCP-Protocol-Version: \u{ff}"], "tools/call", old_call, 400, -32020),
        (&[OLD], "ping", &[], 200, 0),
        (&[OLD], "no/such", &[], 200, -32601),
        (&[OLD], "tools/call", &[r#""name":"none""#], 200, -32602),
        // The handshake.
        (&[], "initialize", &[&offer_old], 200, 0),
        (&[OLD], "initialize", &[&offer_old], 200, 0),
        (&[], "initialize", &[&offer_new], 200, 0),
        (&[V], "initialize", &[&offer_new], 200, 0),
        (&[V, "Mcp-Method: initialize"], "initialize", &[&offer_new], 200, 0),
        (&[V, "Mcp-Method: ping"], "initialize", &[&offer_new], 400, -32020),
        (&[V], "initialize", &[&offer_old], 400, -32600),
        (&[OLD], "initialize", &[&offer_new], 400, -32600),
        (&[V, "Mcp-Method: initialize"], "initialize", &[FULL], 404, -32601),
        (&[OLD], "initialize", &[], 200, -32602),
        // 2026-07-28: version, method and name are repeated.
        (&[V, CALL, SKILL], "tools/call", call, 200, 0),
        (&[CALL, SKILL], "tools/call", call, 400, -32020),
        (&[OLD, CALL, SKILL], "tools/call", call, 400, -32020),
        (&["MCP-Protocol-Version: 2031-01-01", CALL, SKILL], "tools/call", call, 400, -32020),
        (&[V, V, CALL, SKILL], "tools/call", call, 400, -32020),
        (&[V], "tools/call", call, 400, -32020),
        (&[V, SKILL], "tools/call", call, 400, -32020),
        (&[V, "Mcp-Method: Tools/call", SKILL], "tools/call", call, 400, -32020),
        (&[V, "Mcp-Method: \u{ff}", SKILL], "tools/call", call, 400, -32020),
        (&[V, CALL, CALL, SKILL], "tools/call", call, 400, -32020),
        (&[V, CALL], "tools/call", call, 400, -32020),
        (&[V, CALL, "Mcp-Name: Skill"], "tools/call", call, 400, -32020),
        (&[V, CALL, SKILL, SKILL], "tools/call", call, 400, -32020),
        (&[V, CALL, "Mcp-Name: =?base64?c2tpbGw=?="], "tools/call", call, 200, 0),
        (&[V, CALL, "Mcp-Name: =?base64?c2tpbGw?="], "tools/call", call, 400, -32020),
        (&[V, CALL, "Mcp-Name: =?base64?!?="], "tools/call", call, 400, -32020),
        (&[V, CALL, SKILL, "Mcp-Param-Name: x"], "tools/call", call, 200, 0),
        (&[V, CALL, SKILL, "Mcp-Session-Id: x", "Last-Event-ID: 7"], "tools/call", call, 200, 0),
        (&[V, "Mcp-Method: skills/list", SKILL], "skills/list", &[FULL], 200, 0),
        (&[V, "Mcp-Method: resources/read"], "resources/read", &[r#""uri":"x""#, FULL], 400, -32020),
        (&[V, "Mcp-Method: resources/read", "Mcp-Name: x"], "resources/read", &[r#""uri":"x""#, FULL], 200, -32602),
        // 2026-07-28: what `_meta` must hold.
        (&[V, "Mcp-Method: tools/list"], "tools/list", &[], 400, -32602),
        (&[V, "Mcp-Method: tools/list"], "tools/list", &[WITHOUT_CAPABILITIES], 400, -32602),
        (&[], "server/discover", &[], 400, -32602),
        (&[OLD], "server/discover", &[OLD_META], 200, 0),
        (&[V, "Mcp-Method: tools/list"], "tools/list", &[FUTURE], 400, -32020),
        (&["MCP-Protocol-Version: 2031-01-01", "Mcp-Method: tools/list"], "tools/list", &[FUTURE], 400, -32022),
        // 2026-07-28: methods, and errors of methods.
        (&[V, "Mcp-Method: no/such"], "no/such", &[FULL], 404, -32601),
        (&[V, "Mcp-Method: ping"], "ping", &[FULL], 404, -32601),
        (&[V, CALL, "Mcp-Name: none"], "tools/call", &[r#""name":"none""#, FULL], 200, -32602),
        (&[V, CALL], "tools/call", &[r#""name":7"#, FULL], 200, -32602),
    ];
    for row in rows {
        for server in &servers {
            assert_eq!(post(server, row), (row.3, row.4), "{row:?}");
        }
    }
}

#[test]
fn notifications_and_responses_have_their_status() {
    let server = Running::start(skills());
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let response = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    let method = "Mcp-Method: notifications/initialized";
    let rows: &[(&[&str], &Value, u16)] = &[
        (&[], &initialized, 202),
        (&[OLD], &initialized, 202),
        (&[V, method], &initialized, 202),
        (&[V], &initialized, 400),
        (&[V, CALL], &initialized, 400),
        (&["MCP-Protocol-Version: x"], &initialized, 400),
        (&[], &response, 400),
        (&["MCP-Protocol-Version: x"], &response, 400),
    ];
    for (headers, message, status) in rows {
        let reply = server.ask("POST /mcp", headers, &message.to_string());
        assert_eq!(reply.status, *status, "{headers:?} {message}: {reply:?}");
        assert_eq!(reply.body.is_empty(), *status == 202, "{reply:?}");
    }
}

#[test]
fn a_client_need_not_accept_both_media_types() {
    let server = Running::start(skills());
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    for (accept, expected) in [
        ("Accept: application/json, text/event-stream", JSON),
        ("Accept: text/event-stream,application/json", JSON),
        ("Accept: APPLICATION/JSON", JSON),
        ("Accept: application/json", JSON),
        ("Accept:", JSON),
        ("Accept: */*", JSON),
        ("Accept: application/*", JSON),
        ("Accept: text/html, */*;q=0.1", JSON),
        ("Accept: application/json;q=high", JSON),
        ("Accept: application/json;profile=\"a,b\", text/html", JSON),
        ("Accept: text/event-stream", EVENTS),
        ("Accept: text/*", EVENTS),
        ("Accept: application/json;q=0, text/event-stream", EVENTS),
        ("Accept: application/json; Q=0.000, */*", EVENTS),
        ("Accept: text/html", None),
        ("Accept: application/jsonx", None),
        ("Accept: application/json;q=0", None),
        ("Accept: */*;q=0", None),
    ] {
        let reply = server.ask("POST /mcp", &[accept], &ping);
        let Some(media_type) = expected else {
            assert_eq!(reply.status, 406, "{accept}: {reply:?}");
            continue;
        };
        assert_eq!(reply.status, 200, "{accept}: {reply:?}");
        assert_eq!(
            reply.header("content-type"),
            expected,
            "{accept}: {reply:?}"
        );
        let json = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let body = match media_type {
            "text/event-stream" => format!("data: {json}\n\n"),
            _ => json.to_owned(),
        };
        assert_eq!(reply.body, body, "{accept}");
    }
    // An error with a status of its own is JSON in any case.
    let reply = server.ask("POST /mcp", &["Accept: text/event-stream"], "{}");
    assert_eq!((reply.status, reply.code()), (400, -32600), "{reply:?}");
}
