//! The files of a skill: those in its directory, those it declares, and the
//! differences between the two. Bytes come from the source tree; paths that lead out
//! of the skill are refused before they are looked up.

mod declarations;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use skillbundle_format::{
    Audience, Dialect, Execution, FileEntry, Role, SkillEntry, is_for_people_only,
};
use unicode_normalization::UnicodeNormalization;

pub(crate) use declarations::{Declaration, declarations};

use crate::diagnostic::{Code, Diagnostic};
use crate::draft::{Draft, FileOrigin};
use crate::frontmatter;
use crate::paths::{directory, is_skill_file, join, stem};
use crate::source::{FileId, Tree, TreeEntry, TreeRoot, is_left_out, is_version_control};

/// Gives declared paths the Unicode form of the file on disk, if no file has theirs: macOS writes `é`
/// as two code points, and people type one.
pub(crate) fn spell_as_on_disk(tree: &Tree, drafts: &mut [Draft]) {
    for draft in drafts {
        let root = &tree.roots[draft.entry.root as usize];
        let (FileOrigin::Directory(directory, declared)
        | FileOrigin::Resources(Some(directory), declared)) = &mut draft.content
        else {
            continue;
        };
        for file in declared.iter_mut().filter(|it| !it.path.is_ascii()) {
            if root.find(&join(directory, &file.path)).is_some() {
                continue;
            }
            let on_disk = own_files(root, directory).map(|(_, path)| path);
            let mut same = on_disk.filter(|it| it.nfc().eq(file.path.nfc()));
            if let (Some(path), None) = (same.next(), same.next()) {
                file.path = path.to_owned();
            }
        }
    }
}

/// The declared files that a walk leaves out by their names, as root and path.
pub(crate) fn left_out(drafts: &[Draft]) -> Vec<(usize, String)> {
    let mut left_out = Vec::new();
    for draft in drafts {
        let entry = &draft.entry;
        let home = match entry.dialect {
            Dialect::Folder => directory(&entry.file_path),
            Dialect::Tree => stem(&entry.file_path),
        };
        let add = |path: &str| {
            let path = join(home, path);
            is_left_out(&path).then(|| left_out.push((entry.root as usize, path)));
        };
        match &draft.content {
            FileOrigin::Directory(_, declared) | FileOrigin::Resources(_, declared) => {
                declared.iter().map(|it| it.path.as_str()).for_each(add);
            }
            FileOrigin::Kept(files) => {
                let declared = files.iter().filter(|it| it.role != Role::File);
                declared.map(|it| it.path.as_str()).for_each(add);
            }
        }
    }
    left_out
}

/// The file in which Codex reads how it may use a skill.
const CODEX_SETTINGS: &str = "agents/openai.yaml";

