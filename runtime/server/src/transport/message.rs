//! One line becomes one message, or the refusal that answers it. Built by hand
//! because rmcp's own reading tries every request type in turn (three times
//! the time), forgets which id a wrong message had, and turns wrong parameters
//! into an unknown method.

use std::fmt::Display;

use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CancelledNotificationParam, ClientRequest,
    CompleteRequestMethod, CompleteRequestParams, CustomRequest, DiscoverRequest,
    DiscoverRequestParams, ErrorCode, Extensions, GetMeta, GetPromptRequestMethod,
    GetPromptRequestParams, GetSkillRequestMethod, GetSkillRequestParams, InitializeRequestParams,
    InitializeResultMethod, ListPromptsRequestMethod, ListResourceTemplatesRequestMethod,
    ListResourcesRequestMethod, ListSkillsRequestMethod, ListToolsRequestMethod,
    PaginatedRequestParams, PingRequest, ProtocolVersion, ReadResourceDirectoryRequestMethod,
    ReadResourceDirectoryRequestParams, ReadResourceRequestMethod, ReadResourceRequestParams,
    Request, RequestId, RequestMetaObject, RequestOptionalParam, RequestParamsMeta,
    SubscribeRequestMethod, SubscribeRequestParams, SubscriptionsListenRequestMethod,
    SubscriptionsListenRequestParams, UnsubscribeRequestMethod, UnsubscribeRequestParams,
};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde_json::value::RawValue;

use super::lines::LONGEST;
use super::scan::IdScan;

pub(crate) use super::scan::WireId;

/// What a line turned out to be.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "lives for one call; a box would cost every request an allocation"
)]
pub(crate) enum Incoming {
    /// A request to answer.
    Request(ClientRequest, RequestId),
    /// A notification that matters here.
    Notice(Notice),
    /// A response (we ask nothing), or a notification that means nothing here.
    Ignored,
    /// No valid request; the answer says why.
    Refused(Refused),
}

/// A notification that matters here.
#[derive(Debug)]
pub(crate) enum Notice {
    /// The client has read the answer to `initialize`.
    Initialized,
    /// The client no longer waits for a request.
    Cancelled(CancelledNotificationParam),
}

/// Why a line is not served.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The id of the request, where it could be read.
    pub(crate) id: Option<WireId>,
    /// The JSON-RPC code.
    pub(crate) code: ErrorCode,
    /// What was expected and found.
    pub(crate) message: String,
}

/// The top level of a message. A member that is `null` is not an absent one.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Reads one line.
pub(crate) fn read(line: &[u8]) -> Incoming {
    match envelope(line).and_then(|envelope| envelope.open()) {
        Ok(incoming) => incoming,
        Err(refused) => Incoming::Refused(refused),
    }
}

/// Whether rmcp leaves its waiting state with this request: `initialize`, or
/// any other than a probe that carries all a request of 2026-07-28 needs.
pub(crate) fn opens_session(request: &ClientRequest) -> bool {
    if let ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) = request {
        return false;
    }
    let meta = request.get_meta();
    let served = meta
        .protocol_version()
        .is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version));
    served && is_complete(meta) || matches!(request, ClientRequest::InitializeRequest(_))
}

/// Whether this says all that a request of 2026-07-28 must say.
pub(crate) fn is_complete(meta: &RequestMetaObject) -> bool {
    meta.missing_required_keys(&ProtocolVersion::V_2026_07_28)
        .is_empty()
}

impl Refused {
    /// The answer, as JSON.
    pub(crate) fn to_json(&self) -> String {
        let id = self.id.as_ref().map_or("null", WireId::as_json);
        let ErrorCode(code) = self.code;
        let message = serde_json::Value::from(self.message.as_str());
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
    }

    /// Answers a line that was dropped while it arrived.
    pub(crate) fn too_long(id: Option<WireId>) -> Self {
        let message = format!("a message may be {LONGEST} bytes long, this line was longer");
        Self {
            id,
            code: ErrorCode::INVALID_REQUEST,
            message,
        }
    }

    /// Answers a request whose id another one still holds.
    pub(crate) fn in_use(id: &RequestId) -> Self {
        let message = "the id is in use: a request with it has not been answered yet".to_owned();
        Self {
            id: WireId::of(id),
            code: ErrorCode::INVALID_REQUEST,
            message,
        }
    }
}

