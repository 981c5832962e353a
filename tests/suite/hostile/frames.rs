//! One frame, the expected reply, and how requests are written.

use serde_json::{Value, json};

use crate::project::with_meta;

/// How the client opened its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Not yet.
    Unopened,
    /// With `initialize`.
    Legacy,
    /// With a request that names its revision.
    Modern,
}

/// One line for the server, and the expected reply.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// Without the line end.
    pub(crate) line: Vec<u8>,
    pub(crate) expected: Expected,
}

/// The reply to a frame.
#[derive(Debug, Clone)]
pub(crate) enum Expected {
    /// No reply: the frame is not a request.
    Nothing,
    /// One reply, under one of these ids, of this kind.
    Reply { ids: Vec<Value>, kind: Kind },
    /// One reply under this id when the client closes stdin.
    AtTheEnd(Value),
    /// One reply or none: the frame can be read either way.
    Unclear,
}

/// Which kind of reply is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Any,
    Result,
    /// A tool result with `isError`.
    Refusal,
    /// An error with one of these codes.
    Error(&'static [i64]),
}

pub(crate) const PARSE: Kind = Kind::Error(&[-32700]);
pub(crate) const INVALID: Kind = Kind::Error(&[-32600]);
pub(crate) const PARAMS: Kind = Kind::Error(&[-32602]);
pub(crate) const UNKNOWN: Kind = Kind::Error(&[-32601]);
/// The error for methods that an era does not have.
pub(crate) const NOT_OF_THE_ERA: Kind = Kind::Error(&[-32601, -32602]);

impl Frame {
    pub(crate) fn new(line: impl Into<Vec<u8>>, expected: Expected) -> Self {
        Self {
            line: line.into(),
            expected,
        }
    }

    pub(crate) fn silent(line: impl Into<Vec<u8>>) -> Self {
        Self::new(line, Expected::Nothing)
    }

    /// A frame that is answered under this id, given as JSON.
    pub(crate) fn answered(line: impl Into<Vec<u8>>, id: &str, kind: Kind) -> Self {
        Self::answered_either(line, id, id, kind)
    }

    /// A frame that is answered under either spelling of its id.
    pub(crate) fn answered_either(
        line: impl Into<Vec<u8>>,
        id: &str,
        other: &str,
        kind: Kind,
    ) -> Self {
        let ids = [id, other].map(|id| serde_json::from_str(id).expect("an id is JSON"));
        let ids = ids.to_vec();
        Self::new(line, Expected::Reply { ids, kind })
    }

    /// A frame whose id cannot be read.
    pub(crate) fn without_id(line: impl Into<Vec<u8>>, kind: Kind) -> Self {
        Self::answered(line, "null", kind)
    }

    /// Whether the line contains this text.
    pub(crate) fn says(&self, text: &str) -> bool {
        let mut parts = self.line.windows(text.len());
        parts.any(|part| part == text.as_bytes())
    }

    /// The line as it is shown to a person.
    pub(crate) fn shown(&self) -> String {
        const SHOWN: usize = 400;
        let cut = &self.line[..self.line.len().min(SHOWN)];
        format!("{} ({} bytes)", cut.escape_ascii(), self.line.len())
    }
}

/// Ids that occur once, as JSON: numbers and strings in turn.
#[derive(Default)]
pub(crate) struct Ids(u64);

impl Ids {
    pub(crate) fn next(&mut self) -> String {
        self.0 += 1;
        if self.0.is_multiple_of(3) {
            format!("\"text-{}\"", self.0)
        } else {
            (self.0 + 1000).to_string()
        }
    }
}

/// A request as text; `params` is JSON text.
pub(crate) fn request(id: &str, method: &str, params: Option<&str>) -> String {
    let method = json!(method);
    let params = params.map_or_else(String::new, |params| format!(r#","params":{params}"#));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}{params}}}"#)
}

/// The same with the members in the order of the TypeScript SDK.
pub(crate) fn request_id_last(id: &str, method: &str, params: &str) -> String {
    let method = json!(method);
    format!(r#"{{"params":{params},"method":{method},"jsonrpc":"2.0","id":{id}}}"#)
}

/// Parameters as this era sends them: with `_meta`, if they are an object.
pub(crate) fn params_of(era: Era, params: &Value) -> String {
    match era {
        Era::Modern if params.is_object() => with_meta(params.clone()).to_string(),
        _ => params.to_string(),
    }
}
