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
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use skillbundle_format::{Bundle, Store};

use crate::error::Error;

pub(crate) use changes::Changes;
pub(crate) use current::Generation;
pub(crate) use refresh::{NotLoaded, Refreshed, Refresher};
pub use watch::{WatchPaths, Watcher};

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

    /// The same for a source whose files may be in the middle of a change. When it has read them, it
    /// asks `unsettled` which of them were meanwhile; a directory stands for all below it, and the
    /// answer is `None` if nothing watches them. It leaves what depends on them as it was in
    /// `previous`, or returns `None`, without any other effect, if that is everything.
    fn load_whole(
        &self,
        previous: Option<&Bundle>,
        unsettled: &dyn Fn() -> Option<Vec<PathBuf>>,
    ) -> Result<Option<Loaded>, Error> {
        let _ = unsettled;
        self.load(previous).map(Some)
    }

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

    /// Forgets stored skills that have turned out to be damaged: the next load must not find them
    /// again.
    fn discard(&self, damaged: &Bundle) {
        let _ = damaged;
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

    /// Whether [`sync`](Self::sync) can bring newer skills to this machine.
    fn can_sync(&self) -> bool {
        false
    }

    /// Brings the latest skills to this machine, for the next load. What was brought `fresh` ago or
    /// less, also by another process, is recent enough. Returns the number of files that changed.
    ///
    /// It takes as long as a network does, so only a timer and `refresh_skills` call it, one at a
    /// time, and never a call that needs skills. If it fails, what is there stays.
    fn sync(&self, fresh: Duration) -> Result<usize, Error> {
        let _ = fresh;
        Ok(0)
    }

    /// The repositories that the skills come from, as they are on this machine.
    fn checkouts(&self) -> Vec<Checkout> {
        Vec::new()
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
    /// The roots of the bundle that were read from directories, in its order. The others come after
    /// them.
    pub roots: Vec<LoadedRoot>,
    /// What the authors of the skills should know, for stderr.
    pub notices: Vec<String>,
    /// Skills whose files do not load.
    pub broken: Vec<BrokenSkill>,
    /// The fingerprint of exactly what was read. `None` takes the one that was asked for before.
    pub state: Option<u64>,
    /// Whether [`Source::watch_paths`] names other places since this load than before.
    pub must_rewatch: bool,
}

/// A root of a bundle, as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadedRoot {
    /// The absolute directory it was read from, if there is one that a client can look into.
    pub base: Option<PathBuf>,
    /// Whether it belongs to the project that the client works on. Whoever wrote it may be a
    /// stranger, so its scripts are run only if the operator allows that.
    pub is_of_project: bool,
}

/// A skill whose file does not load. Its last good version is served, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenSkill {
    /// The path of the skill, or the one that it would have.
    pub path: String,
    /// What is wrong with its file, with the file and the line.
    pub reason: String,
    /// When that was first seen.
    pub since: SystemTime,
    /// Whether its last good version is served.
    pub is_served: bool,
}

/// A repository, as it is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// Where it is, for people. It holds no secret.
    pub repository: String,
    /// The branch or tag; `None` if there is nothing of it yet.
    pub branch: Option<String>,
    /// The commit, as a full hash; `None` if there is nothing of it yet.
    pub commit: Option<String>,
    /// When it was last known to be the latest.
    pub last_sync: Option<SystemTime>,
    /// Why the last attempt failed; `None` if it did not.
    pub last_error: Option<String>,
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
    /// Mirrors of git repositories.
    Git,
}

/// The skills that are part of the program.
#[derive(Debug, Clone, Copy)]
pub struct Embedded(&'static [u8]);

/// A bundle in a file that may be replaced or overwritten at any time. It is served from a copy in
/// a store, or from memory where there is none, so nothing that happens to the file reaches a call.
/// A file that is not complete yet is left alone.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    store: Option<Store>,
    /// The fingerprint of the file that was loaded last; 0 if there was none.
    loaded: AtomicU64,
    /// Reports once that the store cannot be written to.
    not_stored: Once,
}

/// Files up to this many bytes are copied and verified where they are loaded: it takes a
/// millisecond.
const SMALL: u64 = 1 << 20;

