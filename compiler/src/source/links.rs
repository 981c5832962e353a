//! Which links are followed: the one place that decides it.
//!
//! A link is judged by the real path of its target, before anything behind it
//! is opened.
//!
//! 1. A link to a file or directory must stay inside its root (or, below a
//!    linked skill, inside that skill), and must not lead into a directory
//!    that the walk would not enter itself.
//! 2. A link to a *skill* (a directory that holds a `SKILL.md`, or a link of
//!    that name to a file of that name) may lead anywhere inside the root's
//!    *project*, unless it lies below another skill. The project is the
//!    directory that holds the root, or the one that holds the host's home
//!    where the root lies in one: `repo` for `repo/skills` and for
//!    `repo/.claude/skills`. That is how installers share one copy.
//! 3. Every other link is refused, with a trouble that names it.
//!
//! Why a shared skill may lie outside the root and a shared file not: a
//! directory with a `SKILL.md` is meant to be served, and `notes.txt ->
//! ../../.env` is how a hostile skill reads what is not.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ignore::{is_hidden, is_host_home, is_junk, is_never_read};
use super::trouble::LinkFault;
use super::{Entry, Fault, platform};

/// A link that was found, not followed yet.
pub(super) struct Link {
    /// Its path in the tree.
    pub(super) path: String,
    /// Its real place.
    pub(super) location: PathBuf,
    /// What it was found in.
    pub(super) frame: Arc<Frame>,
}

/// What a walk started from: the root, or a directory that a link led to.
pub(super) struct Frame {
    /// Whether a link led here.
    pub(super) by_link: bool,
    /// Directories inside which links may lead: the root and linked skills.
    areas: Vec<PathBuf>,
    /// Where skills may be shared from.
    project: PathBuf,
    /// The real places of the links that led here.
    through: Vec<PathBuf>,
}

impl Frame {
    /// The walk of a root.
    pub(super) fn root(real: &Path) -> Self {
        let (areas, through) = (vec![real.to_owned()], Vec::new());
        Self {
            by_link: false,
            areas,
            project: project_of(real).to_owned(),
            through,
        }
    }

    /// The walk of a directory that `link` leads to.
    pub(super) fn inner(&self, link: &Link, target: &Path) -> Self {
        let mut areas = self.areas.clone();
        if !areas.iter().any(|area| target.starts_with(area)) {
            areas.push(target.to_owned());
        }
        let mut through = self.through.clone();
        through.push(link.location.clone());
        Self {
            by_link: true,
            areas,
            project: self.project.clone(),
            through,
        }
    }
}

/// The directory whose skills a root may share. A root directly below `/`
/// shares nothing: its project would be the whole machine.
fn project_of(root: &Path) -> &Path {
    let Some(parent) = root.parent() else {
        return root;
    };
    let in_home = parent
        .file_name()
        .and_then(|it| it.to_str())
        .is_some_and(is_host_home);
    let project = if in_home {
        parent.parent().unwrap_or(parent)
    } else {
        parent
    };
    if project.parent().is_none() {
        root
    } else {
        project
    }
}

/// A target that may be read.
pub(super) enum Target {
    /// Its real path and what it is.
    File(PathBuf, Metadata),
    /// Its real path and what it is.
    Directory(PathBuf, Metadata),
}

