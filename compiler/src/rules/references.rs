//! Rules about references from a skill's text to files: those that lead out of the
//! skill, and those to files that do not exist. In doubt nothing is reported, since
//! skills are full of examples.

pub(super) mod scan;

use std::collections::{BTreeSet, HashMap, HashSet};

pub(crate) use scan::Block;
use scan::{Notation, Reference};

use skillbundle_search::text::fold;
use unicode_normalization::UnicodeNormalization;

use crate::diagnostic::{Code, Diagnostic, Span};
use crate::dialect::MarkdownFile;
use crate::paths::{ancestors, directory, file_name, is_within, join, resolve};
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

/// How much of the text before a path in backticks can direct the reader to it, in bytes.
const BEFORE: usize = 64;

/// What is wrong with a reference.
enum Problem {
    Leaves,
    /// The file does not exist; perhaps there is one whose name differs in case.
    Broken(Option<String>),
}

/// Judges the references of one text. What depends on the text or the tree alone is found once,
/// however many references there are.
struct Judge<'a> {
    root: &'a TreeRoot,
    /// The directory of the skill, and that of the outermost skill that contains it: its files are
    /// installed with it.
    home: &'a str,
    outer: &'a str,
    text: &'a str,
    names_in_code: Option<HashSet<&'a str>>,
    /// For each directory its entries by their folded paths.
    folded: HashMap<String, HashMap<String, usize>>,
}

/// Checks the references in the text of the skill in the directory `home`.
pub(crate) fn check(source: &MarkdownFile<'_>, home: &str, out: &mut Vec<Diagnostic>) {
    let body = source.document.body.clone();
    let Some(Ok(text)) = source.bytes.get(body.clone()).map(str::from_utf8) else {
        return;
    };
    let mut judge = Judge {
        root: source.root,
        home,
        outer: outermost(source.root, home),
        text,
        names_in_code: None,
        folded: HashMap::new(),
    };
    let mut reported = BTreeSet::new();
    let mut leaving: Vec<(Span, &str)> = Vec::new();
    let mut broken = 0;
    for found in scan::references(text) {
        let Some(path) = path_of(found.target, found.notation) else {
            continue;
        };
        let Some(problem) = judge.problem(&path, &found) else {
            continue;
        };
        if !reported.insert(path) {
            continue;
        }
        let start = body.start + found.at;
        let span = Span::from(start..start + found.target.len());
        match problem {
            Problem::Leaves => leaving.push((span, found.target)),
            Problem::Broken(other) => {
                broken += 1;
                if broken <= MOST_BROKEN {
                    let message = format!("`{}` does not exist", found.target);
                    let diagnostic = source.document.diagnostic(Code::BrokenReference, message);
                    out.push(diagnostic.at(span).help(match other {
                        Some(other) => format!("the file is called `{other}`; case matters"),
                        None => {
                            "add the file or fix the path, relative to the skill's folder".into()
                        }
                    }));
                }
            }
        }
    }
    if let Some(more @ 1..) = broken.checked_sub(MOST_BROKEN) {
        let message = format!("{more} more references lead to files that do not exist");
        out.push(source.document.diagnostic(Code::BrokenReference, message));
    }
    out.extend(leaves(source, &leaving));
}

/// One diagnostic for all of them, since they are fixed together.
fn leaves(source: &MarkdownFile<'_>, leaving: &[(Span, &str)]) -> Option<Diagnostic> {
    let ((span, target), more) = leaving.split_first()?;
    let what = match more.len() {
        0 => format!("`{target}` leads"),
        1 => format!("`{target}` and 1 more reference lead"),
        more => format!("`{target}` and {more} more references lead"),
    };
    let message = format!("{what} out of the skill");
    let mut diagnostic = source
        .document
        .diagnostic(Code::ReferenceLeavesSkill, message)
        .at(*span);
    // The message has the count; a page of examples would not help.
    for (span, _) in more.iter().take(3) {
        diagnostic = diagnostic.related(*span, "leads out of the skill too");
    }
    Some(
        diagnostic
            .help("copy the file into the skill, since an installed skill has only its own files"),
    )
}

