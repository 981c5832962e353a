//! Files that only their owner can read: the database, and what SQLite keeps beside it.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::JournalError;
use crate::files;

/// Makes sure that there is a file of ours that only we can read, creating it if it is missing. An
/// existing one is not opened: closing it would release the locks that SQLite has on it.
pub(crate) fn prepare(path: &Path) -> Result<(), JournalError> {
    match create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check(path),
        created => created.map_err(|error| JournalError::storage(path, &error)),
    }
}

/// Refuses links in place of the files that SQLite keeps beside the database.
pub(super) fn check_companions(path: &Path) -> Result<(), JournalError> {
    for suffix in ["-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let companion = PathBuf::from(name);
        if fs::symlink_metadata(&companion).is_err() {
            continue;
        }
        match check(&companion) {
            // The last other connection has just closed and removed it.
            Err(JournalError::Storage { .. }) if fs::symlink_metadata(&companion).is_err() => {}
            checked => checked?,
        }
    }
    Ok(())
}

fn create(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Refuses what is not a file of ours, and takes the rights of others away.
fn check(path: &Path) -> Result<(), JournalError> {
    let storage = |error: io::Error| JournalError::storage(path, &error);
    let metadata = fs::symlink_metadata(path).map_err(storage)?;
    files::check_metadata(path, &metadata)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if metadata.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(storage)?;
        }
    }
    Ok(())
}
