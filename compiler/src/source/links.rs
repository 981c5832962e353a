//! Decides which links are followed. A link is judged by the real path of its
//! target, before anything there is opened; `judge` has the three rules.
//!
//! A shared skill may be outside the root and a shared file may not: a directory
//! with a `SKILL.md` is meant to be served, while `notes.txt -> ../../.env` is how
//! a hostile skill reads what is not.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ignore::{is_hidden, is_host_home, is_junk, is_never_read};
use super::read_error::LinkCause;
use super::{Cause, TreeEntry, platform};
use crate::paths::{ancestors, directory, is_skill_file};

/// A link that was found but not followed yet.
pub(super) struct Link {
    /// Its path in the tree.
    pub(super) path: String,
    /// Its real path.
    pub(super) location: PathBuf,
    /// The walk that found it.
    pub(super) frame: Arc<Frame>,
}

/// One walk: of the root, or of a directory that a link led to.
pub(super) struct Frame {
    /// Whether a link led here.
    pub(super) by_link: bool,
    /// Directories that links may lead into: the root and linked skills.
    areas: Vec<PathBuf>,
    /// Skills may be shared from anywhere in this directory.
    project: PathBuf,
    /// The real paths of the links that led here.
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

/// The directory that holds the root, or the one that holds the host's home if the
/// root is in one: `repo` for `repo/skills` and for `repo/.claude/skills`. A root
/// directly below `/` shares nothing, since its project would be the machine.
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

/// The target of a link that may be followed; otherwise whether the target is a
/// directory, and why the link is refused.
///
/// 1. A link to a file or directory must stay inside its root (or, below a linked
///    skill, inside that skill) and must not lead into a directory that the walk
///    itself would not enter.
/// 2. A link to a *skill* (a directory with a `SKILL.md`, or a link of that name to
///    a file of that name) may lead anywhere inside the root's project, unless it
///    is below another skill. This is how installers share one copy.
/// 3. Every other link is refused and reported.
pub(super) fn judge(link: &Link, skills: &SkillDirectories) -> Result<Target, (bool, Cause)> {
    let written = fs::read_link(&link.location).unwrap_or_default();
    let (real, metadata) = match resolve(&link.location) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err((false, Cause::Link(written, LinkCause::Broken)));
        }
        Err(error) if platform::is_loop(&error) => {
            return Err((false, Cause::Link(written, LinkCause::Cycle)));
        }
        Err(error) => return Err((false, Cause::unreadable(&error))),
    };
    let is_directory = metadata.is_dir();
    let refuse = |cause| Err((is_directory, Cause::Link(written.clone(), cause)));
    if is_directory && leads_back(link, &real) {
        return refuse(LinkCause::Cycle);
    }
    let shared_skill = !skills.contain(&link.path)
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
            return refuse(LinkCause::Escapes);
        };
        // Hidden names count from the directory of the link.
        let parent = link.location.parent().unwrap_or(area);
        let from = if real.starts_with(parent) {
            parent
        } else {
            area
        };
        if is_barred(real.strip_prefix(from).unwrap_or(&real), is_directory) {
            return refuse(LinkCause::Hidden);
        }
    }
    match metadata.is_file() {
        true => Ok(Target::File(real, metadata)),
        false if is_directory => Ok(Target::Directory(real, metadata)),
        false => Err((
            false,
            Cause::NotAFile(platform::describe(metadata.file_type())),
        )),
    }
}

fn resolve(location: &Path) -> io::Result<(PathBuf, Metadata)> {
    let real = fs::canonicalize(location)?;
    let metadata = fs::symlink_metadata(&real)?;
    Ok((real, metadata))
}

/// Following a link to a directory that contains it, or contains a link on the way
/// to it, would never end.
fn leads_back(link: &Link, target: &Path) -> bool {
    let mut places = link.frame.through.iter().chain([&link.location]);
    places.any(|place| place.starts_with(target))
}

fn is_skill(link: &str, target: &Path, is_directory: bool) -> bool {
    if is_directory {
        return is_skill_directory(target);
    }
    let name = target
        .file_name()
        .and_then(|it| it.to_str())
        .unwrap_or_default();
    is_skill_file(link) && is_skill_file(name)
}

/// Whether a `SKILL.md` is directly in a directory, in a usual spelling.
pub(super) fn is_skill_directory(directory: &Path) -> bool {
    ["SKILL.md", "skill.md", "Skill.md"]
        .iter()
        .any(|it| directory.join(it).is_file())
}

/// Whether a path goes through a directory, or to a file, that the walk leaves out.
fn is_barred(path: &Path, is_directory: bool) -> bool {
    let names: Vec<&str> = path.iter().map(|it| it.to_str().unwrap_or(".")).collect();
    let (file, directories) = match names.split_last() {
        Some((file, directories)) if !is_directory => (Some(*file), directories),
        _ => (None, names.as_slice()),
    };
    directories.iter().any(|name| is_never_read(name) || is_hidden(name))
        // Linking to a hidden file has no purpose but to read it.
        || file.is_some_and(|name| is_junk(name) || (is_hidden(name) && !directories.is_empty()))
}

/// The directories of a root that directly contain a `SKILL.md`.
pub(super) struct SkillDirectories(BTreeSet<String>);

impl SkillDirectories {
    /// Those among the entries walked so far.
    pub(super) fn of(entries: &[TreeEntry]) -> Self {
        let files = entries
            .iter()
            .filter(|it| !it.is_directory && is_skill_file(&it.path));
        Self(files.map(|it| directory(&it.path).to_owned()).collect())
    }

    /// Whether a path is below one of them. A link named `SKILL.md` makes its own
    /// directory a skill, so that directory does not count.
    fn contain(&self, path: &str) -> bool {
        let inside = if is_skill_file(path) {
            directory(path)
        } else {
            path
        };
        !inside.is_empty() && ancestors(inside).any(|it| self.0.contains(it))
    }
}
