//! What a mirror does with its directory beside writing files: that it is ours alone, its locks and its
//! link, and what processes that were killed have left in it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use crate::error::GitError;

/// Removes what a git that was killed has left in our repository: its locks, which no process holds while
/// we hold ours, and half a pack.
pub(super) fn remove_leftovers(repository: &Path) {
    let is_leftover = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".lock") || name.starts_with("tmp_")
    };
    let mut directories = vec![repository.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|it| it.is_dir()) {
                directories.push(entry.path());
            } else if is_leftover(&entry.path()) {
                // A fetch says what is wrong if it cannot be removed.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

pub(super) fn remove_directory(path: &Path) -> Result<(), GitError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(in_directory(path)(error)),
        _ => Ok(()),
    }
}

pub(super) fn in_directory(path: &Path) -> impl FnOnce(io::Error) -> GitError {
    let path = path.to_owned();
    |source| GitError::Directory { path, source }
}

pub(super) fn open_lock(path: &Path) -> Result<File, GitError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path).map_err(in_directory(path))
}

#[cfg(unix)]
pub(super) fn is_private(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    metadata.is_dir() && is_ours && metadata.mode() & 0o022 == 0
}

#[cfg(not(unix))]
pub(super) fn is_private(metadata: &fs::Metadata) -> bool {
    metadata.is_dir()
}

#[cfg(unix)]
pub(super) fn link(target: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

#[cfg(windows)]
pub(super) fn link(target: &Path, at: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(target, at)
}
