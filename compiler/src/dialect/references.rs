//! References from a skill's text to files: those that lead out of the skill,
//! and those that lead to nothing. It reads as much Markdown as that takes and
//! says nothing where it is not sure: an example is no reference.

mod scan;

use std::collections::BTreeSet;

use scan::{Found, Place};

use super::read::Source;
use super::{ancestors, directory, file_name};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::source::{TreeRoot, is_junk, is_never_read};

/// Directories that a skill keeps its files in, by the convention of the Agent
/// Skills specification. Only below them is a path in backticks a reference.
const CONVENTIONAL: &[&str] = &["assets", "references", "scripts"];

/// Words that send the reader to the file behind them. A path in backticks
/// without one of them is as often an example, or another skill's file.
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

/// What is wrong with a reference.
enum Fault {
    Leaves,
    /// Nothing is there but, perhaps, a path that differs in case.
    Broken(Option<String>),
}

/// Checks the references in the text of the skill that lies in `home`.
pub(super) fn check(source: &Source<'_>, home: &str, out: &mut Vec<Diagnostic>) {
    let body = source.document.body.clone();
    let Some(Ok(text)) = source.bytes.get(body.clone()).map(str::from_utf8) else {
        return;
    };
    let mut said = BTreeSet::new();
    let mut leaving: Vec<(Span, &str)> = Vec::new();
    for found in scan::references(text) {
        let Some(path) = path_of(found.target, found.place) else {
            continue;
        };
        let Some(fault) = judge(source.root, home, &path, &found, text) else {
            continue;
        };
        if !said.insert(path) {
            continue;
        }
        let start = body.start + found.at;
        let span = Span::locate(source.bytes, start..start + found.target.len());
        match fault {
            Fault::Leaves => leaving.push((span, found.target)),
            Fault::Broken(other) => {
                let message = format!("`{}` leads to no file of the skill", found.target);
                let finding = source
                    .document
                    .finding(Code::BrokenReference, message)
                    .at(span);
                out.push(
                    finding.help(match other {
                        Some(other) => {
                            format!("the file is called `{other}`; upper and lower case count")
                        }
                        None => "add the file, or mend the path; paths start at the skill's folder"
                            .to_owned(),
                    }),
                );
            }
        }
    }
    out.extend(leaves(source, &leaving));
}

/// One finding for all of them: they are mended together.
fn leaves(source: &Source<'_>, leaving: &[(Span, &str)]) -> Option<Diagnostic> {
    let ((span, target), more) = leaving.split_first()?;
    let what = match more.len() {
        0 => format!("`{target}` leads"),
        1 => format!("`{target}` and 1 more reference lead"),
        more => format!("`{target}` and {more} more references lead"),
    };
    let message = format!("{what} out of the skill, where an installed copy has nothing");
    let mut finding = source
        .document
        .finding(Code::ReferenceLeavesSkill, message)
        .at(*span);
    // The count says that there are more; a page of them helps nobody.
    for (span, _) in more.iter().take(3) {
        finding = finding.related(*span, "leads out as well");
    }
    Some(finding.help(
        "copy what is needed into the skill, or name another skill in words instead of by its path",
    ))
}

/// Says what is wrong with a reference, if anything is.
fn judge(root: &TreeRoot, home: &str, path: &str, found: &Found<'_>, text: &str) -> Option<Fault> {
    let resolved = resolve(home, path);
    let outer = outermost(root, home);
    let inside = resolved
        .as_deref()
        .is_some_and(|it| outer.is_empty() || is_below(it, outer));
    if !inside {
        // In backticks it may just as well be a command; a file that is there tells.
        let is_sure =
            found.place == Place::Link || resolved.as_deref().is_some_and(|it| is_file(root, it));
        return is_sure.then_some(Fault::Leaves);
    }
    let resolved = resolved?;
    let name = file_name(path);
    let is_example = !name.contains('.')
        || (found.place == Place::Code && !is_direction(root, home, path, found.before))
        // The text shows how such a file is made.
        || scan::is_in_code(text, name);
    if root.has(&resolved) || is_example || is_left_out(root, &resolved) {
        return None;
    }
    let other = other_case(root, &resolved);
    Some(Fault::Broken(
        other.map(|other| file_name(other).to_owned()),
    ))
}

/// The outermost skill that holds this one: what it has is installed with it.
fn outermost<'a>(root: &TreeRoot, home: &'a str) -> &'a str {
    let is_skill = |it: &&str| {
        root.has(&if it.is_empty() {
            "SKILL.md".to_owned()
        } else {
            format!("{it}/SKILL.md")
        })
    };
    ancestors(home).filter(is_skill).last().unwrap_or(home)
}

/// Whether a path in backticks tells the reader to go there: it lies in a
/// conventional directory that the skill has, and the words before it say so.
fn is_direction(root: &TreeRoot, home: &str, path: &str, before: &str) -> bool {
    let Some((top, _)) = path
        .split_once('/')
        .filter(|(top, _)| CONVENTIONAL.contains(top))
    else {
        return false;
    };
    let kept = if home.is_empty() {
        top.to_owned()
    } else {
        format!("{home}/{top}")
    };
    let before = before.trim_end_matches(|it: char| it.is_whitespace() || "*_[(`".contains(it));
    let before = before.to_lowercase();
    let says = |phrase: &&str| {
        let rest = before.strip_suffix(*phrase);
        rest.is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
    };
    root.directory(&kept) && DIRECTIONS.iter().any(says)
}

/// The path that a reference means; nothing where it is a URL, an anchor, a
/// placeholder or anything else but a relative path.
fn path_of(target: &str, place: Place) -> Option<String> {
    let cut = target.find(['#', '?']).map_or(target, |at| &target[..at]);
    let cut = if place == Place::Code {
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
    let is_plain = !path.contains(|it: char| {
        it.is_whitespace() || it.is_control() || "<>{}[]()$*|\"'`\\,;=@~…%".contains(it)
    });
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

/// `%20` and its like; nothing where it does not decode to text.
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

/// A path from `home`, relative to the root; nothing where it leaves the root.
fn resolve(home: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = home.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn is_below(path: &str, home: &str) -> bool {
    path == home
        || path
            .strip_prefix(home)
            .is_some_and(|rest| rest.starts_with('/'))
}

fn is_file(root: &TreeRoot, path: &str) -> bool {
    root.find(path)
        .is_some_and(|at| !root.entries[at].is_directory)
}

/// What is on disk but never bundled, or was reported already, is not missing.
fn is_left_out(root: &TreeRoot, path: &str) -> bool {
    let reported = || root.troubles.iter().any(|it| is_below(path, &it.path));
    is_junk(file_name(path)) || path.split('/').any(is_never_read) || reported()
}

/// A file whose path differs in upper and lower case only.
fn other_case<'a>(root: &'a TreeRoot, path: &str) -> Option<&'a str> {
    let near = root.below(directory(path));
    let near = root.entries.get(near)?;
    let folded = path.to_lowercase();
    near.iter()
        .map(|it| it.path.as_str())
        .find(|it| it.to_lowercase() == folded)
}

#[cfg(test)]
mod tests;
