//! Requests that can be answered without rmcp, for there is nothing in their
//! heads that it would have to judge: every header says, once and to the
//! letter, what the message says. All others are rmcp's, and so are all faults.

use hyper::header::{ACCEPT, HeaderMap};
use rmcp::model::{ClientRequest, GetMeta, ProtocolVersion};

use crate::transport::Era;
use crate::transport::desk::era_of;

const VERSION: &str = "mcp-protocol-version";
/// The header that names the method to those who do not read the message.
pub(super) const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const PARAMETER: &str = "mcp-param-";

/// What an answer may be written in.
const ACCEPTED: [&str; 2] = ["application/json", "text/event-stream"];

/// The era of a request by which skills are found or read, with a head that
/// leaves no question.
pub(super) fn era(headers: &HeaderMap, request: &ClientRequest) -> Option<Era> {
    let name = match request {
        ClientRequest::ListToolsRequest(_)
        | ClientRequest::ListSkillsRequest(_)
        | ClientRequest::GetSkillRequest(_) => None,
        ClientRequest::CallToolRequest(request) => Some(&*request.params.name),
        ClientRequest::ReadResourceRequest(request) => Some(&*request.params.uri),
        _ => return None,
    };
    if !accepts_both(headers) {
        return None;
    }
    if request.get_meta().protocol_version().is_none() {
        return older(headers).then_some(Era::Handshake);
    }
    let said = says(
        headers,
        VERSION,
        Some(ProtocolVersion::V_2026_07_28.as_str()),
    ) && says(headers, METHOD, Some(request.method()))
        && says(headers, NAME, name)
        && !headers
            .keys()
            .any(|key| key.as_str().starts_with(PARAMETER));
    said.then(|| era_of(request, Some(Era::Stateless)))
        .flatten()
}

/// Whether the header is there once with this value, or not at all for none.
fn says(headers: &HeaderMap, header: &str, value: Option<&str>) -> bool {
    let mut values = headers.get_all(header).iter();
    match (values.next(), value) {
        (Some(found), Some(value)) => found == value && values.next().is_none(),
        (found, value) => found.is_none() && value.is_none(),
    }
}

/// Whether the head is of a revision with a handshake, which the server need
/// not have seen: there are no sessions here.
fn older(headers: &HeaderMap) -> bool {
    let known = ProtocolVersion::KNOWN_VERSIONS.iter();
    let mut older = known.filter(|version| version.has_initialize());
    says(headers, VERSION, None)
        || older.any(|version| says(headers, VERSION, Some(version.as_str())))
}

fn accepts_both(headers: &HeaderMap) -> bool {
    let Some(accept) = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()) else {
        return false;
    };
    let accepted = |kind: &&str| accept.split(',').any(|given| given.trim() == *kind);
    ACCEPTED.iter().all(accepted)
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;
    use crate::transport::message::{Incoming, read};

    const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    const BOTH: &str = "accept: application/json, text/event-stream";
    const NEWER: &str = "mcp-protocol-version: 2026-07-28";

    /// The era of this request with these headers.
    fn era_with(headers: &[&str], method: &str, params: &str) -> Option<Era> {
        let mut map = HeaderMap::new();
        for header in headers {
            let (name, value) = header.split_once(": ").expect("a header");
            let name = HeaderName::from_static(match name {
                "accept" => "accept",
                VERSION => VERSION,
                METHOD => METHOD,
                NAME => NAME,
                _ => "mcp-param-name",
            });
            map.append(name, HeaderValue::from_str(value).expect("a value"));
        }
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#);
        let Incoming::Request(request, _) = read(line.as_bytes()) else {
            panic!("{line}")
        };
        era(&map, &request)
    }

    #[test]
    fn only_heads_that_say_all_once_are_plain() {
        let call = format!(r#""name":"skill",{META}"#);
        let (method, name) = ("mcp-method: tools/call", "mcp-name: skill");
        for (headers, expected) in [
            (&[BOTH, NEWER, method, name][..], Some(Era::Stateless)),
            (&[NEWER, method, name], None),
            (&[BOTH, method, name], None),
            (&[BOTH, NEWER, name], None),
            (&[BOTH, NEWER, method], None),
            (&[BOTH, NEWER, method, method, name], None),
            (&[BOTH, NEWER, method, name, "mcp-param-x: 1"], None),
            (&[BOTH, NEWER, method, "mcp-name: Skill"], None),
            (&["accept: application/json", NEWER, method, name], None),
        ] {
            let found = era_with(headers, "tools/call", &call);
            assert_eq!(found, expected, "{headers:?}");
        }
        let older = "mcp-protocol-version: 2025-06-18";
        for (headers, params, expected) in [
            (&[BOTH][..], "", Some(Era::Handshake)),
            (&[BOTH, older], "", Some(Era::Handshake)),
            (&[BOTH, NEWER], "", None),
            (&[BOTH, "mcp-protocol-version: 1"], "", None),
            (&[BOTH, older], META, None),
            (
                &[BOTH, NEWER, "mcp-method: skills/list"],
                META,
                Some(Era::Stateless),
            ),
        ] {
            let found = era_with(headers, "skills/list", params);
            assert_eq!(found, expected, "{headers:?} {params}");
        }
        assert_eq!(era_with(&[BOTH], "resources/list", ""), None);
    }
}
