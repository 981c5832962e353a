//! What can go wrong between an event and its place on disk.

use std::path::{Path, PathBuf};

/// Why something could not be recorded or read. It can be cloned, since one fault concerns every
/// event of a transaction. No variant holds a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Nothing is recorded: the journal is off, or has been closed.
    #[error("the journal is off")]
    Off,
    /// The path is not one that a journal may be written to.
    #[error("{}: {problem}", path.display())]
    UnsafePath {
        /// The file, or the directory that it is in.
        path: PathBuf,
        /// What was found there.
        problem: String,
    },
    /// The file is a database, or no database at all, that this program did not make.
    #[error("{}: expected a journal, found {found}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        found: String,
    },
    /// A later version of the program has written the file.
    #[error("{}: the journal has schema version {found}, this program knows {known}", path.display())]
    NewerSchema {
        /// The file, or the server without user and password.
        path: PathBuf,
        /// The version in the file.
        found: i64,
        /// The latest version that this program can use.
        known: i64,
    },
    /// The disk or the database failed.
    #[error("{}: {message}", path.display())]
    Storage {
        /// The file, or the server without user and password.
        path: PathBuf,
        /// What it said.
        message: String,
    },
    /// The event contradicts what is recorded, such as a second result of one invocation.
    #[error("the event was refused: {0}")]
    Refused(String),
    /// No thread could be started to write.
    #[error("the journal's writer could not be started: {0}")]
    NoWriter(String),
}

impl JournalError {
    /// What to do about it, if that is known.
    pub const fn help(&self) -> Option<&'static str> {
        match self {
            Self::UnsafePath { .. } => {
                Some("name a file of yours in a directory that only you can write")
            }
            Self::Foreign { .. } => Some("move the file away, or name another"),
            Self::NewerSchema { .. } => Some("use a newer skillbundle, or name another file"),
            Self::Off | Self::Storage { .. } | Self::Refused(_) | Self::NoWriter(_) => None,
        }
    }

    pub(crate) fn storage(path: &Path, message: &(impl ToString + ?Sized)) -> Self {
        Self::Storage {
            path: path.to_owned(),
            message: message.to_string(),
        }
    }
}
