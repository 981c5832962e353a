//! Unix: `O_NOFOLLOW`, inodes, the executable bit, and where an open file
//! really lies.

use std::fs::{FileType, Metadata, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::{fs, fs::File, io};

/// Opens a file for reading. A link in the last place is refused, a pipe that
/// took the file's place does not block, and the descriptor is not inherited.
pub(in crate::source) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
}

/// Where the kernel says that an open file lies; nothing where it cannot say.
pub(in crate::source) fn location_of(file: &File) -> Option<PathBuf> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

/// Whether links led to each other in a circle.
pub(in crate::source) fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ELOOP)
}

/// Whether two descriptions are of one file.
pub(in crate::source) fn same_file(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Whether anybody may execute it.
pub(in crate::source) fn is_executable(metadata: &Metadata) -> bool {
    metadata.mode() & 0o111 != 0
}

/// How many names it has.
pub(in crate::source) fn hard_links(metadata: &Metadata) -> u64 {
    metadata.nlink()
}

/// Its kind and permissions.
pub(in crate::source) fn mode(metadata: &Metadata) -> u32 {
    metadata.mode()
}

/// What moves when its content does. The change time catches an edit of equal
/// size whose modification time was set back.
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

/// What a thing is that is neither a file, a directory nor a link.
pub(in crate::source) fn describe(kind: FileType) -> &'static str {
    match () {
        () if kind.is_fifo() => "a named pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_block_device() || kind.is_char_device() => "a device",
        () => "not a file",
    }
}