/// The files whose content these skills need.
pub(crate) fn wanted(tree: &Tree, drafts: &[Draft]) -> Vec<FileId> {
    let mut wanted = Vec::new();
    for draft in drafts {
        let root = draft.entry.root as usize;
        match &draft.content {
            FileOrigin::Kept(_) | FileOrigin::Resources(None, _) => {}
            FileOrigin::Directory(directory, _) => {
                let own = own_files(&tree.roots[root], directory);
                wanted.extend(own.map(|(entry, _)| FileId { root, entry }));
            }
            FileOrigin::Resources(Some(directory), declared) => {
                let paths = declared.iter().map(|it| join(directory, &it.path));
                let found = paths.filter_map(|path| tree.roots[root].find_declared(&path));
                wanted.extend(found.map(|entry| FileId { root, entry }));
            }
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// Adds its files to a skill, sorted by path. Their content was read before.
pub(crate) fn attach(tree: &Tree, draft: &mut Draft, out: &mut Vec<Diagnostic>) {
    let root = &tree.roots[draft.entry.root as usize];
    let content = std::mem::replace(&mut draft.content, FileOrigin::Kept(Vec::new()));
    let mut files = match content {
        FileOrigin::Kept(files) => files,
        FileOrigin::Directory(directory, declared) => {
            in_directory(root, &directory, declared, draft, out)
        }
        FileOrigin::Resources(directory, declared) => {
            in_resources(root, directory.as_deref(), declared, draft, out)
        }
    };
    files.sort_by(|a, b| a.path.cmp(&b.path));
    draft.entry.files = files;
    draft.entry.audience = audience(&draft.entry);
}

/// Who is shown the skill: its frontmatter or its settings for Codex may keep it from models.
fn audience(skill: &SkillEntry) -> Audience {
    let mut files = skill.files.iter();
    let policy = files.find(|file| file.path == CODEX_SETTINGS);
    let policy = policy.and_then(|file| file.bytes.as_deref());
    if is_for_people_only(&skill.frontmatter_json) || policy.is_some_and(bars_models) {
        Audience::People
    } else {
        Audience::Everyone
    }
}

/// Whether these settings are `policy: {allow_implicit_invocation: false}`.
fn bars_models(settings: &[u8]) -> bool {
    let json = frontmatter::yaml_to_json(settings);
    let settings: Option<Value> = json.and_then(|json| serde_json::from_str(&json).ok());
    let allowed = "/policy/allow_implicit_invocation";
    settings.is_some_and(|it| it.pointer(allowed) == Some(&Value::Bool(false)))
}

/// Every file below a skill's directory, except its `SKILL.md`, with its path
/// relative to the directory.
fn own_files<'a>(root: &'a TreeRoot, directory: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let from = if directory.is_empty() {
        0
    } else {
        directory.len() + 1
    };
    let all = root.below(directory).chain(root.declared_below(directory));
    all.filter_map(|at| Some((at, root.get(at)?)))
        .filter(|(_, entry)| !entry.is_directory)
        .map(move |(at, entry)| (at, &entry.path[from..]))
        .filter(|(_, path)| path.contains('/') || !is_skill_file(path))
}

fn in_directory(
    root: &TreeRoot,
    directory: &str,
    declared: Vec<Declaration>,
    draft: &Draft,
    out: &mut Vec<Diagnostic>,
) -> Vec<FileEntry> {
    let mut declared: BTreeMap<String, Declaration> = declared
        .into_iter()
        .map(|it| (it.path.clone(), it))
        .collect();
    let mut files = Vec::new();
    for (at, path) in own_files(root, directory) {
        let declared = declared.remove(path);
        let entry = root.get(at);
        let is_known = entry.is_some_and(|it| it.bytes.is_some() || it.unread.is_some());
        // An unreadable file has been reported; it is only kept if it is declared.
        if is_known || declared.is_some() {
            files.push(file_entry(path, declared, entry));
        }
    }
    for missing in declared.into_values() {
        out.push(not_found(root, directory, &missing, draft));
        files.push(file_entry(&missing.path.clone(), Some(missing), None));
    }
    files
}

fn in_resources(
    root: &TreeRoot,
    directory: Option<&str>,
    declared: Vec<Declaration>,
    draft: &Draft,
    out: &mut Vec<Diagnostic>,
) -> Vec<FileEntry> {
    let Some(directory) = directory else {
        out.extend(no_directory(root, &declared, draft));
        return Vec::new();
    };
    let mut files = Vec::new();
    for declared in declared {
        let found = root.find_declared(&join(directory, &declared.path));
        let entry = found
            .and_then(|at| root.get(at))
            .filter(|entry| !entry.is_directory);
        if entry.is_none() {
            out.push(not_found(root, directory, &declared, draft));
        }
        files.push(file_entry(&declared.path.clone(), Some(declared), entry));
    }
    out.extend(undeclared(root, directory, &files, draft));
    files
}

fn file_entry(path: &str, declared: Option<Declaration>, entry: Option<&TreeEntry>) -> FileEntry {
    let declared = declared.unwrap_or_else(|| Declaration::undeclared(path));
    FileEntry {
        path: path.to_owned(),
        role: declared.role,
        kind: declared.kind,
        description: declared.description,
        execution: declared.execution,
        args: declared.args,
        executable: entry.is_some_and(|entry| entry.executable),
        bytes: entry.and_then(|entry| entry.bytes.as_ref().map(Arc::clone)),
        unread: entry.and_then(|it| it.unread),
    }
}

/// Spec 3 §13: the skill is served with the declaration; reading the file fails.
fn not_found(
    root: &TreeRoot,
    directory: &str,
    declared: &Declaration,
    draft: &Draft,
) -> Diagnostic {
    let path = join(directory, &declared.path);
    let found = root.find_declared(&path).and_then(|at| root.get(at));
    let what = if found.is_some_and(|it| it.is_directory) {
        "is a directory"
    } else if is_version_control(&path) {
        "is of version control, which is never read"
    } else {
        "does not exist"
    };
    let message = format!("the declared file `{path}` {what}");
    Diagnostic::new(Code::MissingAsset, draft.shown.as_str(), message)
        .at(declared.span)
        .help("add the file or remove its declaration")
}

/// Spec 3 §7.1: without a resource directory, declarations have no effect.
fn no_directory(root: &TreeRoot, declared: &[Declaration], draft: &Draft) -> Option<Diagnostic> {
    let first = declared.first()?;
    let directory = stem(&draft.entry.file_path);
    let files = match declared.len() {
        1 => "the declared file is".to_owned(),
        count => format!("{count} declared files are"),
    };
    let message = format!("{files} not served: `{directory}/` does not exist");
    let diagnostic = Diagnostic::new(Code::MissingAsset, draft.shown.as_str(), message);
    let directory = root.shown(directory);
    Some(diagnostic.at(first.span).help(format!(
        "put the files into `{directory}/` or remove the declarations"
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
    let (message, which) = match more.len() {
        0 => (
            format!("1 undeclared file in `{directory}/` is left out"),
            "",
        ),
        more => (
            format!(
                "{} undeclared files in `{directory}/` are left out",
                more + 1
            ),
            " and the others",
        ),
    };
    let diagnostic = Diagnostic::new(Code::UndeclaredFile, draft.shown.as_str(), message);
    Some(diagnostic.help(format!(
        "declare `{first}`{which} under `assets` or `scripts`"
    )))
}

impl Declaration {
    /// The declaration of a file without one.
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
