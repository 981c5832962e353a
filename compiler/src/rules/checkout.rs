//! Rules about what git leaves in place of a file: the path of a link on systems without links, a
//! pointer of Git LFS, the empty directory of a submodule. Git itself is never asked.

use std::collections::BTreeSet;

use skillbundle_format::Dialect;

use super::blocks;
use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::draft::Draft;
use crate::paths::{directory, file_name, join, resolve};
use crate::source::{FileId, Tree, TreeRoot};

/// What every pointer of Git LFS begins with, and how long it may be, as its specification has it.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1";
const MAX_POINTER: usize = 1024;
const PULL: &str = "run `git lfs pull` before you check or compile";

/// How git marks the beginning and the end of what a merge did not resolve.
pub(crate) const CONFLICT: &str = "<<<<<<< ";
const CONFLICT_END: &str = "\n>>>>>>> ";

/// Where git keeps the paths of submodules.
const SUBMODULES: &str = ".gitmodules";

/// The files that name the submodules of the roots.
pub(crate) fn submodules(tree: &Tree) -> Vec<(usize, String)> {
    let roots = tree.roots.iter().enumerate();
    let roots = roots.filter(|(_, root)| root.within.is_none());
    roots.map(|(at, _)| (at, SUBMODULES.to_owned())).collect()
}

/// The file that may hold the path of a link in place of a directory of a skill: those without an
/// extension beside such directories.
pub(crate) fn wanted(tree: &Tree, drafts: &[Draft]) -> Vec<FileId> {
    let mut wanted = Vec::new();
    for (at, root) in tree.roots.iter().enumerate() {
        let beside = beside_skills(at, drafts);
        for (entry, it) in root.entries.iter().enumerate() {
            let is_small = !it.is_directory && it.size > 0 && it.size <= MAX_POINTER as u64;
            let has_no_extension = || !file_name(&it.path).contains('.');
            if is_small && has_no_extension() && beside.contains(directory(&it.path)) {
                wanted.push(FileId { root: at, entry });
            }
        }
        let submodules = root.find_declared(SUBMODULES);
        wanted.extend(submodules.map(|entry| FileId { root: at, entry }));
    }
    wanted
}

/// The folders of a root that hold folders of skills.
fn beside_skills(root: usize, drafts: &[Draft]) -> BTreeSet<&str> {
    let skills = drafts.iter().filter(|it| {
        let entry = &it.entry;
        entry.root as usize == root
            && entry.dialect == Dialect::Folder
            && !it.directory().is_empty()
    });
    skills.map(|it| directory(it.directory())).collect()
}

/// Checks the files of one skill.
pub(super) fn check(root: &TreeRoot, draft: &Draft, out: &mut Vec<Diagnostic>) {
    let home = draft.directory();
    let mut pointers = Vec::new();
    for file in &draft.entry.files {
        let Some(bytes) = file.bytes.as_deref().filter(|it| it.len() <= MAX_POINTER) else {
            continue;
        };
        let path = join(home, &file.path);
        if is_pointer(bytes) {
            pointers.push(path);
        } else if let Some(target) = link_target(root, &path, bytes) {
            let message = format!("this file has nothing but the path `{target}` of a link");
            out.push(as_text(root.shown(&path), message));
        }
    }
    if let Some((first, more)) = pointers.split_first() {
        let more = match more.len() {
            0 => String::new(),
            more => format!("; {more} more of the skill are, too"),
        };
        let message = format!("this is a pointer of Git LFS, not the file{more}");
        let diagnostic = Diagnostic::new(Code::LfsPointer, root.shown(first), message);
        out.push(diagnostic.help(PULL));
    }
}

/// Checks what is beside the skills of all roots.
pub(super) fn check_all(tree: &Tree, drafts: &[Draft], out: &mut Vec<Diagnostic>) {
    for (at, root) in tree.roots.iter().enumerate() {
        let beside = beside_skills(at, drafts);
        for entry in &root.entries {
            let Some(bytes) = entry.bytes.as_deref().filter(|it| it.len() <= MAX_POINTER) else {
                continue;
            };
            let is_beside = beside.contains(directory(&entry.path));
            if let Some(target) = link_target(root, &entry.path, bytes).filter(|_| is_beside) {
                out.push(skill_as_text(&root.shown(&entry.path), target));
            }
        }
        empty_submodules(root, out);
    }
}

