//! Rules about references from a skill's text, and from the pages that it sends the reader to, to files:
//! those that lead out of the skill, and those to files that do not exist. In doubt nothing is
//! reported, since skills are full of examples.

mod paths;
pub(super) mod scan;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use paths::{is_folder, path_of};
use scan::{Notation, Reference};

use skillbundle_format::Dialect;
use skillbundle_search::suggest;
use skillbundle_search::text::fold;
use unicode_normalization::UnicodeNormalization;

use crate::diagnostic::{Applicability, Code, Diagnostic, Span};
use crate::draft::Draft;
use crate::paths::{
    ancestors, directory, file_name, is_markdown, is_skill_file, is_within, join, resolve,
};
use crate::source::{TreeRoot, is_junk, is_never_read};

/// Directories for a skill's files, by convention of the Agent Skills specification.
/// Only paths below them are references when written in backticks.
const CONVENTIONAL: &[&str] = &["assets", "references", "scripts"];

/// Words that direct the reader to the file that follows. A path in backticks without
/// one of them is as often an example or another skill's file.
const DIRECTIONS: &[&str] = &[
    "are in",
    "consult",
    "defined in",
    "described in",
    "details in",
    "documented in",
    "execute",
    "found in",
    "is in",
    "listed in",
    "live in",
    "lives in",
    "load",
    "open",
    "read",
    "refer to",
    "reference:",
    "run",
    "see",
    "see also",
    "use",
];

/// Most references of one file to files that do not exist that are reported one by one.
const MOST_BROKEN: usize = 50;

/// Directories of a skill whose pages the reader is sent to: their references are the skill's too, like
/// those of pages beside its text that it links to. Pages elsewhere are as often templates, whose links
/// are for another place.
const READ_NEXT: &[&str] = &["reference", "references"];

/// Most files in a folder among which a similar name is looked for.
const MOST_SIBLINGS: usize = 1000;

/// What is wrong with a reference.
enum Problem {
    Leaves,
    /// The file with this path does not exist.
    Broken(String),
}

/// A file that was probably meant.
struct Meant {
    /// Relative to the folder that the reference starts from.
    path: String,
    help: String,
}

/// A text with references.
struct Page<'a> {
    shown: &'a str,
    /// The whole file, and where the text is in it.
    text: &'a str,
    body: Range<usize>,
    /// The folders that a path may start from, the usual one first.
    bases: [&'a str; 2],
}

/// Judges the references of one skill. What depends on the tree alone is found once, however many
/// references there are.
struct Judge<'a> {
    root: &'a TreeRoot,
    /// The directory of the skill, and the outermost one whose files are installed with it: that of the
    /// skill that contains it, or the root of a tree of pages.
    home: &'a str,
    outer: &'a str,
    /// For each directory its entries by their folded paths.
    folded: HashMap<String, HashMap<String, usize>>,
    /// Where a file that was meant may be, and the files there by their names.
    area: &'a str,
    named: Option<HashMap<&'a str, Vec<&'a str>>>,
    /// The same files by their folded paths, if the area is a skill's directory.
    whole: Option<HashMap<String, &'a str>>,
}

/// Checks the references in the text of a skill and in the pages that it sends the reader to.
/// `homes` are the directories of all skills of its root.
pub(super) fn check(
    root: &TreeRoot,
    draft: &Draft,
    homes: &BTreeSet<&str>,
    out: &mut Vec<Diagnostic>,
) {
    let entry = &draft.entry;
    let (home, above) = (draft.directory(), directory(&entry.file_path));
    let is_page = entry.dialect == Dialect::Tree;
    let mut judge = Judge {
        root,
        home,
        outer: if is_page { "" } else { outermost(root, home) },
        area: if is_page { "" } else { home },
        folded: HashMap::new(),
        named: None,
        whole: None,
    };
    if let Ok(text) = str::from_utf8(&entry.source) {
        judge.page(
            &Page {
                shown: &draft.shown,
                text,
                body: entry.body.clone(),
                bases: [above, home],
            },
            out,
        );
    }
    let linked = linked(draft);
    let pages = entry.files.iter().filter(|it| is_markdown(&it.path));
    for file in pages {
        let path = join(home, &file.path);
        if !is_read_next(&file.path) && !linked.contains(&path) {
            continue;
        }
        let is_own = ancestors(&path)
            .take_while(|it| *it != home)
            .all(|it| !homes.contains(it));
        let text = file.bytes.as_deref().and_then(|it| str::from_utf8(it).ok());
        if let Some(text) = text.filter(|_| is_own) {
            judge.page(
                &Page {
                    shown: &root.shown(&path),
                    text,
                    body: 0..text.len(),
                    bases: [directory(&path), home],
                },
                out,
            );
        }
    }
}

