//! What names alone tell: directories with a `SKILL.md`, and the Markdown
//! files that may turn out to be pages once they are read.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use super::{
    Places, Reader, directory, file_name, is_markdown, is_marked_name, is_skill_file, reader,
};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::source::{FileId, Tree, TreeRoot, is_below_hidden, is_hidden};

/// The skills and possible pages of all roots.
#[derive(Debug)]
pub(crate) struct Layout {
    /// One for each root.
    pub(crate) roots: Vec<RootLayout>,
}

/// The skills and possible pages of one root.
#[derive(Debug)]
pub(crate) struct RootLayout {
    /// Directories with a `SKILL.md`, sorted by their path.
    pub(crate) skills: Vec<SkillDirectory>,
    /// Other Markdown files that no skill directory holds, sorted by path.
    pub(crate) pages: Vec<FileId>,
    /// Where they lie. Resource directories are not known yet.
    pub(crate) places: Places,
}

/// A directory that is a skill.
#[derive(Debug)]
pub(crate) struct SkillDirectory {
    /// Its path; empty where the root itself is the skill.
    pub(crate) directory: String,
    /// Its `SKILL.md`.
    pub(crate) file: FileId,
}

impl Layout {
    /// The files to read before anything else can be said.
    pub(crate) fn markdown(&self) -> Vec<FileId> {
        super::markdown(self).collect()
    }
}

/// Sorts out the files of every root.
pub(crate) fn layout(tree: &Tree, out: &mut Vec<Diagnostic>) -> Layout {
    let mut seen = HashMap::new();
    let roots = tree.roots.iter().enumerate();
    let roots = roots
        .map(|(index, root)| root_layout(index, root, &mut seen, out))
        .collect();
    Layout { roots }
}

/// Where each `SKILL.md` really lies, and how the user would type the first
/// path that led to it.
type Seen = HashMap<PathBuf, String>;

fn root_layout(
    index: usize,
    root: &TreeRoot,
    seen: &mut Seen,
    out: &mut Vec<Diagnostic>,
) -> RootLayout {
    let mut places = Places::default();
    let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut hidden: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (at, path) in files(root).filter(|(_, path)| is_skill_file(path)) {
        if is_below_hidden(path) {
            hidden.entry(hidden_part(path)).or_default().push(path);
        } else {
            found.entry(directory(path)).or_default().push(at);
            places.skills.insert(directory(path).to_owned());
        }
    }
    for (folder, paths) in hidden {
        let in_skill = reader(paths[0], false, &places) == Reader::Skill;
        out.push(hidden_skills(root, folder, &paths, in_skill));
    }
    let skills = pick(index, root, found, seen, out);
    let mut pages = Vec::new();
    for (at, path) in files(root).filter(|(_, path)| is_markdown(path)) {
        if is_marked_name(path) && reader(path, false, &places) == Reader::Tree {
            places.marked.insert(directory(path).to_owned());
        }
        // Whether it has keywords is not known yet, so it is taken as if it had.
        if reader(path, true, &places) == Reader::Tree {
            pages.push(FileId {
                root: index,
                entry: at,
            });
        }
    }
    RootLayout {
        skills,
        pages,
        places,
    }
}

/// Chooses the file of each directory, and leaves out what a link leads to a
/// second time. What lies there without a link comes first.
fn pick(
    index: usize,
    root: &TreeRoot,
    found: BTreeMap<&str, Vec<usize>>,
    seen: &mut Seen,
    out: &mut Vec<Diagnostic>,
) -> Vec<SkillDirectory> {
    let mut skills = Vec::new();
    for (directory, files) in found {
        let at = preferred(root, &files, out);
        skills.push(SkillDirectory {
            directory: directory.to_owned(),
            file: FileId {
                root: index,
                entry: at,
            },
        });
    }
    skills.sort_by_key(|skill| root.entries[skill.file.entry].by_link);
    skills.retain(|skill| {
        let entry = &root.entries[skill.file.entry];
        let shown = root.shown(&entry.path);
        if let Some(first) = seen.get(&entry.real) {
            let message = format!("this is `{first}` again, by a link, so it is served once");
            out.push(Diagnostic::new(Code::LinkedSkill, shown, message));
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
        let shown = root.shown(&root.entries[at].path);
        let name = name(at);
        let finding =
            |message: String| Diagnostic::new(Code::SkillFileName, shown.clone(), message);
        if at != chosen {
            let message = format!(
                "`{name}` is not served: `{}` lies beside it",
                self::name(root, chosen)
            );
            out.push(finding(message).help("remove one of the two"));
        } else if exact.is_none() {
            let message = format!(
                "the file should be called `SKILL.md`, not `{name}`: hosts do not find it on every system"
            );
            out.push(finding(message).help(format!("rename it: `git mv {name} SKILL.md`")));
        }
    }
    chosen
}

fn name(root: &TreeRoot, at: usize) -> &str {
    file_name(&root.entries[at].path)
}

/// A path up to the first part that hides it.
fn hidden_part(path: &str) -> &str {
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

/// Says that skills are not found. What a dot folder inside a skill holds is
/// served as that skill's files.
fn hidden_skills(root: &TreeRoot, folder: &str, paths: &[&str], in_skill: bool) -> Diagnostic {
    let what = match paths {
        [_] => "a skill in this dot folder is".to_owned(),
        paths => format!("{} skills in this dot folder are", paths.len()),
    };
    let how = if in_skill {
        "served as files of the skill around it only"
    } else {
        "not served"
    };
    let message = format!("{what} {how}: dot folders are not searched");
    let mut finding = Diagnostic::new(Code::HiddenSkill, root.shown(folder), message);
    for path in paths.iter().take(3) {
        finding = finding.related_in(root.shown(path), None, "lies there");
    }
    if in_skill {
        return finding.severity(Severity::Info);
    }
    finding.help(format!(
        "name the folder as a root of its own: `{}`",
        root.shown(folder)
    ))
}

/// The files of a root, by index and path.
fn files(root: &TreeRoot) -> impl Iterator<Item = (usize, &str)> {
    let entries = root.entries.iter().enumerate();
    entries
        .filter(|(_, it)| !it.is_directory)
        .map(|(at, it)| (at, it.path.as_str()))
}
