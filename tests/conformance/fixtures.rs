//! The tools, resources and prompts that the official conformance suite asks for by name, as rows
//! that the server's method table takes before its own. They are data, in `fixtures.json`; only
//! builds with the feature `conformance-fixtures` hold them, and serve them on demand.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use skillbundle_server::{ErrorData, Extra, ExtraCall, ExtraMethod, ExtraResult};

/// The fixtures.
static CATALOG: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("fixtures.json")).expect("the suite reads it")
});

/// The log level that a client of an older revision has set. There are no sessions, so it holds
/// for all clients.
static LEVEL: Mutex<Option<String>> = Mutex::new(None);

/// Between two notifications. The suite asks for it: what is sent at one time might be taken for
/// one.
const PAUSE: Duration = Duration::from_millis(50);

const NO_CAPABILITY: i32 = -32021;
const NO_METHOD: i32 = -32601;

/// What the server gets.
pub(crate) static EXTRA: Extra = Extra {
    methods: &[
        row("initialize", |call| Box::pin(initialize(call))),
        row("logging/setLevel", |call| {
            Box::pin(std::future::ready(set_level(call)))
        }),
        row("tools/list", |call| Box::pin(list(call, "tools", "tools"))),
        row("tools/call", |call| Box::pin(call_tool(call))),
        row("resources/list", |call| {
            Box::pin(list(call, "resources", "resources"))
        }),
        row("resources/templates/list", |call| {
            Box::pin(list(call, "resourceTemplates", "templates"))
        }),
        row("resources/read", |call| Box::pin(read(call))),
        row("prompts/list", |call| {
            Box::pin(list(call, "prompts", "prompts"))
        }),
        row("prompts/get", |call| Box::pin(get_prompt(call))),
        row("completion/complete", |call| Box::pin(complete(call))),
    ],
    schema: |tool| Some(find("tools", "name", tool)?["definition"]["inputSchema"].clone()),
};

const fn row(
    name: &'static str,
    answer: for<'a> fn(&'a ExtraCall<'a>) -> ExtraResult<'a>,
) -> ExtraMethod {
    ExtraMethod { name, answer }
}

/// The fixture of this kind whose definition has this value.
fn find(kind: &str, member: &str, value: &str) -> Option<&'static Value> {
    let mut fixtures = CATALOG[kind].as_array()?.iter();
    fixtures.find(|fixture| fixture["definition"][member] == value)
}

fn text<'a>(call: &'a ExtraCall<'_>, param: &str) -> &'a str {
    call.params[param].as_str().unwrap_or_default()
}

/// A result of the server's own, which says that it is complete where that is known.
fn complete_result(call: &ExtraCall<'_>, mut result: Value) -> Value {
    if call.is_stateless() {
        result["resultType"] = json!("complete");
    }
    result
}

async fn initialize(call: &ExtraCall<'_>) -> Result<Value, ErrorData> {
    let mut result = call.base().await?;
    result["capabilities"]["logging"] = json!({});
    Ok(result)
}

fn set_level(call: &ExtraCall<'_>) -> Result<Value, ErrorData> {
    if call.is_stateless() {
        return Err(error(NO_METHOD, "logging/setLevel", None));
    }
    *LEVEL.lock().unwrap_or_else(PoisonError::into_inner) = Some(text(call, "level").to_owned());
    Ok(json!({}))
}

/// The server's own list, with the fixtures at its end.
async fn list(call: &ExtraCall<'_>, member: &str, kind: &str) -> Result<Value, ErrorData> {
    let mut result = call.base().await?;
    if let (None, Some(list)) = (result.get("nextCursor"), CATALOG[kind].as_array()) {
        let fixtures = list.iter().map(|fixture| fixture["definition"].clone());
        let listed = result[member].as_array_mut();
        listed.expect("the server lists them").extend(fixtures);
    }
    Ok(result)
}

async fn call_tool(call: &ExtraCall<'_>) -> Result<Value, ErrorData> {
    let Some(tool) = find("tools", "name", text(call, "name")) else {
        return call.base().await;
    };
    if let Some(question) = question(call, tool)? {
        return Ok(question);
    }
    match tool["tells"].as_str() {
        Some("progress") => progress(call).await,
        Some(_) => log(call).await,
        None => {}
    }
    Ok(complete_result(call, tool["answer"].clone()))
}

