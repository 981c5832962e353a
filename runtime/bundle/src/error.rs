//! Errors of a bundle, and how to fix them.

use std::io;
use std::path::PathBuf;

/// Why a bundle could not be written, opened or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes do not begin with the magic of a bundle.
    #[error(
        "not a skill bundle: expected a file that begins with the .skb magic, found {found}; make one with `skillbundle compile DIR -o FILE.skb`"
    )]
    NotABundle {
        /// The first bytes, printable.
        found: String,
    },
    /// The bundle was written for another version of the format.
    #[error(
        "bundle format {found}, but this program reads format {supported}; compile the skills again (`skillbundle compile DIR -o FILE.skb`), or use the release that wrote the bundle"
    )]
    Version {
        /// The version in the file.
        found: u32,
        /// The version this program reads and writes.
        supported: u32,
    },
    /// The bundle needs a feature that this program does not have.
    #[error(
        "bundle needs features {bits:#010x} that this program does not know; use a newer release, or compile the skills again with this one (`skillbundle compile DIR -o FILE.skb`)"
    )]
    Required {
        /// The unknown must-understand bits.
        bits: u32,
    },
    /// The table layout differs, although the version is the same.
    #[error(
        "bundle has table layout {found:016x}, but this program reads {supported:016x}; compile the skills again with this one (`skillbundle compile DIR -o FILE.skb`)"
    )]
    Schema {
        /// The fingerprint in the file.
        found: u64,
        /// The fingerprint of this program.
        supported: u64,
    },
    /// The file is shorter or longer than its header states.
    #[error(
        "bundle is {found} bytes long, but its header says {expected}; it was cut short or appended to: copy it again, or make it again with `skillbundle compile`"
    )]
    Length {
        /// The length in the header.
        expected: u64,
        /// The length found.
        found: u64,
    },
    /// A part does not match its checksum, or refers to data outside the bundle.
    #[error("bundle is damaged: {what}; copy it again, or compile it again")]
    Corrupt {
        /// The part.
        what: &'static str,
    },
    /// The skills cannot be written as one bundle.
    #[error("cannot write the bundle: {0}")]
    Invalid(String),
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The store could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
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
