//! Watches the places that a source reads, so that a call can tell without touching the tree
//! whether anything has changed: the system queues an event before a writer's call returns, and a
//! call asks whether that queue is empty.
//!
//! An event alone does not say that a change is complete. A file that is still open for writing
//! and a file that has just vanished (editors replace a file in several steps) are given time;
//! [`Watch::verdict`] has the rules. Where watching is not possible, the source's fingerprint is
//! the only answer.

#[cfg(all(feature = "watch", target_os = "linux"))]
#[path = "watch/inotify.rs"]
mod system;
#[cfg(not(all(feature = "watch", target_os = "linux")))]
#[path = "watch/unavailable.rs"]
mod system;

#[cfg_attr(
    not(all(feature = "watch", target_os = "linux")),
    expect(dead_code, reason = "nothing reports changes there")
)]
mod pending;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pending::Pending;
pub(crate) use pending::{LONGEST, QUIET};

/// The places whose changes matter to a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchPaths {
    /// Directories in which everything matters, but not what lies in their subdirectories.
    pub directories: Vec<PathBuf>,
    /// Single files or directories that may appear, vanish or be replaced, such as a root that
    /// does not exist yet. Their parent directories are watched for these names only, and not for
    /// the contents of files.
    pub entries: Vec<PathBuf>,
    /// Single files elsewhere, whose contents matter too.
    pub files: Vec<PathBuf>,
}

/// The directory that everything is below.
pub(crate) const EVERYTHING: &str = "/";

impl WatchPaths {
    /// Watches these places for a moment, to see whether that is possible.
    ///
    /// # Errors
    /// `Unsupported` if this build, this system or a file system there reports no changes;
    /// otherwise what the system says, for instance that all its watches are in use.
    pub fn try_watch(&self) -> io::Result<()> {
        let watched = Watch::new().and_then(|watch| watch.add(self));
        watched.map_err(Unwatchable::into_io)
    }
}

/// Changes at some places since it was made: for a command that does its work again after each.
#[derive(Debug)]
pub struct Watcher(Watch);

impl Watcher {
    /// Watches what `places` returns. It is called twice, so that nothing that comes in between is
    /// missed.
    ///
    /// # Errors
    /// As for [`WatchPaths::try_watch`].
    pub fn new(places: impl Fn() -> WatchPaths) -> io::Result<Self> {
        let watch = Watch::new().and_then(|watch| {
            watch.add(&places())?;
            watch.add(&places())?;
            Ok(watch)
        });
        watch.map(Self).map_err(Unwatchable::into_io)
    }

    /// Whether something has changed, and then nothing more for a while.
    pub fn have_settled(&self) -> bool {
        // Events do not end where programs write all the time.
        let waited = self.0.waited();
        let quiet = self.0.quiet_for();
        quiet.is_some_and(|it| it >= QUIET) || waited.is_some_and(|it| it >= LONGEST)
    }
}

/// A set of watched places, and what has happened there.
#[derive(Debug)]
pub(crate) struct Watch {
    events: system::Events,
    pending: Mutex<Pending>,
    /// Whether `pending` holds anything, or the watch cannot vouch for the current skills.
    moved: AtomicBool,
}

/// What a call should do before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing has changed: answer from the current skills.
    Unchanged,
    /// A change is incomplete: answer from the current skills, which are whole.
    Incomplete,
    /// Something vanished a moment ago and may be about to be replaced: wait this long, ask again.
    Wait(Duration),
    /// Something has changed: look at the source.
    Changed,
}

/// Why a place cannot be watched.
#[derive(Debug)]
#[cfg_attr(
    not(all(feature = "watch", target_os = "linux")),
    expect(dead_code, reason = "nothing can be watched there")
)]
pub(crate) enum Unwatchable {
    /// The file system reports no changes of other machines.
    NoEvents(PathBuf),
    /// This build or system has no watching.
    #[cfg_attr(
        all(feature = "watch", target_os = "linux"),
        expect(dead_code, reason = "only other builds and systems lack it")
    )]
    Unavailable,
    /// The system refuses, for instance because all its watches are in use.
    Refused(io::Error),
}

