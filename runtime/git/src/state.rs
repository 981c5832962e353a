//! What a mirror has, as it is noted beside it.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::location::Reference;
use crate::tree::LeftOut;

/// What a mirror has: which commit, since when, and what of it is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The commit, as a full hash.
    pub commit: String,
    /// The branch or tag that it was found by, or its hash.
    pub branch: String,
    /// The directory of the repository that is mirrored; empty for all of it.
    pub directory: String,
    /// Files that are there.
    pub files: usize,
    /// Files that are not.
    pub left_out: Vec<LeftOut>,
    /// When it was last known to be the latest, in microseconds since 1970.
    pub(crate) synced: u64,
    /// The hash of what is in that directory.
    pub(crate) tree: String,
    /// What was asked for. A mirror of something else is made anew.
    pub(crate) wanted: Wanted,
}

/// What a mirror is made for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wanted {
    pub(crate) url: String,
    pub(crate) reference: Reference,
    pub(crate) directory: Option<String>,
}

impl State {
    /// When it was last known to be the latest.
    pub fn last_sync(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_micros(self.synced)
    }

    /// The URL of the repository. It holds no password.
    pub fn url(&self) -> &str {
        &self.wanted.url
    }

    /// Reads what was noted. `None` if nothing was, or nothing that is understood.
    pub(crate) fn read(file: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(file).ok()?).ok()
    }

    /// Notes it in one step.
    pub(crate) fn write(&self, file: &Path) -> io::Result<()> {
        let new = file.with_extension("new");
        let mut to = fs::File::create(&new)?;
        to.write_all(&serde_json::to_vec(self)?)?;
        to.sync_all()?;
        fs::rename(&new, file)
    }
}

/// Microseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_micros()).unwrap_or(u64::MAX)
}
