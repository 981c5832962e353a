//! What a tool answers, and what it refuses with: one variant per line of the
//! specs' error tables, turned into wire JSON here and nowhere else.

use std::collections::BTreeMap;

use rmcp::model::{CallToolResult, ContentBlock, Implementation};
use serde::Serialize;
use serde_json::{Value, json};

use crate::transport::Era;

/// The member of `_meta` that 2026-07-28 wants in results.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Most characters of a client's own words that an answer gives back.
const ECHO: usize = 200;

/// What refusals add to the properties of every tool's answer.
pub(crate) const REFUSED: &str = r#"{
  "error": { "type": "string", "description": "What is wrong and what to do" },
  "code": { "type": "string", "description": "The same for programs, such as skill_not_found" },
  "argument": { "type": "string", "description": "The argument that is wrong" },
  "expected": { "type": "string" },
  "found": { "type": "string" }
}"#;

/// The answer to a tool call.
#[derive(Debug)]
pub(crate) struct Reply {
    text: String,
    data: Data,
    is_error: bool,
}

/// The structured content of an answer, a JSON object.
#[derive(Debug)]
enum Data {
    /// The text is the data.
    Text,
    Tree(Value),
    /// As JSON already: a tree of a long list takes longer to build and to
    /// take down than all else together.
    Written(String),
}

/// Why a call cannot be answered as it stands. The client sees the text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
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
    #[error(
        "the cursor no longer fits: the skills have changed since it was given; search again without `cursor`"
    )]
    StaleCursor,
    #[error("skill not found: {path}{}", Hint(*.lister, "shows the paths there are"))]
    NoSkill {
        path: String,
        /// The tool that shows what there is.
        lister: Option<&'static str>,
    },
    #[error("no skills below {0}; list_skills without a path shows everything")]
    NoTree(String),
    #[error(
        "path traversal is not allowed: {0}; name a file relative to the skill's own directory, such as assets/form.html"
    )]
    Traversal(String),
    #[error("asset not found: {file} in {skill} and its parents{}", Hint(*.loader, "lists the files there are"))]
    NoFile {
        skill: String,
        file: String,
        /// The tool that lists the files there are.
        loader: Option<&'static str>,
    },
    #[error(
        "asset declared but missing: {file} is declared by {skill}, but was not there when the skills were read"
    )]
    MissingFile { skill: String, file: String },
    #[error(
        "asset too large: {file} has {size} bytes, the limit is {limit} bytes (assets.max_size_bytes)"
    )]
    TooLarge { file: String, size: u64, limit: u64 },
    #[error("the skills cannot be read: {0}")]
    Unavailable(String),
    #[error("the skills cannot be read: {0}")]
    Damaged(#[from] skillbundle_format::Error),
}

struct Known<'a>(&'a [&'static str]);

/// What a tool would tell, where there is such a tool.
struct Hint(Option<&'static str>, &'static str);

impl Reply {
    /// An answer in JSON, as text and as structured content.
    pub(crate) fn json(data: &Value) -> Self {
        Self {
            text: data.to_string(),
            data: Data::Text,
            is_error: false,
        }
    }

    /// An answer with a text of its own.
    pub(crate) fn text(text: String, data: Value) -> Self {
        Self {
            text,
            data: Data::Tree(data),
            is_error: false,
        }
    }

    /// The same with data that may be long.
    pub(crate) fn list(text: String, data: &impl Serialize) -> Self {
        let data = serde_json::to_string(data);
        Self {
            text,
            data: Data::Written(data.expect("keys are strings, and memory takes what is written")),
            is_error: false,
        }
    }

    /// The same as an error, one that the caller can do something about.
    pub(crate) fn failing(self) -> Self {
        Self {
            is_error: true,
            ..self
        }
    }

    /// The answer for rmcp to send to a client of this era, signed where it
    /// wants to know who answers.
    pub(crate) fn into_result(self, era: Era, identity: Implementation) -> CallToolResult {
        let mut result = CallToolResult::default();
        result.structured_content = match self.data {
            Data::Text => serde_json::from_str(&self.text).ok(),
            Data::Tree(data) => Some(data),
            Data::Written(data) => serde_json::from_str(&data).ok(),
        };
        result.content = vec![ContentBlock::text(self.text)];
        result.is_error = self.is_error.then_some(true);
        if era == Era::Stateless
            && let Ok(identity) = serde_json::to_value(identity)
        {
            let meta = result.meta.get_or_insert_default();
            meta.insert(SERVER_INFO.to_owned(), identity);
        }
        result
    }

    /// Adds the same as it goes over the wire, its members in rmcp's order.
    pub(crate) fn write(
        &self,
        era: Era,
        identity: Implementation,
        into: &mut Vec<u8>,
    ) -> Option<()> {
        let newer = era == Era::Stateless;
        into.push(b'{');
        if newer {
            into.extend_from_slice(br#""resultType":"complete","#);
        }
        into.extend_from_slice(br#""content":[{"type":"text","text":"#);
        serde_json::to_writer(&mut *into, &self.text).ok()?;
        into.extend_from_slice(br#"}],"structuredContent":"#);
        match &self.data {
            Data::Text => into.extend_from_slice(self.text.as_bytes()),
            Data::Tree(data) => serde_json::to_writer(&mut *into, data).ok()?,
            Data::Written(data) => into.extend_from_slice(data.as_bytes()),
        }
        if self.is_error {
            into.extend_from_slice(br#","isError":true"#);
        }
        if newer {
            into.extend_from_slice(br#","_meta":"#);
            let signature = BTreeMap::from([(SERVER_INFO, identity)]);
            serde_json::to_writer(&mut *into, &signature).ok()?;
        }
        into.push(b'}');
        Some(())
    }
}

impl Refusal {
    /// The word that programs can tell it by.
    fn code(&self) -> &'static str {
        match self {
            Self::WrongArgument { .. } | Self::UnknownArgument { .. } => "invalid_argument",
            Self::StaleCursor => "stale_cursor",
            Self::NoSkill { .. } | Self::NoTree(_) => "skill_not_found",
            Self::Traversal(_) => "path_traversal",
            Self::NoFile { .. } => "asset_not_found",
            Self::MissingFile { .. } => "asset_missing",
            Self::TooLarge { .. } => "asset_too_large",
            Self::Unavailable(_) | Self::Damaged(_) => "skills_unavailable",
        }
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        let mut structured = json!({ "error": refusal.to_string(), "code": refusal.code() });
        match &refusal {
            Refusal::WrongArgument {
                argument,
                expected,
                found,
            } => {
                structured["argument"] = json!(argument);
                structured["expected"] = json!(expected);
                structured["found"] = json!(found);
            }
            Refusal::UnknownArgument { argument, .. } => structured["argument"] = json!(argument),
            Refusal::TooLarge { size, limit, .. } => {
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

impl std::fmt::Display for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(tool) => write!(f, "; `{tool}` {}", self.1),
            None => Ok(()),
        }
    }
}

/// A client's own words, short enough to be given back.
pub(crate) fn shortened(words: &str) -> String {
    match words.char_indices().nth(ECHO) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

/// A digest as it stands on the wire.
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
