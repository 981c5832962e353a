//! Everywhere else: what the standard library offers. There is no executable
//! bit and no inode; links are judged by their resolved paths alone.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Opens a file for reading.
pub(in crate::source) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

/// The system cannot say where an open file lies.
pub(in crate::source) fn location_of(_file: &File) -> Option<PathBuf> {
    None
}

/// The system does not tell a circle of links from other failures.
pub(in crate::source) fn is_loop(_error: &io::Error) -> bool {
    false
}

/// Whether two descriptions are of one file, as far as size and times tell.
pub(in crate::source) fn same_file(a: &Metadata, b: &Metadata) -> bool {
    a.len() == b.len() && stamp(a) == stamp(b)
}

/// There is no executable bit.
pub(in crate::source) fn is_executable(_metadata: &Metadata) -> bool {
    false
}

/// Names are not counted.
pub(in crate::source) fn hard_links(_metadata: &Metadata) -> u64 {
    1
}

/// Only whether it may be written.
pub(in crate::source) fn mode(metadata: &Metadata) -> u32 {
    u32::from(metadata.permissions().readonly())
}

/// What moves when its content does.
pub(in crate::source) fn stamp(metadata: &Metadata) -> [u64; 6] {
    let mut stamp = [0; 6];
    let times = [metadata.modified(), metadata.created()];
    for (pair, time) in stamp.chunks_mut(2).zip(times) {
        let since = time
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        if let Some(since) = since {
            pair[0] = since.as_secs();
            pair[1] = u64::from(since.subsec_nanos());
        }
    }
    stamp
}

/// What a thing is that is neither a file, a directory nor a link.
pub(in crate::source) fn describe(_kind: FileType) -> &'static str {
    "not a file"
}
