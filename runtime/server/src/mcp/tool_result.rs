//! The result of a tool, and its errors: one variant per line of the specs' error tables, turned
//! into JSON here and nowhere else.
//!
//! A text that a model must read stands in `content` and nowhere else. Claude Code, Codex and VS
//! Code show a model `structuredContent` alone where a result has it, other hosts show it `content`
//! alone, some both; so structured content beside a text is a text unseen or a text paid for twice.

use rmcp::model::Implementation;
use serde::Serialize;
use serde_json::{Value, json};

use super::results::write;
use super::{Era, Server};
use crate::invocations::InvocationError;
use crate::jsonrpc::RpcError;
use crate::scripts::ScriptError;

/// Maximum number of a client's characters that a message quotes.
const ECHO: usize = 200;

/// What errors add to the properties of every tool's answer.
pub(crate) const ERROR_PROPERTIES: &str = r#"{
  "error": { "type": "string", "description": "What is wrong and what to do" },
  "code": { "type": "string", "description": "The same for programs, such as skill_not_found" },
  "argument": { "type": "string", "description": "The argument that is wrong" },
  "expected": { "type": "string" },
  "found": { "type": "string" }
}"#;

/// The answer to a tool call.
#[derive(Debug)]
pub(crate) struct ToolResult {
    text: String,
    /// What stands after the text.
    links: Vec<ResourceLink>,
    data: Structured,
    is_error: bool,
}

/// Bytes that belong to an answer and are read as a resource.
#[derive(Debug)]
pub(crate) struct ResourceLink {
    pub(crate) name: &'static str,
    pub(crate) uri: String,
    pub(crate) size: usize,
}

/// The structured content of an answer, a JSON object.
#[derive(Debug)]
enum Structured {
    /// None: the text is to be read. What programs may want to know about it is in `_meta`.
    Absent {
        about: Option<Value>,
    },
    /// The text is the data, and is written twice.
    SameAsText,
    Tree(Value),
    /// JSON text: a tree of a long list takes longer to build and drop than all else together.
    Written(String),
}

/// The member `_meta` of a result.
#[derive(Serialize)]
struct Meta<'a> {
    /// What 2026-07-28 wants in results.
    #[serde(
        rename = "io.modelcontextprotocol/serverInfo",
        skip_serializing_if = "Option::is_none"
    )]
    server: Option<Implementation>,
    #[serde(rename = "skillbundle/about", skip_serializing_if = "Option::is_none")]
    about: Option<&'a Value>,
}

/// Why a call cannot be answered. The client sees the text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    #[error("invalid argument `{argument}`: expected {expected}, found {found}")]
    WrongArgument {
        argument: &'static str,
        expected: String,
        found: String,
    },
    #[error("unknown argument `{argument}`: {}", Known(.known))]
    UnknownArgument {
        argument: String,
        known: &'static [&'static str],
    },
    #[error("Skill name cannot be empty")]
    EmptyName,
    #[error(
        "stale cursor: the skills have changed since it was issued; search again without `cursor`"
    )]
    StaleCursor,
    #[error("skill not found: {path}{}", Hint(.meant.as_deref(), *.lister))]
    NoSkill {
        path: String,
        /// The skill that it may be a typing mistake for.
        meant: Option<String>,
        /// The tool that shows what there is.
        lister: Option<&'static str>,
    },
    #[error("no skills below {0}; without `path`, everything is shown")]
    NoTree(String),
    #[error(
        "path traversal is not allowed: {0}; name a file relative to the skill's own directory, such as assets/form.html"
    )]
    Traversal(String),
    #[error("asset not found: {file} in {skill} and its parents, which have {there}")]
    NoFile {
        skill: String,
        file: String,
        /// The files that there are.
        there: String,
    },
    #[error(
        "asset declared but missing: {file} is declared by {skill}, but was missing when the skills were read"
    )]
    MissingFile { skill: String, file: String },
    #[error(
        "asset too large: {file} has {size} bytes, the limit is {limit} bytes (assets.max_size_bytes)"
    )]
    TooLarge { file: String, size: u64, limit: u64 },
    #[error("the skills cannot be read: {0}")]
    NotLoaded(String),
    #[error("the skills cannot be read: {0:#}")]
    Damaged(#[from] skillbundle_format::Error),
    #[error("cancelled")]
    Cancelled,
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error("{0}")]
    Invocation(Box<InvocationError>),
}

