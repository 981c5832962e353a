//! JSON-RPC 2.0: turns one line or body into a request, a notification or an error with the id it
//! belongs to, and results and errors into responses. Parameters stay raw JSON until a method
//! reads them; what a method means is the concern of `mcp`.

mod scan;

use std::borrow::Cow;
use std::fmt::Display;

use rmcp::model::{ClientCapabilities, ErrorCode, RequestId};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::value::RawValue;

pub(crate) use rmcp::model::ErrorData as RpcError;
pub(crate) use scan::IdScan;

/// Longest message that is read, in bytes. Our largest requests hold a task description of some
/// kilobytes; other SDKs limit messages to between 4 MiB (HTTP) and 16 MiB.
pub(crate) const LONGEST: usize = 4 * 1024 * 1024;

/// Longest progress token that is used, in bytes. Each notification repeats it, so a long one would
/// let a request of a few megabytes fill the memory.
const LONGEST_TOKEN: usize = 1024;

/// A request id as JSON text: a string or a number. The ids of valid requests are in canonical
/// form, so equal ids have equal texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Id(String);

/// One message from a client.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// A request, which gets exactly one response.
    Request(Request<'a>),
    /// A notification, which gets none.
    Notification(Notification<'a>),
    /// A response. The server sends no requests, so it means nothing here.
    Response,
}

/// A request whose parameters have not been parsed.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) id: Id,
    pub(crate) method: Cow<'a, str>,
    params: Option<Cow<'a, RawValue>>,
}

/// A notification whose parameters have not been parsed.
#[derive(Debug)]
pub(crate) struct Notification<'a> {
    pub(crate) method: Cow<'a, str>,
    params: Option<&'a RawValue>,
}

/// A message that is not valid.
#[derive(Debug)]
pub(crate) struct Invalid {
    /// The id of the request it was meant to be, if that could be read.
    pub(crate) id: Option<Id>,
    pub(crate) error: RpcError,
}

/// The part of a request's `_meta` that decides how it is answered. A malformed member counts as
/// absent.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<&'a RawValue>,
    #[serde(borrow, rename = "skillbundle/invoking_agent")]
    agent: Option<&'a RawValue>,
    #[serde(borrow, rename = "skillbundle/correlation_id")]
    correlation_id: Option<&'a RawValue>,
    #[serde(borrow, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
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

/// Reads one message.
#[expect(
    clippy::result_large_err,
    reason = "lives for one call; a box would cost an allocation"
)]
pub(crate) fn read(bytes: &[u8]) -> Result<Message<'_>, Invalid> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Invalid::new(
            bytes,
            ErrorCode::PARSE_ERROR,
            format!("not valid UTF-8: {error}"),
        )
    })?;
    if text.starts_with('{') {
        let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| {
            let code = code_of(&error, ErrorCode::INVALID_REQUEST);
            Invalid::new(bytes, code, format!("not a JSON-RPC message: {error}"))
        })?;
        return envelope.open();
    }
    let (code, message) = match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Err(error) => (ErrorCode::PARSE_ERROR, format!("not valid JSON: {error}")),
        Ok(_) if text.starts_with('[') => (
            ErrorCode::INVALID_REQUEST,
            "batches are not supported; send one message a line".to_owned(),
        ),
        Ok(_) => (
            ErrorCode::INVALID_REQUEST,
            "expected a JSON object".to_owned(),
        ),
    };
    Err(Invalid::new(bytes, code, message))
}

/// Appends a whole response: the result that `answer` appends, or the error that it returns
/// instead. If it returns `None`, nothing is appended.
pub(crate) fn write_response(
    id: &Id,
    out: &mut Vec<u8>,
    answer: impl FnOnce(&mut Vec<u8>) -> Option<Result<(), RpcError>>,
) -> Option<Result<(), RpcError>> {
    let start = begin_response(id, out);
    let answered = answer(out);
    match &answered {
        Some(answered) => end_response(id, start, out, answered),
        None => out.truncate(start),
    }
    answered
}

