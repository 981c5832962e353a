//! Errors of a bundle, and how to fix them: the message is the error's `Display`, what to do is its
//! [`help`](Error::help).

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a bundle could not be written, opened or read. The alternate form `{:#}` adds the help, for
/// logs and answers that have one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes do not begin with the magic of a bundle.
    NotABundle {
        /// The first bytes, printable.
        found: String,
    },
    /// The bundle was written for another version of the format.
    Version {
        /// The version in the file.
        found: u32,
        /// The version this program reads and writes.
        supported: u32,
    },
    /// The bundle needs a feature that this program does not have.
    Required {
        /// The unknown must-understand bits.
        bits: u32,
    },
    /// The table layout differs, although the version is the same.
    Schema {
        /// The fingerprint in the file.
        found: u64,
        /// The fingerprint of this program.
        supported: u64,
    },
    /// The file is shorter or longer than its header states.
    Length {
        /// The length in the header.
        expected: u64,
        /// The length found.
        found: u64,
    },
    /// A part does not match its checksum, or refers to data outside the bundle.
    Corrupt {
        /// The part.
        what: &'static str,
    },
    /// The skills cannot be written as one bundle.
    Invalid(String),
    /// The file could not be read.
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The store could not be written.
    Store {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Error {
    /// What to do about it, as a phrase that follows `help:`.
    pub fn help(&self) -> &'static str {
        match self {
            Self::NotABundle { .. } => "make a bundle with `skillbundle compile DIR -o FILE.skb`",
            Self::Version { .. } => {
                "compile the skills again (`skillbundle compile DIR -o FILE.skb`), or use the release that wrote the bundle"
            }
            Self::Required { .. } => {
                "use a newer release, or compile the skills again (`skillbundle compile DIR -o FILE.skb`)"
            }
            Self::Schema { .. } => {
                "compile the skills again with this release (`skillbundle compile DIR -o FILE.skb`)"
            }
            Self::Length { .. } | Self::Corrupt { .. } => {
                "copy the bundle again, or compile it again (`skillbundle compile DIR -o FILE.skb`)"
            }
            // The compiler makes no other invalid sets than too large ones.
            Self::Invalid(_) => "split the skills into several bundles",
            Self::Store { .. } => {
                "make room on the disk, or name another directory in SKILLBUNDLE_CACHE (`off` for none)"
            }
            Self::Read { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => {
                    "check the spelling; relative paths start at the working directory"
                }
                io::ErrorKind::PermissionDenied => {
                    "let this user read it, and enter the directories above it"
                }
                _ => "check that it is a regular file or a directory on a working disk",
            },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotABundle { found } => write!(f, "not a bundle: it begins with {found}"),
            Self::Version { found, supported } => write!(
                f,
                "bundle format {found}, but this program reads format {supported}"
            ),
            Self::Required { bits } => write!(
                f,
                "bundle needs features {bits:#010x}, which this program does not have"
            ),
            Self::Schema { found, supported } => write!(
                f,
                "bundle has table layout {found:016x}, expected {supported:016x}"
            ),
            Self::Length { expected, found } => write!(
                f,
                "bundle is cut short or too long: {found} bytes instead of {expected}"
            ),
            Self::Corrupt { what } => write!(f, "bundle is damaged: {what}"),
            Self::Invalid(what) => write!(f, "cannot write the bundle: {what}"),
            Self::Read { path, source } => write!(f, "cannot read {}: {source}", path.display()),
            Self::Store { path, source } => write!(f, "cannot write {}: {source}", path.display()),
        }?;
        if f.alternate() {
            write!(f, "; {}", self.help())?;
        }
        Ok(())
    }
}

impl From<skillbundle_search::Error> for Error {
    fn from(error: skillbundle_search::Error) -> Self {
        match error {
            skillbundle_search::Error::Corrupt(what) => corrupt(what),
            error => Self::Invalid(error.to_string()),
        }
    }
}

/// Shorthand for the most frequent error.
pub(crate) const fn corrupt(what: &'static str) -> Error {
    Error::Corrupt { what }
}
