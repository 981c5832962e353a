//! Finds the machine's git, and checks that it is new enough.

use std::path::Path;
use std::{env, fs};

use super::{Limits, Program};
use crate::error::GitError;

/// The oldest git whose configuration can be set by variables (`GIT_CONFIG_COUNT`).
const OLDEST: (u32, u32) = (2, 31);

impl Program {
    /// Finds git in `PATH`, in directories with an absolute path only, and checks its version. It
    /// works in `directory`.
    pub(crate) fn find(directory: &Path, limits: &Limits) -> Result<Self, GitError> {
        if cfg!(not(unix)) {
            return Err(GitError::Unsupported);
        }
        let name = format!("git{}", env::consts::EXE_SUFFIX);
        let path = env::var_os("PATH").unwrap_or_default();
        let directories = env::split_paths(&path).filter(|it| it.is_absolute());
        let mut files = directories
            .map(|it| it.join(&name))
            .filter(|it| is_program(it));
        let path = files.next().ok_or(GitError::NoGit)?;
        let mut program = Self {
            path,
            directory: directory.to_owned(),
            finds_repositories: false,
            user_chooses_ssh: false,
        };
        let output = program.call(&["--version"]).output(limits)?;
        let found = String::from_utf8_lossy(&output).trim().to_owned();
        if version(&found).is_none_or(|it| it < OLDEST) {
            return Err(GitError::OldGit { found });
        }
        let is_set = |name: &str| env::var_os(name).is_some();
        let call = program.call(&["config", "--get", "core.sshCommand"]);
        program.user_chooses_ssh = is_set("GIT_SSH") || is_set("GIT_SSH_COMMAND") || {
            // It fails if there is none.
            call.output(limits).is_ok()
        };
        Ok(program)
    }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let is_program = |it: &fs::Metadata| it.is_file() && it.permissions().mode() & 0o111 != 0;
    fs::metadata(path).is_ok_and(|it| is_program(&it))
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// The version in `git version 2.47.3`.
fn version(text: &str) -> Option<(u32, u32)> {
    let numbers = text.strip_prefix("git version ")?;
    let mut numbers = numbers.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_first_two_numbers() {
        for (text, expected) in [
            ("git version 2.47.3", Some((2, 47))),
            ("git version 2.39.5 (Apple Git-154)", Some((2, 39))),
            ("git version 2.31.windows.1", Some((2, 31))),
            ("git version 3.0", Some((3, 0))),
            ("git 2.47", None),
            ("", None),
        ] {
            assert_eq!(version(text), expected, "{text}");
        }
    }
}