/// Appends what comes before a result. Returns where the response starts.
pub(crate) fn begin_response(id: &Id, out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_json().as_bytes());
    out.extend_from_slice(br#","result":"#);
    start
}

/// Appends what comes after a result, or replaces the response by an error.
pub(crate) fn end_response(
    id: &Id,
    start: usize,
    out: &mut Vec<u8>,
    answered: &Result<(), RpcError>,
) {
    match answered {
        Ok(()) => out.push(b'}'),
        Err(error) => {
            out.truncate(start);
            write_error(Some(id), error, out);
        }
    }
}

/// Appends a whole error response.
pub(crate) fn write_error(id: Option<&Id>, error: &RpcError, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.map_or("null", Id::as_json).as_bytes());
    out.extend_from_slice(br#","error":"#);
    serde_json::to_writer(&mut *out, error).expect("keys are strings, and memory takes all bytes");
    out.push(b'}');
}

impl Id {
    /// Takes a JSON string or number as it is, however long: its sender waits for just this one.
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        let usable = match text.as_bytes().first()? {
            b'"' => serde_json::from_str::<String>(text).is_ok(),
            _ => serde_json::from_str::<serde_json::Number>(text).is_ok(),
        };
        usable.then(|| Self(text.to_owned()))
    }

    /// Reads the id of a valid request into its canonical form.
    fn canonical(json: &RawValue) -> Result<Self, serde_json::Error> {
        let id: RequestId = serde_json::from_str(json.get())?;
        serde_json::to_string(&id).map(Self)
    }

    /// The JSON text.
    pub(crate) fn as_json(&self) -> &str {
        &self.0
    }
}

impl Request<'_> {
    /// The same request without ties to the bytes it was read from.
    pub(crate) fn into_owned(self) -> Request<'static> {
        Request {
            id: self.id,
            method: Cow::Owned(self.method.into_owned()),
            params: self.params.map(|params| Cow::Owned(params.into_owned())),
        }
    }

    /// Parses the parameters.
    pub(crate) fn params<'p, P: Deserialize<'p>>(&'p self) -> Result<P, RpcError> {
        let missing = || serde_json::Error::custom("expected an object, found nothing");
        let params = self.params.as_deref().ok_or_else(missing);
        params
            .and_then(object)
            .map_err(|error| params_error(&error))
    }

    /// Parses parameters that may be left out.
    pub(crate) fn optional_params<'p, P: Deserialize<'p> + Default>(
        &'p self,
    ) -> Result<P, RpcError> {
        match &self.params {
            Some(_) => self.params(),
            None => Ok(P::default()),
        }
    }

    /// The error of parameters that are not JSON. That shows only when all of them are parsed.
    pub(crate) fn broken(&self) -> Option<RpcError> {
        let params = self.params.as_deref()?;
        let error = serde_json::from_str::<serde_json::Value>(params.get()).err()?;
        Some(params_error(&error))
    }

    /// Parses `_meta`.
    pub(crate) fn meta(&self) -> Result<Meta<'_>, RpcError> {
        #[derive(Default, Deserialize)]
        struct Params<'a> {
            #[serde(borrow, rename = "_meta")]
            meta: Option<&'a RawValue>,
        }
        Meta::parse(self.optional_params::<Params<'_>>()?.meta)
    }
}

impl<'a> Notification<'a> {
    /// The request that a `notifications/cancelled` names.
    pub(crate) fn cancelled_request(&self) -> Option<Id> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        let params: Params<'a> = object(self.params?).ok()?;
        Id::canonical(params.request_id).ok()
    }
}

impl<'a> Meta<'a> {
    /// Parses the member `_meta` of parameters; empty if there is none.
    pub(crate) fn parse(json: Option<&'a RawValue>) -> Result<Self, RpcError> {
        let meta = json.map(object).transpose();
        meta.map(Option::unwrap_or_default)
            .map_err(|error| params_error(&error))
    }

    /// The protocol revision that the request is of.
    pub(crate) fn version(&self) -> Option<String> {
        self.version
            .and_then(|version| serde_json::from_str(version.get()).ok())
    }

