//! The tree that frontmatter becomes: values in source order, each with the
//! bytes it was read from. It knows no typing; `typing.rs` does that.

use std::ops::Range;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// Where it was written, in bytes of the file; empty where nothing was.
    pub(crate) range: Range<usize>,
    /// What it is.
    pub(crate) kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing, `~` or `null`.
    Null,
    /// Anything that is written as one word or text. Unquoted text is kept as
    /// written (`007`, `on`, `1.10`), other text in its YAML value.
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
    /// Without quotes: the only style that can mean a number or a boolean.
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

/// A key. Keys are text, whatever YAML would take them for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// Its text.
    pub(crate) text: String,
    /// Where it was written.
    pub(crate) range: Range<usize>,
}

impl Node {
    /// The entries of a mapping.
    pub(crate) fn entries(&self) -> Option<&[Entry]> {
        match &self.kind {
            Kind::Mapping(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> Option<&[Self]> {
        match &self.kind {
            Kind::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// Whether it is nothing, `~` or `null`.
    pub(crate) fn is_null(&self) -> bool {
        self.kind == Kind::Null
    }

    /// What it is, in an author's words.
    pub(crate) const fn describe(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Scalar { .. } => "text",
            Kind::Sequence(_) => "a list",
            Kind::Mapping(_) => "a set of keys",
        }
    }
}
