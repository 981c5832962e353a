//! What operating systems do differently: opening a file without following a
//! swapped link, and what a file's metadata says. Unix has `O_NOFOLLOW`, inodes and
//! the executable bit; elsewhere links are judged by their resolved paths alone.

use std::fs::{self, File};
use std::path::Path;

pub(super) use imp::{describe, hard_links, is_executable, is_loop, mode, open, same_owner, stamp};

/// Whether an open file is the one at `path`, whose links are all resolved. Linux reports the path of
/// an open file, which no swap of a directory can fake. Elsewhere the path is resolved again and
/// compared; two swaps at the right moments could defeat that.
fn lies_at(file: &File, path: &Path) -> bool {
    if let Some(location) = imp::location_of(file) {
        return location == path;
    }
    let resolved = fs::canonicalize(path).is_ok_and(|it| it == path);
    let same = match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(opened), Ok(named)) => imp::same_file(&opened, &named),
        _ => false,
    };
    resolved && same
}

#[cfg(all(test, unix))]
pub(super) use imp::open_and_compare;

#[cfg(unix)]
mod imp {
    use std::fs::{FileType, Metadata};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    use std::path::{Path, PathBuf};
    use std::{fs, fs::File, io};

    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
    use rustix::io::Errno;

    use super::lies_at;

    /// How files are opened for reading.
    const FLAGS: OFlags = OFlags::CLOEXEC
        .union(OFlags::NOFOLLOW)
        .union(OFlags::NONBLOCK);

    /// Opens the file at exactly this path for reading; `None` if a part of the path is a link. Does
    /// not block on a pipe that replaced the file.
    pub(in crate::source) fn open(path: &Path) -> io::Result<Option<File>> {
        // One call instead of two for each file, and nothing to look up in /proc.
        #[cfg(target_os = "linux")]
        match rustix::fs::openat2(CWD, path, FLAGS, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Before Linux 5.6, and where a filter of system calls does not know it.
            Err(Errno::NOSYS | Errno::PERM) => {}
            Err(Errno::LOOP) => return Ok(None),
            opened => return Ok(Some(opened?.into())),
        }
        open_and_compare(path)
    }

    /// As [`open`], for a system that follows links in all parts of a path but the last.
    pub(in crate::source) fn open_and_compare(path: &Path) -> io::Result<Option<File>> {
        match rustix::fs::open(path, FLAGS, Mode::empty()) {
            Err(Errno::LOOP) => Ok(None),
            opened => Ok(Some(File::from(opened?)).filter(|file| lies_at(file, path))),
        }
    }

    /// The path of an open file according to the kernel; `None` if it cannot say.
    pub(super) fn location_of(file: &File) -> Option<PathBuf> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
    }

    /// Whether the error is a cycle of links.
    pub(in crate::source) fn is_loop(error: &io::Error) -> bool {
        Errno::from_io_error(error) == Some(Errno::LOOP)
    }

    /// Whether both describe the same file.
    pub(super) fn same_file(a: &Metadata, b: &Metadata) -> bool {
        (a.dev(), a.ino()) == (b.dev(), b.ino())
    }

    /// Whether both belong to the same user.
    pub(in crate::source) fn same_owner(a: &Metadata, b: &Metadata) -> bool {
        a.uid() == b.uid()
    }

    /// Whether anyone may execute it.
    pub(in crate::source) fn is_executable(metadata: &Metadata) -> bool {
        metadata.mode() & 0o111 != 0
    }

    /// The number of its names.
    pub(in crate::source) fn hard_links(metadata: &Metadata) -> u64 {
        metadata.nlink()
    }

    /// Its type and permissions.
    pub(in crate::source) fn mode(metadata: &Metadata) -> u32 {
        metadata.mode()
    }

    /// Values that change with the content. The change time catches an edit of
    /// equal size whose modification time was set back.
    pub(in crate::source) fn stamp(metadata: &Metadata) -> [u64; 6] {
        [
            metadata.dev(),
            metadata.ino(),
            metadata.mtime().cast_unsigned(),
            metadata.mtime_nsec().cast_unsigned(),
            metadata.ctime().cast_unsigned(),
            metadata.ctime_nsec().cast_unsigned(),
        ]
    }

    /// What it is, if neither a file, a directory nor a link.
    pub(in crate::source) fn describe(kind: FileType) -> &'static str {
        match () {
            () if kind.is_fifo() => "a named pipe",
            () if kind.is_socket() => "a socket",
            () if kind.is_block_device() || kind.is_char_device() => "a device",
            () => "not a file",
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use std::fs::{File, FileType, Metadata};
    use std::io;
    use std::path::{Path, PathBuf};
    use std::time::UNIX_EPOCH;

    use super::lies_at;

    /// Opens the file at exactly this path for reading; `None` if a part of the path is a link.
    pub(in crate::source) fn open(path: &Path) -> io::Result<Option<File>> {
        let file = File::open(path)?;
        Ok(Some(file).filter(|file| lies_at(file, path)))
    }

    /// The system cannot tell the path of an open file.
    pub(super) fn location_of(_file: &File) -> Option<PathBuf> {
        None
    }

    /// The system does not report cycles of links.
    pub(in crate::source) fn is_loop(_error: &io::Error) -> bool {
        false
    }

    /// Whether both describe the same file, as far as size and times tell.
    pub(super) fn same_file(a: &Metadata, b: &Metadata) -> bool {
        a.len() == b.len() && stamp(a) == stamp(b)
    }

    /// The system does not tell owners.
    pub(in crate::source) fn same_owner(_a: &Metadata, _b: &Metadata) -> bool {
        true
    }

    /// There is no executable bit.
    pub(in crate::source) fn is_executable(_metadata: &Metadata) -> bool {
        false
    }

    /// The system does not count names.
    pub(in crate::source) fn hard_links(_metadata: &Metadata) -> u64 {
        1
    }

    /// Whether it may be written.
    pub(in crate::source) fn mode(metadata: &Metadata) -> u32 {
        u32::from(metadata.permissions().readonly())
    }

    /// Values that change with the content.
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

    /// What it is, if neither a file, a directory nor a link.
    pub(in crate::source) fn describe(_kind: FileType) -> &'static str {
        "not a file"
    }
}
