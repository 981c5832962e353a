//! Parses Markdown files with frontmatter: splits them, reads the YAML with a byte
//! range for every key and value, and recovers from common mistakes. One parser
//! serves strict checks and lenient loading: every mistake is a diagnostic, and a
//! returned [`Document`] is safe to serve, with errors or without.

mod characters;
mod fence;
mod fields;
pub(crate) mod keys;
mod node;
mod recover;
mod typing;
mod yaml;

use std::borrow::Cow;
use std::ops::Range;

use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::profile::{ByProfile, Profile};
use crate::rules::checkout;

pub(crate) use characters::{check as check_characters, unseen_in_name};
pub(crate) use fields::{Fields, plain_or_quoted};
pub(crate) use node::{Entry, Node, NodeKind, Style, to_json};
pub(crate) use recover::quote;
pub(crate) use typing::{loses_digits, misread_as};

/// A parsed file. All ranges are byte offsets into the file as it is on disk.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    file: String,
    /// The file up to the end of the closing fence's line.
    head: String,
    /// Start of the text: 3 after a byte order mark, otherwise 0.
    pub(crate) text_start: usize,
    /// The opening fence, without its line ending; the first line if there is none.
    top: Span,
    /// Everything after the closing fence's line.
    pub(crate) body: Range<usize>,
    /// The frontmatter's mapping; `None` if the file has no frontmatter.
    root: Option<Node>,
    /// Whether other YAML parsers reject the frontmatter or read it differently.
    pub(crate) recovered: bool,
}

/// Rules about frontmatter that is read here as it was meant, and elsewhere
/// differently or not at all.
const RECOVERED: &[Code] = &[
    Code::DuplicateKey,
    Code::InvalidYaml,
    Code::LateFrontmatter,
    Code::LooseIndentation,
    Code::TabIndentation,
    Code::UnquotedValue,
    Code::YamlFeature,
];

/// Whose YAML parsers refuse control characters, as YAML says.
const REFUSE_CONTROLS: &ByProfile = &[
    (Profile::Spec, Severity::Error),
    (Profile::Codex, Severity::Error),
    (Profile::OpenCode, Severity::Error),
];

/// Reads a Markdown file. `file` is its name in diagnostics.
///
/// Without frontmatter the document has no fields and all text is body. Returns
/// `None` and an error if serving the file could lose what its frontmatter declares.
pub(crate) fn parse(file: &str, source: &[u8]) -> (Option<Document>, Vec<Diagnostic>) {
    let mut out = Vec::new();
    let document = text_of(file, source, &mut out).and_then(|text| {
        let parts = fence::split(file, text, &mut out)?;
        let root = match parts.yaml {
            Some(yaml) => Some(recover::mapping(file, text, yaml, &mut out)?),
            None => None,
        };
        let before = out.len();
        characters::check(file, text, true, &mut out);
        for diagnostic in &mut out[before..] {
            // Their parsers refuse the whole frontmatter.
            if diagnostic.code == Code::ControlCharacter && is_recovered(diagnostic, parts.body) {
                diagnostic.elsewhere = Cow::Borrowed(REFUSE_CONTROLS);
            }
        }
        let document = Document {
            file: file.to_owned(),
            head: text[..parts.body].to_owned(),
            text_start: parts.text_start,
            top: Span::from(fence::trimmed(text, &parts.opening)),
            body: parts.body..text.len(),
            root,
            recovered: out.iter().any(|it| is_recovered(it, parts.body)),
        };
        keys::check(&document, &mut out);
        Some(document)
    });
    if document.is_none()
        && let Some(conflict) = conflict(file, source)
    {
        // What git wrote between the lines is no YAML, and explains all that is wrong with it.
        return (None, vec![conflict]);
    }
    (document, out)
}

/// A merge that is not resolved, in a file that does not load with it.
fn conflict(file: &str, source: &[u8]) -> Option<Diagnostic> {
    let text = str::from_utf8(source).ok()?;
    let at = text.find(checkout::CONFLICT)?;
    let conflict = checkout::conflict(file, text, at)?;
    Some(conflict.severity(Severity::Error))
}

/// Reads a YAML file by the same rules.
pub(crate) fn parse_yaml(file: &str, source: &[u8]) -> (Option<Document>, Vec<Diagnostic>) {
    let mut out = Vec::new();
    let document = text_of(file, source, &mut out).and_then(|text| {
        let text_start = fence::text_start(text);
        let root = recover::mapping(file, text, text_start..text.len(), &mut out)?;
        characters::check(file, text, true, &mut out);
        Some(Document {
            file: file.to_owned(),
            head: text.to_owned(),
            text_start,
            top: Span::from(text_start..text_start),
            body: text.len()..text.len(),
            root: Some(root),
            recovered: out.iter().any(|it| is_recovered(it, text.len())),
        })
    });
    (document, out)
}