/// Reports a merge that is not resolved, from the mark at `at` or after it. Blocks of code show such
/// marks as examples.
pub(crate) fn conflict(shown: &str, text: &str, at: usize) -> Option<Diagnostic> {
    let end = at + memchr::memmem::find(&text.as_bytes()[at..], CONFLICT_END.as_bytes())?;
    let code = blocks::fenced(text);
    let is_mark = |at: &usize| text[..*at].ends_with('\n') || text[..*at].trim().is_empty();
    let marks = text[at..end].match_indices(CONFLICT).map(|it| at + it.0);
    let mut marks = marks.filter(is_mark);
    let at = marks.find(|at| {
        let next = code.partition_point(|it| it.content.end <= *at);
        code.get(next).is_none_or(|it| !it.content.contains(at))
    })?;
    let line = text[at..].lines().next().unwrap_or_default();
    let message = "a merge that is not resolved begins here";
    let diagnostic = Diagnostic::new(Code::MergeConflict, shown, message);
    let help = "keep one of the versions, and remove the lines of `<`, `=` and `>`";
    Some(diagnostic.at(Span::from(at..at + line.len())).help(help))
}

/// Whether this is a pointer of Git LFS. A checkout for Windows may end its lines in CRLF.
pub(crate) fn is_pointer(bytes: &[u8]) -> bool {
    let rest = bytes.strip_prefix(LFS_POINTER);
    bytes.len() <= MAX_POINTER
        && rest.is_some_and(|it| it.starts_with(b"\n") || it.starts_with(b"\r\n"))
}

/// Reports a pointer of Git LFS where a skill should be.
pub(crate) fn skill_as_pointer(shown: &str) -> Diagnostic {
    let message = "this skill is not served: it is a pointer of Git LFS";
    let diagnostic = Diagnostic::new(Code::LfsPointer, shown, message);
    diagnostic.severity(Severity::Error).help(PULL)
}

/// Reports what stands where a skill should be.
pub(crate) fn skill_as_text(shown: &str, target: &str) -> Diagnostic {
    let message = format!("this skill is not served: it has nothing but the path `{target}`");
    as_text(shown.to_owned(), message).severity(Severity::Error)
}

fn as_text(shown: String, message: String) -> Diagnostic {
    Diagnostic::new(Code::LinkAsText, shown, message).help(
        "git writes links as text on systems without them: run `git config core.symlinks true` and check out again, or put a copy there",
    )
}

/// The target of a link that git wrote as text: a path without a line end, which leads to something,
/// or up to something of the same name.
pub(crate) fn link_target<'a>(root: &TreeRoot, path: &str, bytes: &'a [u8]) -> Option<&'a str> {
    let text = str::from_utf8(bytes).ok()?;
    let is_path = |it: char| !it.is_control() && !it.is_whitespace() && !"<>:\"|?*`".contains(it);
    if text.is_empty() || text.starts_with('/') || !text.chars().all(is_path) {
        return None;
    }
    let resolved = resolve(directory(path), text);
    let leads = match resolved {
        Some(resolved) => resolved != path && !resolved.is_empty() && root.has(&resolved),
        None => file_name(text) == file_name(path),
    };
    leads.then_some(text)
}

/// Reports directories of submodules in which nothing is.
fn empty_submodules(root: &TreeRoot, out: &mut Vec<Diagnostic>) {
    let file = root.find_declared(SUBMODULES).and_then(|at| root.get(at));
    let text = file.and_then(|it| str::from_utf8(it.bytes.as_deref()?).ok());
    for line in text.unwrap_or_default().lines() {
        let Some((key, path)) = line.split_once('=') else {
            continue;
        };
        let path = path.trim().trim_matches('"');
        let is_empty =
            key.trim() == "path" && root.has_directory(path) && root.below(path).is_empty();
        if is_empty {
            let message = "nothing of this submodule is served: it is empty";
            let diagnostic = Diagnostic::new(Code::EmptySubmodule, root.shown(path), message);
            out.push(diagnostic.help("run `git submodule update --init`"));
        }
    }
}
