//! Directories of skills, compiled for a query or served and recompiled when
//! they change: `enabled.rs`, or `disabled.rs` in a build without the feature
//! `compile`.

#[cfg(not(feature = "compile"))]
mod disabled;
#[cfg(feature = "compile")]
mod enabled;
#[cfg(feature = "compile")]
mod generations;
#[cfg(feature = "compile")]
mod git_lock;
#[cfg(feature = "compile")]
mod single_files;

use std::path::PathBuf;

use skillbundle_format::Bundle;
use skillbundle_server::{BrokenSkill, WatchPaths};

#[cfg(not(feature = "compile"))]
pub(crate) use disabled::*;
#[cfg(feature = "compile")]
pub(crate) use enabled::*;
#[cfg(feature = "compile")]
pub(crate) use generations::finish_writes;

/// What `serve` would make of some roots now, found without changing anything on disk.
pub(crate) struct Examined {
    /// The skills.
    pub(crate) bundle: Bundle,
    /// What is wrong with their files, errors first.
    pub(crate) findings: Vec<FileFinding>,
    /// The skills that are served in their last good version.
    pub(crate) outdated: Vec<BrokenSkill>,
    /// The stored generation.
    pub(crate) stored: Stored,
    /// What is watched for changes.
    pub(crate) watch_paths: Option<WatchPaths>,
    /// The locks of git around the roots.
    pub(crate) git_locks: Vec<GitLock>,
}

/// Something wrong with the file of a skill.
pub(crate) struct FileFinding {
    /// Whether it is an error; otherwise a warning.
    pub(crate) is_error: bool,
    /// The file, with line and column if they are known.
    pub(crate) place: String,
    /// What is wrong.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: Option<String>,
}

/// What the cache has of some roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "compile"),
    expect(dead_code, reason = "only the compiler makes generations")
)]
pub(crate) enum Stored {
    /// They need no cache, because nothing is compiled.
    Unneeded,
    /// Nothing: the next start compiles them.
    Nothing,
    /// An older generation: the next start compiles what has changed.
    Outdated,
    /// The generation of the files as they are.
    Current,
}

/// A lock that git has, or had, while it changes files.
pub(crate) struct GitLock {
    /// The file.
    pub(crate) file: PathBuf,
    /// Whether it is so old that the git that made it has died.
    pub(crate) is_abandoned: bool,
}

impl Examined {
    /// Skills that are not compiled from directories.
    pub(crate) fn of_bundle(bundle: Bundle) -> Self {
        Self {
            bundle,
            findings: Vec::new(),
            outdated: Vec::new(),
            stored: Stored::Unneeded,
            watch_paths: None,
            git_locks: Vec::new(),
        }
    }
}
