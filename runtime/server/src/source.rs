//! Where the live skills come from. A source that reads directories needs the
//! compiler and lives with the program; the two that need none are here, so
//! that a program without a compiler refreshes too.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use skillbundle_format::Bundle;

use crate::error::Error;

/// A place that skills come from, asked before every call.
pub trait Source: Send + Sync + 'static {
    /// A cheap digest of the present state: equal to the last one means that
    /// there is nothing to load.
    fn fingerprint(&self) -> io::Result<u64>;

    /// The skills in their present state.
    fn load(&self) -> Result<Loaded, Error>;

    /// What it is, in words: `skills/`, `team.skb`.
    fn describe(&self) -> String;

    /// What kind of place it is. Unless said otherwise, local directories.
    fn mode(&self) -> Mode {
        Mode::Local
    }
}

/// What a source has loaded.
#[derive(Debug)]
pub struct Loaded {
    /// The skills.
    pub bundle: Bundle,
    /// For each root of the bundle the absolute directory it was read from,
    /// where there is one that a client can look into.
    pub bases: Vec<Option<PathBuf>>,
    /// What the people who wrote the skills should know, for stderr.
    pub notices: Vec<String>,
}

/// What kind of place a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// Part of the program: it never changes.
    Embedded,
    /// One bundle in a file, which may be replaced.
    Archive,
    /// Directories of the machine, read and compiled.
    Local,
}

/// The skills that are part of the program.
#[derive(Debug, Clone, Copy)]
pub struct Embedded(&'static [u8]);

/// A bundle in a file, opened again when the file is replaced.
#[derive(Debug, Clone)]
pub struct Archive(PathBuf);

impl Mode {
    /// The word used on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Archive => "archive",
            Self::Local => "local",
        }
    }

    /// Whether asking and loading may take long enough to need a thread of
    /// their own. A stat is a microsecond, opening a bundle some ten; sweeping
    /// 10,000 files is 18 ms and compiling them half a second.
    pub(crate) const fn is_slow(self) -> bool {
        matches!(self, Self::Local)
    }
}

impl Embedded {
    /// Takes the bytes that `include_bundle!` gives.
    pub const fn new(bytes: &'static [u8]) -> Self {
        Self(bytes)
    }
}

impl Archive {
    /// Names the file. It need not exist yet, and is looked for at this
    /// place even if the process changes its directory.
    pub fn new(path: impl AsRef<Path>) -> io::Result<Self> {
        std::path::absolute(path).map(Self)
    }
}

impl Source for Embedded {
    fn fingerprint(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn load(&self) -> Result<Loaded, Error> {
        Ok(Loaded {
            bundle: Bundle::from_static(self.0)?,
            bases: Vec::new(),
            notices: Vec::new(),
        })
    }

    fn describe(&self) -> String {
        "this binary".to_owned()
    }

    fn mode(&self) -> Mode {
        Mode::Embedded
    }
}

impl Source for Archive {
    fn fingerprint(&self) -> io::Result<u64> {
        let file = fs::metadata(&self.0)?;
        let mut state = DefaultHasher::new();
        (file.len(), file.modified().ok(), identity(&file)).hash(&mut state);
        Ok(state.finish())
    }

    fn load(&self) -> Result<Loaded, Error> {
        Ok(Loaded {
            bundle: Bundle::open(&self.0)?,
            bases: Vec::new(),
            notices: Vec::new(),
        })
    }

    fn describe(&self) -> String {
        self.0.display().to_string()
    }

    fn mode(&self) -> Mode {
        Mode::Archive
    }
}

/// What tells a replaced file of equal length and time from the old one: its
/// number, and when its inode last changed, which nobody can set back.
#[cfg(unix)]
fn identity(file: &fs::Metadata) -> (u64, u64, i64, i64) {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino(), file.ctime(), file.ctime_nsec())
}

#[cfg(not(unix))]
fn identity(file: &fs::Metadata) -> Option<std::time::SystemTime> {
    file.created().ok()
}
