//! The tree dialect (spec 3 §4): a page with a description and keywords. Its files
//! are those it declares, in the directory of the page's name.

use std::borrow::Cow;

use skillbundle_format::{Dialect, SkillEntry};

use super::{MarkdownFile, add_missing, common, missing, mistyped, renamed, text};
use crate::assets;
use crate::diagnostic::{Code, Diagnostic};
use crate::draft::{Draft, FileOrigin};
use crate::frontmatter::{Fields, NodeKind, keys};
use crate::paths::stem;
use crate::rules::keywords as weak_keywords;

/// Reads a page. Without keywords or a description it is not a skill.
pub(crate) fn read(
    source: &MarkdownFile<'_>,
    resources: Option<&str>,
    out: &mut Vec<Diagnostic>,
) -> Option<Draft> {
    let document = source.document;
    let fields = document.fields();
    // No host reads pages.
    for diagnostic in out
        .iter_mut()
        .rev()
        .take_while(|it| it.file == source.shown)
    {
        diagnostic.elsewhere = Cow::Borrowed(&[]);
    }
    if !document.has_frontmatter() {
        let help = "add `description` and `keywords` between two lines of `---`, or move the file out of the tree";
        out.push(document.without_frontmatter(source.bytes, "page", help.to_owned()));
        return None;
    }
    let before = out.len();
    let keywords = fields.list(keys::KEYWORDS, out).map(|words| {
        words
            .into_iter()
            .filter(|word| !word.trim().is_empty())
            .collect::<Vec<_>>()
    });
    let keywords = keywords.filter(|words| !words.is_empty());
    if keywords.is_none() {
        // One diagnostic is enough; it includes the shape of the value.
        out.truncate(before);
        add_missing(no_keywords(source, &fields), out);
    }
    let description = text(&fields, keys::DESCRIPTION, out);
    if description.is_none() && (keywords.is_some() || fields.has(keys::KEYWORDS)) {
        add_missing(missing(source, &fields, keys::DESCRIPTION), out);
    }
    let (keywords, description) = (keywords?, description?);
    if source.check {
        weak_keywords::check(source, &fields, out);
    }
    let path = stem(&source.entry.path).to_owned();
    let own_name = text(&fields, keys::NAME, out);
    let name_span = own_name
        .as_ref()
        .and_then(|_| fields.value_span(keys::NAME));
    let entry = SkillEntry {
        name: own_name.map_or_else(|| path.clone(), |name| name.trim().to_owned()),
        path,
        description,
        keywords,
        dialect: Dialect::Tree,
        ..common(source, &fields, out)
    };
    let declared = assets::declarations(source.document, out);
    let content = FileOrigin::Resources(resources.map(str::to_owned), declared);
    let draft = Draft::new(entry, source.shown.to_owned(), name_span, content);
    Some(draft.with_contract(source.document, out))
}

/// Without keywords a page is not a skill, whatever else it says.
fn no_keywords(source: &MarkdownFile<'_>, fields: &Fields<'_>) -> Diagnostic {
    let found = match fields.get(keys::KEYWORDS).map(|node| &node.kind) {
        None => "it has no `keywords`",
        Some(NodeKind::Sequence(_) | NodeKind::Null) => "its `keywords` are empty",
        Some(_) => "its `keywords` are not a list",
    };
    let message = format!("this page is not served: {found}");
    let diagnostic = source.document.diagnostic(Code::MissingKeywords, message);
    if let Some(entry) = mistyped(fields, keys::KEYWORDS) {
        return renamed(diagnostic, entry, keys::KEYWORDS);
    }
    let span = fields
        .value_span(keys::KEYWORDS)
        .unwrap_or_else(|| source.document.top());
    diagnostic
        .at(span)
        .help("add words that should lead to it: `keywords: [first, second]`")
}
