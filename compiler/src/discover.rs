//! Discovers skills by their names on disk: directories with a `SKILL.md`, and the
//! Markdown files that may be pages of a tree. [`classify`] is the rule; a page with
//! keywords is only recognized when its frontmatter has been read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::paths::{ancestors, directory, file_name, is_markdown, is_marker, is_skill_file};
use crate::source::{FileId, Tree, TreeRoot, is_below_hidden, is_hidden};

/// What a file is for skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A `SKILL.md`: its directory is a skill.
    SkillFile,
    /// A page of a tree.
    Page,
    /// A file of the skill whose directory, or resource directory, contains it.
    Content,
    /// A `SKILL.md` in a dot folder that is not searched.
    Hidden,
    /// Not related to skills.
    Other,
}

/// The directories of one root that decide what the files in them are.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    /// Directories with a `SKILL.md`.
    pub(crate) skills: BTreeSet<String>,
    /// Directories with a `_root.md` or `_index.md`.
    pub(crate) marked: BTreeSet<String>,
    /// Resource directories of pages: `auth/` beside `auth.md`.
    pub(crate) resources: BTreeSet<String>,
}

/// Decides what a file is.
///
/// 1. A `SKILL.md`, in any case, makes its directory a skill, also inside another
///    skill. Dot folders are not searched, except those of hosts.
/// 2. Everything else below such a directory, or below the resource directory of a
///    page, belongs to that skill.
/// 3. A `.md` file is a page if it is called `_root.md` or `_index.md`, if its
///    frontmatter has `keywords`, or if a directory above it has a `_root.md` or
///    `_index.md` and no dot folder is in between.
/// 4. Everything else is not related to skills.
pub(crate) fn classify(path: &str, has_keywords: bool, claims: &Claims) -> FileKind {
    let hidden = is_below_hidden(path);
    let is_below =
        |directories: &BTreeSet<String>| ancestors(path).any(|it| directories.contains(it));
    match () {
        () if is_skill_file(path) && !hidden => FileKind::SkillFile,
        () if is_below(&claims.skills) || is_below(&claims.resources) => FileKind::Content,
        () if is_skill_file(path) => FileKind::Hidden,
        () if hidden || !is_markdown(path) => FileKind::Other,
        () if has_keywords || is_marker(path) || in_marked(path, claims) => FileKind::Page,
        () => FileKind::Other,
    }
}

/// Whether a directory above marks the file as a page. A dot folder ends that:
/// `_root.md` does not turn the issue templates in `.github` into pages.
fn in_marked(path: &str, claims: &Claims) -> bool {
    for directory in ancestors(path) {
        if claims.marked.contains(directory) {
            return true;
        }
        if file_name(directory).starts_with('.') {
            return false;
        }
    }
    false
}

/// The skills and possible pages of one root.
#[derive(Debug)]
pub(crate) struct Discovery {
    /// Directories with a `SKILL.md`, sorted by path.
    pub(crate) skills: Vec<SkillDirectory>,
    /// Other Markdown files outside of skill directories, sorted by path.
    pub(crate) pages: Vec<FileId>,
    /// The claims so far; resource directories are added when pages are read.
    pub(crate) claims: Claims,
}

/// A directory that is a skill.
#[derive(Debug)]
pub(crate) struct SkillDirectory {
    /// Its path; empty if the root itself is the skill.
    pub(crate) directory: String,
    /// Its `SKILL.md`.
    pub(crate) file: FileId,
}

impl Discovery {
    /// The Markdown files that have to be read.
    pub(crate) fn markdown(&self) -> impl Iterator<Item = FileId> {
        let skills = self.skills.iter().map(|skill| skill.file);
        skills.chain(self.pages.iter().copied())
    }
}

/// Discovers the skills and possible pages of every root.
pub(crate) fn discover(tree: &Tree, out: &mut Vec<Diagnostic>) -> Vec<Discovery> {
    let mut seen = HashMap::new();
    let roots = tree.roots.iter().enumerate();
    roots
        .map(|(index, root)| in_root(index, root, &mut seen, out))
        .collect()
}

/// The real path of every `SKILL.md` so far, with the first path that led to it.
type Seen = HashMap<PathBuf, String>;

fn in_root(index: usize, root: &TreeRoot, seen: &mut Seen, out: &mut Vec<Diagnostic>) -> Discovery {
    let mut claims = Claims::default();
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut hidden: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (at, path) in files(root).filter(|(_, path)| is_skill_file(path)) {
        if is_below_hidden(path) {
            hidden.entry(hidden_folder(path)).or_default().push(path);
        } else {
            found.entry(directory(path)).or_default().push(at);
            claims.skills.insert(directory(path).to_owned());
        }
    }
    out.extend(misnamed(root, &claims));
    for (folder, paths) in hidden {
        let in_skill = classify(paths[0], false, &claims) == FileKind::Content;
        out.push(hidden_skills(root, folder, &paths, in_skill));
    }
    let skills = skill_directories(index, root, found, seen, out);
    let mut pages = Vec::new();
    for (at, path) in files(root).filter(|(_, path)| is_markdown(path)) {
        if is_marker(path) && classify(path, false, &claims) == FileKind::Page {
            claims.marked.insert(directory(path).to_owned());
        }
        // It may have keywords, so it is treated as if it had.
        if classify(path, true, &claims) == FileKind::Page {
            pages.push(FileId {
                root: index,
                entry: at,
            });
        }
    }
    Discovery {
        skills,
        pages,
        claims,
    }
}

