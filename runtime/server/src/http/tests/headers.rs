//! What is answered without rmcp is what rmcp would have answered: the same
//! requests, with right and wrong heads, over skills that may take waiting and
//! over skills that never do.

use serde_json::json;

use super::kit::{Reply, Running, legacy, modern};
use crate::testing::{Fake, folder, set};

const MODERN: &str = "MCP-Protocol-Version: 2026-07-28";

/// A method, its parameters, and the name that its head must say.
const REQUESTS: &[(&str, &str, Option<&str>)] = &[
    ("tools/list", "{}", None),
    ("tools/list", r#"{"cursor":"x"}"#, None),
    (
        "tools/call",
        r#"{"name":"skill","arguments":{"name":"git"}}"#,
        Some("skill"),
    ),
    (
        "tools/call",
        r#"{"name":"skill","arguments":{"name":"gti"}}"#,
        Some("skill"),
    ),
    ("tools/call", r#"{"name":"no_such"}"#, Some("no_such")),
    ("tools/call", r#"{"name":"panics"}"#, Some("panics")),
    ("skills/list", "{}", None),
    ("skills/list", r#"{"cursor":"x"}"#, None),
    ("skills/get", r#"{"uri":"skill://git/SKILL.md"}"#, None),
    ("skills/get", r#"{"uri":"skill://no/SKILL.md"}"#, None),
    (
        "resources/read",
        r#"{"uri":"skill://git/SKILL.md"}"#,
        Some("skill://git/SKILL.md"),
    ),
    (
        "resources/read",
        r#"{"uri":"skill://no/SKILL.md"}"#,
        Some("skill://no/SKILL.md"),
    ),
];

/// Heads that leave a question: each is put in the place of the right one.
const ODD: &[&[&str]] = &[
    &[],
    &["MCP-Protocol-Version: 2025-11-25"],
    &["MCP-Protocol-Version: 2031-01-01"],
    &[MODERN],
    &[MODERN, MODERN, "Mcp-Method: tools/call", "Mcp-Name: skill"],
    &[MODERN, "Mcp-Method: tools/list", "Mcp-Name: skill"],
    &[MODERN, "Mcp-Method: tools/call", "Mcp-Name: get_skill"],
    &[MODERN, "Mcp-Method: tools/call"],
    &[
        MODERN,
        "Mcp-Method: tools/call",
        "Mcp-Method: tools/list",
        "Mcp-Name: skill",
    ],
    &[
        MODERN,
        "Mcp-Method: tools/call",
        "Mcp-Name: =?base64?c2tpbGw=?=",
    ],
    &[
        MODERN,
        "Mcp-Method: tools/call",
        "Mcp-Name: skill",
        "Mcp-Param-Name: git",
    ],
    &[
        MODERN,
        "Mcp-Method: tools/call",
        "Mcp-Name: skill",
        "Mcp-Session-Id: of-another-server",
    ],
];

fn skills() -> Fake {
    Fake::new(set(vec![folder("git", "Git workflow", "\n# Git\n")]))
}

fn slow_skills() -> Fake {
    Fake::slow(set(vec![folder("git", "Git workflow", "\n# Git\n")]))
}

fn said(reply: &Reply) -> (u16, Option<&str>, &str) {
    (reply.status, reply.header("content-type"), &reply.body)
}

#[test]
fn a_client_cannot_tell_who_answered() {
    let servers = [Running::start(skills()), Running::start(slow_skills())];
    let assert_alike = |headers: &[&str], message: &str| {
        let [quick, slow] = servers
            .each_ref()
            .map(|server| server.ask("POST /mcp", headers, message));
        assert_eq!(said(&quick), said(&slow), "{headers:?} {message}");
    };
    for (method, params, name) in REQUESTS {
        let params: serde_json::Value = serde_json::from_str(params).expect("JSON");
        let mut right = vec![MODERN.to_owned(), format!("Mcp-Method: {method}")];
        right.extend(name.map(|name| format!("Mcp-Name: {name}")));
        let right: Vec<&str> = right.iter().map(String::as_str).collect();
        let newer = modern(method, params.clone()).to_string();
        let older = legacy(method, params).to_string();
        for message in [newer, older] {
            assert_alike(&right, &message);
            for version in ["2024-11-05", "2025-11-25", "2026-07-28", "x"] {
                assert_alike(&[&format!("MCP-Protocol-Version: {version}")], &message);
            }
            assert_alike(&[], &message);
        }
    }
    let params = json!({ "name": "skill", "arguments": { "name": "git" } });
    let call = modern("tools/call", params).to_string();
    for odd in ODD {
        assert_alike(odd, &call);
    }
}

#[test]
fn what_a_client_accepts_is_judged_alike() {
    let servers = [Running::start(skills()), Running::start(slow_skills())];
    let message = legacy("skills/list", json!({})).to_string();
    for accept in [
        "application/json, text/event-stream",
        "text/event-stream,application/json",
        "application/json;q=0.9, text/event-stream",
        "application/json",
        "text/event-stream",
        "*/*",
        "application/jsonx, text/event-stream",
    ] {
        let header = format!("Accept: {accept}");
        let [quick, slow] = servers
            .each_ref()
            .map(|server| server.ask("POST /mcp", &[&header], &message));
        assert_eq!(said(&quick), said(&slow), "{accept}");
    }
}
