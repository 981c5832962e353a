//! Writes a bundle atomically: a reader sees either the complete old file or the complete new one.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Buffer size in bytes: texts are much shorter, and a system call for each would cost more than
/// copying them.
const BUFFER: usize = 1 << 18;

/// Writes `bytes` to `path`: to a temporary file in the same directory, synced, made read-only,
/// then renamed over `path`. A file that already has these bytes is not touched.
///
/// # Errors
/// The error of the operating system. The old file is then unchanged and the temporary file is
/// removed.
pub fn publish(path: &Path, bytes: &[u8]) -> io::Result<()> {
    publish_parts(path, bytes.len() as u64, || std::iter::once(bytes))
}

/// As [`publish`], with the file's bytes in parts of `len` bytes together.
pub(crate) fn publish_parts<'a, Parts: Iterator<Item = &'a [u8]>>(
    path: &Path,
    len: u64,
    parts: impl Fn() -> Parts,
) -> io::Result<()> {
    if holds(path, len, parts()) {
        return Ok(());
    }
    write_unsynced(path, |file, _| {
        write_parts(file, parts())?;
        file.sync_all()
    })?;
    sync_directory(path)
}

/// Writes parts one after the other, small ones together.
pub(crate) fn write_parts<'a>(
    file: &mut File,
    parts: impl Iterator<Item = &'a [u8]>,
) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(BUFFER, file);
    for part in parts {
        file.write_all(part)?;
    }
    file.flush()
}

/// Replaces `path` by what `write` writes to a temporary file beside it, whose path it is also
/// given. Does not wait for the disk. The error of `write` is returned; the old file is then
/// unchanged and the temporary file is removed.
pub(crate) fn write_unsynced<T, E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File, &Path) -> Result<T, E>,
) -> Result<T, E> {
    let temporary = temporary_beside(path)?;
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .open(&temporary)?;
    let written = make_read_only(&file)
        .map_err(E::from)
        .and_then(|()| write(&mut file, &temporary))
        .and_then(|written| Ok(fs::rename(&temporary, path).map(|()| written)?));
    if written.is_err() {
        // Report the first error; a leftover temporary file is harmless.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Waits until a file that was written before survives a power failure.
pub(crate) fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()?;
    sync_directory(path)
}

/// Whether the file has exactly these bytes.
fn holds<'a>(path: &Path, len: u64, parts: impl Iterator<Item = &'a [u8]>) -> bool {
    let same_len =
        fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == len);
    let Some(file) = same_len.then(|| File::open(path).ok()).flatten() else {
        return false;
    };
    let mut file = BufReader::with_capacity(BUFFER, file);
    let mut old = Vec::new();
    parts.into_iter().all(|part| {
        old.resize(part.len(), 0);
        file.read_exact(&mut old).is_ok() && old == part
    })
}

/// A name that no other writer uses: one process may publish from several threads, and several
/// processes may publish into one directory.
fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the output is not a file name",
        ));
    };
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(
        ".{}-{}.tmp",
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    ));
    Ok(path.with_file_name(temporary))
}

/// A published bundle is never changed in place; mode 0444 makes that explicit.
#[cfg(unix)]
fn make_read_only(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o444))
}

/// On other systems, a read-only file cannot be replaced by rename.
#[cfg(not(unix))]
fn make_read_only(_: &File) -> io::Result<()> {
    Ok(())
}

/// Makes the rename survive a power failure.
#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