impl Watch {
    /// A watch of nothing yet. Calls [`Verdict::Changed`] until a look has ended well.
    pub(crate) fn new() -> Result<Self, Unwatchable> {
        Ok(Self {
            events: system::Events::new()?,
            pending: Mutex::default(),
            moved: AtomicBool::new(true),
        })
    }

    /// Adds these places to the watched ones, unless they are watched already.
    pub(crate) fn add(&self, paths: &WatchPaths) -> Result<(), Unwatchable> {
        self.events.add(paths)
    }

    /// Other places matter from now on: the next look adds them, and reads what has changed there
    /// until then.
    pub(crate) fn places_changed(&self) {
        self.collect().note_unknown(Instant::now());
        self.moved.store(true, Ordering::Release);
    }

    /// A look at the source begins: it will see every change up to now. Returns whether
    /// directories have come or gone, so that [`Self::add`] is due first.
    pub(crate) fn look_begins(&self) -> bool {
        let mut pending = self.collect();
        self.moved.store(true, Ordering::Release);
        pending.look_begins(Instant::now())
    }

    /// The files are read from now on.
    pub(crate) fn reading_begins(&self) {
        self.collect().reading_begins(Instant::now());
    }

    /// The files and directories that changed since reading began, or were incomplete then: what was
    /// read may be half of them. A directory stands for everything below it.
    pub(crate) fn unsettled(&self) -> Vec<PathBuf> {
        let pending = self.collect();
        match pending.torn() {
            Some(places) => self.events.paths(places),
            None => vec![EVERYTHING.into()],
        }
    }

    /// A look at the source has ended. If it went well, the current skills are those of the time
    /// when it began, but for what was incomplete; that and later changes remain to be read.
    pub(crate) fn look_ended(&self, well: bool) {
        let mut pending = self.collect();
        pending.look_ended(well);
        let moved = !well || pending.last.is_some();
        self.moved.store(moved, Ordering::Release);
    }

    /// Whether nothing has changed. One system call, no lock.
    pub(crate) fn is_unchanged(&self) -> bool {
        !self.moved.load(Ordering::Acquire) && self.events.is_empty()
    }

    /// What to do about the events up to now.
    pub(crate) fn verdict(&self) -> Verdict {
        if self.is_unchanged() {
            return Verdict::Unchanged;
        }
        let verdict = self.collect().verdict(Instant::now());
        // Without an event, a look is under way or has failed.
        let moved = self.moved.load(Ordering::Acquire);
        match verdict {
            Verdict::Unchanged if moved => Verdict::Changed,
            verdict => verdict,
        }
    }

    /// How long ago the last change was; `None` if there was none since the last look.
    pub(crate) fn quiet_for(&self) -> Option<Duration> {
        let last = self.collect().last?;
        Some(last.elapsed())
    }

    /// How long ago the first change since the last look was; `None` if there was none.
    fn waited(&self) -> Option<Duration> {
        let first = self.collect().first?;
        Some(first.elapsed())
    }

    /// Returns once there are changes that nobody has looked at yet.
    pub(crate) async fn changed(&self) {
        while self.quiet_for().is_none() {
            self.events.arrived().await;
        }
    }

    /// Takes the events out of the system's queue.
    fn collect(&self) -> MutexGuard<'_, Pending> {
        let mut pending = self.lock();
        self.events.drain(&mut pending);
        if pending.last.is_some() {
            self.moved.store(true, Ordering::Release);
        }
        pending
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unwatchable {
    fn into_io(self) -> io::Error {
        match self {
            Self::Refused(error) => error,
            other => io::Error::new(io::ErrorKind::Unsupported, other.to_string()),
        }
    }
}

impl std::fmt::Display for Unwatchable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoEvents(path) => write!(
                f,
                "{} is on a file system that does not report changes",
                path.display()
            ),
            Self::Unavailable => write!(f, "this build does not watch directories"),
            Self::Refused(error) => write!(f, "the system refuses to watch: {error}"),
        }
    }
}

#[cfg(test)]
#[cfg(all(feature = "watch", target_os = "linux"))]
mod tests;
