//! The mirrors that are kept in a directory, for people who want to see them or be rid of them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, SystemTime};

use crate::mirror::lock_to_remove;
use crate::program::size_of;
use crate::state::State;

/// Begins the extension of a directory that is being removed; the id of the process follows.
const REMOVED: &str = "removed-";

/// A mirror that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its directory.
    pub path: PathBuf,
    /// What it has; `None` if it was never synchronised.
    pub state: Option<State>,
    /// Bytes of its files.
    pub bytes: u64,
}

/// The mirrors in this directory, in the order of their names; none if there is no such directory.
pub fn kept(directory: &Path) -> io::Result<Vec<Kept>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            let path = entry.path();
            all.push(Kept {
                state: State::read(&path.join("state.json")),
                bytes: size_of(&path),
                path,
            });
        }
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

/// Whether it is what a process that was killed has not removed to its end.
fn is_aside(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    extension.starts_with(REMOVED)
}

/// Removes what another process may be removing, too.
fn remove_aside(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

impl Kept {
    /// Removes it, unless it was synchronised `unused` ago or less, or another process uses it. Returns
    /// whether it did.
    pub fn remove(&self, unused: Duration) -> io::Result<bool> {
        if is_aside(&self.path) {
            remove_aside(&self.path)?;
            return Ok(true);
        }
        let since = self.state.as_ref().map(State::last_sync);
        let age = |since| SystemTime::now().duration_since(since).unwrap_or_default();
        if since.is_some_and(|since| age(since) < unused) {
            return Ok(false);
        }
        let Some(locks) = lock_to_remove(&self.path)? else {
            return Ok(false);
        };
        // In one step, so that no process finds half of it. Those that wait for the locks start over.
        let aside = self
            .path
            .with_extension(format!("{REMOVED}{}", process::id()));
        fs::rename(&self.path, &aside)?;
        drop(locks);
        remove_aside(&aside)?;
        Ok(true)
    }
}
