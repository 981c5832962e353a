//! Names, URIs and arguments that do not exist, for each tool and each list, and
//! what only 2026-07-28 has.

use serde_json::{Value, json};

use super::frames::{
    Era, Expected, Frame, Ids, Kind, NOT_OF_THE_ERA, PARAMS, PARSE, UNKNOWN, params_of, request,
    request_id_last,
};
use super::methods::KINDS;
use crate::paths::CANARY;

/// Methods, tools, prompts, resources and cursors that do not exist.
pub(crate) fn unknown(era: Era, ids: &mut Ids) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut put = |method: &str, params: &Value, kind: Kind| {
        let id = ids.next();
        let line = request(&id, method, Some(&params_of(era, params)));
        let kind = if era == Era::Unopened {
            NOT_OF_THE_ERA
        } else {
            kind
        };
        frames.push(Frame::answered(line, &id, kind));
    };
    let long = "x".repeat(10_000);
    for method in [
        "",
        " ",
        "tools",
        "tools/",
        "TOOLS/LIST",
        "tools/list ",
        "tools/list\0",
        "rpc.discover",
        "__proto__",
        "skills/read",
        "resources/directory",
        "notifications/cancelled",
        "notifications/initialized",
        "logging/setLevel",
        "roots/list",
        "sampling/createMessage",
        "elicitation/create",
        "tasks/get",
        "tasks/list",
        "ｔools/list",
        "../tools/list",
        &long,
    ] {
        put(method, &json!({}), UNKNOWN);
        put(
            method,
            &json!({ "name": "x", "uri": 7, "cursor": [] }),
            UNKNOWN,
        );
    }
    for (_, params) in KINDS {
        let params = serde_json::from_str(params).expect("a value is JSON");
        let kind = if era == Era::Legacy {
            UNKNOWN
        } else {
            NOT_OF_THE_ERA
        };
        put("no/such/method", &params, kind);
    }
    for name in [
        "",
        "no_such_tool",
        "skill ",
        "SKILL",
        "skill\0",
        "__proto__",
        &long,
    ] {
        put(
            "tools/call",
            &json!({ "name": name, "arguments": {} }),
            PARAMS,
        );
        put("prompts/get", &json!({ "name": name }), PARAMS);
        let reference = json!({ "type": "ref/prompt", "name": name });
        let argument = json!({ "name": "x", "value": "" });
        put(
            "completion/complete",
            &json!({ "ref": reference, "argument": argument }),
            PARAMS,
        );
    }
    for kind in ["ref/tool", "", "ref/resource"] {
        let reference = json!({ "type": kind, "uri": "file:///{path}", "name": "a" });
        let argument = json!({ "name": "path", "value": "" });
        put(
            "completion/complete",
            &json!({ "ref": reference, "argument": argument }),
            PARAMS,
        );
    }
    for cursor in [
        "",
        "0",
        "AAAA",
        "////",
        "100",
        &"A".repeat(28),
        "\0",
        "é",
        &long,
    ] {
        for list in [
            "tools/list",
            "skills/list",
            "resources/list",
            "resources/templates/list",
            "prompts/list",
        ] {
            put(list, &json!({ "cursor": cursor }), PARAMS);
        }
        let params = json!({ "uri": "skill://a", "cursor": cursor });
        put("resources/directory/read", &params, PARAMS);
    }
    frames
}

/// URIs of files that must stay out of reach.
pub(crate) fn uris(era: Era, spellings: &[String], ids: &mut Ids) -> Vec<Frame> {
    let mut frames = Vec::new();
    for spelling in spellings {
        for uri in [
            spelling.clone(),
            format!("skill://{spelling}"),
            format!("skill://a/{spelling}"),
        ] {
            for method in ["resources/read", "resources/directory/read", "skills/get"] {
                let id = ids.next();
                let params = params_of(era, &json!({ "uri": uri }));
                frames.push(Frame::answered(
                    request(&id, method, Some(&params)),
                    &id,
                    PARAMS,
                ));
            }
        }
    }
    frames
}