    /// The name by which the client introduces itself.
    pub(crate) fn client_name(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Client {
            name: String,
        }
        let client: Client = serde_json::from_str(self.client?.get()).ok()?;
        Some(client.name)
    }

    /// The agent that calls a skill as a tool of its own.
    pub(crate) fn agent(&self) -> Option<String> {
        serde_json::from_str(self.agent?.get()).ok()
    }

    /// What such a call belongs to.
    pub(crate) fn correlation_id(&self) -> Option<String> {
        serde_json::from_str(self.correlation_id?.get()).ok()
    }

    /// What the client calls the request in notifications of its progress, a string or number;
    /// `None` if it wants none.
    pub(crate) fn progress_token(&self) -> Option<&'a RawValue> {
        let is_short = |token: &&RawValue| token.get().len() <= LONGEST_TOKEN;
        let token = self.progress_token.filter(is_short)?;
        Id::from_json(token.get()).map(|_| token)
    }

    /// The names of the members that 2026-07-28 requires and that are missing or malformed.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let capabilities = self
            .capabilities
            .and_then(|json| serde_json::from_str::<ClientCapabilities>(json.get()).ok());
        let [version, client] = rmcp::model::RequestMetaObject::DRAFT_REQUIRED_KEYS;
        let there = [
            (version, self.version().is_some()),
            (client, capabilities.is_some()),
        ];
        there
            .into_iter()
            .filter_map(|(key, there)| (!there).then_some(key))
            .collect()
    }
}

impl Invalid {
    /// Looks for the id in bytes that could not be read as a message.
    fn new(bytes: &[u8], code: ErrorCode, message: String) -> Self {
        Self {
            id: IdScan::find(bytes),
            error: RpcError::new(code, message, None),
        }
    }

    /// A message that was dropped while it arrived.
    pub(crate) fn too_long(id: Option<Id>) -> Self {
        let message = format!("a message may be {LONGEST} bytes long, this line was longer");
        Self {
            id,
            error: RpcError::invalid_request(message, None),
        }
    }

    /// A request whose id belongs to a request that has not been answered.
    pub(crate) fn id_in_use(id: Id) -> Self {
        Self {
            id: Some(id),
            error: RpcError::invalid_request(
                "the id is in use: a request with it has not been answered yet",
                None,
            ),
        }
    }
}

impl<'a> Envelope<'a> {
    #[expect(
        clippy::result_large_err,
        reason = "lives for one call; a box would cost an allocation"
    )]
    fn open(self) -> Result<Message<'a>, Invalid> {
        let invalid = |message: &str| Err(self.invalid(ErrorCode::INVALID_REQUEST, message));
        if self
            .jsonrpc
            .is_none_or(|version| version.get() != "\"2.0\"")
        {
            return invalid(r#"expected "jsonrpc":"2.0""#);
        }
        let response = self.result.is_some() || self.error.is_some();
        let method = match (self.method, response) {
            (Some(method), false) => method,
            (None, true) => return Ok(Message::Response),
            (None, false) => return invalid("expected the member \"method\""),
            (Some(_), true) => {
                return invalid("a message with \"method\" has neither \"result\" nor \"error\"");
            }
        };
        let method = text(method).map_err(|error| self.malformed("method", &error))?;
        let Some(id) = self.id else {
            return Ok(Message::Notification(Notification {
                method,
                params: self.params,
            }));
        };
        Ok(Message::Request(Request {
            id: Id::canonical(id).map_err(|error| self.malformed("id", &error))?,
            method,
            params: self.params.map(Cow::Borrowed),
        }))
    }

    fn malformed(&self, member: &str, error: &serde_json::Error) -> Invalid {
        let code = code_of(error, ErrorCode::INVALID_REQUEST);
        self.invalid(code, format_args!("{member}: {error}"))
    }

    fn invalid(&self, code: ErrorCode, message: impl Display) -> Invalid {
        Invalid {
            id: self.id.and_then(|id| Id::from_json(id.get())),
            error: RpcError::new(code, message.to_string(), None),
        }
    }
}

