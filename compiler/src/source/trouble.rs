//! What the disk refused, or what is refused on the disk's account, as plain
//! values. How much each one matters is decided where skills are known.

use std::path::PathBuf;
use std::{fmt, io};

/// One thing below a root that is not read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Trouble {
    /// Relative to the root; empty for the root itself. Characters that cannot
    /// be shown are escaped, so it need not be a path any more.
    pub(crate) path: String,
    /// Whether it is a directory, or a link to one.
    pub(crate) is_directory: bool,
    /// Why.
    pub(crate) fault: Fault,
}

/// Why something is not read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Fault {
    /// It does not exist. Said of a root only.
    Missing,
    /// The system's own words.
    Unreadable(String),
    /// It was replaced by something else between looking and reading.
    Changed,
    /// A pipe, a socket, a device.
    NotAFile(&'static str),
    /// The name cannot be a key of a bundle.
    Name(&'static str),
    /// Size in bytes, and the limit.
    TooLarge(u64, u64),
    /// All files together have more bytes than this.
    TooMuch(u64),
    /// Deeper than so many levels.
    TooDeep(usize),
    /// More entries than this.
    TooMany(usize),
    /// A directory whose name says that it is nobody's skill; whether a
    /// `SKILL.md` lies directly in it.
    Ignored(bool),
    /// A link, what is written in it, and why it is not followed.
    Link(PathBuf, LinkFault),
}

/// Why a link is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LinkFault {
    /// There is nothing at its target.
    Broken,
    /// It leads back to where it came from.
    Cycle,
    /// It leads out of the area that may be read.
    Escapes,
    /// It leads into a directory that is never read.
    Hidden,
}

impl Trouble {
    /// The root itself.
    pub(super) fn root(error: &io::Error) -> Self {
        let fault = match error.kind() {
            io::ErrorKind::NotFound => Fault::Missing,
            _ => Fault::unreadable(error),
        };
        Self {
            path: String::new(),
            is_directory: true,
            fault,
        }
    }

    /// A file.
    pub(super) fn file(path: String, fault: Fault) -> Self {
        Self {
            path,
            is_directory: false,
            fault,
        }
    }

    /// A directory.
    pub(super) fn directory(path: String, fault: Fault) -> Self {
        Self {
            path,
            is_directory: true,
            fault,
        }
    }
}

impl Fault {
    pub(super) fn unreadable(error: &io::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such directory"),
            Self::Unreadable(error) => write!(f, "it cannot be read: {error}"),
            Self::Changed => f.write_str("it was replaced while it was read"),
            Self::NotAFile(what) => write!(f, "a file was expected and {what} was found"),
            Self::Name(why) => f.write_str(why),
            Self::TooLarge(size, limit) => {
                write!(f, "it has {size} bytes and at most {limit} are read")
            }
            Self::TooMuch(limit) => {
                write!(f, "all files together have more than {limit} bytes")
            }
            Self::TooDeep(levels) => write!(f, "it lies more than {levels} directories deep"),
            Self::TooMany(limit) => write!(f, "it holds more than {limit} files and directories"),
            Self::Ignored(_) => f.write_str("directories of this name are never read"),
            Self::Link(target, fault) => {
                let target = target.display();
                match fault {
                    LinkFault::Broken => {
                        write!(f, "the link leads to `{target}`, which is not there")
                    }
                    LinkFault::Cycle => {
                        write!(f, "the link leads to `{target}`, back to where it lies")
                    }
                    LinkFault::Escapes => {
                        write!(f, "the link leads to `{target}`, outside what may be read")
                    }
                    LinkFault::Hidden => write!(
                        f,
                        "the link leads to `{target}`, into a directory that is never read"
                    ),
                }
            }
        }
    }
}
