//! The standard roots: where agent hosts keep skills, below a project and below the home
//! directory. `docs/roots.md` is their documentation.

use std::env;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use skillbundle_format::{Bundle, Error, Scope};

#[cfg(feature = "compile")]
use crate::cli::output::with_help;
use crate::sources::SkillRoot;

/// A standard root.
struct Standard {
    scope: Scope,
    /// Relative to a directory of the project or to the home directory.
    dir: &'static str,
    /// The hosts that read it.
    readers: &'static str,
}

const fn project(dir: &'static str, readers: &'static str) -> Standard {
    Standard {
        scope: Scope::Project,
        dir,
        readers,
    }
}

const fn global(dir: &'static str, readers: &'static str) -> Standard {
    Standard {
        scope: Scope::Global,
        dir,
        readers,
    }
}

/// Highest priority first. Sources: the first four are the order of spec 2; `.agents` is the folder
/// that the client guide of agentskills.io names as shared; Codex reads it by
/// `codex-rs/core-skills/src/loader.rs`, VS Code reads it, `.github` and `~/.copilot` by
/// `promptsServiceImpl`, Cursor reads `.cursor` by cursor.com/docs/context/skills, Gemini CLI
/// `.gemini` by `packages/core/src/skills`, opencode `.opencode` by `src/skill/skill.ts`.
const STANDARD: [Standard; 12] = [
    project(".agent/skills", ""),
    global(".agent/skills", ""),
    project(".claude/skills", "Claude Code, VS Code, Cursor"),
    global(".claude/skills", "Claude Code"),
    project(".agents/skills", "Codex, VS Code, Cursor"),
    global(".agents/skills", "Codex"),
    project(".github/skills", "VS Code"),
    global(".copilot/skills", "VS Code"),
    project(".gemini/skills", "Gemini CLI"),
    global(".gemini/skills", "Gemini CLI"),
    project(".opencode/skills", "opencode"),
    project(".cursor/skills", "Cursor"),
];

/// Where a repository of skills keeps them, by custom. No host reads it.
#[cfg(feature = "compile")]
const SKILLS: &str = "skills";

/// The standard roots, whether they exist or not; without those of the project if `with_project`
/// is false. If the working directory is the home directory, each directory is named once.
pub(crate) fn standard(with_project: bool) -> Vec<SkillRoot> {
    let home = env::home_dir().filter(|home| home.is_absolute());
    let here = env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    below(&here, home.as_deref(), with_project)
}

fn below(here: &Path, home: Option<&Path>, with_project: bool) -> Vec<SkillRoot> {
    let projects = if with_project {
        project_directories(here, home)
    } else {
        Vec::new()
    };
    let home = home.filter(|home| !(with_project && *home == here));
    let mut roots = Vec::new();
    for standard in &STANDARD {
        let mut add = |dir: PathBuf, above: &str| {
            roots.push(SkillRoot {
                dir,
                label: format!("{above}{}", standard.dir),
                scope: standard.scope,
                only: None,
                commit: None,
                max_files: None,
                readers: standard.readers,
            });
        };
        match standard.scope {
            Scope::Project => {
                for (up, directory) in projects.iter().enumerate() {
                    match up {
                        0 => add(Path::new(".").join(standard.dir), "./"),
                        up => add(directory.join(standard.dir), &"../".repeat(up)),
                    }
                }
            }
            Scope::Global => {
                if let Some(home) = home {
                    add(home.join(standard.dir), "~/");
                }
            }
        }
    }
    roots
}

/// The directory that a new skill of the project belongs in, relative to the working directory: the
/// nearest `skills` or standard root that exists. `None` for the working directory itself, if there
/// is no such root or it is in one.
///
/// # Errors
///
/// That root is a link out of the project, which whoever wrote the project may have laid as a trap.
#[cfg(feature = "compile")]
pub(crate) fn for_new_skill() -> anyhow::Result<Option<PathBuf>> {
    let home = env::home_dir().filter(|home| home.is_absolute());
    let here = env::current_dir()?;
    let projects = project_directories(&here, home.as_deref());
    let standard = STANDARD.iter().filter(|it| it.scope == Scope::Project);
    let names: Vec<&str> = [SKILLS]
        .into_iter()
        .chain(standard.map(|it| it.dir))
        .collect();
    let mut existing = Vec::new();
    for (up, project) in projects.iter().enumerate() {
        for name in names.iter().filter(|name| project.join(name).is_dir()) {
            let shown = Path::new(&"../".repeat(up)).join(name);
            existing.push((shown, project.join(name).canonicalize()?));
        }
    }
    let real_here = here.canonicalize()?;
    if existing.iter().any(|(_, real)| real_here.starts_with(real)) {
        return Ok(None);
    }
    let Some((shown, real)) = existing.into_iter().next() else {
        return Ok(None);
    };
    let top = projects.last().unwrap_or(&here.as_path()).canonicalize()?;
    if real.starts_with(top) {
        return Ok(Some(shown));
    }
    Err(with_help(
        &format!("{} leads out of the project", shown.display()),
        &format!("name where to make the skill: `--dir {}`", real.display()),
    ))
}