struct Known<'a>(&'a [&'static str]);

/// What may have been meant instead, and the tool that shows what there is.
struct Hint<'a>(Option<&'a str>, Option<&'static str>);

impl ToolResult {
    /// A text to be read, such as a skill, with what programs may want to know about it.
    pub(crate) fn reading(text: String, about: Option<Value>) -> Self {
        Self {
            text,
            data: Structured::Absent { about },
            links: Vec::new(),
            is_error: false,
        }
    }

    /// A short answer in JSON, as text and as structured content.
    pub(crate) fn json(data: &Value) -> Self {
        Self {
            text: data.to_string(),
            data: Structured::SameAsText,
            links: Vec::new(),
            is_error: false,
        }
    }

    /// An answer with a text of its own.
    pub(crate) fn text(text: String, data: Value) -> Self {
        Self {
            text,
            data: Structured::Tree(data),
            links: Vec::new(),
            is_error: false,
        }
    }

    /// The same with data that may be long.
    pub(crate) fn list(text: String, data: &impl Serialize) -> Self {
        let data = serde_json::to_string(data);
        Self {
            text,
            data: Structured::Written(
                data.expect("keys are strings, and memory takes what is written"),
            ),
            links: Vec::new(),
            is_error: false,
        }
    }

    /// The same with bytes that are read as resources.
    pub(crate) fn with_links(self, links: Vec<ResourceLink>) -> Self {
        Self { links, ..self }
    }

    /// The same as an error, one that the caller can do something about.
    pub(crate) fn failing(self) -> Self {
        Self {
            is_error: true,
            ..self
        }
    }

    /// Appends the result of `tools/call`. Since 2026-07-28 it says who answers.
    pub(crate) fn write(&self, era: Era, out: &mut Vec<u8>) -> Result<(), RpcError> {
        let stateless = era == Era::Stateless;
        out.push(b'{');
        if stateless {
            out.extend_from_slice(br#""resultType":"complete","#);
        }
        out.extend_from_slice(br#""content":[{"type":"text","text":"#);
        write(out, &self.text)?;
        out.push(b'}');
        for ResourceLink { name, uri, size } in &self.links {
            let link = json!({
                "type": "resource_link",
                "uri": uri,
                "name": name,
                "mimeType": "application/octet-stream",
                "size": size,
            });
            out.push(b',');
            write(out, &link)?;
        }
        out.push(b']');
        self.write_structured(out)?;
        if self.is_error {
            out.extend_from_slice(br#","isError":true"#);
        }
        let about = match &self.data {
            Structured::Absent { about } => about.as_ref(),
            _ => None,
        };
        if stateless || about.is_some() {
            let meta = Meta {
                server: stateless.then(Server::identity),
                about,
            };
            out.extend_from_slice(br#","_meta":"#);
            write(out, &meta)?;
        }
        out.push(b'}');
        Ok(())
    }

    fn write_structured(&self, out: &mut Vec<u8>) -> Result<(), RpcError> {
        const NAME: &[u8] = br#","structuredContent":"#;
        match &self.data {
            Structured::Absent { .. } => return Ok(()),
            Structured::SameAsText => {
                out.extend_from_slice(NAME);
                out.extend_from_slice(self.text.as_bytes());
            }
            Structured::Tree(data) => {
                out.extend_from_slice(NAME);
                write(out, data)?;
            }
            Structured::Written(data) => {
                out.extend_from_slice(NAME);
                out.extend_from_slice(data.as_bytes());
            }
        }
        Ok(())
    }
}

impl ToolError {
    /// The word for programs.
    fn code(&self) -> &'static str {
        match self {
            Self::WrongArgument { .. } | Self::UnknownArgument { .. } | Self::EmptyName => {
                "invalid_argument"
            }
            Self::StaleCursor => "stale_cursor",
            Self::NoSkill { .. } | Self::NoTree(_) => "skill_not_found",
            Self::Traversal(_) => "path_traversal",
            Self::NoFile { .. } => "asset_not_found",
            Self::MissingFile { .. } => "asset_missing",
            Self::TooLarge { .. } => "asset_too_large",
            Self::NotLoaded(_) | Self::Damaged(_) => "skills_unavailable",
            Self::Cancelled => "cancelled",
            Self::Script(error) => error.code(),
            Self::Invocation(error) => error.code(),
        }
    }
}

impl From<ToolError> for ToolResult {
    fn from(error: ToolError) -> Self {
        let mut structured = json!({ "error": error.to_string(), "code": error.code() });
        match &error {
            ToolError::WrongArgument {
                argument,
                expected,
                found,
            } => {
                structured["argument"] = json!(argument);
                structured["expected"] = json!(expected);
                structured["found"] = json!(found);
            }
            ToolError::UnknownArgument { argument, .. } => structured["argument"] = json!(argument),
            ToolError::TooLarge { size, limit, .. } => {
                structured["size_bytes"] = json!(size);
                structured["max_size_bytes"] = json!(limit);
            }
            _ => {}
        }
        Self::json(&structured).failing()
    }
}

impl std::fmt::Display for Known<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            [] => f.write_str("this tool takes none"),
            known => write!(f, "expected {}", known.join(", ")),
        }
    }
}

impl std::fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.0, self.1) {
            (None, None) => Ok(()),
            (None, Some(lister)) => write!(f, "; `{lister}` lists the paths"),
            (Some(meant), None) => write!(f, "; did you mean `{meant}`?"),
            (Some(meant), Some(lister)) => {
                write!(f, "; did you mean `{meant}`? `{lister}` lists the paths")
            }
        }
    }
}

/// A client's own words, short enough to be quoted.
pub(crate) fn shortened(words: &str) -> String {
    match words.char_indices().nth(ECHO) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

/// A digest in the form sent to clients.
pub(crate) fn digest(bytes: [u8; 32]) -> String {
    let hex = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    let mut text = String::with_capacity(7 + 64);
    text.push_str("sha256:");
    text.extend(
        bytes
            .iter()
            .flat_map(|byte| [hex(byte >> 4), hex(byte & 15)]),
    );
    text
}