fn envelope(line: &[u8]) -> Result<Envelope<'_>, Refused> {
    let refused = |code, message: String| Refused {
        id: IdScan::find(line),
        code,
        message,
    };
    let text = std::str::from_utf8(line)
        .map_err(|error| refused(ErrorCode::PARSE_ERROR, format!("not valid UTF-8: {error}")))?;
    if text.starts_with('{') {
        return serde_json::from_str(text).map_err(|error| {
            let code = if error.is_data() {
                ErrorCode::INVALID_REQUEST
            } else {
                ErrorCode::PARSE_ERROR
            };
            refused(code, format!("not a JSON-RPC message: {error}"))
        });
    }
    Err(match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Err(error) => refused(ErrorCode::PARSE_ERROR, format!("not valid JSON: {error}")),
        Ok(_) if text.starts_with('[') => refused(
            ErrorCode::INVALID_REQUEST,
            "batches are not supported; send one message a line".to_owned(),
        ),
        Ok(_) => refused(
            ErrorCode::INVALID_REQUEST,
            "expected a JSON object".to_owned(),
        ),
    })
}

impl Envelope<'_> {
    fn open(&self) -> Result<Incoming, Refused> {
        let invalid = |message: &str| Err(self.refuse(ErrorCode::INVALID_REQUEST, message));
        if self
            .jsonrpc
            .is_none_or(|version| version.get() != "\"2.0\"")
        {
            return invalid(r#"expected "jsonrpc":"2.0""#);
        }
        let answer = self.result.is_some() || self.error.is_some();
        let Some(method) = self.method else {
            return if answer {
                Ok(Incoming::Ignored)
            } else {
                invalid("expected the member \"method\"")
            };
        };
        if answer {
            return invalid("a message with \"method\" has neither \"result\" nor \"error\"");
        }
        let method: String = serde_json::from_str(method.get())
            .map_err(|error| self.blame(ErrorCode::INVALID_REQUEST, "method", &error))?;
        let Some(id) = self.id else {
            return Ok(notice(&method, self.params).map_or(Incoming::Ignored, Incoming::Notice));
        };
        let id: RequestId = serde_json::from_str(id.get())
            .map_err(|error| self.blame(ErrorCode::INVALID_REQUEST, "id", &error))?;
        let request = request(method, self.params)
            .map_err(|error| self.blame(ErrorCode::INVALID_PARAMS, "params", &error))?;
        Ok(Incoming::Request(request, id))
    }

    /// A member that cannot be read: broken JSON shows only here when it hides
    /// in a string (half a surrogate pair) or too deep inside.
    fn blame(&self, code: ErrorCode, member: &str, error: &serde_json::Error) -> Refused {
        let code = if error.is_data() {
            code
        } else {
            ErrorCode::PARSE_ERROR
        };
        self.refuse(code, format_args!("{member}: {error}"))
    }

    fn refuse(&self, code: ErrorCode, message: impl Display) -> Refused {
        Refused {
            id: self.id.and_then(|id| WireId::from_json(id.get())),
            code,
            message: message.to_string(),
        }
    }
}

/// The requests that are served here; every other method is unknown, and
/// still goes to rmcp, which knows what the session's era demands first.
fn request(method: String, params: Option<&RawValue>) -> Result<ClientRequest, serde_json::Error> {
    Ok(match method.as_str() {
        "tools/call" => required::<CallToolRequestMethod, CallToolRequestParams>(params)?.into(),
        "tools/list" => paged::<ListToolsRequestMethod>(params)?.into(),
        "skills/list" => paged::<ListSkillsRequestMethod>(params)?.into(),
        "resources/list" => paged::<ListResourcesRequestMethod>(params)?.into(),
        "resources/templates/list" => paged::<ListResourceTemplatesRequestMethod>(params)?.into(),
        "prompts/list" => paged::<ListPromptsRequestMethod>(params)?.into(),
        "skills/get" => required::<GetSkillRequestMethod, GetSkillRequestParams>(params)?.into(),
        "resources/read" => {
            required::<ReadResourceRequestMethod, ReadResourceRequestParams>(params)?.into()
        }
        "resources/directory/read" => required::<
            ReadResourceDirectoryRequestMethod,
            ReadResourceDirectoryRequestParams,
        >(params)?
        .into(),
        "prompts/get" => required::<GetPromptRequestMethod, GetPromptRequestParams>(params)?.into(),
        // Gone in 2026-07-28, whatever their parameters.
        "resources/subscribe" | "resources/unsubscribe" if is_modern(params) => {
            custom(method, params)?
        }
        "resources/subscribe" => {
            required::<SubscribeRequestMethod, SubscribeRequestParams>(params)?.into()
        }
        "resources/unsubscribe" => {
            required::<UnsubscribeRequestMethod, UnsubscribeRequestParams>(params)?.into()
        }
        "subscriptions/listen" => {
            required::<SubscriptionsListenRequestMethod, SubscriptionsListenRequestParams>(params)?
                .into()
        }
        "completion/complete" => {
            required::<CompleteRequestMethod, CompleteRequestParams>(params)?.into()
        }
        "initialize" => required::<InitializeResultMethod, InitializeRequestParams>(params)?.into(),
        "server/discover" => {
            let mut request = DiscoverRequest::new(DiscoverRequestParams {});
            request.extensions = meta_only(params)?;
            request.into()
        }
        "ping" => PingRequest {
            extensions: meta_only(params)?,
            ..PingRequest::default()
        }
        .into(),
        _ => custom(method, params)?,
    })
}

