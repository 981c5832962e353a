//! One frame, what must come back for it, and how requests are written down.

use serde_json::{Value, json};

use crate::project::with_meta;

/// How the client of a session opened it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Not at all so far.
    Unopened,
    /// With `initialize`.
    Legacy,
    /// With a request that names its revision.
    Modern,
}

/// One line for the server, and what it owes for it.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// Without the line end.
    pub(crate) line: Vec<u8>,
    pub(crate) owed: Owed,
}

/// What a server owes for a frame.
#[derive(Debug, Clone)]
pub(crate) enum Owed {
    /// Silence: it was no request.
    Nothing,
    /// One reply, under one of these ids, of this kind.
    Reply { ids: Vec<Value>, kind: Kind },
    /// One reply under this id when the client has had enough.
    AtTheEnd(Value),
    /// One reply or none: nobody can say what the sender meant.
    Unclear,
}

/// What kind of reply is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Any,
    Result,
    /// A result of a tool that says `isError`.
    Refusal,
    /// An error with one of these codes.
    Error(&'static [i64]),
}

pub(crate) const PARSE: Kind = Kind::Error(&[-32700]);
pub(crate) const INVALID: Kind = Kind::Error(&[-32600]);
pub(crate) const PARAMS: Kind = Kind::Error(&[-32602]);
pub(crate) const UNKNOWN: Kind = Kind::Error(&[-32601]);
/// For methods that an era does not have.
pub(crate) const NOT_OF_THE_ERA: Kind = Kind::Error(&[-32601, -32602]);

impl Frame {
    pub(crate) fn new(line: impl Into<Vec<u8>>, owed: Owed) -> Self {
        Self {
            line: line.into(),
            owed,
        }
    }

    pub(crate) fn silent(line: impl Into<Vec<u8>>) -> Self {
        Self::new(line, Owed::Nothing)
    }

    /// One that is answered under this id, given as JSON.
    pub(crate) fn answered(line: impl Into<Vec<u8>>, id: &str, kind: Kind) -> Self {
        Self::answered_either(line, id, id, kind)
    }

    /// One that is answered under an id as it is written one way or the other.
    pub(crate) fn answered_either(
        line: impl Into<Vec<u8>>,
        id: &str,
        other: &str,
        kind: Kind,
    ) -> Self {
        let ids = [id, other].map(|id| serde_json::from_str(id).expect("an id is JSON"));
        let ids = ids.to_vec();
        Self::new(line, Owed::Reply { ids, kind })
    }

    /// One whose id cannot be read.
    pub(crate) fn nameless(line: impl Into<Vec<u8>>, kind: Kind) -> Self {
        Self::answered(line, "null", kind)
    }

    /// Whether this text stands in the line.
    pub(crate) fn says(&self, text: &str) -> bool {
        let mut parts = self.line.windows(text.len());
        parts.any(|part| part == text.as_bytes())
    }

    /// The line for a person.
    pub(crate) fn shown(&self) -> String {
        const SHOWN: usize = 400;
        let cut = &self.line[..self.line.len().min(SHOWN)];
        format!("{} ({} bytes)", cut.escape_ascii(), self.line.len())
    }
}

/// Ids that nobody else uses, as JSON: numbers and texts in turn.
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

/// A request as text; `params` as JSON text, or without any.
pub(crate) fn request(id: &str, method: &str, params: Option<&str>) -> String {
    let method = json!(method);
    let params = params.map_or_else(String::new, |params| format!(r#","params":{params}"#));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}{params}}}"#)
}

/// The same with the members the other way round, as the TypeScript SDK writes them.
pub(crate) fn request_id_last(id: &str, method: &str, params: &str) -> String {
    let method = json!(method);
    format!(r#"{{"params":{params},"method":{method},"jsonrpc":"2.0","id":{id}}}"#)
}

/// Parameters as this era sends them, if they are an object.
pub(crate) fn params_of(era: Era, params: &Value) -> String {
    match era {
        Era::Modern if params.is_object() => with_meta(params.clone()).to_string(),
        _ => params.to_string(),
    }
}