/// Whether a page of a skill is in a directory of pages that the reader is sent to.
fn is_read_next(path: &str) -> bool {
    let (top, _) = path.split_once('/').unwrap_or_default();
    READ_NEXT.contains(&top)
}

/// The pages beside the skill's text that it links to. Those in other directories are as often templates.
fn linked(draft: &Draft) -> BTreeSet<String> {
    let (entry, above) = (&draft.entry, directory(&draft.entry.file_path));
    let body = entry.source.get(entry.body.clone()).unwrap_or_default();
    let has_other_pages = entry
        .files
        .iter()
        .any(|it| !it.path.contains('/') && is_markdown(&it.path));
    let text = str::from_utf8(body).ok().filter(|_| has_other_pages);
    let links = scan::candidates(scan::checked_part(text.unwrap_or_default()));
    let links = links.filter(|it| it.notation == Notation::Link);
    let paths = links.filter_map(|it| path_of(it.target, it.notation));
    let beside = paths.filter(|it| !it.contains('/') && is_markdown(it));
    beside.filter_map(|it| resolve(above, &it)).collect()
}

/// One diagnostic for all references that lead out of a skill, since they are fixed together.
fn leaves(page: &Page<'_>, leaving: &[(Span, &str)]) -> Option<Diagnostic> {
    let ((span, target), more) = leaving.split_first()?;
    let what = match more.len() {
        0 => format!("`{target}` leads"),
        1 => format!("`{target}` and 1 more reference lead"),
        more => format!("`{target}` and {more} more references lead"),
    };
    let message = format!("{what} out of the skill");
    let diagnostic = Diagnostic::new(Code::ReferenceLeavesSkill, page.shown, message);
    let mut diagnostic = diagnostic.at(*span);
    // The message has the count; a page of examples would not help.
    for (span, _) in more.iter().take(3) {
        diagnostic = diagnostic.related(*span, "leads out of the skill too");
    }
    Some(
        diagnostic
            .help("copy the file into the skill, since an installed skill has only its own files"),
    )
}

fn partly_checked(page: &Page<'_>, message: &str) -> Diagnostic {
    Diagnostic::new(Code::PartlyChecked, page.shown, message)
}

fn too_many(page: &Page<'_>) -> Diagnostic {
    let most = scan::MOST_CANDIDATES;
    partly_checked(
        page,
        &format!("only the first {most} links and paths were checked"),
    )
}

fn broken(page: &Page<'_>, span: Span, target: &str, meant: Option<Meant>) -> Diagnostic {
    let message = format!("`{target}` does not exist");
    let diagnostic = Diagnostic::new(Code::BrokenReference, page.shown, message).at(span);
    let Some(meant) = meant else {
        return diagnostic.help(if page.bases[0] == page.bases[1] {
            "add the file or fix the path, relative to the skill's folder"
        } else {
            "add the file or fix the path, relative to this file or the skill's folder"
        });
    };
    let diagnostic = diagnostic.help(meant.help);
    // What follows the path stays as it is.
    let end = target.find(['#', '?']).unwrap_or(target.len());
    let has_spaces = |it: &str| it.contains([' ', '(', ')']);
    let is_plain = target.is_ascii()
        && !target.contains(['%', ':'])
        && (has_spaces(target) || !has_spaces(&meant.path));
    if !is_plain {
        return diagnostic;
    }
    let path = Span::from(span.start..span.start + end);
    diagnostic.fixed_by(Applicability::Unsafe, [(path, meant.path)])
}

