//! The locks of a mirror, across processes. Its directory can be removed and made anew while a process
//! waits for one, so a lock counts only if its file is still in its place.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::directory::{in_directory, open_lock};
use super::{Mirror, NEXT_TRY};
use crate::error::GitError;
use crate::program::Limits;

/// How long new readers wait while a writer waits for earlier ones.
const AT_THE_GATE: Duration = Duration::from_millis(500);

/// How long the writer then lets them pass.
const GATE_OPEN: Duration = Duration::from_millis(50);

impl Mirror {
    /// An exclusive lock. Waits for its holder until the deadline.
    pub(super) fn lock(&self, name: &str, limits: &Limits) -> Result<File, GitError> {
        let lock = self.try_lock_until(name, limits.deadline)?;
        lock.ok_or(GitError::Locked(limits.timeout))
    }

    /// The locks to replace the files with. They are granted when no process reads, and while they are
    /// held no process can begin to. A reader that stays long, such as a command whose output is in a
    /// pager, does not keep out other readers meanwhile.
    pub(super) fn lock_to_replace(&self, limits: &Limits) -> Result<[File; 2], GitError> {
        loop {
            let gate = self.lock("gate.lock", limits)?;
            let soon = limits.deadline.min(Instant::now() + AT_THE_GATE);
            if let Some(lock) = self.try_lock_until("tree.lock", soon)? {
                return Ok([lock, gate]);
            }
            drop(gate);
            if Instant::now() >= limits.deadline {
                return Err(GitError::InUse(limits.timeout));
            }
            thread::sleep(GATE_OPEN);
        }
    }

    /// The lock to read the files with, shared with other readers.
    pub(super) fn lock_to_read(&self) -> Result<File, GitError> {
        let shared = |name| {
            let path = self.file(name);
            loop {
                // Also where nothing can be written.
                let lock = match File::open(&path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => open_lock(&path)?,
                    lock => lock.map_err(in_directory(&path))?,
                };
                lock.lock_shared().map_err(in_directory(&path))?;
                if is_in_place(&lock, &path) {
                    return Ok::<_, GitError>(lock);
                }
            }
        };
        let _passed = shared("gate.lock")?;
        shared("tree.lock")
    }

    /// An exclusive lock; `None` if another process holds it until then.
    fn try_lock_until(&self, name: &str, until: Instant) -> Result<Option<File>, GitError> {
        let path = self.file(name);
        let mut lock = open_lock(&path)?;
        loop {
            match lock.try_lock() {
                Ok(()) if is_in_place(&lock, &path) => return Ok(Some(lock)),
                Ok(()) => lock = open_lock(&path)?,
                Err(TryLockError::Error(error)) => return Err(in_directory(&path)(error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => return Ok(None),
                Err(TryLockError::WouldBlock) => thread::sleep(NEXT_TRY),
            }
        }
    }
}

/// The locks of a mirror's directory, if no process holds one and the directory exists.
pub(crate) fn lock_to_remove(directory: &Path) -> io::Result<Option<[File; 2]>> {
    let lock = |name: &str| {
        let path = directory.join(name);
        let lock = match open_lock(&path) {
            Err(error) if error.is_missing() => return Ok(None),
            Err(GitError::Directory { source, .. }) => return Err(source),
            Err(error) => return Err(io::Error::other(error)),
            Ok(lock) => lock,
        };
        match lock.try_lock() {
            Ok(()) => Ok(is_in_place(&lock, &path).then_some(lock)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    };
    let Some(sync) = lock("sync.lock")? else {
        return Ok(None);
    };
    Ok(lock("tree.lock")?.map(|tree| [sync, tree]))
}

/// Whether the file of a lock is the one that others find.
#[cfg(unix)]
fn is_in_place(lock: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |it: fs::Metadata| (it.dev(), it.ino());
    let (held, found) = (lock.metadata().map(id), fs::symlink_metadata(path).map(id));
    matches!((held, found), (Ok(held), Ok(found)) if held == found)
}

/// Files that are open cannot be removed there.
#[cfg(not(unix))]
fn is_in_place(_lock: &File, path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