/// A method that is not known here, or not to the client's era.
fn custom(method: String, params: Option<&RawValue>) -> Result<ClientRequest, serde_json::Error> {
    let mut request = CustomRequest::new(method, None);
    request.extensions = match meta_only(params) {
        // Parameters of a method that nobody knows cannot be wrong.
        Err(error) if error.is_data() => Extensions::new(),
        read => read?,
    };
    Ok(request.into())
}

/// Whether the request says itself that it is of an era without `initialize`.
fn is_modern(params: Option<&RawValue>) -> bool {
    let extensions = meta_only(params).unwrap_or_default();
    let meta = extensions.get::<RequestMetaObject>();
    meta.and_then(RequestMetaObject::protocol_version)
        .is_some_and(|version| !version.has_initialize())
}

/// A request for a page of a list; without parameters it is the first one.
fn paged<M: Default>(
    params: Option<&RawValue>,
) -> Result<RequestOptionalParam<M, PaginatedRequestParams>, serde_json::Error> {
    let params = params.map(split::<PaginatedRequestParams>).transpose()?;
    let (params, extensions) =
        params.map_or_else(Default::default, |(params, meta)| (Some(params), meta));
    Ok(RequestOptionalParam {
        method: M::default(),
        params,
        extensions,
    })
}

fn notice(method: &str, params: Option<&RawValue>) -> Option<Notice> {
    match method {
        "notifications/initialized" => Some(Notice::Initialized),
        "notifications/cancelled" => members(params?).ok().map(Notice::Cancelled),
        _ => None,
    }
}

fn required<M: Default, P: DeserializeOwned + RequestParamsMeta>(
    params: Option<&RawValue>,
) -> Result<Request<M, P>, serde_json::Error> {
    let (params, extensions) = split(
        params.ok_or_else(|| serde_json::Error::custom("expected an object, found nothing"))?,
    )?;
    let mut request = Request::new(params);
    request.extensions = extensions;
    Ok(request)
}

/// Parameters, and apart from them their `_meta`: rmcp looks for it there.
fn split<P: DeserializeOwned + RequestParamsMeta>(
    params: &RawValue,
) -> Result<(P, Extensions), serde_json::Error> {
    let mut params: P = members(params)?;
    let meta = params.meta_mut().take();
    Ok((params, extensions(meta)))
}

/// `_meta` of parameters that hold nothing else of interest.
fn meta_only(params: Option<&RawValue>) -> Result<Extensions, serde_json::Error> {
    #[derive(Deserialize)]
    struct Meta {
        #[serde(rename = "_meta")]
        meta: Option<RequestMetaObject>,
    }
    let meta = params.map(members::<Meta>).transpose()?;
    Ok(extensions(meta.and_then(|params| params.meta)))
}

fn extensions(meta: Option<RequestMetaObject>) -> Extensions {
    let mut extensions = Extensions::new();
    if let Some(meta) = meta {
        extensions.insert(meta);
    }
    extensions
}

/// Reads an object. Left to serde, an array would be taken for one, its
/// elements in the order of the fields.
fn members<T: DeserializeOwned>(json: &RawValue) -> Result<T, serde_json::Error> {
    if json.get().starts_with('{') {
        return serde_json::from_str(json.get());
    }
    Err(serde_json::Error::custom("expected an object"))
}

fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(value).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &[u8]) -> (i32, Option<String>, String) {
        match read(line) {
            Incoming::Refused(refused) => (
                refused.code.0,
                refused.id.map(|id| id.as_json().to_owned()),
                refused.message,
            ),
            other => panic!("{} gave {other:?}", String::from_utf8_lossy(line)),
        }
    }

    /// A line that is no valid request, its code, and the id in the answer.
    const HOSTILE: &[(&[u8], i32, Option<&str>)] = &[
        (b"garbage", -32700, None),
        (b"\0", -32700, None),
        (b"{", -32700, None),
        (b"{}", -32600, None),
        (b"null", -32600, None),
        (b"\"text\"", -32600, None),
        (b"[]", -32600, None),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, None),
        (br#"[{"jsonrpc":"2.0""#, -32700, None),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping""#, -32700, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, -32700, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":nope}"#, -32700, Some("1")),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700, Some("1")),
        (br#"{"jsonrpc":"2.0","id":"a","method":"\ud800"}"#, -32700, Some("\"a\"")),
        (br#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#, -32700, None),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud800"}}"#, -32700, Some("1")),
        (br#"{"id":1,"method":"ping"}"#, -32600, Some("1")),
        (br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600, Some("1")),
        (br#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, -32600, Some("1")),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, None),
        (br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, -32600, None),
        (br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, None),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, Some("1.5")),
        (br#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#, -32600, Some("18446744073709551615")),
        (br#"{"jsonrpc":"2.0","id":1}"#, -32600, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":null}"#, -32600, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#, -32600, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#, -32600, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#, -32600, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32602, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"made/up","params":{"_meta":{"\ud800":1}}}"#, -32700, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, -32602, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}"#, -32602, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#, -32602, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[null,"skill"]}"#, -32602, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}"#, -32602, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skill","arguments":"x"}}"#, -32602, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"skill","_meta":1}}"#, -32602, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":1}}"#, -32602, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, -32602, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#, -32602, Some("1")),
    ];

    #[test]
    fn every_broken_line_is_answered_with_its_code_and_id() {
        for (line, code, id) in HOSTILE {
            let (found, found_id, message) = refused(line);
            let line = String::from_utf8_lossy(line);
            assert_eq!(
                (found, found_id.as_deref()),
                (*code, *id),
                "{line}: {message}"
            );
            assert!(!message.is_empty(), "{line}");
        }
    }

    #[test]
    fn a_long_id_of_a_readable_line_is_given_back_whole() {
        let id = format!("\"{}\"", "i".repeat(5000));
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call"}}"#);
        let (code, found, _) = refused(line.as_bytes());
        assert_eq!((code, found), (-32602, Some(id)));
    }

    #[test]
    fn an_unknown_method_has_no_wrong_parameters() {
        for params in ["[]", "7", "null", r#""x""#, r#"{"_meta":7}"#] {
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"made/up","params":{params}}}"#);
            let read = read(line.as_bytes());
            let unknown = matches!(&read, Incoming::Request(ClientRequest::CustomRequest(_), _));
            assert!(unknown, "{params}: {read:?}");
        }
    }

    #[test]
    fn depth_does_not_overflow_the_stack() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"skill","arguments":{{"a":{deep}}}}}}}"#
            );
            assert_eq!(refused(line.as_bytes()).0, -32700, "{open}");
            assert_eq!(refused(open.repeat(100_000).as_bytes()).0, -32700, "{open}");
        }
    }

    #[test]
    fn requests_keep_id_arguments_and_meta() {
        let line = br#"{"method":"tools/call","params":{"_meta":{"progressToken":9},"name":"skill","arguments":{"name":"git"}},"jsonrpc":"2.0","id":"x"}"#;
        let Incoming::Request(ClientRequest::CallToolRequest(request), id) = read(line) else {
            panic!("a tool call");
        };
        assert_eq!(id, RequestId::String("x".into()));
        assert_eq!(request.params.name, "skill");
        assert_eq!(request.params.arguments.unwrap()["name"], "git");
        assert!(
            request
                .extensions
                .get::<RequestMetaObject>()
                .unwrap()
                .get_progress_token()
                .is_some()
        );
    }

    #[test]
    fn ids_of_every_legal_form_are_read() {
        for (text, expected) in [
            ("1", RequestId::Number(1)),
            ("-7", RequestId::Number(-7)),
            ("9007199254740993", RequestId::Number(9_007_199_254_740_993)),
            ("1.0", RequestId::Number(1)),
            ("\"\"", RequestId::String("".into())),
            ("\"\\u00e9\"", RequestId::String("\u{e9}".into())),
        ] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{text},"method":"ping"}}"#);
            assert!(
                matches!(read(line.as_bytes()), Incoming::Request(_, id) if id == expected),
                "{text}"
            );
        }
    }

    #[test]
    fn what_needs_no_answer_gets_none() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"skill"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#,
        ] {
            assert!(matches!(read(line.as_bytes()), Incoming::Ignored), "{line}");
        }
        let initialized = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert!(matches!(
            read(initialized),
            Incoming::Notice(Notice::Initialized)
        ));
        let cancelled = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"late"}}"#;
        assert!(
            matches!(read(cancelled), Incoming::Notice(Notice::Cancelled(params)) if params.request_id == Some(RequestId::Number(4)))
        );
    }

    #[test]
    fn sessions_open_by_initialize_or_by_a_complete_request() {
        let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
        let foreign = meta.replace("2026-07-28", "2031-01-01");
        let client = r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}"#;
        for (method, params, expected) in [
            ("initialize", client, true),
            ("tools/list", meta, true),
            ("made/up", meta, true),
            ("ping", meta, false),
            ("server/discover", meta, false),
            ("tools/list", "", false),
            ("tools/list", foreign.as_str(), false),
        ] {
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#);
            let Incoming::Request(request, _) = read(line.as_bytes()) else {
                panic!("{line}")
            };
            assert_eq!(opens_session(&request), expected, "{line}");
        }
    }
}