impl<'a> Judge<'a> {
    fn page(&mut self, page: &Page<'_>, out: &mut Vec<Diagnostic>) {
        let Some(whole) = page.text.get(page.body.clone()) else {
            return;
        };
        let text = scan::checked_part(whole);
        if text.len() < whole.len() {
            out.push(too_many(page));
        }
        let is_suspect = scan::candidates(text).any(|found| {
            let path = path_of(found.target, found.notation);
            path.is_some_and(|path| self.problem(page, text, &path, &found).is_some())
        });
        if !is_suspect {
            return;
        }
        let Some(scanned) = scan::scan(text) else {
            let what = "its links were not checked: lists and quotes are nested too deeply";
            return out.push(partly_checked(page, what));
        };
        let mut names_in_code = None;
        let mut reported = BTreeSet::new();
        let mut leaving: Vec<(Span, &str)> = Vec::new();
        let mut count = 0;
        for found in &scanned.references {
            let Some(path) = path_of(found.target, found.notation) else {
                continue;
            };
            if reported.contains(&path) {
                continue;
            }
            let Some(problem) = self.problem(page, text, &path, found) else {
                continue;
            };
            let start = page.body.start + found.at;
            let span = Span::from(start..start + found.target.len());
            match problem {
                Problem::Leaves => leaving.push((span, found.target)),
                Problem::Broken(resolved) => {
                    // The text may show how to create such a file.
                    let names = names_in_code
                        .get_or_insert_with(|| scanned.names_in_code(whole, text.len()));
                    if names.contains(file_name(&path)) {
                        continue;
                    }
                    count += 1;
                    if count <= MOST_BROKEN {
                        let meant = self.meant(page.bases[0], &resolved);
                        out.push(broken(page, span, found.target, meant));
                    }
                }
            }
            reported.insert(path);
        }
        if let Some(more @ 1..) = count.checked_sub(MOST_BROKEN) {
            let message = format!("{more} more references lead to files that do not exist");
            out.push(Diagnostic::new(Code::BrokenReference, page.shown, message));
        }
        out.extend(leaves(page, &leaving));
    }

    /// What is wrong with a reference, if anything.
    fn problem(
        &mut self,
        page: &Page<'_>,
        text: &str,
        path: &str,
        found: &Reference<'_>,
    ) -> Option<Problem> {
        let (root, home) = (self.root, self.home);
        let inside = |it: &String| is_within(it, self.outer);
        if found.notation == Notation::Link && path.starts_with("~/") {
            return Some(Problem::Leaves);
        }
        if let Some(below) = path.strip_prefix('/') {
            // On the machine or the site of the author, unless it is meant to be in the skill.
            let is_meant = |it: &String| is_below_conventional(below) || is_file(root, it);
            let resolved = resolve(home, below).filter(|it| inside(it) && is_meant(it));
            return resolved
                .filter(|_| found.notation == Notation::Link)
                .map(Problem::Broken);
        }
        let is_windows = found.target.contains('\\');
        let [first, other] = page.bases;
        let bases = std::iter::once(first).chain((other != first).then_some(other));
        let mut resolved = bases.filter_map(|base| resolve(base, path));
        let there = resolved.find(|it| inside(it) && root.has(it));
        if let Some(there) = there {
            return is_windows.then_some(Problem::Broken(there));
        }
        let resolved = resolve(page.bases[0], path);
        if !resolved.as_ref().is_some_and(inside) {
            // In backticks it may also be a command, unless the file exists.
            let is_sure = found.notation == Notation::Link
                || resolved.as_deref().is_some_and(|it| is_file(root, it));
            return is_sure.then_some(Problem::Leaves);
        }
        let resolved = resolved?;
        let has_extension = file_name(path).contains('.');
        let is_example = match found.notation {
            Notation::Code => {
                !has_extension || !is_direction(root, home, path, scan::before(text, found.at))
            }
            Notation::Command => !has_extension || !is_conventional(root, home, path),
            Notation::Html => !has_extension || !path.contains('/'),
            Notation::Link => {
                let above = directory(&resolved);
                let is_sure = (above.len() > home.len() && root.has_directory(above))
                    || is_below_conventional(path)
                    || is_folder(found.target, found.notation)
                    || root.has(&format!("{resolved}.md"));
                !has_extension && !is_sure
            }
        };
        if is_example || is_left_out(root, home, &resolved) {
            return None;
        }
        let other = self.other_form(&resolved);
        if other.is_some_and(|other| other.nfc().eq(resolved.nfc())) {
            return None;
        }
        Some(Problem::Broken(resolved))
    }

    /// The file that was probably meant by a path that does not exist, for a page in the folder `base`.
    fn meant(&mut self, base: &str, path: &str) -> Option<Meant> {
        if self.root.has(path) {
            let path = relative(base, path);
            let help = format!("write `{path}`, relative and with `/`");
            return Some(Meant { path, help });
        }
        if let Some(other) = self.other_form(path) {
            return Some(Meant {
                help: format!(
                    "the file is called `{}`; case matters",
                    relative(base, other)
                ),
                path: relative(base, other),
            });
        }
        let root = self.root;
        let with_extension = format!("{path}.md");
        let found = if root.has(&with_extension) {
            Some(with_extension)
        } else {
            let similar = self.elsewhere(path).or_else(|| self.similar(path));
            similar.map(str::to_owned)
        };
        let path = relative(base, &found?);
        let help = format!("did you mean `{path}`?");
        Some(Meant { path, help })
    }