/// Calls of each tool with each argument of each wrong type, missing or unknown.
pub(crate) fn calls(era: Era, tools: &[Value], ids: &mut Ids) -> Vec<Frame> {
    let mut frames = Vec::new();
    for tool in tools {
        let name = tool["name"].as_str().expect("a tool has a name");
        let schema = &tool["inputSchema"];
        let mut put = |arguments: &Value| {
            let id = ids.next();
            let params = params_of(era, &json!({ "name": name, "arguments": arguments }));
            let line = request(&id, "tools/call", Some(&params));
            frames.push(Frame::answered(line, &id, Kind::Refusal));
        };
        let required: Vec<&str> = list(&schema["required"])
            .filter_map(Value::as_str)
            .collect();
        let right = || -> Value {
            required
                .iter()
                .map(|name| ((*name).to_owned(), json!("a")))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        let with = |name: &str, value: Value| {
            let mut arguments = right();
            arguments[name] = value;
            arguments
        };
        put(&with("no_such_argument", json!(1)));
        put(&with("", Value::Null));
        for missing in &required {
            let mut arguments = right();
            arguments
                .as_object_mut()
                .expect("an object")
                .remove(*missing);
            put(&arguments);
            put(&with(missing, Value::Null));
            // Nothing matches a blank request, which is an answer.
            if (name, *missing) != ("get_skill", "context") {
                put(&with(missing, json!("")));
            }
        }
        let properties = schema["properties"].as_object();
        for (argument, property) in properties.into_iter().flatten() {
            let kind = match property["type"].as_str() {
                Some("string") => "text",
                Some("integer" | "number") => "number",
                Some("boolean") => "bool",
                Some("object") => "object",
                other => {
                    panic!("{name}.{argument} has a type that the test does not know: {other:?}")
                }
            };
            // An optional argument may also be null.
            for (_, value) in KINDS.iter().filter(|(it, _)| *it != kind && *it != "null") {
                let value = serde_json::from_str(value).expect("a value is JSON");
                put(&with(argument, value));
            }
            if kind == "number" {
                for value in ["-1", "0.5", "1e300", "18446744073709551616"] {
                    put(&with(
                        argument,
                        serde_json::from_str(value).expect("a number"),
                    ));
                }
            }
        }
    }
    frames
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Requests of 2026-07-28 with missing or wrong `_meta`.
pub(crate) fn meta_faults(ids: &mut Ids) -> Vec<Frame> {
    const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    let mut frames = Vec::new();
    for (meta, kind) in [
        (json!({}), PARAMS),
        (json!({ VERSION: "2026-07-28" }), PARAMS),
        (json!({ CAPABILITIES: {} }), PARAMS),
        (json!({ VERSION: 20_260_728, CAPABILITIES: {} }), PARAMS),
        (
            json!({ VERSION: "2026-07-28", CAPABILITIES: "none" }),
            PARAMS,
        ),
        (
            json!({ VERSION: "2031-01-01", CAPABILITIES: {} }),
            Kind::Error(&[-32022]),
        ),
        (
            json!({ VERSION: "", CAPABILITIES: {} }),
            Kind::Error(&[-32022]),
        ),
        (
            json!({ VERSION: "x".repeat(10_000), CAPABILITIES: {} }),
            Kind::Error(&[-32022]),
        ),
    ] {
        for method in ["tools/list", "skills/list", "tools/call"] {
            let id = ids.next();
            let params = json!({ "name": "skill", "arguments": { "name": "a" }, "_meta": meta });
            let line = request(&id, method, Some(&params.to_string()));
            frames.push(Frame::answered(line, &id, kind));
        }
    }
    frames
}

/// A listener gets its reply when the client closes stdin, or at once if there
/// are too many listeners.
pub(crate) fn listeners(ids: &mut Ids) -> Vec<Frame> {
    let listens = (0..4).map(|_| {
        let id = ids.next();
        let params = json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": [CANARY] } });
        let params = params_of(Era::Modern, &params);
        let line = request(&id, "subscriptions/listen", Some(&params));
        let id = serde_json::from_str(&id).expect("an id is JSON");
        Frame::new(line, Expected::AtTheEnd(id))
    });
    let mut frames: Vec<Frame> = listens.collect();
    for params in [
        "{}",
        r#"{"notifications":["x"]}"#,
        r#"{"notifications":{"toolsListChanged":7}}"#,
    ] {
        let id = ids.next();
        let params = params_of(Era::Modern, &serde_json::from_str(params).expect("JSON"));
        let line = request(&id, "subscriptions/listen", Some(&params));
        frames.push(Frame::answered(line, &id, PARAMS));
    }
    frames
}

/// Arguments nested more deeply than any parser should follow.
pub(crate) fn deep(era: Era, ids: &mut Ids) -> Vec<Frame> {
    const DEPTH: usize = 100_000;
    let mut frames = Vec::new();
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!("{}1{}", open.repeat(DEPTH), close.repeat(DEPTH));
        let (one, other, third, bare) = (ids.next(), ids.next(), ids.next(), ids.next());
        let arguments = format!(r#"{{"name":"skill","arguments":{{"name":{deep}}}}}"#);
        let cut = format!(
            r#"{{"jsonrpc":"2.0","id":{third},"params":{}"#,
            open.repeat(DEPTH)
        );
        frames.extend([
            Frame::answered(
                request(&one, "tools/call", Some(&arguments)),
                &one,
                Kind::Error(&[-32700, -32602]),
            ),
            Frame::answered(
                request_id_last(&other, "tools/call", &arguments),
                &other,
                Kind::Error(&[-32700, -32602]),
            ),
            Frame::answered(cut, &third, PARSE),
            Frame::without_id(open.repeat(DEPTH), PARSE),
        ]);
        let line = request(&bare, "no/such/method", Some(&format!(r#"{{"x":{deep}}}"#)));
        let kind = if era == Era::Legacy {
            UNKNOWN
        } else {
            NOT_OF_THE_ERA
        };
        frames.push(Frame::answered(line, &bare, kind));
    }
    frames
}
