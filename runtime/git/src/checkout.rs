//! The commit that a working tree has checked out, and its files as they are in it: for callers that want
//! to know whether the working tree is exactly that.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::GitError;
use crate::program::{Limits, Program};
use crate::tree::Listing;

/// A commit that a working tree has checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Its full hash.
    pub commit: String,
    /// Where the directory that was asked about is in the repository; empty for its top.
    pub prefix: PathBuf,
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
    let limits = Limits {
        deadline: Instant::now() + timeout,
        timeout,
        size: None,
    };
    let program = Program::find(directory, &limits)?.in_any_repository();
    let git = |arguments: &[&str]| {
        let output = program.call(arguments).output(&limits)?;
        let text = String::from_utf8_lossy(&output);
        Ok::<_, GitError>(text.trim_end_matches(['\n', '\r']).to_owned())
    };
    let prefix = PathBuf::from(git(&["rev-parse", "--show-prefix"])?);
    let git_dir = PathBuf::from(git(&["rev-parse", "--absolute-git-dir"])?);
    let commit = git(&["rev-parse", "--verify", "HEAD^{commit}"])?;
    let arguments = ["ls-tree", "-r", "-z", "-l", "--full-tree", &commit];
    let listing = program
        .call(&arguments)
        .in_repository(&git_dir)
        .output(&limits)?;
    let listing = Listing::read(&listing, max_bytes)?;
    listing.write(&program, &git_dir, into, &limits)?;
    Ok(Head { commit, prefix })
}