    /// The only file of the skill with the name of this one. Every skill has a `SKILL.md`, so that name
    /// says nothing.
    fn elsewhere(&mut self, path: &str) -> Option<&'a str> {
        if is_skill_file(path) {
            return None;
        }
        let (root, area) = (self.root, self.area);
        let named = self.named.get_or_insert_with(|| {
            let mut named: HashMap<&str, Vec<&str>> = HashMap::new();
            for entry in &root.entries[root.below(area)] {
                if !entry.is_directory {
                    let name = file_name(&entry.path);
                    named.entry(name).or_default().push(&entry.path);
                }
            }
            named
        });
        match named.get(file_name(path))?.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// A file beside this one whose name is nearly the same.
    fn similar(&self, path: &str) -> Option<&'a str> {
        let directory = directory(path);
        let beside = self.root.entries.get(self.root.below(directory))?.iter();
        let beside = beside.map(|it| it.path.as_str());
        let mut beside = beside.filter(|it| self::directory(it) == directory);
        let names: Vec<&str> = beside.by_ref().take(MOST_SIBLINGS).map(file_name).collect();
        let name = suggest(file_name(path), names)?;
        let at = self.root.find(&join(directory, name))?;
        Some(&self.root.entries[at].path)
    }

    /// A file whose path differs only in case or in its Unicode form.
    fn other_form(&mut self, path: &str) -> Option<&'a str> {
        let root = self.root;
        let directory = directory(path);
        if !self.folded.contains_key(directory) {
            let below = root.below(directory);
            let entries = root.entries.get(below.clone())?.iter().zip(below);
            let folded = entries.map(|(entry, at)| (fold(&entry.path), at));
            // Of several the first one.
            let folded: HashMap<_, _> = folded.collect::<Vec<_>>().into_iter().rev().collect();
            self.folded.insert(directory.to_owned(), folded);
        }
        let folded = fold(path);
        if let Some(at) = self.folded[directory].get(&folded) {
            return Some(&root.entries[*at].path);
        }
        // The folder may be called otherwise, too.
        let area = self.area;
        let whole = self.whole.get_or_insert_with(|| {
            let entries = root.entries[root.below(area)].iter();
            let entries = entries.filter(|it| !it.is_directory && !area.is_empty());
            entries
                .map(|it| (fold(&it.path), it.path.as_str()))
                .collect()
        });
        whole.get(&folded).copied()
    }
}

/// A path below the root, from a folder below the root.
fn relative(base: &str, path: &str) -> String {
    let mut up = String::new();
    for above in std::iter::once(base).chain(ancestors(base)) {
        if above.is_empty() {
            return up + path;
        }
        if let Some(rest) = path.strip_prefix(above).and_then(|it| it.strip_prefix('/')) {
            return up + rest;
        }
        up += "../";
    }
    up + path
}

/// The outermost skill that contains this one: its files are installed with it.
fn outermost<'a>(root: &TreeRoot, home: &'a str) -> &'a str {
    let is_skill = |it: &&str| root.has(&join(it, "SKILL.md"));
    ancestors(home).filter(is_skill).last().unwrap_or(home)
}

/// Whether a path is in a conventional directory that the skill has.
fn is_conventional(root: &TreeRoot, home: &str, path: &str) -> bool {
    let top = path.split('/').next().unwrap_or_default();
    is_below_conventional(path) && root.has_directory(&join(home, top))
}

fn is_below_conventional(path: &str) -> bool {
    let top = path.split_once('/').map_or("", |(top, _)| top);
    CONVENTIONAL.contains(&top)
}

/// Whether a path in backticks directs the reader to the file: it is in a
/// conventional directory that the skill has, and the words before it say so.
fn is_direction(root: &TreeRoot, home: &str, path: &str, before: &str) -> bool {
    let before = before.trim_end_matches(|it: char| it.is_whitespace() || "*_[(`".contains(it));
    let before = before.to_lowercase();
    let says = |phrase: &&str| {
        let rest = before.strip_suffix(*phrase);
        rest.is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
    };
    is_conventional(root, home, path) && DIRECTIONS.iter().any(says)
}

fn is_file(root: &TreeRoot, path: &str) -> bool {
    root.find(path)
        .is_some_and(|at| !root.entries[at].is_directory)
}

/// Whether a file exists but is never bundled, or has already been reported.
fn is_left_out(root: &TreeRoot, home: &str, path: &str) -> bool {
    let mut read_errors = root.read_errors.iter();
    // The skill itself may be called `target`.
    let below = path.strip_prefix(home).unwrap_or(path);
    is_junk(file_name(path))
        || below.split('/').any(is_never_read)
        || read_errors.any(|it| is_within(path, &it.path))
}

#[cfg(test)]
mod tests;
