//! Which roots belong to the project that the working directory is in. Whoever wrote them may be a
//! stranger whose repository was just cloned, so the server runs their scripts only if the operator
//! says so.

use std::env;
use std::path::{Component, Path, PathBuf};

use crate::roots;

/// A project: the root of the git repository that the working directory is in, or else the working
/// directory itself, with everything below it.
#[derive(Debug)]
pub(crate) struct Project {
    place: Place,
    home: Option<PathBuf>,
}

/// Where a project is.
#[derive(Debug)]
enum Place {
    /// Not known, so every directory counts as a part of it.
    Unknown,
    /// There is none. Hosts that have no project, such as desktop applications, start servers in the
    /// home directory or above it.
    None,
    At(PathBuf),
}

impl Project {
    /// The project of this process.
    pub(crate) fn current() -> Self {
        let home = env::home_dir().filter(|home| home.is_absolute());
        Self::around(env::current_dir().ok(), home)
    }

    fn around(here: Option<PathBuf>, home: Option<PathBuf>) -> Self {
        let outermost = |here: PathBuf| {
            let directories = roots::project_directories(&here, home.as_deref());
            directories.last().map(|dir| dir.to_path_buf())
        };
        let holds_home = |dir: &Path| home.as_deref().is_some_and(|it| it.starts_with(dir));
        let is_of_machine = |dir: &Path| dir.parent().is_none() || holds_home(dir);
        let place = match here.and_then(outermost) {
            None => Place::Unknown,
            Some(dir) if is_of_machine(&dir) && !dir.join(".git").exists() => Place::None,
            Some(dir) => Place::At(dir),
        };
        Self { place, home }
    }

    /// Whether a root at this directory belongs to the project: it lies in it, or is a link in it,
    /// whose target the project chose. The user's own standard roots do not, even if they lie in it.
    pub(crate) fn contains(&self, root: &Path) -> bool {
        let project = match &self.place {
            Place::Unknown => return true,
            Place::None => return false,
            Place::At(dir) => dir,
        };
        let Ok(typed) = std::path::absolute(root) else {
            return true;
        };
        let typed = without_dots(&typed);
        let real = real(&typed);
        let real_project = self::real(project);
        if !typed.starts_with(project) && !real.starts_with(&real_project) {
            return false;
        }
        let mut own = self.home.iter().flat_map(|home| roots::own(home));
        !own.any(|own| {
            let real_own = self::real(&own);
            // A project within one of them is a project all the same.
            let is_inside = own.starts_with(project) || real_own.starts_with(&real_project);
            is_inside && real.starts_with(&real_own)
        })
    }
}

/// A path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// An absolute path without `..`, as it reads.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Checks which of these directories belong to the project around `here`, with the home
    /// directory `home`.
    fn check(repository: Option<&str>, here: &str, cases: &[(&str, bool)]) {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let top = temporary.path().canonicalize().expect("it exists");
        for dir in cases.iter().map(|case| case.0).chain([here]) {
            fs::create_dir_all(top.join(dir)).expect("writable");
        }
        if let Some(repository) = repository {
            fs::create_dir_all(top.join(repository).join(".git")).expect("writable");
        }
        let project = Project::around(Some(top.join(here)), Some(top.join("home")));
        for (dir, is_inside) in cases {
            assert_eq!(
                project.contains(&top.join(dir)),
                *is_inside,
                "{here}: {dir}"
            );
        }
    }

    #[test]
    fn what_lies_in_the_repository_belongs_to_the_project() {
        check(
            Some("home/code/app"),
            "home/code/app/packages/web",
            &[
                ("home/code/app", true),
                ("home/code/app/.claude/skills", true),
                ("home/code/app/packages/web/.claude/skills", true),
                ("home/code/app/packages/web/../../skills", true),
                ("home/code/app-two/skills", false),
                ("home/code/app/packages/web/../../../app-two/skills", false),
                ("home/code", false),
                ("home/.claude/skills", false),
                ("srv/skills", false),
            ],
        );
    }

    #[test]
    fn outside_of_a_repository_the_working_directory_is_the_project() {
        check(
            None,
            "home/code/app",
            &[
                ("home/code/app/.claude/skills", true),
                ("home/code/app/skills", true),
                ("home/code/skills", false),
                ("home/.claude/skills", false),
            ],
        );
    }

    #[test]
    fn the_users_own_roots_never_belong_to_a_project_around_them() {
        for repository in ["home", ""] {
            check(
                Some(repository),
                "home",
                &[
                    ("home/.claude/skills", false),
                    ("home/.claude/skills/team", false),
                    ("home/.agent/skills", false),
                    ("home/.copilot/skills", false),
                    ("home/.claude", true),
                    ("home/.cursor/skills", true),
                    ("home/skills", true),
                ],
            );
        }
    }

    #[test]
    fn the_home_directory_and_those_above_it_are_no_projects_of_themselves() {
        for here in ["home", ""] {
            let all = [
                "home/.claude/skills",
                "home/skills",
                "home/.cursor/skills",
                "srv",
            ];
            check(None, here, &all.map(|dir| (dir, false)));
        }
        let root = Project::around(Some(PathBuf::from("/")), None);
        assert!(!root.contains(Path::new("/srv/skills")));
    }

    #[test]
    fn a_project_within_an_own_root_is_a_project() {
        check(
            Some("home/.claude/skills/pdf"),
            "home/.claude/skills/pdf",
            &[
                ("home/.claude/skills/pdf", true),
                ("home/.claude/skills/pdf/more", true),
                ("home/.claude/skills", false),
            ],
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_project_and_into_it_belong_to_it() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let top = temporary.path().canonicalize().expect("it exists");
        for dir in ["app/skills", "elsewhere/skills", "home/.claude/skills"] {
            fs::create_dir_all(top.join(dir)).expect("writable");
        }
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(top.join(target), top.join(name)).expect("writable");
        };
        link("elsewhere/skills", "app/out");
        link("app/skills", "elsewhere/in");
        link("home/.claude/skills", "app/own");
        link("app", "alias");
        link("elsewhere/skills", "home/.agents");
        let project = Project::around(Some(top.join("app")), Some(top.join("home")));
        for (dir, is_inside) in [
            ("app/out", true),
            ("elsewhere/in", true),
            ("elsewhere/skills", false),
            ("alias/skills", true),
            ("alias/missing", false),
            ("app/missing", true),
        ] {
            assert_eq!(project.contains(&top.join(dir)), is_inside, "{dir}");
        }
        fs::create_dir_all(top.join("elsewhere/skills/skills")).expect("writable");
        let home = Project::around(Some(top.join("home")), Some(top.join("home")));
        assert!(!home.contains(&top.join("home/.agents/skills")), "own");
    }

    #[test]
    fn without_a_working_directory_everything_belongs_to_the_project() {
        let project = Project::around(None, None);
        assert!(project.contains(Path::new("/srv/skills")));
    }
}