/// Where the body of a Markdown file begins; its end if the frontmatter is not closed.
pub(crate) fn body_start(text: &str) -> usize {
    fence::split("", text, &mut Vec::new()).map_or(text.len(), |parts| parts.body)
}

/// A YAML file of another program as JSON; `None` if it has an error.
pub(crate) fn yaml_to_json(source: &[u8]) -> Option<String> {
    let (document, out) = parse_yaml("", source);
    let has_error = out.iter().any(|it| it.severity == Severity::Error);
    document?
        .root
        .filter(|_| !has_error)
        .map(|root| to_json(&root))
}

/// Whether a diagnostic means that the frontmatter, which ends at `body`, was
/// recovered. YAML does not allow control characters.
fn is_recovered(it: &Diagnostic, body: usize) -> bool {
    let in_frontmatter = || it.span.is_some_and(|span| span.start < body);
    RECOVERED.contains(&it.code) || (it.code == Code::ControlCharacter && in_frontmatter())
}

impl Document {
    /// Whether the file has frontmatter, even if empty.
    pub(crate) fn has_frontmatter(&self) -> bool {
        self.root.is_some()
    }

    /// The frontmatter's fields; empty without frontmatter.
    pub(crate) fn fields(&self) -> Fields<'_> {
        let entries = self
            .root
            .as_ref()
            .and_then(Node::entries)
            .unwrap_or_default();
        Fields::new(self, entries)
    }

    /// The fields of a nested mapping; `None` if `node` is not a mapping.
    pub(crate) fn fields_of<'a>(&'a self, node: &'a Node) -> Option<Fields<'a>> {
        Some(Fields::new(self, node.entries()?))
    }

    /// The opening fence, where missing keys are reported; the first line if there
    /// is no frontmatter.
    pub(crate) const fn top(&self) -> Span {
        self.top
    }

    /// Reports that there is no frontmatter, or where what was probably meant as it is. `help` is for
    /// a file that has nothing like it.
    pub(crate) fn without_frontmatter(
        &self,
        source: &[u8],
        what: &str,
        help: String,
    ) -> Diagnostic {
        let text = str::from_utf8(source).unwrap_or_default();
        if let Some(conflict) = conflict(&self.file, source).filter(|_| text.starts_with('<')) {
            return conflict;
        }
        let Some(fence) = fence::misplaced(text) else {
            let message = format!("this {what} is not served: it has no frontmatter");
            let diagnostic = self.diagnostic(Code::MissingFrontmatter, message);
            return diagnostic.at(self.top()).help(help);
        };
        let line = text[..fence.start].matches('\n').count() + 1;
        let above = text[..fence.start].trim_end().lines().next_back();
        let in_code = above.is_some_and(|it| it.trim_start().starts_with("```"));
        let message =
            format!("this {what} is not served: its frontmatter is in line {line}, not at the top");
        let diagnostic = self.diagnostic(Code::MissingFrontmatter, message);
        let diagnostic = diagnostic.at(Span::from(fence::trimmed(text, &fence)));
        diagnostic.help(if in_code {
            "remove the fence of the block of code around it"
        } else {
            "move it to the top, so that `---` is the first line"
        })
    }

    /// The source text of a byte range.
    pub(crate) fn source(&self, range: &Range<usize>) -> &str {
        self.head.get(range.clone()).unwrap_or_default()
    }

    /// A diagnostic about this file.
    pub(crate) fn diagnostic(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, self.file.as_str(), message)
    }

    /// The frontmatter as a JSON object, with every key in source order. See
    /// [`to_json`] for how values are typed.
    pub(crate) fn to_json(&self) -> String {
        self.root.as_ref().map_or_else(|| "{}".to_owned(), to_json)
    }
}

/// The file as text. Reports the first byte that is not UTF-8.
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
    let byte = source[at];
    let message = format!("this file is not UTF-8: byte 0x{byte:02X} at offset {at}");
    let diagnostic = Diagnostic::new(Code::NotUtf8, file, message);
    let help = if source.starts_with(b"\xFF\xFE") || source.starts_with(b"\xFE\xFF") {
        "save it as UTF-8; it looks like UTF-16"
    } else {
        "save it as UTF-8; it may be Latin-1 or Windows-1252"
    };
    diagnostic.at(Span::from(at..at + 1)).help(help)
}

#[cfg(test)]
mod tests;
