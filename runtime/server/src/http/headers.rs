//! The headers of MCP: which media types the client takes, and whether `MCP-Protocol-Version`,
//! `Mcp-Method`, `Mcp-Name` and `Mcp-Param-*` say what the message says (SEP-2243), since proxies
//! route by them. Sessions do not exist here, so `Mcp-Session-Id` and `Last-Event-ID` are ignored.
//! From headers and message follow the era and the HTTP status of an error.

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine};
use hyper::StatusCode;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use rmcp::model::{ErrorCode, ProtocolVersion};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::jsonrpc::{Notification, Request, RpcError};
use crate::mcp::{Era, methods};

const VERSION: &str = "MCP-Protocol-Version";
const METHOD: &str = "Mcp-Method";
const NAME: &str = "Mcp-Name";
/// Followed by the name that a tool's schema gives with `x-mcp-header`.
const PARAM: &str = "Mcp-Param-";

/// Around values that are not plain ASCII.
const ENCODED: (&str, &str) = ("=?base64?", "?=");

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// The media types that a client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) events: bool,
}

/// The parameters that headers repeat. One of a wrong type is reported when the method reads it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Repeated<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow)]
    task_id: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    protocol_version: Option<&'a RawValue>,
}

/// Reads the header `Accept`. For each media type the most specific range counts (RFC 9110, section
/// 12.5.1); without the header, everything is accepted.
pub(super) fn accepts(headers: &HeaderMap) -> Accepts {
    let values = headers.get_all(ACCEPT).iter();
    let entries = values.filter_map(|value| value.to_str().ok());
    let entries = entries.flat_map(|value| value.split(','));
    let ranges: Vec<(&str, bool)> = entries
        .filter_map(|entry| {
            let mut parts = entry.split(';').map(str::trim);
            let range = parts.next().filter(|range| !range.is_empty())?;
            Some((range, !parts.any(excludes)))
        })
        .collect();
    let accepts = |candidates: [&str; 3]| {
        let mut found = candidates.iter().filter_map(|candidate| {
            let mut same = ranges
                .iter()
                .filter(|(range, _)| range.eq_ignore_ascii_case(candidate));
            same.next().map(|(_, accepted)| *accepted)
        });
        ranges.is_empty() || found.next().unwrap_or(false)
    };
    Accepts {
        json: accepts([JSON, "application/*", "*/*"]),
        events: accepts([EVENTS, "text/*", "*/*"]),
    }
}

/// Whether a parameter of a media range is a weight of zero. Malformed weights are ignored.
fn excludes(parameter: &str) -> bool {
    let weight = parameter.split_once('=');
    let weight = weight.filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    weight.is_some_and(|(_, weight)| weight.trim().parse() == Ok(0.0_f32))
}

/// Whether the body is declared to be JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let declared = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let essence = declared.and_then(|declared| declared.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case(JSON))
}

/// Checks the headers of a request, and tells its era. `schema` gives the input schema of a tool that
/// has parameters which headers repeat.
pub(super) fn check_request(
    headers: &HeaderMap,
    request: &Request<'_>,
    schema: impl FnOnce(&str) -> Option<Value>,
) -> Result<Era, RpcError> {
    let version = value(headers, VERSION)?;
    let repeated: Repeated<'_> = request.params().unwrap_or_default();
    if request.method == methods::INITIALIZE
        && let Some(offered) = text(repeated.protocol_version)
    {
        return check_handshake(headers, version, &offered);
    }
    let meta = request.meta().unwrap_or_default();
    let named = meta.version();
    if named.is_some() {
        expect(VERSION, version, named.as_deref())?;
    }
    check_known(version)?;
    if is_stateless(version) {
        expect(METHOD, value(headers, METHOD)?, Some(&request.method))?;
        check_repeated(headers, request, &repeated, schema)?;
    }
    let stateless = named.is_some() || is_stateless(version) || request.method == methods::DISCOVER;
    if stateless && request.method == methods::INITIALIZE {
        return Err(methods::unknown(methods::INITIALIZE));
    }
    Ok(if stateless {
        Era::Stateless
    } else {
        Era::Handshake
    })
}

/// Checks the headers of a notification.
pub(super) fn check_notification(
    headers: &HeaderMap,
    notification: &Notification<'_>,
) -> Result<(), RpcError> {
    let version = check_version(headers)?;
    if is_stateless(version) {
        expect(METHOD, value(headers, METHOD)?, Some(&notification.method))?;
    }
    Ok(())
}

/// Checks that the revision is known, if the headers name one.
pub(super) fn check_version(headers: &HeaderMap) -> Result<Option<&str>, RpcError> {
    let version = value(headers, VERSION)?;
    check_known(version)?;
    Ok(version)
}

