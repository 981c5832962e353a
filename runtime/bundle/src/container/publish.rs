//! Writes a bundle atomically: a reader sees either the complete old file or the complete new one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Writes `bytes` to `path`: to a temporary file in the same directory, synced, made read-only,
/// then renamed over `path`. A file that already has these bytes is not touched.
///
/// # Errors
/// The error of the operating system. The old file is then unchanged and the temporary file is
/// removed.
pub fn publish(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if holds(path, bytes) {
        return Ok(());
    }
    write_unsynced(path, |file, _| {
        file.write_all(bytes)?;
        file.sync_all()
    })?;
    sync_directory(path)
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

fn holds(path: &Path, bytes: &[u8]) -> bool {
    let same_len = fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.len() == bytes.len() as u64);
    same_len && fs::read(path).is_ok_and(|old| old == bytes)
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
