//! What the conformance suite asks for by name: there on demand, beside what is
//! served anyway, and nowhere else.

use serde_json::{Value, json};

use super::super::bind_with_fixtures;
use super::kit::{Running, settings, skills};
use crate::Options;

const LISTS: [(&str, &str, &str, &str); 3] = [
    ("tools/list", "tools", "skill", "test_simple_text"),
    ("prompts/list", "prompts", "git", "test_simple_prompt"),
    ("resources/list", "resources", "git", "static-text"),
];

fn with_fixtures() -> Running {
    Running::of(bind_with_fixtures(skills(), Options::default(), settings()).unwrap())
}

fn names(server: &Running, method: &str, of: &str) -> Vec<String> {
    let listed = server.post_modern(method, None, json!({})).json();
    let listed = listed["result"][of].as_array().unwrap();
    let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
    listed.iter().map(name).collect()
}

/// A call of a tool by a client that can do these things.
fn call(server: &Running, tool: &str, can: &Value, also: &Value) -> Value {
    let mut params = json!({ "name": tool, "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": can,
    }});
    let also = also.as_object().unwrap().clone();
    params.as_object_mut().unwrap().extend(also);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let name = format!("Mcp-Name: {tool}");
    let headers = [
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        name.as_str(),
    ];
    server
        .ask("POST /mcp", &headers, &message.to_string())
        .json()
}

#[test]
fn nobody_who_did_not_ask_sees_a_fixture() {
    let server = Running::start(skills());
    for (method, of, ours, fixture) in LISTS {
        let names = names(&server, method, of);
        assert!(names.iter().any(|name| name == ours), "{names:?}");
        assert!(!names.iter().any(|name| name == fixture), "{names:?}");
    }
    let called = call(&server, "test_simple_text", &json!({}), &json!({}));
    assert_eq!(called["error"]["code"], -32602, "{called}");
}

#[test]
fn fixtures_stand_behind_what_is_served_anyway() {
    let server = with_fixtures();
    for (method, of, ours, fixture) in LISTS {
        let names = names(&server, method, of);
        let at = |wanted: &str| names.iter().position(|name| name == wanted);
        assert!(at(ours).is_some() && at(ours) < at(fixture), "{names:?}");
    }
    let params = json!({ "name": "skill", "arguments": { "name": "git" } });
    let called = server.post_modern("tools/call", Some("skill"), params);
    assert!(called.body.contains("# Git"), "{called:?}");
}

#[test]
fn every_fixture_of_the_catalog_answers() {
    let server = with_fixtures();
    let can = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
    let fixtures = |method, of| {
        let names = names(&server, method, of).into_iter();
        names.filter(|name| name.starts_with("test_") || name.starts_with("json_schema"))
    };
    for tool in fixtures("tools/list", "tools") {
        let called = call(&server, &tool, &can, &json!({}));
        let result = &called["result"];
        let asks = result["resultType"] == "input_required" && result["inputRequests"].is_object();
        assert!(asks || result["content"].is_array(), "{tool}: {called}");
    }
    let arguments = json!({ "arg1": "one", "arg2": "two", "resourceUri": "test://three" });
    for prompt in fixtures("prompts/list", "prompts") {
        let params = json!({ "name": prompt, "arguments": arguments });
        let got = server.post_modern("prompts/get", Some(&prompt), params);
        assert!(
            got.body.contains("messages") || prompt.contains("input_required"),
            "{prompt}: {got:?}"
        );
        assert!(
            !got.body.contains("{arg") && !got.body.contains("{res"),
            "{got:?}"
        );
    }
    for uri in [
        "test://static-text",
        "test://static-binary",
        "test://template/7/data",
    ] {
        let read = server.post_modern("resources/read", Some(uri), json!({ "uri": uri }));
        assert_eq!(read.json()["result"]["contents"][0]["uri"], uri, "{read:?}");
    }
}

#[test]
fn what_a_client_is_asked_depends_on_what_it_said() {
    let tool = "test_input_required_result_multi_round";
    let name = json!({ "step1": { "action": "accept", "content": { "name": "A" } } });
    let color = json!({ "step2": { "action": "accept", "content": { "color": "b" } } });
    let server = with_fixtures();
    for (said, state) in [
        (json!({}), "step 1"),
        (json!({ "requestState": "step 1" }), "step 1"),
        (
            json!({ "requestState": "step 1", "inputResponses": { "step1": 5 } }),
            "step 1",
        ),
        (
            json!({ "requestState": "step 1", "inputResponses": color }),
            "step 1",
        ),
        (json!({ "inputResponses": name }), "step 1"),
        (
            json!({ "requestState": "step 1", "inputResponses": name }),
            "step 2",
        ),
        (
            json!({ "requestState": "step 2", "inputResponses": name }),
            "step 2",
        ),
    ] {
        let called = call(&server, tool, &json!({ "elicitation": {} }), &said);
        assert_eq!(called["result"]["requestState"], state, "{said}: {called}");
    }
    let said = json!({ "requestState": "step 2", "inputResponses": color });
    let done = call(&server, tool, &json!({ "elicitation": {} }), &said);
    assert!(done["result"]["content"].is_array(), "{done}");

    let said = json!({ "requestState": "step 2 or so", "inputResponses": color });
    let forged = call(&server, tool, &json!({ "elicitation": {} }), &said);
    assert_eq!(forged["error"]["code"], -32602, "{forged}");

    let unable = call(&server, tool, &json!({ "sampling": {} }), &json!({}));
    assert_eq!(unable["error"]["code"], -32021, "{unable}");
    let needed = json!({ "elicitation": {} });
    assert_eq!(unable["error"]["data"]["requiredCapabilities"], needed);
}
