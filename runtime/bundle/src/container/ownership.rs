//! Decides whether a file may be mapped: nobody but us (or root) can change it.

use std::fs::Metadata;

/// Whether the file is ours or root's, and neither its group nor others may write.
#[cfg(unix)]
pub(super) fn is_ours_alone(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = metadata.uid();
    let ours = owner == 0 || owner == rustix::process::geteuid().as_raw();
    ours && metadata.mode() & 0o022 == 0
}

/// Elsewhere the system refuses to truncate a mapped file.
#[cfg(not(unix))]
pub(super) fn is_ours_alone(_: &Metadata) -> bool {
    cfg!(windows)
}