/// The code of an error in a part of a message. Broken JSON shows only when the part is parsed if
/// it hides in a string (half a surrogate pair) or is nested too deep.
fn code_of(error: &serde_json::Error, of_wrong_type: ErrorCode) -> ErrorCode {
    if error.is_data() {
        of_wrong_type
    } else {
        ErrorCode::PARSE_ERROR
    }
}

fn params_error(error: &serde_json::Error) -> RpcError {
    let code = code_of(error, ErrorCode::INVALID_PARAMS);
    RpcError::new(code, format!("params: {error}"), None)
}

/// Parses an object. Left to serde, an array would be taken for one, its elements in the order of
/// the fields.
fn object<'a, T: Deserialize<'a>>(json: &'a RawValue) -> Result<T, serde_json::Error> {
    if json.get().starts_with('{') {
        return serde_json::from_str(json.get());
    }
    Err(serde_json::Error::custom("expected an object"))
}

/// Parses a string, and copies it only if it contains escapes.
fn text(json: &RawValue) -> Result<Cow<'_, str>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Text<'_>>(json.get()).map(|text| text.0)
}

fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(value).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invalid(line: &[u8]) -> (i32, Option<String>, String) {
        match read(line) {
            Err(Invalid { id, error }) => (
                error.code.0,
                id.map(|id| id.as_json().to_owned()),
                error.message.into_owned(),
            ),
            Ok(message) => panic!("{} gave {message:?}", String::from_utf8_lossy(line)),
        }
    }

    fn request(line: &str) -> Request<'_> {
        match read(line.as_bytes()) {
            Ok(Message::Request(request)) => request,
            other => panic!("{line} gave {other:?}"),
        }
    }

    /// A message that is not valid, its code, and the id in the response.
    const HOSTILE: &[(&[u8], i32, Option<&str>)] = &[
        (b"garbage", -32700, None),
        (b"\0", -32700, None),
        (b"{", -32700, None),
        (b"{}", -32600, None),
        (b"null", -32600, None),
        (b"\"text\"", -32600, None),
        (b"[]", -32600, None),
        (
            br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            -32600,
            None,
        ),
        (br#"[{"jsonrpc":"2.0""#, -32700, None),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
            -32700,
            Some("1"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#,
            -32700,
            Some("1"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":nope}"#,
            -32700,
            Some("1"),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            -32700,
            Some("1"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":"a","method":"\ud800"}"#,
            -32700,
            Some("\"a\""),
        ),
        (
            br#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#,
            -32700,
            None,
        ),
        (br#"{"id":1,"method":"ping"}"#, -32600, Some("1")),
        (
            br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            -32600,
            Some("1"),
        ),
        (
            br#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
            -32600,
            Some("1"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            -32600,
            None,
        ),
        (
            br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
            -32600,
            None,
        ),
        (
            br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            -32600,
            None,
        ),
        (
            br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            -32600,
            Some("1.5"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"ping"}"#,
            -32600,
            Some("18446744073709551615"),
        ),
        (br#"{"jsonrpc":"2.0","id":1}"#, -32600, Some("1")),
        (br#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600, Some("1")),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":null}"#,
            -32600,
            Some("1"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
            -32600,
            Some("1"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#,
            -32600,
            Some("1"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#,
            -32600,
            Some("1"),
        ),
    ];

    #[test]
    fn every_invalid_message_has_its_code_and_id() {
        for (line, code, id) in HOSTILE {
            let (found, found_id, message) = invalid(line);
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
    fn a_long_id_is_returned_unchanged() {
        let id = format!("\"{}\"", "i".repeat(5000));
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":7}}"#);
        let (code, found, _) = invalid(line.as_bytes());
        assert_eq!((code, found), (-32600, Some(id)));
    }

    #[test]
    fn depth_does_not_overflow_the_stack() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"arguments":{deep}}}}}"#
            );
            let request = request(&line);
            let params = request.params::<std::collections::BTreeMap<String, serde_json::Value>>();
            assert_eq!(params.unwrap_err().code.0, -32700, "{open}");
            assert!(request.meta().is_ok(), "what is not read does not matter");
            assert_eq!(invalid(open.repeat(100_000).as_bytes()).0, -32700, "{open}");
        }
    }

    #[test]
    fn parameters_are_an_object_and_errors_in_them_have_their_codes() {
        for (params, expected) in [
            (r#","params":{"_meta":{}}"#, None),
            ("", None),
            (r#","params":[]"#, Some(-32602)),
            (r#","params":null"#, Some(-32602)),
            (r#","params":{"_meta":1}"#, Some(-32602)),
            (r#","params":{"_meta":[]}"#, Some(-32602)),
            (r#","params":{"_meta":{"\ud800":1}}"#, Some(-32700)),
        ] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m"{params}}}"#);
            let code = request(&line).meta().err().map(|error| error.code.0);
            assert_eq!(code, expected, "{params}");
        }
    }

    #[test]
    fn a_progress_token_is_a_string_or_number_and_kept_as_it_is() {
        let longest = format!("\"{}\"", "t".repeat(LONGEST_TOKEN - 2));
        let longer = format!("\"{}\"", "t".repeat(LONGEST_TOKEN - 1));
        for (token, is_used) in [
            ("7", true),
            ("1.50", true),
            ("98765432109876543210", true),
            ("\"\\u0061\"", true),
            ("\"\"", true),
            (&longest, true),
            (&longer, false),
            ("null", false),
            ("true", false),
            ("[7]", false),
            ("{\"a\":7}", false),
        ] {
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta":{{"progressToken": {token}}}}}}}"#
            );
            let request = request(&line);
            let meta = request.meta().unwrap();
            let found = meta.progress_token().map(RawValue::get);
            assert_eq!(found, is_used.then_some(token), "{token}");
        }
    }

    #[test]
    fn an_owned_request_is_the_same() {
        let line = r#"{"method":"tools\/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"v"}},"jsonrpc":"2.0","id":"x"}"#;
        let request = request(line).into_owned();
        assert_eq!(
            (&*request.method, request.id.as_json()),
            ("tools/call", "\"x\"")
        );
        assert_eq!(request.meta().unwrap().version().as_deref(), Some("v"));
        let params: serde_json::Value = request.params().unwrap();
        assert_eq!(params["name"], "x");
    }

    #[test]
    fn ids_of_every_legal_form_are_read() {
        for (text, expected) in [
            ("1", "1"),
            ("-7", "-7"),
            ("9007199254740993", "9007199254740993"),
            ("1.0", "1"),
            ("\"\"", "\"\""),
            ("\"\\u00e9\"", "\"\u{e9}\""),
        ] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{text},"method":"ping"}}"#);
            assert_eq!(request(&line).id.as_json(), expected, "{text}");
        }
    }

    #[test]
    fn responses_and_notifications_are_not_requests() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}"#,
        ] {
            assert!(
                matches!(read(line.as_bytes()), Ok(Message::Response)),
                "{line}"
            );
        }
        for (params, expected) in [
            (r#"{"requestId":4,"reason":"late"}"#, Some("4")),
            (r#"{"requestId":"a"}"#, Some("\"a\"")),
            (r#"{"requestId":null}"#, None),
            ("{}", None),
            ("7", None),
        ] {
            let line = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#
            );
            let Ok(Message::Notification(notification)) = read(line.as_bytes()) else {
                panic!("{line}")
            };
            let id = notification.cancelled_request();
            assert_eq!(id.as_ref().map(Id::as_json), expected, "{line}");
        }
    }

    #[test]
    fn a_response_is_a_result_or_an_error_or_nothing() {
        let error = || RpcError::invalid_params("no", Some(1.into()));
        for (answer, expected) in [
            (Some(Ok(())), r#"x{"jsonrpc":"2.0","id":1,"result":{}}"#),
            (
                Some(Err(error())),
                r#"x{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":1}}"#,
            ),
            (None, "x"),
        ] {
            let mut out = b"x".to_vec();
            let answered = write_response(&Id("1".to_owned()), &mut out, |out| {
                out.extend_from_slice(b"{}");
                answer.clone()
            });
            assert_eq!(answered, answer);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
