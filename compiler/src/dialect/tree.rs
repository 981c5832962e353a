//! The tree dialect (spec 3 §4): a page with a description and keywords. Its
//! files are those it declares; they lie in the directory of the page's name.

use std::sync::Arc;

use skillbundle_format::{Dialect, SkillEntry};

use super::read::Source;
use super::{Content, Draft, file_name, is_marked_name, stem};
use crate::assets;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::frontmatter::{Fields, Kind, Style};

/// Reads a page. Without keywords or a description there is no skill.
pub(super) fn read(
    source: &Source<'_>,
    resources: Option<&str>,
    out: &mut Vec<Diagnostic>,
) -> Option<Draft> {
    let document = source.document;
    let fields = document.fields();
    if !document.has_frontmatter() {
        let message =
            "this page lies in a tree of skills and has no frontmatter, so it is not served";
        let finding = document.finding(Code::MissingFrontmatter, message);
        let finding = finding.help("give it `description` and `keywords` between two lines of `---`, or move it out of the tree");
        out.push(finding.severity(Severity::Warning));
        return None;
    }
    let before = out.len();
    let keywords = fields.list("keywords", out).map(|words| {
        words
            .into_iter()
            .filter(|word| !word.trim().is_empty())
            .collect::<Vec<_>>()
    });
    let keywords = keywords.filter(|words| !words.is_empty());
    if keywords.is_none() {
        // One finding says it all, the value's shape included.
        out.truncate(before);
        out.push(no_keywords(source, &fields));
    }
    let description = fields
        .text("description", out)
        .filter(|text| !text.trim().is_empty());
    if description.is_none() && (keywords.is_some() || fields.has("keywords")) {
        out.push(missing(source, &fields, "description"));
    }
    let (keywords, description) = (keywords?, description?);
    let path = stem(&source.entry.path).to_owned();
    let own_name = fields
        .text("name", out)
        .filter(|name| !name.trim().is_empty());
    let name_span = own_name.as_ref().and_then(|_| fields.value_span("name"));
    let entry = SkillEntry {
        name: own_name.map_or_else(|| path.clone(), |name| name.trim().to_owned()),
        path,
        description,
        keywords,
        dialect: Dialect::Tree,
        ..common(source, &fields, out)
    };
    Some(Draft {
        entry,
        shown: source.shown.to_owned(),
        name_span,
        content: Content::Resources(
            resources.map(str::to_owned),
            assets::declared(source.document, out),
        ),
        in_dot_folder: super::in_dot_folder(&source.entry.path),
    })
}

/// What both dialects share. The rest of the entry is the caller's.
pub(super) fn common(
    source: &Source<'_>,
    fields: &Fields<'_>,
    out: &mut Vec<Diagnostic>,
) -> SkillEntry {
    let document = source.document;
    SkillEntry {
        path: String::new(),
        name: String::new(),
        description: String::new(),
        dialect: Dialect::Tree,
        root: u32::try_from(source.id.root).unwrap_or(u32::MAX),
        file_path: source.entry.path.clone(),
        priority: fields.number("priority", out).unwrap_or(0.0),
        inherit: inherit(source, fields, out),
        parent: None,
        keywords: Vec::new(),
        frontmatter_json: document.to_json(),
        mended: document.mended,
        source: Arc::clone(source.bytes),
        text_start: document.text_start,
        body: document.body.clone(),
        files: Vec::new(),
    }
}

/// True unless it says `false`: `no`, `"false"` and `0` are not that, and a
/// page that loses what it inherits by mistake is worse than one that keeps it.
fn inherit(source: &Source<'_>, fields: &Fields<'_>, out: &mut Vec<Diagnostic>) -> bool {
    let Some(node) = fields.get("inherit") else {
        return true;
    };
    let word = match &node.kind {
        Kind::Scalar {
            text,
            style: Style::Plain,
        } => text.to_lowercase(),
        Kind::Null => return true,
        _ => String::new(),
    };
    if word != "true" && word != "false" {
        let message =
            "`inherit` is true unless it says exactly `false`, and this says something else";
        let finding = source.document.finding(Code::NotABoolean, message);
        out.push(
            finding
                .at(fields.value_span("inherit"))
                .help("write `inherit: false` or `inherit: true`"),
        );
    }
    word != "false"
}

/// A text that must be there and is not: names what was found instead.
pub(super) fn missing(source: &Source<'_>, fields: &Fields<'_>, key: &str) -> Diagnostic {
    let (code, example) = match key {
        "name" => (Code::MissingName, "the folder's name"),
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
    let span = fields
        .key_span(key)
        .unwrap_or_else(|| source.document.top());
    source
        .document
        .finding(code, message)
        .at(span)
        .help(format!("add `{key}: …` with {example}"))
}

/// Keywords are what makes a page a skill. Where the key is there, or the name
/// is that of a parent, a skill was meant; any other page may be just a page.
fn no_keywords(source: &Source<'_>, fields: &Fields<'_>) -> Diagnostic {
    let found = match fields.get("keywords").map(|node| &node.kind) {
        None => "it has no `keywords`",
        Some(Kind::Sequence(_)) => "its list of `keywords` is empty",
        Some(Kind::Null) => "its `keywords` are empty",
        Some(_) => "its `keywords` are not a list",
    };
    let message = format!("this page is not served: {found}");
    let span = fields
        .value_span("keywords")
        .unwrap_or_else(|| source.document.top());
    let finding = source
        .document
        .finding(Code::MissingKeywords, message)
        .at(span);
    let finding =
        finding.help("name the words that should lead to it: `keywords: [first, second]`");
    let meant = fields.has("keywords") || is_marked_name(file_name(&source.entry.path));
    let severity = if meant {
        Code::MissingKeywords.severity()
    } else {
        Severity::Warning
    };
    finding.severity(severity)
}
