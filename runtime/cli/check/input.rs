//! Reads small files that others may have written: a plain file of a limited size, and no link where the
//! user did not name it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result};

use crate::cli::output::with_help;

/// Whether a link is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// The user named the path.
    Followed,
    /// Somebody else chose what is there.
    Refused,
}

/// The text of a file of at most `limit` bytes; `None` if nothing is there. `help` is what to do if it is
/// no such file.
pub(super) fn read(file: &Path, limit: u64, links: Links, help: &str) -> Result<Option<String>> {
    let shown = file.display();
    let refuse = |what: &str| {
        let message = format!("{shown} is {what}; expected a file of text");
        with_help(&message, help)
    };
    match fs::symlink_metadata(file) {
        Err(error) if is_missing(&error) => return Ok(None),
        Ok(found) if links == Links::Refused && found.is_symlink() => return Err(refuse("a link")),
        _ => {}
    }
    let opened = open(file, links).with_context(|| format!("cannot read {shown}"))?;
    let found = opened
        .metadata()
        .with_context(|| format!("cannot read {shown}"))?;
    if found.is_dir() {
        return Err(refuse("a directory"));
    }
    if !found.is_file() {
        return Err(refuse("a pipe, socket or device"));
    }
    let mut bytes = Vec::new();
    let mut limited = opened.take(limit + 1);
    limited
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {shown}"))?;
    if bytes.len() as u64 > limit {
        return Err(refuse(&format!("larger than {limit} bytes")));
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| refuse("not UTF-8"))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Opens a file without waiting for the writer of a pipe.
#[cfg(unix)]
fn open(file: &Path, links: Links) -> io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    let flags = match links {
        Links::Followed => OFlags::NONBLOCK,
        Links::Refused => OFlags::NONBLOCK | OFlags::NOFOLLOW,
    };
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(flags).open(file)
}

#[cfg(not(unix))]
fn open(file: &Path, _: Links) -> io::Result<File> {
    OpenOptions::new().read(true).open(file)
}