impl Judge<'_> {
    /// What is wrong with a reference, if anything.
    fn problem(&mut self, path: &str, found: &Reference<'_>) -> Option<Problem> {
        let (root, home) = (self.root, self.home);
        let resolved = resolve(home, path);
        let inside = resolved.as_deref();
        if !inside.is_some_and(|it| is_within(it, self.outer)) {
            // In backticks it may also be a command, unless the file exists.
            let is_sure = found.notation == Notation::Link
                || resolved.as_deref().is_some_and(|it| is_file(root, it));
            return is_sure.then_some(Problem::Leaves);
        }
        let resolved = resolved?;
        if root.has(&resolved) {
            return None;
        }
        let name = file_name(path);
        let is_example = !name.contains('.')
            || (found.notation == Notation::Code && !is_direction(root, home, path, found.before))
            // The text shows how to create such a file.
            || self.is_in_code(name);
        if is_example || is_left_out(root, home, &resolved) {
            return None;
        }
        let other = self.other_form(&resolved);
        if other.is_some_and(|other| other.nfc().eq(resolved.nfc())) {
            return None;
        }
        Some(Problem::Broken(
            other.map(|other| file_name(other).to_owned()),
        ))
    }

    fn is_in_code(&mut self, name: &str) -> bool {
        let text = self.text;
        let names = self
            .names_in_code
            .get_or_insert_with(|| scan::names_in_code(text));
        names.contains(name)
    }

    /// A file whose path differs only in case or in its Unicode form.
    fn other_form(&mut self, path: &str) -> Option<&str> {
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
        let at = self.folded[directory].get(&fold(path))?;
        Some(&root.entries[*at].path)
    }
}

/// The outermost skill that contains this one: its files are installed with it.
fn outermost<'a>(root: &TreeRoot, home: &'a str) -> &'a str {
    let is_skill = |it: &&str| root.has(&join(it, "SKILL.md"));
    ancestors(home).filter(is_skill).last().unwrap_or(home)
}

/// Whether a path in backticks directs the reader to the file: it is in a
/// conventional directory that the skill has, and the words before it say so.
fn is_direction(root: &TreeRoot, home: &str, path: &str, before: &str) -> bool {
    let Some((top, _)) = path
        .split_once('/')
        .filter(|(top, _)| CONVENTIONAL.contains(top))
    else {
        return false;
    };
    let from = before.len().saturating_sub(BEFORE);
    let from = (from..=before.len()).find(|at| before.is_char_boundary(*at));
    let before = &before[from.unwrap_or_default()..];
    let before = before.trim_end_matches(|it: char| it.is_whitespace() || "*_[(`".contains(it));
    let before = before.to_lowercase();
    let says = |phrase: &&str| {
        let rest = before.strip_suffix(*phrase);
        rest.is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
    };
    root.has_directory(&join(home, top)) && DIRECTIONS.iter().any(says)
}

/// The path of a reference; `None` for a URL, an anchor, a placeholder and everything
/// else that is not a relative path.
fn path_of(target: &str, notation: Notation) -> Option<String> {
    let cut = target.find(['#', '?']).map_or(target, |at| &target[..at]);
    let cut = if notation == Notation::Code {
        cut.split(':').next().unwrap_or_default()
    } else {
        cut
    };
    let path = decoded(cut)?;
    let path = path
        .strip_prefix("./")
        .unwrap_or(&path)
        .trim_end_matches('/');
    let first = path.split('/').next().unwrap_or_default();
    let is_plain = path.chars().all(scan::is_of_name);
    let is_path = path.contains('/') || path.contains('.');
    let is_example = path.contains("...") || path.to_lowercase().contains("path/to/");
    (is_plain
        && is_path
        && !is_example
        && !path.starts_with('/')
        && !has_scheme(cut)
        && !is_host(first))
    .then(|| path.to_owned())
}

/// `https:`, `mailto:`, `skill:`.
fn has_scheme(target: &str) -> bool {
    let Some((scheme, _)) = target.split_once(':') else {
        return false;
    };
    scheme.starts_with(|it: char| it.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || "+.-".contains(it))
}

/// `example.com`, as people write it without its scheme.
fn is_host(name: &str) -> bool {
    const TOP: &[&str] = &[
        "ai", "app", "co", "com", "dev", "edu", "gov", "io", "net", "org",
    ];
    name.starts_with("www.")
        || name
            .rsplit_once('.')
            .is_some_and(|(_, top)| TOP.contains(&top))
}

/// Decodes `%20` and the like; `None` if the result is not UTF-8.
fn decoded(target: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(target.len());
    let mut rest = target.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .filter(|_| first == b'%')
            .and_then(|it| str::from_utf8(it).ok());
        if let Some(byte) = digits.and_then(|it| u8::from_str_radix(it, 16).ok()) {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
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
