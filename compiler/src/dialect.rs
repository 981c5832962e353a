//! The readers of the two dialects: from one parsed Markdown file to a draft. What
//! both have in common is here.

mod folder;
mod tree;

use std::sync::Arc;

use skillbundle_format::{Audience, Dialect, SkillEntry};

pub(crate) use folder::read as read_folder;
pub(crate) use tree::read as read_page;

use crate::diagnostic::{Code, Diagnostic, Span};
use crate::frontmatter::{Document, Entry, Fields, NodeKind, Style, keys};
use crate::source::{FileId, TreeEntry, TreeRoot};

/// A Markdown file to read.
pub(crate) struct MarkdownFile<'a> {
    pub(crate) id: FileId,
    pub(crate) root: &'a TreeRoot,
    pub(crate) entry: &'a TreeEntry,
    /// The file, as the user would type it.
    pub(crate) shown: &'a str,
    pub(crate) bytes: &'a Arc<[u8]>,
    pub(crate) document: &'a Document,
    /// Whether the rules about quality run as well.
    pub(crate) check: bool,
}

/// The part of an entry that both dialects share. The caller adds the rest.
fn common(source: &MarkdownFile<'_>, fields: &Fields<'_>, out: &mut Vec<Diagnostic>) -> SkillEntry {
    let document = source.document;
    SkillEntry {
        path: String::new(),
        name: String::new(),
        description: String::new(),
        dialect: Dialect::Tree,
        root: u32::try_from(source.id.root).unwrap_or(u32::MAX),
        file_path: source.entry.path.clone(),
        priority: fields.number(keys::PRIORITY, out).unwrap_or(0.0),
        inherit: inherit(source, fields, out),
        parent: None,
        prefix: 0,
        shadowed: false,
        audience: Audience::Everyone,
        keywords: Vec::new(),
        frontmatter_json: document.to_json(),
        recovered: document.recovered,
        source: Arc::clone(source.bytes),
        text_start: document.text_start,
        body: document.body.clone(),
        files: Vec::new(),
        contract: None,
    }
}

/// True unless it is exactly `false`; `no`, `"false"` and `0` do not count, since
/// losing inherited text by mistake is worse than keeping it.
fn inherit(source: &MarkdownFile<'_>, fields: &Fields<'_>, out: &mut Vec<Diagnostic>) -> bool {
    let Some(node) = fields.get(keys::INHERIT) else {
        return true;
    };
    let word = match &node.kind {
        NodeKind::Scalar {
            text,
            style: Style::Plain,
        } => text.to_lowercase(),
        NodeKind::Null => return true,
        _ => String::new(),
    };
    if word != "true" && word != "false" {
        let message = "`inherit` should be `true` or `false`; it counts as `true`";
        let diagnostic = source.document.diagnostic(Code::NotABoolean, message);
        let diagnostic = diagnostic.at(fields.value_span(keys::INHERIT));
        out.push(diagnostic.help("write `inherit: false` or `inherit: true`"));
    }
    word != "false"
}

/// A text that is neither missing nor blank.
fn text(fields: &Fields<'_>, key: &str, out: &mut Vec<Diagnostic>) -> Option<String> {
    fields.text(key, out).filter(|text| !text.trim().is_empty())
}

/// Reports a required text that is missing or blank.
fn missing(source: &MarkdownFile<'_>, fields: &Fields<'_>, key: &str) -> Diagnostic {
    let (code, example) = match key {
        keys::NAME => (Code::MissingName, "the folder's name"),
        _ => (
            Code::MissingDescription,
            "what the skill does and when to use it",
        ),
    };
    let found = if fields.has(key) {
        "is empty"
    } else {
        "is missing"
    };
    let message = format!("this skill is not served: `{key}` {found}");
    let diagnostic = source.document.diagnostic(code, message);
    if let Some(entry) = mistyped(fields, key) {
        return renamed(diagnostic, entry, key);
    }
    let span = fields
        .key_span(key)
        .unwrap_or_else(|| source.document.top());
    diagnostic
        .at(span)
        .help(format!("add `{key}: …` with {example}"))
}

/// Adds what is wrong with a required key, which says all that is wrong with a mistyped one.
fn add_missing(missing: Diagnostic, out: &mut Vec<Diagnostic>) {
    let of_file = out.iter().rposition(|it| it.file != missing.file);
    let start = of_file.map_or(0, |at| at + 1);
    let is_said = |it: &Diagnostic| it.code == Code::UnknownKey && it.span == missing.span;
    if let Some(at) = out[start..].iter().position(is_said) {
        out.remove(start + at);
    }
    out.push(missing);
}

/// The entry whose key was probably meant to be this one, which is missing.
fn mistyped<'a>(fields: &Fields<'a>, key: &str) -> Option<&'a Entry> {
    (!fields.has(key)).then(|| keys::mistyped(fields, key))?
}

/// Points at a mistyped key, with its right spelling as the fix.
fn renamed(diagnostic: Diagnostic, entry: &Entry, key: &str) -> Diagnostic {
    let span = Span::from(&entry.key.range);
    let help = format!("write `{key}` instead of `{}`", entry.key.text);
    diagnostic.at(span).help(help).fix(span, key)
}