/// Reports what was probably meant as a `SKILL.md`, in folders that have none.
fn misnamed<'a>(root: &'a TreeRoot, claims: &'a Claims) -> impl Iterator<Item = Diagnostic> + 'a {
    let entries = root.entries.iter();
    let misnamed = entries.filter(|it| {
        let path = it.path.as_str();
        is_misnamed(file_name(path), it.is_directory)
            && !is_below_hidden(path)
            && !ancestors(path).any(|it| claims.skills.contains(it))
    });
    misnamed.map(|it| {
        let name = file_name(&it.path);
        let shown = root.shown(&it.path);
        let (message, help) = if it.is_directory {
            let message = format!("`{name}` is a folder, so there is no skill here");
            (message, "call it otherwise, and write a file `SKILL.md`")
        } else {
            let message = format!("no program reads `{name}` as a skill");
            (message, "call it exactly `SKILL.md`")
        };
        Diagnostic::new(Code::SkillFileName, shown, message).help(help)
    })
}

/// Whether a name is `SKILL.md` with another extension or one too many. Pages have rules of their own.
fn is_misnamed(name: &str, is_directory: bool) -> bool {
    let lower = name.trim_end().to_ascii_lowercase();
    let others = [
        "skill.markdown",
        "skill.md.md",
        "skill.md.txt",
        "skill.mdx",
        "skill.txt",
    ];
    let is_spaced = name != name.trim_end() && lower == "skill.md";
    if is_directory {
        lower == "skill.md"
    } else {
        is_spaced || name == "SKILL" || others.contains(&lower.as_str())
    }
}

/// Chooses one file per directory, and drops skills that a link leads to a second
/// time. The path without a link wins.
fn skill_directories(
    index: usize,
    root: &TreeRoot,
    found: BTreeMap<&str, Vec<usize>>,
    seen: &mut Seen,
    out: &mut Vec<Diagnostic>,
) -> Vec<SkillDirectory> {
    let mut skills = Vec::new();
    for (directory, files) in found {
        let file = FileId {
            root: index,
            entry: preferred(root, &files, out),
        };
        skills.push(SkillDirectory {
            directory: directory.to_owned(),
            file,
        });
    }
    skills.sort_by_key(|skill| root.entries[skill.file.entry].by_link);
    skills.retain(|skill| {
        let entry = &root.entries[skill.file.entry];
        let shown = root.shown(&entry.path);
        if let Some(first) = seen.get(&entry.real) {
            let message = "this skill is served once: a link leads to it a second time";
            let diagnostic = Diagnostic::new(Code::LinkedSkill, shown, message);
            out.push(diagnostic.related_in(first, None, "the skill is served as this file"));
            return false;
        }
        seen.insert(entry.real.clone(), shown);
        true
    });
    skills.sort_by(|a, b| a.directory.cmp(&b.directory));
    skills
}

/// `SKILL.md` wins over other spellings; among those the first in order.
fn preferred(root: &TreeRoot, files: &[usize], out: &mut Vec<Diagnostic>) -> usize {
    let name = |at: usize| file_name(&root.entries[at].path);
    let exact = files.iter().copied().find(|&at| name(at) == "SKILL.md");
    let chosen = exact.unwrap_or(files[0]);
    for &at in files {
        let report = |message: String| {
            let shown = root.shown(&root.entries[at].path);
            Diagnostic::new(Code::SkillFileName, shown, message)
        };
        let (name, chosen_name) = (name(at), name(chosen));
        if at != chosen {
            let message = format!("`{name}` is not served, since `{chosen_name}` is beside it");
            out.push(report(message).help("remove one of the two"));
        } else if exact.is_none() {
            let message = format!("some hosts only find `SKILL.md`, not `{name}`");
            out.push(report(message).help(format!("rename it: `git mv {name} SKILL.md`")));
        }
    }
    chosen
}

/// A path up to the outermost folder that hides it.
fn hidden_folder(path: &str) -> &str {
    let mut end = 0;
    for part in path.split('/') {
        end += part.len();
        if is_hidden(part) {
            break;
        }
        end += 1;
    }
    &path[..end.min(path.len())]
}

/// Reports skills that are not found. In a dot folder inside a skill they are
/// served as that skill's files.
fn hidden_skills(root: &TreeRoot, folder: &str, paths: &[&str], in_skill: bool) -> Diagnostic {
    let what = match paths {
        [_] => "a skill in this dot folder is".to_owned(),
        paths => format!("{} skills in this dot folder are", paths.len()),
    };
    let how = if in_skill {
        "only served as files of the outer skill"
    } else {
        "not served"
    };
    let mut diagnostic = Diagnostic::new(
        Code::HiddenSkill,
        root.shown(folder),
        format!("{what} {how}"),
    );
    for path in paths.iter().take(3) {
        diagnostic = diagnostic.related_in(root.shown(path), None, "a skill in the dot folder");
    }
    if in_skill {
        return diagnostic.severity(Severity::Info);
    }
    let shown = root.shown(folder);
    diagnostic.help(format!(
        "dot folders are not searched; name `{shown}` as a root"
    ))
}

/// The files of a root with their indices.
fn files(root: &TreeRoot) -> impl Iterator<Item = (usize, &str)> {
    let entries = root.entries.iter().enumerate();
    entries
        .filter(|(_, it)| !it.is_directory)
        .map(|(at, it)| (at, it.path.as_str()))
}

#[cfg(test)]
mod tests;
