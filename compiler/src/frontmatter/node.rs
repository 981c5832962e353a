//! Frontmatter as a tree: values in source order, each with the byte range it was
//! read from, and the same tree as JSON for hosts that compare it with their own
//! reading. `typing.rs` decides what unquoted words mean.

use std::ops::Range;

use super::typing::{self, Typed};

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// Its byte range in the file; empty if nothing was written.
    pub(crate) range: Range<usize>,
    /// What it is.
    pub(crate) kind: NodeKind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodeKind {
    /// An empty value, `~` or `null`.
    Null,
    /// A word or text. Unquoted text is kept as written (`007`, `on`, `1.10`),
    /// other text as its YAML value.
    Scalar {
        /// The text, with `\n` line ends.
        text: String,
        /// How it was written.
        style: Style,
    },
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and values in source order, each key once.
    Mapping(Vec<Entry>),
}

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Unquoted: the only style that can mean a number or a boolean.
    Plain,
    /// In single or double quotes.
    Quoted,
    /// As a `|` or `>` block.
    Block,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The key.
    pub(crate) key: Key,
    /// Its value.
    pub(crate) value: Node,
}

/// A key. Keys are text, whatever YAML says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// Its text.
    pub(crate) text: String,
    /// Its byte range in the file.
    pub(crate) range: Range<usize>,
}

impl Node {
    /// The entries of a mapping.
    pub(crate) fn entries(&self) -> Option<&[Entry]> {
        match &self.kind {
            NodeKind::Mapping(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> Option<&[Self]> {
        match &self.kind {
            NodeKind::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// Whether it is empty, `~` or `null`.
    pub(crate) fn is_null(&self) -> bool {
        self.kind == NodeKind::Null
    }

    /// What it is, in words for the author.
    pub(crate) const fn describe(&self) -> &'static str {
        match self.kind {
            NodeKind::Null => "nothing",
            NodeKind::Scalar { .. } => "text",
            NodeKind::Sequence(_) => "a list",
            NodeKind::Mapping(_) => "a set of keys",
        }
    }
}

/// A value as compact JSON, typed by the YAML 1.2 core schema: `version: 1.10` is
/// the number `1.10`, written with all its digits; `007` is `7`, `0x1F` is `31`;
/// `on`, `yes` and `2026-01-02` are text. `.inf`, `.nan` and numbers beyond the
/// range of a double become text, since JSON has no notation for them.
pub(crate) fn to_json(node: &Node) -> String {
    let mut json = String::new();
    write(node, &mut json);
    json
}

fn write(node: &Node, json: &mut String) {
    match &node.kind {
        NodeKind::Null => json.push_str("null"),
        NodeKind::Scalar {
            text,
            style: Style::Plain,
        } => write_plain(text, json),
        NodeKind::Scalar { text, .. } => write_text(text, json),
        NodeKind::Sequence(items) => {
            json.push('[');
            for (at, item) in items.iter().enumerate() {
                json.push_str(if at == 0 { "" } else { "," });
                write(item, json);
            }
            json.push(']');
        }
        NodeKind::Mapping(entries) => {
            json.push('{');
            for (at, entry) in entries.iter().enumerate() {
                json.push_str(if at == 0 { "" } else { "," });
                write_text(&entry.key.text, json);
                json.push(':');
                write(&entry.value, json);
            }
            json.push('}');
        }
    }
}

fn write_plain(word: &str, json: &mut String) {
    match typing::resolve(word) {
        Typed::Null => json.push_str("null"),
        Typed::Boolean(value) => json.push_str(if value { "true" } else { "false" }),
        Typed::Number(number) => json.push_str(&number),
        Typed::Unrepresentable | Typed::Text => write_text(word, json),
    }
}

fn write_text(text: &str, json: &mut String) {
    json.push_str(&serde_json::Value::from(text).to_string());
}