/// Reports progress to a client that has asked for it.
async fn progress(call: &ExtraCall<'_>) {
    for done in [0, 50, 100] {
        let token = &call.params["_meta"]["progressToken"];
        if !token.is_null() {
            let params = json!({ "progressToken": token, "progress": done, "total": 100 });
            call.notify("notifications/progress", params);
        }
        call.pause(PAUSE).await;
    }
}

/// Sends three messages at the level `info` to a client that wants that level.
async fn log(call: &ExtraCall<'_>) {
    let level = if call.is_stateless() {
        let level = &call.params["_meta"]["io.modelcontextprotocol/logLevel"];
        level.as_str().map(str::to_owned)
    } else {
        LEVEL.lock().unwrap_or_else(PoisonError::into_inner).clone()
    };
    let is_wanted = matches!(level.as_deref(), Some("debug" | "info"));
    for message in ["started", "processing data", "completed"] {
        if is_wanted {
            let data = format!("Tool execution: {message}");
            call.notify(
                "notifications/message",
                json!({ "level": "info", "data": data }),
            );
        }
        call.pause(PAUSE).await;
    }
}

async fn read(call: &ExtraCall<'_>) -> Result<Value, ErrorData> {
    let Some(contents) = contents(text(call, "uri")) else {
        return call.base().await;
    };
    let mut result = json!({ "contents": [contents] });
    if call.is_stateless() {
        result["ttlMs"] = json!(0);
        result["cacheScope"] = json!("private");
    }
    Ok(complete_result(call, result))
}

/// What is at the URI, literally or by a template.
fn contents(uri: &str) -> Option<Value> {
    if let Some(fixture) = find("resources", "uri", uri) {
        return Some(fixture["contents"].clone());
    }
    CATALOG["templates"].as_array()?.iter().find_map(|fixture| {
        let template = fixture["definition"]["uriTemplate"].as_str()?;
        let (before, after) = template.split_once("{id}")?;
        let id = uri.strip_prefix(before)?.strip_suffix(after)?;
        let values = Map::from_iter([("id".to_owned(), id.into())]);
        Some(filled(&values, &fixture["contents"]))
    })
}

async fn get_prompt(call: &ExtraCall<'_>) -> Result<Value, ErrorData> {
    let Some(prompt) = find("prompts", "name", text(call, "name")) else {
        return call.base().await;
    };
    if let Some(question) = question(call, prompt)? {
        return Ok(question);
    }
    let none = Map::new();
    let given = call.params["arguments"].as_object().unwrap_or(&none);
    for argument in prompt["definition"]["arguments"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let name = argument["name"].as_str().unwrap_or_default();
        if !given.contains_key(name) {
            let message = format!("the argument {name} is missing");
            return Err(ErrorData::invalid_params(message, None));
        }
    }
    let messages = filled(given, &prompt["messages"]);
    Ok(complete_result(call, json!({ "messages": messages })))
}

async fn complete(call: &ExtraCall<'_>) -> Result<Value, ErrorData> {
    let reference = &call.params["ref"];
    let name = reference["name"].as_str().unwrap_or_default();
    if reference["type"] != "ref/prompt" || find("prompts", "name", name).is_none() {
        return call.base().await;
    }
    // Their arguments are free text.
    Ok(complete_result(
        call,
        json!({ "completion": { "values": [] } }),
    ))
}

/// Replaces `{name}` by the value of that name, in every text of it.
fn filled(values: &Map<String, Value>, within: &Value) -> Value {
    match within {
        Value::String(text) => values
            .iter()
            .fold(text.clone(), |text, (name, value)| {
                let value = value.as_str().unwrap_or_default();
                text.replace(&format!("{{{name}}}"), value)
            })
            .into(),
        Value::Array(parts) => parts.iter().map(|part| filled(values, part)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), filled(values, field)))
            .collect(),
        other => other.clone(),
    }
}

