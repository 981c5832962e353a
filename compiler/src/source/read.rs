//! Reads the content of one file from exactly the path that was walked: a file that
//! was swapped for a link, a pipe or another file since then is not read.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::{Cause, Limits, TreeEntry, platform};

/// An editor that saves by renaming looks like a swap for a moment.
const ATTEMPTS: usize = 3;

/// Reads a file of at most `limits.file_bytes`, if the budget allows. `buffer` is only there to be used
/// again for the next file, so that its memory is already the process's.
pub(super) fn file(
    entry: &TreeEntry,
    limits: Limits,
    budget: u64,
    buffer: &mut Vec<u8>,
) -> Result<Arc<[u8]>, Cause> {
    let limit = limits.file_bytes;
    if entry.size > limit {
        return Err(Cause::TooLarge(entry.size, limit));
    }
    if entry.size > budget {
        return Err(Cause::TooMuch(limits.total_bytes));
    }
    let mut outcome = Err(Cause::Changed);
    for _ in 0..ATTEMPTS {
        outcome = attempt(&entry.real, limit, buffer);
        if !matches!(outcome, Err(Cause::Changed)) {
            break;
        }
    }
    outcome
}

fn attempt(real: &Path, limit: u64, buffer: &mut Vec<u8>) -> Result<Arc<[u8]>, Cause> {
    let file = match platform::open(real) {
        Ok(Some(file)) => file,
        Ok(None) => return Err(Cause::Changed),
        Err(_) if !is_plain_file(real) => return Err(Cause::Changed),
        Err(error) => return Err(Cause::unreadable(&error)),
    };
    read(&file, limit, buffer).map_err(|error| Cause::unreadable(&error))?
}

fn read(file: &File, limit: u64, buffer: &mut Vec<u8>) -> io::Result<Result<Arc<[u8]>, Cause>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Err(Cause::Changed));
    }
    let size = metadata.len();
    if size > limit {
        return Ok(Err(Cause::TooLarge(size, limit)));
    }
    buffer.clear();
    buffer.reserve(usize::try_from(size).unwrap_or(0) + 1);
    // The file may grow while it is read: one byte over the limit reveals that.
    file.take(limit.saturating_add(1)).read_to_end(buffer)?;
    if buffer.len() as u64 > limit {
        return Ok(Err(Cause::TooLarge(buffer.len() as u64, limit)));
    }
    Ok(Ok(Arc::from(&buffer[..])))
}

fn is_plain_file(real: &Path) -> bool {
    fs::symlink_metadata(real).is_ok_and(|it| it.is_file())
}
