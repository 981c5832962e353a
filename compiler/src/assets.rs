//! The files of a skill: those that lie in its directory, those it declares,
//! and what is wrong between the two. Bytes come from the source tree; paths
//! that lead out of the skill are refused before they are looked up.

mod advice;
mod declared;
mod path;

use std::collections::BTreeMap;
use std::sync::Arc;

use skillbundle_format::{Execution, FileEntry, Role};

pub(crate) use declared::{Declared, declared};

use crate::diagnostic::{Code, Diagnostic};
use crate::dialect::{Content, Draft, is_skill_file};
use crate::source::{Entry, FileId, Tree, TreeRoot};

/// The files whose content is needed for these skills.
pub(crate) fn wanted(tree: &Tree, drafts: &[Draft]) -> Vec<FileId> {
    let mut wanted = Vec::new();
    for draft in drafts {
        let root = draft.entry.root as usize;
        match &draft.content {
            Content::Kept(_) | Content::Resources(None, _) => {}
            Content::Directory(directory, _) => {
                let own = own_files(&tree.roots[root], directory);
                wanted.extend(own.map(|(entry, _)| FileId { root, entry }));
            }
            Content::Resources(Some(directory), declared) => {
                let paths = declared.iter().map(|it| format!("{directory}/{}", it.path));
                let found = paths.filter_map(|path| tree.roots[root].find(&path));
                wanted.extend(found.map(|entry| FileId { root, entry }));
            }
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// The files of one skill, sorted by path. Their content was read before.
pub(crate) fn attach(tree: &Tree, draft: &mut Draft, out: &mut Vec<Diagnostic>) {
    let root = &tree.roots[draft.entry.root as usize];
    let content = std::mem::replace(&mut draft.content, Content::Kept(Vec::new()));
    let mut files = match content {
        Content::Kept(files) => files,
        Content::Directory(directory, declared) => {
            let files = in_directory(root, &directory, declared, draft, out);
            advice::of_content(root, &directory, &files, &draft.shown, out);
            files
        }
        Content::Resources(directory, declared) => {
            in_resources(root, directory.as_deref(), declared, draft, out)
        }
    };
    files.sort_by(|a, b| a.path.cmp(&b.path));
    draft.entry.files = files;
}

/// Every file below a skill's directory but its own `SKILL.md`, with its path
/// from there.
fn own_files<'a>(root: &'a TreeRoot, directory: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let from = if directory.is_empty() {
        0
    } else {
        directory.len() + 1
    };
    root.below(directory)
        .filter(|&at| !root.entries[at].is_directory)
        .map(move |at| (at, &root.entries[at].path[from..]))
        .filter(|(_, path)| path.contains('/') || !is_skill_file(path))
}

fn in_directory(
    root: &TreeRoot,
    directory: &str,
    declared: Vec<Declared>,
    draft: &Draft,
    out: &mut Vec<Diagnostic>,
) -> Vec<FileEntry> {
    let mut declared: BTreeMap<String, Declared> = declared
        .into_iter()
        .map(|it| (it.path.clone(), it))
        .collect();
    let mut files = Vec::new();
    for (at, path) in own_files(root, directory) {
        let entry = &root.entries[at];
        let declared = declared.remove(path);
        // A file that could not be read was reported; only a declared one is kept.
        if entry.bytes.is_some() || declared.is_some() {
            files.push(file_entry(path, declared, Some(entry)));
        }
    }
    for missing in declared.into_values() {
        let place = if directory.is_empty() {
            String::new()
        } else {
            format!("{directory}/")
        };
        out.push(not_there(root, &place, &missing, draft));
        files.push(file_entry(&missing.path.clone(), Some(missing), None));
    }
    files
}

fn in_resources(
    root: &TreeRoot,
    directory: Option<&str>,
    declared: Vec<Declared>,
    draft: &Draft,
    out: &mut Vec<Diagnostic>,
) -> Vec<FileEntry> {
    let Some(directory) = directory else {
        out.extend(no_directory(root, &declared, draft));
        return Vec::new();
    };
    let place = format!("{directory}/");
    let mut files = Vec::new();
    for declared in declared {
        let found = root.find(&format!("{place}{}", declared.path));
        let entry = found
            .map(|at| &root.entries[at])
            .filter(|entry| !entry.is_directory);
        if entry.is_none() {
            out.push(not_there(root, &place, &declared, draft));
        }
        files.push(file_entry(&declared.path.clone(), Some(declared), entry));
    }
    out.extend(undeclared(root, directory, &files, draft));
    files
}

fn file_entry(path: &str, declared: Option<Declared>, entry: Option<&Entry>) -> FileEntry {
    let declared = declared.unwrap_or_else(|| Declared::undeclared(path));
    FileEntry {
        path: path.to_owned(),
        role: declared.role,
        kind: declared.kind,
        description: declared.description,
        execution: declared.execution,
        args: declared.args,
        executable: entry.is_some_and(|entry| entry.executable),
        bytes: entry.and_then(|entry| entry.bytes.as_ref().map(Arc::clone)),
    }
}

/// Spec 3 §13: the skill stays as it is, reading the file is an error.
fn not_there(root: &TreeRoot, place: &str, declared: &Declared, draft: &Draft) -> Diagnostic {
    let path = format!("{place}{}", declared.path);
    let what = if root.directory(&path) {
        "is a directory"
    } else {
        "is not there"
    };
    let message = format!(
        "the file `{}` is declared, but `{path}` {what}",
        declared.path
    );
    let finding =
        Diagnostic::new(Code::MissingAsset, draft.shown.as_str(), message).at(declared.span);
    finding.help("add the file, or take its declaration away: asking for it is an error")
}

/// Spec 3 §7.1: without a resource directory nothing is declared at all.
fn no_directory(root: &TreeRoot, declared: &[Declared], draft: &Draft) -> Option<Diagnostic> {
    let first = declared.first()?;
    let directory = crate::dialect::stem(&draft.entry.file_path);
    let count = match declared.len() {
        1 => "1 file is declared".to_owned(),
        count => format!("{count} files are declared"),
    };
    let message = format!(
        "{count}, but there is no directory `{directory}/` to hold them, so none is listed"
    );
    let finding = Diagnostic::new(Code::MissingAsset, draft.shown.as_str(), message).at(first.span);
    let directory = root.shown(directory);
    Some(finding.help(format!(
        "put the files into `{directory}/`, or take the declarations away"
    )))
}

fn undeclared(
    root: &TreeRoot,
    directory: &str,
    files: &[FileEntry],
    draft: &Draft,
) -> Option<Diagnostic> {
    let from = directory.len() + 1;
    let paths = root
        .below(directory)
        .map(|at| &root.entries[at])
        .filter(|it| !it.is_directory);
    let paths = paths.map(|entry| &entry.path[from..]);
    let left: Vec<&str> = paths
        .filter(|path| !files.iter().any(|it| it.path == *path))
        .collect();
    let (first, more) = left.split_first()?;
    let message = match more.len() {
        0 => format!("`{first}` lies in `{directory}/` and is not declared, so it is not served"),
        more => format!(
            "`{first}` and {more} more lie in `{directory}/` and are not declared, so they are not served"
        ),
    };
    let finding = Diagnostic::new(Code::UndeclaredFile, draft.shown.as_str(), message);
    Some(finding.help("list them under `assets` or `scripts`"))
}

impl Declared {
    /// A file that nobody declared.
    fn undeclared(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            role: Role::File,
            kind: "other".to_owned(),
            description: String::new(),
            execution: Execution::Claude,
            args: Vec::new(),
            span: None,
        }
    }
}

#[cfg(test)]
mod tests;
