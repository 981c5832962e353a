//! The files of a commit of the repository that a working tree belongs to: of the one that is checked
//! out, for callers that want to know whether the working tree is exactly that, and of any other, for
//! callers that compare the two.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::GitError;
use crate::program::{Limits, Program};
use crate::tree::{LeftOut, Listing};

/// A commit that a working tree has checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Its full hash.
    pub commit: String,
    /// Where the directory that was asked about is in the repository; empty for its top.
    pub prefix: PathBuf,
}

/// A directory as it is in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The full hash of the commit.
    pub commit: String,
    /// Where the directory that was asked about is in the repository; empty for its top.
    pub prefix: PathBuf,
    /// What was left out of it, since git does not have the file or it could lead anywhere.
    pub left_out: Vec<LeftOut>,
}

/// Writes the files of the commit that is checked out around `directory` into another directory, which
/// must be empty and the caller's own. Links, submodules and pointers of Git LFS are left out.
///
/// # Errors
///
/// The directory is in no repository, the repository has no commit, or more than `max_bytes` bytes or
/// `timeout` would be needed.
pub fn write_head(
    directory: &Path,
    into: &Path,
    timeout: Duration,
    max_bytes: u64,
) -> Result<Head, GitError> {
    let repository = Repository::around(directory, timeout)?;
    let commit = repository.git(&["rev-parse", "--verify", "HEAD^{commit}"])?;
    let listing = repository.listing(&commit, max_bytes, |_| true)?;
    repository.write(listing, into)?;
    Ok(Head {
        commit,
        prefix: repository.prefix,
    })
}

/// Writes the files that `directory` has in the commit that `revision` names into another directory,
/// which must be empty and the caller's own, at their paths in the repository. Of the directories above
/// it, the files with one of the names `above` are written, too. A directory that the commit does not
/// have has no files. Links, submodules and pointers of Git LFS are left out.
///
/// # Errors
///
/// As for [`write_head`], or the revision names no commit.
pub fn write_revision(
    directory: &Path,
    revision: &str,
    above: &[&str],
    into: &Path,
    (timeout, max_bytes): (Duration, u64),
) -> Result<Revision, GitError> {
    check_revision(revision)?;
    let repository = Repository::around(directory, timeout)?;
    let commit = repository.commit(revision)?;
    let prefix = repository.prefix.as_os_str().as_encoded_bytes();
    let is_wanted = |path: &[u8]| {
        let name = path
            .iter()
            .rposition(|it| *it == b'/')
            .map_or(0, |at| at + 1);
        let is_above = prefix.starts_with(&path[..name]);
        let is_named = || above.iter().any(|it| it.as_bytes() == &path[name..]);
        path.starts_with(prefix) || (is_above && is_named())
    };
    let listing = repository.listing(&commit, max_bytes, is_wanted)?;
    let left_out = repository.write(listing, into)?;
    Ok(Revision {
        commit,
        prefix: repository.prefix,
        left_out,
    })
}

/// A path of this system from the bytes that git has for it; `None` if it has no such paths.
#[cfg(unix)]
#[expect(
    clippy::unnecessary_wraps,
    reason = "other systems have paths that are not any bytes"
)]
pub(crate) fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    Some(OsStr::from_bytes(bytes).into())
}

#[cfg(not(unix))]
pub(crate) fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Refuses what git would take for an option, or reads nothing after.
pub(crate) fn check_revision(revision: &str) -> Result<(), GitError> {
    if revision.is_empty() || revision.starts_with('-') || revision.contains(char::is_control) {
        return Err(no_revision(revision));
    }
    Ok(())
}

fn no_revision(revision: &str) -> GitError {
    GitError::NoRevision {
        wanted: revision.to_owned(),
    }
}

/// The repository that a directory is in.
pub(crate) struct Repository {
    pub(crate) program: Program,
    pub(crate) limits: Limits,
    git_dir: PathBuf,
    /// Where the directory is in it: empty, or with a slash at its end.
    prefix: PathBuf,
}

impl Repository {
    pub(crate) fn around(directory: &Path, timeout: Duration) -> Result<Self, GitError> {
        let limits = Limits {
            deadline: Instant::now() + timeout,
            timeout,
            size: None,
        };
        let mut repository = Self {
            program: Program::find(directory, &limits)?.in_any_repository(),
            limits,
            git_dir: PathBuf::new(),
            prefix: PathBuf::new(),
        };
        repository.prefix = repository.git_path(&["rev-parse", "--show-prefix"])?;
        repository.git_dir = repository.git_path(&["rev-parse", "--absolute-git-dir"])?;
        Ok(repository)
    }

    /// The commit that a revision names, which [`check_revision`] has passed.
    pub(crate) fn commit(&self, revision: &str) -> Result<String, GitError> {
        let wanted = format!("{revision}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--end-of-options", &wanted];
        let commit = self.git(&arguments).map_err(|error| match error {
            GitError::Failed { .. } => no_revision(revision),
            error => error,
        })?;
        // `^HEAD` is everything but what it names.
        if !commit.bytes().all(|it| it.is_ascii_hexdigit()) {
            return Err(no_revision(revision));
        }
        Ok(commit)
    }

    /// What git answers, without the end of the line.
    pub(crate) fn git(&self, arguments: &[&str]) -> Result<String, GitError> {
        let output = self.program.call(arguments).output(&self.limits)?;
        let text = String::from_utf8_lossy(&output);
        Ok(text.trim_end_matches(['\n', '\r']).to_owned())
    }

    /// The path that git answers with, byte for byte.
    pub(crate) fn git_path(&self, arguments: &[&str]) -> Result<PathBuf, GitError> {
        let output = self.program.call(arguments).output(&self.limits)?;
        let line = output.strip_suffix(b"\n").unwrap_or(&output);
        path_of(line).ok_or(GitError::Answer { what: "rev-parse" })
    }

    /// The files of a commit whose paths are wanted.
    fn listing(
        &self,
        commit: &str,
        max_bytes: u64,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Listing, GitError> {
        let arguments = ["ls-tree", "-r", "-z", "-l", "--full-tree", commit];
        let call = self.program.call(&arguments).in_repository(&self.git_dir);
        Listing::read(&call.output(&self.limits)?, max_bytes, is_wanted)
    }

    fn write(&self, listing: Listing, into: &Path) -> Result<Vec<LeftOut>, GitError> {
        let written = listing.write(&self.program, &self.git_dir, into, &self.limits)?;
        Ok(written.1)
    }
}