/// The user's own standard roots, whether they exist or not.
pub(crate) fn own(home: &Path) -> impl Iterator<Item = PathBuf> {
    let global = STANDARD.iter().filter(|it| it.scope == Scope::Global);
    global.map(|it| home.join(it.dir))
}

/// The working directory and those above it up to the root of its git repository, nearest first.
/// Outside of a repository only the working directory belongs to the project.
pub(crate) fn project_directories<'a>(here: &'a Path, home: Option<&Path>) -> Vec<&'a Path> {
    let mut directories = Vec::new();
    for directory in here.ancestors() {
        // The roots in the home directory are the user's own, even if dotfiles are kept in git.
        if directory != here && Some(directory) == home {
            break;
        }
        directories.push(directory);
        if let Ok(git) = fs::symlink_metadata(directory.join(".git")) {
            if same_owner(&git, here) {
                return directories;
            }
            break;
        }
    }
    vec![here]
}

/// Whether a repository belongs to the owner of the working directory. As for git's
/// `safe.directory`: in a shared directory somebody else can make a repository around ours.
#[cfg(unix)]
fn same_owner(git: &Metadata, here: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(here).is_ok_and(|here| here.uid() == git.uid())
}

#[cfg(not(unix))]
fn same_owner(_: &Metadata, _: &Path) -> bool {
    true
}

/// Which directory each path leads to; `None` for what is none. One stat per path.
#[cfg(unix)]
fn identity(dir: &Path) -> Option<impl PartialEq + use<>> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(dir).ok()?;
    found.is_dir().then(|| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(dir: &Path) -> Option<impl PartialEq + use<>> {
    let found = fs::canonicalize(dir).ok()?;
    found.is_dir().then_some(found)
}

/// What becomes of a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It is read.
    Read,
    /// It is no directory.
    Missing,
    /// It exists, but this build cannot read directories.
    Unreadable,
    /// It leads to the same directory as this earlier root, so it is not read again.
    SameAs(usize),
}

impl State {
    /// The word used in JSON and tables.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Missing => "missing",
            Self::Unreadable => "unreadable",
            Self::SameAs(_) => "duplicate",
        }
    }
}

/// What becomes of each root: a directory and the only file to take from it, if not all.
pub(crate) fn states<'a>(roots: impl Iterator<Item = (&'a Path, Option<&'a str>)>) -> Vec<State> {
    let mut seen: Vec<(usize, _, Option<&str>)> = Vec::new();
    let state = |(at, (dir, only)): (usize, (&'a Path, Option<&'a str>))| {
        let Some(directory) = identity(dir) else {
            return State::Missing;
        };
        let mut earlier = seen.iter();
        if let Some((first, ..)) = earlier.find(|it| it.1 == directory && it.2 == only) {
            return State::SameAs(*first);
        }
        if !cfg!(feature = "compile") {
            return State::Unreadable;
        }
        seen.push((at, directory, only));
        State::Read
    };
    roots.enumerate().map(state).collect()
}

/// The number of skills of each root of a bundle that was made of roots in these states, and of
/// what lies below them.
pub(crate) fn counts(states: &[State], bundle: &Bundle) -> Result<(Vec<usize>, usize), Error> {
    let mut counts = vec![0; states.len()];
    let read: Vec<usize> = (0..states.len())
        .filter(|at| states[*at] == State::Read)
        .collect();
    let mut below = 0;
    for skill in bundle.catalog()?.skills() {
        match read.get(skill?.root as usize) {
            Some(at) => counts[*at] += 1,
            None => below += 1,
        }
    }
    Ok((counts, below))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(here: &Path, home: Option<&Path>, with_project: bool) -> Vec<String> {
        let roots = below(here, home, with_project).into_iter();
        roots.map(|root| root.label).take(4).collect()
    }

    #[test]
    fn project_roots_are_looked_for_up_to_the_root_of_the_repository() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let home = temporary.path().join("home");
        let deep = home.join("repository/packages/web");
        fs::create_dir_all(&deep).expect("writable");
        let all = || labels(&deep, Some(&home), true);
        let alone = [
            "./.agent/skills",
            "~/.agent/skills",
            "./.claude/skills",
            "~/.claude/skills",
        ];
        assert_eq!(all(), alone, "no repository");
        fs::create_dir(home.join(".git")).expect("writable");
        assert_eq!(all(), alone, "the home directory is a repository");
        fs::write(home.join("repository/.git"), "gitdir: elsewhere\n").expect("writable");
        let upwards = [
            "./.agent/skills",
            "../.agent/skills",
            "../../.agent/skills",
            "~/.agent/skills",
        ];
        assert_eq!(all(), upwards);
        let global = [
            "~/.agent/skills",
            "~/.claude/skills",
            "~/.agents/skills",
            "~/.copilot/skills",
        ];
        assert_eq!(labels(&deep, Some(&home), false), global);
        assert_eq!(labels(&home, Some(&home), false), global);
    }
}