/// Says where a link leads if it may be followed, else whether it leads to a
/// directory, and why it may not.
pub(super) fn judge(link: &Link, skills: &SkillDirectories) -> Result<Target, (bool, Fault)> {
    let written = fs::read_link(&link.location).unwrap_or_default();
    let (real, metadata) = match resolve(&link.location) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err((false, Fault::Link(written, LinkFault::Broken)));
        }
        Err(error) if platform::is_loop(&error) => {
            return Err((false, Fault::Link(written, LinkFault::Cycle)));
        }
        Err(error) => return Err((false, Fault::unreadable(&error))),
    };
    let is_directory = metadata.is_dir();
    let refuse = |fault| Err((is_directory, Fault::Link(written.clone(), fault)));
    if is_directory && leads_back(link, &real) {
        return refuse(LinkFault::Cycle);
    }
    let shared_skill = !skills.hold(&link.path)
        && real.starts_with(&link.frame.project)
        && is_skill(&link.path, &real, is_directory);
    if !shared_skill {
        let Some(area) = link
            .frame
            .areas
            .iter()
            .rev()
            .find(|area| real.starts_with(area))
        else {
            return refuse(LinkFault::Escapes);
        };
        // Names that hide a directory count from where the link lies.
        let parent = link.location.parent().unwrap_or(area);
        let from = if real.starts_with(parent) {
            parent
        } else {
            area
        };
        if is_barred(real.strip_prefix(from).unwrap_or(&real), is_directory) {
            return refuse(LinkFault::Hidden);
        }
    }
    match metadata.is_file() {
        true => Ok(Target::File(real, metadata)),
        false if is_directory => Ok(Target::Directory(real, metadata)),
        false => Err((
            false,
            Fault::NotAFile(platform::describe(metadata.file_type())),
        )),
    }
}

fn resolve(location: &Path) -> io::Result<(PathBuf, Metadata)> {
    let real = fs::canonicalize(location)?;
    let metadata = fs::symlink_metadata(&real)?;
    Ok((real, metadata))
}

/// A target that holds the link, or any link on the way to it, has no end.
fn leads_back(link: &Link, target: &Path) -> bool {
    let mut places = link.frame.through.iter().chain([&link.location]);
    places.any(|place| place.starts_with(target))
}

fn is_skill(link: &str, target: &Path, is_directory: bool) -> bool {
    if is_directory {
        return ["SKILL.md", "skill.md", "Skill.md"]
            .iter()
            .any(|it| target.join(it).is_file());
    }
    let name = target
        .file_name()
        .and_then(|it| it.to_str())
        .unwrap_or_default();
    is_skill_file(link) && is_skill_file(name)
}

/// Whether a path ends in `SKILL.md`, in any case.
fn is_skill_file(path: &str) -> bool {
    path.rsplit('/')
        .next()
        .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"))
}

/// Whether a path goes through a directory, or to a file, that the walk would
/// have left out.
fn is_barred(path: &Path, is_directory: bool) -> bool {
    let names: Vec<&str> = path.iter().map(|it| it.to_str().unwrap_or(".")).collect();
    let (file, directories) = match names.split_last() {
        Some((file, directories)) if !is_directory => (Some(*file), directories),
        _ => (None, names.as_slice()),
    };
    directories.iter().any(|name| is_never_read(name) || is_hidden(name))
        // A hidden file is named by a link only to have it read.
        || file.is_some_and(|name| is_junk(name) || (is_hidden(name) && !directories.is_empty()))
}

/// The directories of a root that hold a `SKILL.md`.
pub(super) struct SkillDirectories(BTreeSet<String>);

/// Finds them among what was walked so far.
pub(super) fn skill_directories(entries: &[Entry]) -> SkillDirectories {
    let files = entries
        .iter()
        .filter(|it| !it.is_directory && is_skill_file(&it.path));
    let directories = files.map(|it| it.path.rsplit_once('/').map_or("", |(dir, _)| dir));
    SkillDirectories(directories.map(str::to_owned).collect())
}

impl SkillDirectories {
    /// Whether a path lies below one of them. For a link named `SKILL.md` its
    /// own directory does not count: the link makes it one.
    fn hold(&self, path: &str) -> bool {
        let mut inside = path;
        if is_skill_file(inside) {
            inside = inside.rsplit_once('/').map_or("", |(dir, _)| dir);
        }
        loop {
            let Some((directory, _)) = inside.rsplit_once('/') else {
                return !inside.is_empty() && self.0.contains("");
            };
            if self.0.contains(directory) {
                return true;
            }
            inside = directory;
        }
    }
}
