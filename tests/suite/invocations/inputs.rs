//! What the input schema refuses never reaches a handler, and what it takes arrives as it was sent.

use serde_json::{Value, json};

use super::{arguments, assert_recorded, invoke, invoked, kept, record, serve, with_skill};

/// A handler that proves that it ran.
const TOUCH: &str = "cat > $SKILL_DATA/input; echo '{}'";

fn task() -> Value {
    json!({
        "input_schema": {
            "type": "object",
            "additionalProperties": false,
            "required": ["title"],
            "properties": {
                "title": { "type": "string", "minLength": 1, "maxLength": 200, "pattern": "\\S" },
                "priority": { "type": "integer", "minimum": 1, "maximum": 5, "default": 1 },
                "email": { "type": "string", "pattern": "^[^@]+@[^@]+\\.[^@]+$" },
                "password": { "type": "string", "minLength": 8, "writeOnly": true },
                "id": { "type": "string", "format": "uuid" },
                "due": { "type": ["string", "null"], "format": "date-time" }
            }
        }
    })
}

/// Inputs, and where each is wrong.
const WRONG: &[(&str, &str)] = &[
    ("{}", ""),
    (r#"{"title": ""}"#, "/title"),
    (r#"{"title": " \t\n"}"#, "/title"),
    (r#"{"title": null}"#, "/title"),
    (r#"{"title": 1}"#, "/title"),
    (r#"{"title": "a", "priority": 0}"#, "/priority"),
    (r#"{"title": "a", "priority": 6}"#, "/priority"),
    (r#"{"title": "a", "priority": 1.5}"#, "/priority"),
    (r#"{"title": "a", "priority": "1"}"#, "/priority"),
    (r#"{"title": "a", "priority": true}"#, "/priority"),
    (r#"{"title": "a", "email": "a@b"}"#, "/email"),
    (r#"{"title": "a", "email": "@b.c"}"#, "/email"),
    (r#"{"title": "a", "password": "1234567"}"#, "/password"),
    (r#"{"title": "a", "id": "550e8400"}"#, "/id"),
    (r#"{"title": "a", "due": "tomorrow"}"#, "/due"),
    (r#"{"title": "a", "due": "2026-13-01T00:00:00Z"}"#, "/due"),
    (r#"{"title": "a", "other": 1}"#, ""),
];

#[test]
fn a_refused_input_never_reaches_the_handler() {
    let project = with_skill(&task(), TOUCH);
    let mut session = serve(&project, &[]);
    let long = format!(r#"{{"title": "{}"}}"#, "ä".repeat(201));
    let wrong = WRONG.iter().copied().chain([(long.as_str(), "/title")]);
    for (input, pointer) in wrong {
        let input: Value = serde_json::from_str(input).expect("JSON");
        let told = invoke(&mut session, "it", &input);
        assert_eq!(told["failure_code"], "VALIDATION_ERROR", "{input}: {told}");
        assert_eq!(told["status"], "failed", "{told}");
        assert_eq!(
            told["failure_details"]["errors"][0]["pointer"], pointer,
            "{told}"
        );
        let message = told["failure_message"].as_str().expect("text");
        assert!(
            message.starts_with("Input validation failed: "),
            "{message}"
        );
        assert_recorded(&project, &told);
        assert_eq!(kept(&project, "input"), None, "{input}");
    }
    for input in [
        json!({ "title": "a" }),
        json!({ "title": "ä".repeat(200), "priority": 5, "email": "a@b.c", "password": "12345678", "due": null }),
        json!({ "title": "a", "priority": 1.0 }),
    ] {
        let told = invoke(&mut session, "it", &input);
        assert_eq!(told["success"], true, "{input}: {told}");
        let arrived: Value =
            serde_json::from_str(&kept(&project, "input").expect("it ran")).expect("JSON");
        assert_eq!(arrived, input);
    }
    session.finish();
}

/// Inputs as they are written, and as the handler gets them. An empty text: the request is no JSON
/// that a server could read, and the connection goes on.
const ODD: &[(&str, &str)] = &[
    (r#"{"a": 1, "a": 2}"#, r#"{"a":2}"#),
    (r#"{"a": "\u0000"}"#, r#"{"a":"\u0000"}"#),
    (r#"{"a": "\ud83d\ude00"}"#, "{\"a\":\"😀\"}"),
    (r#"{"a": 9007199254740993}"#, r#"{"a":9007199254740993}"#),
    (
        r#"{"a": 18446744073709551615}"#,
        r#"{"a":18446744073709551615}"#,
    ),
    (
        r#"{"a": -9223372036854775808}"#,
        r#"{"a":-9223372036854775808}"#,
    ),
    (r#"{"a": 1e300}"#, r#"{"a":1e+300}"#),
    (r#"{"": {"": []}}"#, r#"{"":{"":[]}}"#),
    (
        r#"{"a": "$(touch x) `x` ; \n'\""}"#,
        r#"{"a":"$(touch x) `x` ; \n'\""}"#,
    ),
    (r#"{"a": "\ud800"}"#, ""),
    (r#"{"a": 1e400}"#, ""),
    (r#"{"a": NaN}"#, ""),
    (r#"{"a": 01}"#, ""),
];

#[test]
fn odd_inputs_arrive_whole_or_are_refused() {
    let project = with_skill(&json!({}), TOUCH);
    let mut session = serve(&project, &[]);
    let mut ask = |input: &str| {
        session.send_line(format!(
            r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{"name":"invoke_skill","arguments":{{"name":"it","invoking_agent":"A","input":{input}}}}}}}"#
        ));
        session.reply()
    };
    for (input, expected) in ODD {
        let reply = ask(input);
        if expected.is_empty() {
            let is_error = reply["error"].is_object() || reply["result"]["isError"] == true;
            assert!(is_error, "{input}: {reply}");
            continue;
        }
        let told = &reply["result"]["structuredContent"];
        assert_eq!(told["success"], true, "{input}: {reply}");
        assert_eq!(
            kept(&project, "input").as_deref(),
            Some(*expected),
            "{input}"
        );
        assert_eq!(
            record(&project, told).invocation.input,
            *expected,
            "{input}"
        );
    }
    let deep = format!("{}1{}", r#"{"a":"#.repeat(5000), "}".repeat(5000));
    let reply = ask(&deep);
    assert!(
        reply["error"].is_object() || reply["result"]["isError"] == true,
        "{reply}"
    );
    let reply = ask("{}");
    assert_eq!(
        reply["result"]["structuredContent"]["success"], true,
        "{reply}"
    );
    session.finish();
}

#[test]
fn a_large_input_arrives_whole() {
    let project = with_skill(&json!({}), "wc -c > $SKILL_DATA/count; echo '{}'");
    let mut session = serve(&project, &[]);
    let input = json!({ "a": "x".repeat(3 << 20) });
    let told = invoke(&mut session, "it", &input);
    assert_eq!(told["success"], true, "{told}");
    let count = kept(&project, "count").expect("it ran");
    assert_eq!(count.trim(), input.to_string().len().to_string());
    // A handler that reads nothing of it does not hang, either.
    project.file("content/it/run.sh", "echo '{}'");
    let told = invoke(&mut session, "it", &input);
    assert_eq!(told["success"], true, "{told}");
    session.finish();
}

/// A schema that is small, and an input that would keep a processor busy for minutes.
#[test]
fn an_input_that_takes_too_long_to_validate_is_refused_at_once() {
    let patterns: Vec<Value> = (0..600)
        .map(|it| json!({ "pattern": format!("a.*{it}$") }))
        .collect();
    let choices: Vec<String> = (0..1000).map(|it| format!("choice number {it}")).collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "text": { "allOf": patterns },
            "list": { "items": { "enum": choices } },
            "map": { "propertyNames": { "$ref": "#/properties/text" } }
        }
    });
    let project = with_skill(&json!({ "input_schema": schema }), TOUCH);
    let mut session = serve(&project, &[]);
    let names = (0..100_000).map(|it| (format!("a{it}"), json!(1)));
    for input in [
        json!({ "text": "a".repeat(2 << 20) }),
        json!({ "list": vec!["choice number x"; 100_000] }),
        json!({ "map": names.collect::<serde_json::Map<_, _>>() }),
    ] {
        let told = invoke(&mut session, "it", &input);
        assert_eq!(told["failure_code"], "VALIDATION_ERROR", "{told}");
        let message = told["failure_message"].as_str().expect("text");
        assert!(message.contains("too large or too deep"), "{message}");
        assert_eq!(kept(&project, "input"), None);
    }
    session.finish();
}

#[test]
fn the_handler_knows_who_asks_for_what() {
    let script = r#"printf '{"name":"%s","agent":"%s","id":"%s","correlation":"%s","args":%d}' "$SKILL_NAME" "$SKILL_AGENT" "$SKILL_INVOCATION_ID" "$SKILL_CORRELATION_ID" $#"#;
    let project = with_skill(&json!({}), script);
    let mut session = serve(&project, &[]);
    let id = "550e8400-e29b-41d4-a716-446655440000";
    let correlated = super::with(
        &arguments("it", &json!({})),
        &json!({ "correlation_id": id }),
    );
    let told = invoked(&mut session, &correlated);
    let output = &told["output_payload"];
    assert_eq!(output["name"], "it");
    assert_eq!(output["agent"], "TaskAgent");
    assert_eq!(output["id"], told["invocation_id"]);
    assert_eq!(
        (&output["correlation"], &told["correlation_id"]),
        (&json!(id), &json!(id))
    );
    assert_eq!(output["args"], 0);
    let other = invoke(&mut session, "it", &json!({}));
    assert_ne!(other["correlation_id"], id);
    assert_ne!(other["invocation_id"], told["invocation_id"]);
    session.finish();
}
