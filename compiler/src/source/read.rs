//! The content of one file, read once, from the place that was walked: a file
//! swapped for a link, a pipe or another place since then is not read.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::{Entry, Fault, Limits, platform};

/// An editor that saves by renaming looks like a swap for a moment.
const ATTEMPTS: usize = 3;

/// Reads a file of at most `limits.file_bytes`, if the budget allows.
pub(super) fn file(entry: &Entry, limits: Limits, budget: u64) -> Result<Arc<[u8]>, Fault> {
    let limit = limits.file_bytes;
    if entry.size > limit {
        return Err(Fault::TooLarge(entry.size, limit));
    }
    if entry.size > budget {
        return Err(Fault::TooMuch(limits.total_bytes));
    }
    let mut outcome = Err(Fault::Changed);
    for _ in 0..ATTEMPTS {
        outcome = attempt(&entry.real, limit);
        if !matches!(outcome, Err(Fault::Changed)) {
            break;
        }
    }
    outcome
}

fn attempt(real: &Path, limit: u64) -> Result<Arc<[u8]>, Fault> {
    let file = match platform::open(real) {
        Ok(file) => file,
        Err(_) if !is_plain_file(real) => return Err(Fault::Changed),
        Err(error) => return Err(Fault::unreadable(&error)),
    };
    if !lies_at(&file, real) {
        return Err(Fault::Changed);
    }
    read(&file, limit).map_err(|error| Fault::unreadable(&error))?
}

fn read(file: &File, limit: u64) -> io::Result<Result<Arc<[u8]>, Fault>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Err(Fault::Changed));
    }
    let size = metadata.len();
    if size > limit {
        return Ok(Err(Fault::TooLarge(size, limit)));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    // It may grow while it is read; one byte more than allowed tells.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Ok(Err(Fault::TooLarge(bytes.len() as u64, limit)));
    }
    Ok(Ok(bytes.into()))
}

fn is_plain_file(real: &Path) -> bool {
    fs::symlink_metadata(real).is_ok_and(|it| it.is_file())
}

/// Whether an open file is the one that lies at `real`. Linux says where an
/// open file lies, which no swap of a directory can bend. Elsewhere the path is
/// resolved again and compared, which a swap at the right moment twice over
/// could escape.
fn lies_at(file: &File, real: &Path) -> bool {
    if let Some(location) = platform::location_of(file) {
        return location == real;
    }
    let resolved = fs::canonicalize(real).is_ok_and(|it| it == real);
    let same = match (file.metadata(), fs::symlink_metadata(real)) {
        (Ok(opened), Ok(named)) => platform::same_file(&opened, &named),
        _ => false,
    };
    resolved && same
}