impl Kind {
    /// The word used on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Archive => "archive",
            Self::Local => "local",
            Self::Git => "git",
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
    /// Names the file, and the store for copies of it. It need not exist yet, and is looked for at
    /// this place even if the process changes its directory.
    pub fn new(path: impl AsRef<Path>, store: Option<Store>) -> io::Result<Self> {
        Ok(Self {
            path: std::path::absolute(path)?,
            store,
            loaded: AtomicU64::new(0),
            not_stored: Once::new(),
        })
    }

    /// Whether the file can be loaded without copying much, or fails at once.
    fn loads_fast(&self) -> bool {
        let is_small = || fs::metadata(&self.path).is_ok_and(|file| file.len() <= SMALL);
        let Ok(address) = Bundle::address_in(&self.path) else {
            return true;
        };
        let is_stored = |store: &Store| store.holds(&address);
        self.store.as_ref().is_some_and(is_stored) || is_small()
    }

    fn open(&self) -> Result<Bundle, skillbundle_format::Error> {
        match self.store.as_ref().map(|store| store.copy(&self.path)) {
            Some(Err(error @ skillbundle_format::Error::Store { .. })) => {
                self.not_stored
                    .call_once(|| tracing::warn!("{error}; the bundle is kept in memory"));
                self.read()
            }
            Some(opened) => opened,
            None => self.read(),
        }
    }

    /// The whole file in memory.
    fn read(&self) -> Result<Bundle, skillbundle_format::Error> {
        let fault = |source| skillbundle_format::Error::Read {
            path: self.path.clone(),
            source,
        };
        // Refuses what is no regular bundle file before all of it is read.
        Bundle::address_in(&self.path)?;
        let bundle = Bundle::from_bytes(&fs::read(&self.path).map_err(fault)?)?;
        bundle.verify()?;
        Ok(bundle)
    }
}

impl From<Bundle> for Loaded {
    /// Skills that lie in no directory.
    fn from(bundle: Bundle) -> Self {
        Self {
            bundle,
            roots: Vec::new(),
            notices: Vec::new(),
            broken: Vec::new(),
            state: None,
            must_rewatch: false,
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
        let file = fs::metadata(&self.path)?;
        let mut state = DefaultHasher::new();
        (file.len(), file.modified().ok(), identity(&file)).hash(&mut state);
        Ok(state.finish().max(1))
    }

    /// A stat takes a microsecond, and opening a copy some twenty.
    fn fingerprint_now(&self) -> Option<io::Result<u64>> {
        let state = self.fingerprint();
        let is_loaded = |state: &u64| *state == self.loaded.load(Ordering::Relaxed);
        let is_fast = state.as_ref().map_or(true, is_loaded) || self.loads_fast();
        is_fast.then_some(state)
    }

    fn load(&self, _previous: Option<&Bundle>) -> Result<Loaded, Error> {
        let state = self.fingerprint()?;
        let bundle = self.open()?;
        self.loaded.store(state, Ordering::Relaxed);
        Ok(Loaded {
            state: Some(state),
            ..bundle.into()
        })
    }

    fn discard(&self, damaged: &Bundle) {
        if let Some(store) = &self.store {
            store.discard(&damaged.content_address());
        }
    }

    fn kind(&self) -> Kind {
        Kind::Archive
    }

    fn describe(&self) -> String {
        self.path.display().to_string()
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

    fn load_whole(
        &self,
        previous: Option<&Bundle>,
        unsettled: &dyn Fn() -> Option<Vec<PathBuf>>,
    ) -> Result<Option<Loaded>, Error> {
        (**self).load_whole(previous, unsettled)
    }

    fn stored(&self) -> Option<Loaded> {
        (**self).stored()
    }

    fn stand_in(&self) -> Option<Loaded> {
        (**self).stand_in()
    }

    fn discard(&self, damaged: &Bundle) {
        (**self).discard(damaged);
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

    fn can_sync(&self) -> bool {
        (**self).can_sync()
    }

    fn sync(&self, fresh: Duration) -> Result<usize, Error> {
        (**self).sync(fresh)
    }

    fn checkouts(&self) -> Vec<Checkout> {
        (**self).checkouts()
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