/// The HTTP status for an error. Up to 2025-11-25, errors of methods are answered with 200.
pub(super) fn status(era: Era, request: &Request<'_>, error: &RpcError) -> StatusCode {
    let complete = || request.meta().is_ok_and(|meta| meta.missing().is_empty());
    match error.code {
        ErrorCode::PARSE_ERROR | ErrorCode::INVALID_REQUEST => StatusCode::BAD_REQUEST,
        _ if era == Era::Handshake => StatusCode::OK,
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | ErrorCode::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
        ErrorCode::INVALID_PARAMS if !complete() => StatusCode::BAD_REQUEST,
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

/// `initialize` belongs to the older revisions, whatever revision it offers. Headers may be left
/// out, since nothing has been agreed on yet.
fn check_handshake(
    headers: &HeaderMap,
    version: Option<&str>,
    offered: &str,
) -> Result<Era, RpcError> {
    if let Some(version) = version
        && version != offered
    {
        let message = format!(
            "the header {VERSION} ({version}) differs from params.protocolVersion ({offered})"
        );
        return Err(RpcError::invalid_request(message, None));
    }
    if is_stateless(version)
        && let Some(method) = value(headers, METHOD)?
    {
        expect(METHOD, Some(method), Some(methods::INITIALIZE))?;
    }
    Ok(Era::Handshake)
}

/// Checks `Mcp-Name` and `Mcp-Param-*`.
fn check_repeated(
    headers: &HeaderMap,
    request: &Request<'_>,
    repeated: &Repeated<'_>,
    schema: impl FnOnce(&str) -> Option<Value>,
) -> Result<(), RpcError> {
    let name = match &*request.method {
        "tools/call" | "prompts/get" => repeated.name,
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => repeated.uri,
        "tasks/get" | "tasks/update" | "tasks/cancel" => repeated.task_id,
        _ => None,
    };
    let Some(name) = text(name) else {
        return Ok(());
    };
    let found = decoded(NAME, value(headers, NAME)?)?;
    expect(NAME, found.as_deref(), Some(&name))?;
    if request.method != "tools/call" {
        return Ok(());
    }
    let Some(schema) = schema(&name) else {
        return Ok(());
    };
    let arguments = repeated.arguments.map(RawValue::get);
    let arguments = arguments.and_then(|json| serde_json::from_str(json).ok());
    check_params(headers, &schema, arguments.as_ref())
}

/// Checks the headers of all properties that have one, nested ones included.
fn check_params(
    headers: &HeaderMap,
    schema: &Value,
    arguments: Option<&Value>,
) -> Result<(), RpcError> {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let argument = arguments.and_then(|arguments| arguments.get(name));
        let header = property.get("x-mcp-header").and_then(Value::as_str);
        if let Some(header) = header.filter(|header| !header.is_empty()) {
            let header = format!("{PARAM}{header}");
            let found = decoded(&header, value(headers, &header)?)?;
            let expected = match argument {
                Some(Value::String(text)) => Some(text.clone()),
                Some(plain @ (Value::Bool(_) | Value::Number(_))) => Some(plain.to_string()),
                _ => None,
            };
            expect(&header, found.as_deref(), expected.as_deref())?;
        }
        check_params(headers, property, argument)?;
    }
    Ok(())
}

/// Whether requests of this revision carry `_meta` and repeat their method in a header. Revisions
/// are dates, so their order is that of their texts.
fn is_stateless(version: Option<&str>) -> bool {
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}

fn check_known(version: Option<&str>) -> Result<(), RpcError> {
    let known = ProtocolVersion::KNOWN_VERSIONS;
    match version {
        Some(version) if !known.iter().any(|known| known.as_str() == version) => {
            let version = serde_json::from_value(version.into())
                .map_err(|_| mismatch(format!("the header {VERSION} has no revision")))?;
            Err(RpcError::unsupported_protocol_version(version, known))
        }
        _ => Ok(()),
    }
}

/// The value of a header that may occur once.
fn value<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(mismatch(format!("the header {name} occurs twice")));
    }
    let text = value.to_str();
    text.map(Some)
        .map_err(|_| mismatch(format!("the header {name} holds invalid characters")))
}

fn decoded<'a>(name: &str, value: Option<&'a str>) -> Result<Option<Cow<'a, str>>, RpcError> {
    let Some(value) = value else {
        return Ok(None);
    };
    let encoded = value.strip_prefix(ENCODED.0);
    let Some(encoded) = encoded.and_then(|rest| rest.strip_suffix(ENCODED.1)) else {
        return Ok(Some(Cow::Borrowed(value)));
    };
    let bytes = BASE64_STANDARD.decode(encoded).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(|text| Some(Cow::Owned(text)))
        .ok_or_else(|| mismatch(format!("the header {name} holds no Base64 of a text")))
}

fn expect(name: &str, found: Option<&str>, expected: Option<&str>) -> Result<(), RpcError> {
    match (found, expected) {
        (found, expected) if found == expected => Ok(()),
        (None, _) => Err(mismatch(format!("the header {name} is missing"))),
        (Some(_), None) => Err(mismatch(format!(
            "the header {name} repeats a parameter that the message does not have"
        ))),
        (Some(found), Some(expected)) => Err(mismatch(format!(
            "the header {name} ({found}) differs from the message ({expected})"
        ))),
    }
}

fn mismatch(message: String) -> RpcError {
    RpcError::new(ErrorCode::HEADER_MISMATCH, message, None)
}

/// The text of a JSON string. `None` if it is something else.
fn text(json: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(json?.get()).ok()
}
