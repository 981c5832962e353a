//! Rules about the keywords of pages, which alone lead requests to them, and about the pages that a page
//! inherits from.

use std::collections::{BTreeMap, BTreeSet};

use skillbundle_format::Dialect;
use skillbundle_search::text::{lower, tokenize};

use crate::diagnostic::{Code, Diagnostic, Span};
use crate::dialect::MarkdownFile;
use crate::draft::Draft;
use crate::frontmatter::{Fields, NodeKind, keys};
use crate::paths::{ancestors, directory, is_marker, join};
use crate::source::Tree;

/// Most findings about the keywords of one page.
const MOST: usize = 20;

/// Words with fewer characters match by equality alone: spec 3 §5.2.
const SHORT: usize = 3;

/// Checks the keywords of one page.
pub(crate) fn check(source: &MarkdownFile<'_>, fields: &Fields<'_>, out: &mut Vec<Diagnostic>) {
    let items = fields.get(keys::KEYWORDS).and_then(|it| it.items());
    let mut seen: BTreeMap<String, Span> = BTreeMap::new();
    let mut found = Vec::new();
    for item in items.unwrap_or_default() {
        let NodeKind::Scalar { text, .. } = &item.kind else {
            continue;
        };
        let (keyword, span) = (lower(text.trim()), Span::from(&item.range));
        if keyword.is_empty() {
            continue;
        }
        let report = |code, message: String| source.document.diagnostic(code, message).at(span);
        if let Some(first) = seen.get(&keyword) {
            let message = format!("the keyword `{keyword}` is given twice");
            let diagnostic = report(Code::DuplicateKeyword, message).related(*first, "first here");
            found.push(
                diagnostic.help("remove one: each keyword that a request lacks lowers the score"),
            );
        } else if let Some(why) = weakness(&keyword) {
            let message = format!("the keyword `{keyword}` {why}");
            found.push(report(Code::WeakKeyword, message).help("use a word that requests have"));
        }
        seen.entry(keyword).or_insert(span);
    }
    let more = found.len().saturating_sub(MOST);
    out.extend(found.into_iter().take(MOST));
    if more > 0 {
        let message = format!("{more} more keywords are weak or given twice");
        out.push(source.document.diagnostic(Code::WeakKeyword, message));
    }
}

/// Why a keyword in lower case leads no request to its page.
fn weakness(keyword: &str) -> Option<&'static str> {
    let tokens = tokenize(keyword);
    let is_long = |it: &str| !it.is_ascii() || it.chars().count() >= SHORT;
    let is_word = |it: &str| it.chars().all(|it| it.is_alphanumeric() || it == '-');
    if !is_long(keyword) {
        return (tokens != [keyword]).then_some("matches no request");
    }
    if tokens.iter().any(|it| is_long(it)) {
        return None;
    }
    Some(if is_word(keyword) {
        "is a word that requests are searched without"
    } else {
        "matches no request"
    })
}

/// Checks the pages of all roots against each other.
pub(super) fn check_all(tree: &Tree, drafts: &[Draft], out: &mut Vec<Diagnostic>) {
    let pages = || drafts.iter().filter(|it| it.entry.dialect == Dialect::Tree);
    let mut owners: BTreeMap<(u32, Vec<String>), &Draft> = BTreeMap::new();
    let mut missing = BTreeSet::new();
    for page in pages().filter(|it| !it.entry.shadowed) {
        let entry = &page.entry;
        let mut keywords: Vec<String> = entry.keywords.iter().map(|it| lower(it.trim())).collect();
        keywords.sort();
        keywords.dedup();
        match owners.get(&(entry.root, keywords.clone())) {
            Some(owner) => out.push(same_keywords(page, owner)),
            None => drop(owners.insert((entry.root, keywords), page)),
        }
        missing.extend(missing_index(tree, page));
    }
    for (root, path) in missing {
        let root = &tree.roots[root as usize];
        let message = "this directory has no `_index.md`, so nothing is said for all its pages";
        out.push(Diagnostic::new(
            Code::MissingIndex,
            root.shown(&path),
            message,
        ));
    }
}

fn same_keywords(page: &Draft, owner: &Draft) -> Diagnostic {
    let message = format!("its keywords are those of `{}`", owner.entry.path);
    let diagnostic = Diagnostic::new(Code::SameKeywords, page.shown.as_str(), message);
    diagnostic
        .related_in(
            owner.shown.as_str(),
            None,
            "this page has the same keywords",
        )
        .help("give each page a keyword of its own; no request can choose between them now")
}

/// The directory of a page, if it has no `_index.md` and a directory above has one.
fn missing_index(tree: &Tree, page: &Draft) -> Option<(u32, String)> {
    let (root, path) = (page.entry.root, &page.entry.file_path);
    let files = &tree.roots[root as usize];
    let home = if is_marker(path) {
        directory(directory(path))
    } else {
        directory(path)
    };
    if home.is_empty() || files.has(&join(home, "_index.md")) {
        return None;
    }
    let is_parent = |it: &str| match it {
        "" => files.has("_root.md") || files.has("_index.md"),
        it => files.has(&join(it, "_index.md")),
    };
    let is_gap = ancestors(home).any(is_parent);
    is_gap.then(|| (root, home.to_owned()))
}