/// What the client is asked before it gets the result, if anything.
fn question(call: &ExtraCall<'_>, fixture: &Value) -> Result<Option<Value>, ErrorData> {
    let rounds = fixture["rounds"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let question = next_round(rounds, &call.params)?;
    if question.is_some() && !call.is_stateless() {
        let message =
            "InputRequiredResult requires negotiated protocol version 2026-07-28 or newer";
        return Err(ErrorData::invalid_request(message, None));
    }
    Ok(question)
}

/// The next round of questions. The client carries the state itself: a state is a handle, and one
/// that was not given out is refused.
fn next_round(rounds: &[Value], params: &Value) -> Result<Option<Value>, ErrorData> {
    let state = &params["requestState"];
    let index = match rounds.iter().position(|round| round["state"] == *state) {
        Some(index) => index + usize::from(is_answered(&rounds[index], params)),
        None if state.is_null() => 0,
        None => {
            return Err(ErrorData::invalid_params(
                "unknown requestState: expected one that this server gave out, unchanged",
                None,
            ));
        }
    };
    rounds
        .get(index)
        .map(|round| ask(round, params))
        .transpose()
}

fn ask(round: &Value, params: &Value) -> Result<Value, ErrorData> {
    let requests: Map<String, Value> = possible(round, params)
        .map(|(key, request)| (key.clone(), request.clone()))
        .collect();
    if requests.is_empty() {
        let needed = requests_of(round).filter_map(|(_, request)| capability(request));
        let needed: Map<String, Value> = needed.map(|name| (name.to_owned(), json!({}))).collect();
        let data = json!({ "requiredCapabilities": needed });
        let message = "Missing required client capability";
        return Err(error(NO_CAPABILITY, message, Some(data)));
    }
    let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
    if !round["state"].is_null() {
        result["requestState"] = round["state"].clone();
    }
    Ok(result)
}

fn requests_of(round: &Value) -> impl Iterator<Item = (&String, &Value)> {
    round["requests"].as_object().into_iter().flatten()
}

/// The questions that this client can answer.
fn possible<'a>(
    round: &'a Value,
    params: &'a Value,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let capabilities = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    requests_of(round).filter(move |(_, request)| {
        capability(request).is_some_and(|name| !capabilities[name].is_null())
    })
}

fn is_answered(round: &Value, params: &Value) -> bool {
    let mut possible = possible(round, params).peekable();
    possible.peek().is_some()
        && possible.all(|(key, request)| {
            let response = &params["inputResponses"][key];
            match capability(request) {
                Some("sampling") => response["content"].is_object(),
                Some("elicitation") => response["action"].is_string(),
                Some("roots") => response["roots"].is_array(),
                _ => false,
            }
        })
}

/// The capability that a client needs to answer a question.
fn capability(request: &Value) -> Option<&'static str> {
    match request["method"].as_str()? {
        "sampling/createMessage" => Some("sampling"),
        "elicitation/create" => Some("elicitation"),
        "roots/list" => Some("roots"),
        _ => None,
    }
}

fn error(code: i32, message: &'static str, data: Option<Value>) -> ErrorData {
    let mut error = ErrorData::internal_error(message, data);
    error.code.0 = code;
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_is_asked_depends_on_what_it_sent() {
        let tool = find("tools", "name", "test_input_required_result_multi_round").unwrap();
        let rounds = tool["rounds"].as_array().unwrap();
        let next = |can: Value, mut params: Value| {
            params["_meta"] = json!({ "io.modelcontextprotocol/clientCapabilities": can });
            next_round(rounds, &params)
        };
        let name = json!({ "step1": { "action": "accept", "content": { "name": "A" } } });
        let color = json!({ "step2": { "action": "accept", "content": { "color": "b" } } });
        let can = json!({ "elicitation": {} });
        for (params, state) in [
            (json!({}), Some("step 1")),
            (json!({ "requestState": "step 1" }), Some("step 1")),
            (
                json!({ "requestState": "step 1", "inputResponses": { "step1": 5 } }),
                Some("step 1"),
            ),
            (
                json!({ "requestState": "step 1", "inputResponses": color }),
                Some("step 1"),
            ),
            (json!({ "inputResponses": name }), Some("step 1")),
            (
                json!({ "requestState": "step 1", "inputResponses": name }),
                Some("step 2"),
            ),
            (
                json!({ "requestState": "step 2", "inputResponses": name }),
                Some("step 2"),
            ),
            (
                json!({ "requestState": "step 2", "inputResponses": color }),
                None,
            ),
        ] {
            let next = next(can.clone(), params.clone()).unwrap();
            let found = next.as_ref().and_then(|next| next["requestState"].as_str());
            assert_eq!(found, state, "{params}");
        }
        let forged = next(can, json!({ "requestState": "step 2 or so" }));
        assert_eq!(forged.unwrap_err().code.0, -32602);
        let unable = next(json!({ "sampling": {} }), json!({})).unwrap_err();
        let needed = json!({ "requiredCapabilities": { "elicitation": {} } });
        assert_eq!((unable.code.0, unable.data), (-32021, Some(needed)));
    }
}
