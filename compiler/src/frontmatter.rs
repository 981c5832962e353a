//! Markdown files in, documents out: splits the frontmatter off, reads its
//! YAML with a place for every key and value, and mends what real files get
//! wrong. One parse serves strict checks and lenient loading alike: whatever
//! is wrong is a diagnostic, and a [`Document`] that is returned is fit to be
//! served, errors or not. It knows the shapes of fields, not their meaning.

mod characters;
mod events;
mod fence;
mod fields;
mod json;
mod known;
mod node;
mod patch;
mod repair;
mod tools;
mod typing;
mod yaml;

use std::ops::Range;

use crate::diagnostic::{Code, Diagnostic, Span};

pub(crate) use fields::Fields;
pub(crate) use json::to_json;
pub(crate) use node::{Kind, Node, Style};

/// A parsed file. All ranges are byte offsets into the file as it is on disk.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    file: String,
    /// The file up to the end of the closing fence's line.
    head: String,
    /// Where the text begins: 3 behind a byte order mark, else 0.
    pub(crate) text_start: usize,
    /// What follows the closing fence's line, up to the end of the file.
    pub(crate) body: Range<usize>,
    /// The frontmatter's mapping; nothing where the file has no frontmatter.
    root: Option<Node>,
    /// Whether other readers of YAML refuse the frontmatter, or read something
    /// else.
    pub(crate) mended: bool,
}

/// What is read here as it was meant, and elsewhere as something else or not at
/// all.
const MENDED: &[Code] = &[
    Code::DuplicateKey,
    Code::InvalidYaml,
    Code::LooseIndentation,
    Code::MissingSpace,
    Code::TabIndentation,
    Code::UnindentedText,
    Code::UnquotedValue,
    Code::YamlFeature,
];

/// Reads a Markdown file. `file` is its name in diagnostics.
///
/// Without a frontmatter the document has no fields and all text is body.
/// No document is returned where serving the file could lose what its
/// frontmatter declares; an error then says why.
pub(crate) fn parse(file: &str, source: &[u8]) -> (Option<Document>, Vec<Diagnostic>) {
    let mut out = Vec::new();
    let document = text_of(file, source, &mut out).and_then(|text| {
        let parts = fence::split(file, text, &mut out)?;
        let root = match parts.yaml {
            Some(yaml) => Some(yaml::mapping(file, text, yaml, &mut out)?),
            None => None,
        };
        characters::check(file, text, &mut out);
        let document = Document {
            file: file.to_owned(),
            head: text[..parts.body].to_owned(),
            text_start: parts.text_start,
            body: parts.body..text.len(),
            root,
            mended: out.iter().any(|it| is_mended(it, parts.body)),
        };
        known::check(&document, &mut out);
        Some(document)
    });
    (document, out)
}

/// Reads a file that is YAML from end to end, by the same rules.
pub(crate) fn parse_yaml(file: &str, source: &[u8]) -> (Option<Document>, Vec<Diagnostic>) {
    let mut out = Vec::new();
    let document = text_of(file, source, &mut out).and_then(|text| {
        let text_start = fence::text_start(text);
        let root = yaml::mapping(file, text, text_start..text.len(), &mut out)?;
        characters::check(file, text, &mut out);
        Some(Document {
            file: file.to_owned(),
            head: text.to_owned(),
            text_start,
            body: text.len()..text.len(),
            root: Some(root),
            mended: out.iter().any(|it| is_mended(it, text.len())),
        })
    });
    (document, out)
}

/// Whether a finding says so of a frontmatter that ends where the body begins.
/// YAML has no place for control characters.
fn is_mended(finding: &Diagnostic, body: usize) -> bool {
    let is_above = || finding.span.is_some_and(|span| span.start < body);
    MENDED.contains(&finding.code) || (finding.code == Code::ControlCharacter && is_above())
}

impl Document {
    /// Whether the file has a frontmatter, be it empty.
    pub(crate) fn has_frontmatter(&self) -> bool {
        self.root.is_some()
    }

    /// The frontmatter's fields; none where there is no frontmatter.
    pub(crate) fn fields(&self) -> Fields<'_> {
        let entries = self
            .root
            .as_ref()
            .and_then(Node::entries)
            .unwrap_or_default();
        Fields::new(self, entries)
    }

    /// The fields of a mapping further down; nothing where `node` is none.
    pub(crate) fn fields_of<'a>(&'a self, node: &'a Node) -> Option<Fields<'a>> {
        Some(Fields::new(self, node.entries()?))
    }

    /// The place of a byte range within the frontmatter.
    pub(crate) fn span(&self, range: &Range<usize>) -> Span {
        Span::locate(self.head.as_bytes(), range.clone())
    }

    /// The opening fence, where a missing key is reported; the start of the
    /// file where there is no frontmatter.
    pub(crate) fn top(&self) -> Span {
        let line = self.head[self.text_start..]
            .lines()
            .next()
            .unwrap_or_default();
        self.span(&(self.text_start..self.text_start + line.len()))
    }

    /// The text of a byte range as it was written.
    pub(crate) fn source(&self, range: &Range<usize>) -> &str {
        self.head.get(range.clone()).unwrap_or_default()
    }

    /// Begins a finding about this file.
    pub(crate) fn finding(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, self.file.as_str(), message)
    }

    /// The frontmatter as one JSON object: every key in source order, typed as
    /// a YAML 1.2 core parser types it. See [`json`] for the few edges.
    pub(crate) fn to_json(&self) -> String {
        self.root.as_ref().map_or_else(|| "{}".to_owned(), to_json)
    }
}

/// The file as text, or a finding that says which byte is not UTF-8.
fn text_of<'a>(file: &str, source: &'a [u8], out: &mut Vec<Diagnostic>) -> Option<&'a str> {
    match str::from_utf8(source) {
        Ok(text) => Some(text),
        Err(error) => {
            out.push(not_utf8(file, source, error.valid_up_to()));
            None
        }
    }
}

fn not_utf8(file: &str, source: &[u8], at: usize) -> Diagnostic {
    let finding = Diagnostic::new(
        Code::NotUtf8,
        file,
        format!(
            "this file is not UTF-8: byte 0x{:02X} at offset {at}",
            source[at]
        ),
    );
    let help = if source.starts_with(b"\xFF\xFE") || source.starts_with(b"\xFE\xFF") {
        "it looks like UTF-16; save it as UTF-8"
    } else {
        "save it as UTF-8; it may be in a legacy code page such as Latin-1 or Windows-1252"
    };
    finding.at(Span::locate(source, at..at + 1)).help(help)
}

#[cfg(test)]
mod tests;
