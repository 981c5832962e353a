//! Which files are skills, and which reader takes each: directories with a
//! `SKILL.md` ([`skill_md`]) or pages of a tree ([`tree`]). A reader makes a
//! [`Draft`]; names and files of other skills are not known to it yet.

mod layout;
mod read;
mod references;
mod skill_md;
mod tree;

use std::collections::BTreeSet;

use skillbundle_format::{FileEntry, SkillEntry};

pub(crate) use layout::{Layout, layout};
pub(crate) use read::{Drafts, drafts};

use crate::assets::Declared;
use crate::diagnostic::Span;
use crate::source::{FileId, is_below_hidden};

/// A skill as its own file tells it. Parent and files are filled in later.
#[derive(Debug)]
pub(crate) struct Draft {
    /// What is known so far.
    pub(crate) entry: SkillEntry,
    /// The file as the user would type it.
    pub(crate) shown: String,
    /// Where its name stands, if it has one of its own.
    pub(crate) name_span: Option<Span>,
    /// Where its files come from.
    pub(crate) content: Content,
    /// Whether it lies below a dot folder, which puts it last in order.
    pub(crate) in_dot_folder: bool,
}

/// Where a skill's files come from.
#[derive(Debug)]
pub(crate) enum Content {
    /// Every file below the directory, some of them declared.
    Directory(String, Vec<Declared>),
    /// The declared files, below the resource directory if there is one.
    Resources(Option<String>, Vec<Declared>),
    /// The files that an earlier compile found.
    Kept(Vec<FileEntry>),
}

impl Draft {
    /// The files that a page declares, by root and path.
    fn declared_paths(&self) -> impl Iterator<Item = (usize, String)> {
        let (directory, declared) = match &self.content {
            Content::Resources(Some(directory), declared) => {
                (directory.as_str(), declared.as_slice())
            }
            _ => ("", &[][..]),
        };
        declared
            .iter()
            .map(move |it| (self.entry.root as usize, format!("{directory}/{}", it.path)))
    }
}

/// Who takes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// It makes its directory a skill.
    Folder,
    /// It is a page of a tree.
    Tree,
    /// It belongs to the skill whose directory, or resource directory, it lies in.
    Skill,
    /// It would be a skill if its dot folder were searched.
    Hidden,
    /// It is not about skills.
    Nobody,
}

/// The directories of one root that decide about the files in them.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// They hold a `SKILL.md`.
    pub(crate) skills: BTreeSet<String>,
    /// They hold a `_root.md` or `_index.md`.
    pub(crate) marked: BTreeSet<String>,
    /// They are the resource directory of a page: `auth/` beside `auth.md`.
    pub(crate) resources: BTreeSet<String>,
}

/// The rule that says who takes a file.
///
/// 1. A `SKILL.md`, in any case of letters, makes its directory a skill.
///    Nested ones are skills of their own. Dot folders are not searched,
///    except the hosts' own.
/// 2. Everything else below such a directory, or below the resource directory
///    of a page, belongs to that skill.
/// 3. A `.md` file is a page if it is called `_root.md` or `_index.md`, if its
///    frontmatter has `keywords`, or if it lies at or below a directory with a
///    `_root.md` or `_index.md`. A dot folder in between ends that.
/// 4. Everything else is nobody's.
pub(crate) fn reader(path: &str, has_keywords: bool, places: &Places) -> Reader {
    let hidden = is_below_hidden(path);
    let is_below =
        |directories: &BTreeSet<String>| ancestors(path).any(|it| directories.contains(it));
    match () {
        () if is_skill_file(path) && !hidden => Reader::Folder,
        () if is_below(&places.skills) || is_below(&places.resources) => Reader::Skill,
        () if is_skill_file(path) => Reader::Hidden,
        () if hidden || !is_markdown(path) => Reader::Nobody,
        () if has_keywords || is_marked_name(path) || in_marked(path, places) => Reader::Tree,
        () => Reader::Nobody,
    }
}

/// Whether the file's name is `SKILL.md` in any case of letters.
pub(crate) fn is_skill_file(path: &str) -> bool {
    file_name(path).eq_ignore_ascii_case("SKILL.md")
}

/// Whether the file's name marks its directory as part of a tree.
pub(crate) fn is_marked_name(path: &str) -> bool {
    matches!(file_name(path), "_root.md" | "_index.md")
}

/// Whether the file's name ends in `.md`, in any case of letters.
pub(crate) fn is_markdown(path: &str) -> bool {
    let stem = path
        .len()
        .checked_sub(3)
        .filter(|&at| path.is_char_boundary(at));
    stem.is_some_and(|at| path[at..].eq_ignore_ascii_case(".md") && !file_name(path)[..].is_empty())
}

/// A page's path without its `.md`.
pub(crate) fn stem(path: &str) -> &str {
    if is_markdown(path) {
        &path[..path.len() - 3]
    } else {
        path
    }
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The directory that a path lies in; the root is the empty path.
pub(crate) fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// The directories that a path lies in, the nearest first, the root last.
pub(crate) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(path);
    std::iter::from_fn(move || {
        let directory = directory(rest?);
        rest = (!directory.is_empty()).then_some(directory);
        Some(directory)
    })
}

/// Whether a directory above marks the file as a page. A dot folder begins
/// anew: `_root.md` does not speak for the issue templates in `.github`.
fn in_marked(path: &str, places: &Places) -> bool {
    for directory in ancestors(path) {
        if places.marked.contains(directory) {
            return true;
        }
        if file_name(directory).starts_with('.') {
            return false;
        }
    }
    false
}

/// Whether a path lies below a dot folder of any kind.
pub(crate) fn in_dot_folder(path: &str) -> bool {
    directory(path).split('/').any(|part| part.starts_with('.'))
}

/// The Markdown files that a skill directory and all pages are read from.
fn markdown(layout: &Layout) -> impl Iterator<Item = FileId> {
    layout.roots.iter().flat_map(|root| {
        root.skills
            .iter()
            .map(|skill| skill.file)
            .chain(root.pages.iter().copied())
    })
}

#[cfg(test)]
mod tests;
