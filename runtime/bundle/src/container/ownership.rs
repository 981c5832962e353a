//! Decides whether a file may be mapped: only the current user and root may be able to change it.

use std::fs::Metadata;

/// Whether the current user or root owns the file, and neither its group nor others may write.
#[cfg(unix)]
pub(super) fn is_ours_alone(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = metadata.uid();
    let ours = owner == 0 || owner == rustix::process::geteuid().as_raw();
    ours && metadata.mode() & 0o022 == 0
}

/// Other systems refuse to truncate a mapped file.
#[cfg(not(unix))]
pub(super) fn is_ours_alone(_: &Metadata) -> bool {
    cfg!(windows)
}
