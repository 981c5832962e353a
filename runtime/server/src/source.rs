//! Where skills come from, what is current, and when a source is asked for newer skills. A source
//! that reads directories needs the compiler and lives with the program; the two that need none
//! are here, so a program without a compiler refreshes too.

mod changes;
mod current;
mod refresh;
mod watch;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use skillbundle_format::Bundle;

use crate::error::Error;

pub(crate) use changes::Changes;
pub(crate) use current::Generation;
pub(crate) use refresh::{NotLoaded, Refreshed, Refresher};
pub use watch::WatchPaths;

/// A place that skills come from.
pub trait Source: Send + Sync + 'static {
    /// A cheap digest of the present state. If it equals the last one there is nothing to load.
    fn fingerprint(&self) -> io::Result<u64>;

    /// The fingerprint, if telling it and loading the skills cannot block right now. `None` makes
    /// the server call `fingerprint` and `load` on another thread. It is asked before every call,
    /// so it should cost a few system calls at most.
    fn fingerprint_now(&self) -> Option<io::Result<u64>> {
        None
    }

    /// The skills in their present state. `previous` is what the last load gave, for sources that
    /// build on it.
    fn load(&self, previous: Option<&Bundle>) -> Result<Loaded, Error>;

    /// Skills that an earlier process has left, if any. They are served until the first look at
    /// the source has shown whether they are still current, so this must be fast.
    fn stored(&self) -> Option<Loaded> {
        None
    }

    /// What to serve while the first load takes longer than a call waits; `None` if there is
    /// nothing.
    fn stand_in(&self) -> Option<Loaded> {
        None
    }

    /// The places to watch, so that the source need not be asked before every call. `None` if
    /// watching would not show every change.
    fn watch_paths(&self) -> Option<WatchPaths> {
        None
    }

    /// Whether a program is in the middle of changing many files, as `git checkout` is while it
    /// holds its lock. Only asked when something has changed.
    fn is_being_changed(&self) -> bool {
        false
    }

    /// Whether a later load may give other skills.
    fn can_change(&self) -> bool {
        true
    }

    /// What kind of place it is, for the client.
    fn kind(&self) -> Kind {
        Kind::Local
    }

    /// What it is, for people: `skills/`, `team.skb`.
    fn describe(&self) -> String;
}

/// What a source has loaded.
#[derive(Debug)]
pub struct Loaded {
    /// The skills.
    pub bundle: Bundle,
    /// For each root of the bundle the absolute directory it was read from, if there is one that
    /// a client can look into.
    pub bases: Vec<Option<PathBuf>>,
    /// What the authors of the skills should know, for stderr.
    pub notices: Vec<String>,
}

/// The kinds of places that a client is told about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Part of the program.
    Embedded,
    /// One bundle in a file.
    Archive,
    /// Directories of this machine.
    Local,
}

/// The skills that are part of the program.
#[derive(Debug, Clone, Copy)]
pub struct Embedded(&'static [u8]);

/// A bundle in a file, opened again when the file is replaced.
#[derive(Debug, Clone)]
pub struct Archive(PathBuf);

impl Kind {
    /// The word used on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Archive => "archive",
            Self::Local => "local",
        }
    }
}

impl Embedded {
    /// Takes the bytes that `include_bundle!` gives.
    pub const fn new(bytes: &'static [u8]) -> Self {
        Self(bytes)
    }
}

impl Archive {
    /// Names the file. It need not exist yet, and is looked for at this place even if the process
    /// changes its directory.
    pub fn new(path: impl AsRef<Path>) -> io::Result<Self> {
        std::path::absolute(path).map(Self)
    }
}

impl From<Bundle> for Loaded {
    /// Skills that lie in no directory.
    fn from(bundle: Bundle) -> Self {
        Self {
            bundle,
            bases: Vec::new(),
            notices: Vec::new(),
        }
    }
}

impl Source for Embedded {
    fn fingerprint(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn fingerprint_now(&self) -> Option<io::Result<u64>> {
        Some(Ok(0))
    }

    fn load(&self, _previous: Option<&Bundle>) -> Result<Loaded, Error> {
        Ok(Bundle::from_static(self.0)?.into())
    }

    fn can_change(&self) -> bool {
        false
    }

    fn kind(&self) -> Kind {
        Kind::Embedded
    }

    fn describe(&self) -> String {
        "this binary".to_owned()
    }
}

impl Source for Archive {
    fn fingerprint(&self) -> io::Result<u64> {
        let file = fs::metadata(&self.0)?;
        let mut state = DefaultHasher::new();
        (file.len(), file.modified().ok(), identity(&file)).hash(&mut state);
        Ok(state.finish())
    }

    /// A stat takes a microsecond, and opening a bundle some ten.
    fn fingerprint_now(&self) -> Option<io::Result<u64>> {
        Some(self.fingerprint())
    }

    fn load(&self, _previous: Option<&Bundle>) -> Result<Loaded, Error> {
        Ok(Bundle::open(&self.0)?.into())
    }

    fn kind(&self) -> Kind {
        Kind::Archive
    }

    fn describe(&self) -> String {
        self.0.display().to_string()
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn fingerprint(&self) -> io::Result<u64> {
        (**self).fingerprint()
    }

    fn fingerprint_now(&self) -> Option<io::Result<u64>> {
        (**self).fingerprint_now()
    }

    fn load(&self, previous: Option<&Bundle>) -> Result<Loaded, Error> {
        (**self).load(previous)
    }

    fn stored(&self) -> Option<Loaded> {
        (**self).stored()
    }

    fn stand_in(&self) -> Option<Loaded> {
        (**self).stand_in()
    }

    fn watch_paths(&self) -> Option<WatchPaths> {
        (**self).watch_paths()
    }

    fn is_being_changed(&self) -> bool {
        (**self).is_being_changed()
    }

    fn can_change(&self) -> bool {
        (**self).can_change()
    }

    fn kind(&self) -> Kind {
        (**self).kind()
    }

    fn describe(&self) -> String {
        (**self).describe()
    }
}

/// Tells a replaced file of equal length and modification time from the old one: its inode number,
/// and the time of the last change to the inode, which cannot be set.
#[cfg(unix)]
fn identity(file: &fs::Metadata) -> (u64, u64, i64, i64) {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino(), file.ctime(), file.ctime_nsec())
}

#[cfg(not(unix))]
fn identity(file: &fs::Metadata) -> Option<std::time::SystemTime> {
    file.created().ok()
}
