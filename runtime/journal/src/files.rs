//! Which paths a journal may be written to. What a journal holds is the owner's alone, and a
//! directory that others can write may hold their links.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::JournalError;

/// Makes the directory of the file where it is missing, readable by its owner alone, and returns the
/// path of the file in the real directory.
///
/// # Errors
///
/// The directory cannot be made, or everyone can replace what is in it.
pub(crate) fn prepare_directory(path: &Path) -> Result<PathBuf, JournalError> {
    let name = path
        .file_name()
        .ok_or_else(|| unsafe_path(path, "the path names no file"))?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let storage = |error: io::Error| JournalError::storage(parent, &error);
    create_private_directories(parent).map_err(storage)?;
    let parent = parent.canonicalize().map_err(storage)?;
    check_directory(&parent)?;
    Ok(parent.join(name))
}

fn unsafe_path(path: &Path, problem: impl Into<String>) -> JournalError {
    JournalError::UnsafePath {
        path: path.to_owned(),
        problem: problem.into(),
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{DirBuilder, Metadata};
    use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};

    use super::{JournalError, Path, fs, io, unsafe_path};

    pub(crate) fn create_private_directories(path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    /// Refuses a directory where everyone may replace files: writable for all, and not sticky.
    pub(crate) fn check_directory(path: &Path) -> Result<(), JournalError> {
        let metadata = fs::metadata(path).map_err(|it| JournalError::storage(path, &it))?;
        let mode = metadata.mode();
        if mode & 0o002 != 0 && mode & 0o1000 == 0 {
            return Err(unsafe_path(path, "everyone may replace files there"));
        }
        Ok(())
    }

    /// Refuses what is no regular file, a file of another user, and one with a second name.
    pub(crate) fn check_metadata(path: &Path, metadata: &Metadata) -> Result<(), JournalError> {
        let kind = metadata.file_type();
        let problem = if kind.is_symlink() {
            "it is a symbolic link"
        } else if !kind.is_file() {
            "it is not a regular file"
        } else if metadata.uid() != rustix::process::geteuid().as_raw() {
            "it belongs to another user"
        } else if metadata.nlink() > 1 {
            "it has a second name (hard link)"
        } else {
            return Ok(());
        };
        Err(unsafe_path(path, problem))
    }

    pub(crate) fn is_fifo(metadata: &Metadata) -> bool {
        metadata.file_type().is_fifo()
    }

    /// What tells whether a path still names the same file.
    pub(crate) fn identity(metadata: &Metadata) -> (u64, u64) {
        (metadata.dev(), metadata.ino())
    }
}

#[cfg(unix)]
pub(crate) use unix::*;

/// Systems without owners and modes as Unix has them: directories and files are what their parent
/// makes them.
#[cfg(not(unix))]
mod other {
    use std::fs::Metadata;

    use super::{JournalError, Path, fs, io, unsafe_path};

    pub(crate) fn create_private_directories(path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    #[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
    pub(crate) fn check_directory(_path: &Path) -> Result<(), JournalError> {
        Ok(())
    }

    pub(crate) fn check_metadata(path: &Path, metadata: &Metadata) -> Result<(), JournalError> {
        if metadata.is_file() {
            return Ok(());
        }
        Err(unsafe_path(path, "it is not a regular file"))
    }

    pub(crate) fn is_fifo(_metadata: &Metadata) -> bool {
        false
    }

    pub(crate) fn identity(_metadata: &Metadata) -> (u64, u64) {
        (0, 0)
    }
}

#[cfg(not(unix))]
pub(crate) use other::*;
