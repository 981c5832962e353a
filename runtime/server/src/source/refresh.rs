//! When a source is asked for newer skills, and what happens then: the fingerprint, only if it
//! moved a load, then one swap of what is current. One look at the source runs at a time, and a
//! load that fails leaves the old skills in place.
//!
//! Before a call is answered, the watch is asked whether anything has changed; where there is none,
//! the fingerprint, for a limited time. The skills that an earlier process stored are served at
//! once, while the first look is under way.
//!
//! A look that cannot block runs where it is called; any other runs on a thread of its own. It runs
//! to its end even if its caller stops waiting, so a client that hangs up and asks again does not
//! start a second one.

mod check;
mod sync;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use skillbundle_format::{Overrides, Settings};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard, watch};
use tokio::time::{sleep, timeout};

use super::current::{Current, Generation};
use super::watch::{EVERYTHING, LONGEST, Unwatchable, Verdict, Watch};
use super::{Checkout, Kind, Source};
use crate::error::Error;
use check::Check;

/// How long a call waits for a load, if there are skills to answer from meanwhile.
const LOAD: Duration = Duration::from_secs(2);

/// How long a call waits for the first load, if there are none. Hosts give up after 30 to 60
/// seconds.
const FIRST_LOAD: Duration = Duration::from_secs(25);

/// How long the list of tools waits for the first load. It is asked for as a host starts its servers,
/// and some hosts give up a server that has not answered within 10 seconds.
const AT_START: Duration = Duration::from_secs(5);

/// How long a call waits for the fingerprint of a source that is not watched, if there are skills
/// to answer from. A local disk needs 20 ms for 10,000 files; a network that needs longer delays
/// no call more than this, and its changes show in a later one.
const SWEEP: Duration = Duration::from_millis(100);

/// How long a look in the background lets the first calls of a process go first.
const AFTER_START: Duration = Duration::from_millis(10);

/// A process that answers fewer calls than this does not pay for a watch.
const CALLS_BEFORE_WATCH: u32 = 3;

/// How long after the system has refused to watch it is asked again.
const WATCH_RETRY: Duration = Duration::from_secs(60);

/// How often a look reads again because files were incomplete, if there are skills to serve.
const ATTEMPTS: usize = 3;

/// How long it waits in between, and how often if files are incomplete even then.
const NEXT_ATTEMPT: Duration = Duration::from_millis(10);
const WAITS: usize = 20;

/// Reported instead of the text of a panic.
const PANICKED: &str = "reading the skills failed unexpectedly; stderr says how";

/// Keeps what is current up to date with a source. Clones share one state.
#[derive(Clone)]
pub(crate) struct Refresher(Arc<Inner>);

struct Inner {
    source: Box<dyn Source>,
    /// What applies over the settings that the skills carry.
    overrides: Arc<Overrides>,
    current: Current,
    /// Reports changes; empty where nothing can be watched.
    watch: ArcSwapOption<Watch>,
    /// Held by the one look at the source that runs.
    check: Arc<Mutex<Check>>,
    /// When the look that runs began, unless it is loading.
    sweeping: std::sync::Mutex<Option<Instant>>,
    /// Whether the current skills were stored by an earlier process, and no look has ended yet.
    unverified: AtomicBool,
    /// Looks that ran where they were called.
    inline_looks: AtomicU32,
    /// Whether a requested refresh runs or waits for its turn.
    refreshing: AtomicBool,
}

/// The outcome of a requested refresh.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refreshed {
    /// The skills are loaded again.
    Done {
        /// How many there are.
        skills: usize,
        /// Files that have changed in the repositories that they come from.
        files_changed: usize,
    },
    /// Another one is running.
    Busy,
    /// Failed for this reason.
    Failed(String),
}

/// There are no skills to answer from, for this reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotLoaded(pub(crate) String);

impl Refresher {
    pub(crate) fn new(source: impl Source, overrides: &Arc<Overrides>) -> Self {
        Self(Arc::new(Inner {
            source: Box::new(source),
            overrides: Arc::clone(overrides),
            current: Current::new(),
            watch: ArcSwapOption::empty(),
            check: Arc::default(),
            sweeping: std::sync::Mutex::default(),
            unverified: AtomicBool::new(false),
            inline_looks: AtomicU32::new(0),
            refreshing: AtomicBool::new(false),
        }))
    }

    /// Whether other skills may be served later.
    pub(crate) fn can_change(&self) -> bool {
        self.0.source.can_change()
    }

    /// What kind of place the skills come from.
    pub(crate) fn kind(&self) -> Kind {
        self.0.source.kind()
    }

    /// The source, for people.
    pub(crate) fn describe(&self) -> String {
        self.0.source.describe()
    }

    /// Reports each generation that is published from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.0.current.subscribe()
    }

    /// The skills that were loaded last, without a look at the source.
    pub(crate) fn loaded(&self) -> Option<Arc<Generation>> {
        self.0.current.get()
    }

    /// How often the timer looks at a source that is not watched: `refresh.interval_minutes`, or
    /// `usual` if nobody has set it. `None` if the skills are not to be refreshed periodically.
    pub(super) fn interval(&self, usual: Duration) -> Option<Duration> {
        let overrides = &self.0.overrides;
        let settings = self
            .loaded()
            .and_then(|it| it.catalog().ok()?.settings().ok());
        let settings = settings.unwrap_or_else(|| overrides.apply(Settings::default()));
        let minutes = settings.refresh_interval_minutes;
        let is_set = minutes != Settings::default().refresh_interval_minutes
            || overrides.value("refresh.interval_minutes").is_some();
        let interval = if is_set {
            Duration::from_secs(60 * u64::from(minutes))
        } else {
            usual
        };
        settings.refresh_enabled.then_some(interval)
    }

    /// The watch on the source, if there is one.
    pub(super) fn watch(&self) -> Option<Arc<Watch>> {
        self.0.watch.load_full()
    }

    /// The skills as they are now, if that can be told without blocking.
    pub(crate) fn ready(&self) -> Option<Result<Arc<Generation>, NotLoaded>> {
        let inner = &*self.0;
        match inner.current.get() {
            Some(current) if inner.is_current() => return Some(Ok(current)),
            Some(_) => {}
            None => {
                if let Some(stored) = inner.publish_stored() {
                    self.in_background(Inner::look_fully);
                    return Some(Ok(stored));
                }
            }
        }
        let state = inner.source.fingerprint_now()?;
        let mut check = inner.check.try_lock().ok()?;
        inner.look(&mut check, state.map_err(Error::from));
        let outcome = inner.outcome(&check);
        if inner.inline_looks.fetch_add(1, Ordering::Relaxed) == CALLS_BEFORE_WATCH {
            drop(check);
            self.in_background(Inner::begin_to_watch);
        }
        Some(outcome)
    }

    /// The skills as they are now.
    pub(crate) async fn current(&self) -> Result<Arc<Generation>, NotLoaded> {
        if let Some(ready) = self.ready() {
            return ready;
        }
        // Once only: where files come and go all the time, there is always one to wait for.
        if let Some(Verdict::Wait(time)) = self.0.verdict() {
            sleep(time).await;
            if let Some(ready) = self.ready() {
                return ready;
            }
        }
        let mut look = std::pin::pin!(self.look_since(Instant::now()));
        if let Some(current) = self.loaded() {
            // Without a watch it is not known yet whether anything has changed.
            let overdue = || self.0.verdict().is_none() && self.0.sweeps_for_long();
            if !overdue()
                && let Ok(outcome) = timeout(SWEEP, &mut look).await
            {
                return outcome;
            }
            if overdue() {
                return Ok(current);
            }
            return match timeout(LOAD, look).await {
                Ok(outcome) => outcome,
                Err(_) => Ok(self.loaded().unwrap_or(current)),
            };
        }
        if let Ok(outcome) = timeout(LOAD, &mut look).await {
            return outcome;
        }
        if let Some(stand_in) = self.0.publish_stand_in() {
            return Ok(stand_in);
        }
        let first = timeout(FIRST_LOAD, look).await;
        first.unwrap_or_else(|_| Err(self.still_reading()))
    }

    /// The same for what can be answered without skills: it waits for the first ones for a short time
    /// only.
    pub(crate) async fn current_soon(&self) -> Result<Arc<Generation>, NotLoaded> {
        let current = timeout(AT_START, self.current()).await;
        current.unwrap_or_else(|_| Err(self.still_reading()))
    }

    fn still_reading(&self) -> NotLoaded {
        NotLoaded(format!(
            "{}: the skills are still being read; ask again in a few seconds",
            self.describe()
        ))
    }

    /// The outcome of a look at the source that began after `called`. Calls that arrive together
    /// share one look.
    async fn look_since(&self, called: Instant) -> Result<Arc<Generation>, NotLoaded> {
        let mut check = Arc::clone(&self.0.check).lock_owned().await;
        let is_known = check.began.is_some_and(|began| began >= called) || self.0.is_current();
        if !is_known {
            check = self.apart(check, Inner::look_fully).await?;
        }
        self.0.outcome(&check)
    }

    /// Looks at the source soon, on a thread of its own, unless a look is under way then.
    fn in_background(&self, look: fn(&Inner, &mut Check)) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let inner = Arc::clone(&self.0);
        runtime.spawn(async move {
            sleep(AFTER_START).await;
            if let Ok(mut check) = Arc::clone(&inner.check).try_lock_owned() {
                drop(tokio::task::spawn_blocking(move || {
                    look(&inner, &mut check);
                }));
            }
        });
    }

    /// Loads the skills once. Fails if they cannot be loaded; findings are nobody's concern here.
    pub(crate) async fn try_out(&self) -> Result<(), Error> {
        let inner = Arc::clone(&self.0);
        let load = move || Ok(inner.source.load(None)?.bundle.catalog().map(drop)?);
        let loaded = tokio::task::spawn_blocking(load).await;
        loaded.unwrap_or_else(|_| Err(Error::Source(PANICKED.to_owned())))
    }

    /// Runs a look at the source on a thread of its own.
    async fn apart(
        &self,
        mut check: OwnedMutexGuard<Check>,
        look: fn(&Inner, &mut Check),
    ) -> Result<OwnedMutexGuard<Check>, NotLoaded> {
        let inner = Arc::clone(&self.0);
        let looked = tokio::task::spawn_blocking(move || {
            look(&inner, &mut check);
            check
        });
        // Only a runtime that shuts down ends it early.
        looked.await.map_err(|_| NotLoaded(PANICKED.to_owned()))
    }
}

impl Inner {
    /// Whether the published skills are current as far as can be told without a look at the source.
    fn is_current(&self) -> bool {
        let by_watch = || {
            let verdict = self.verdict();
            matches!(verdict, Some(Verdict::Unchanged | Verdict::Incomplete))
        };
        let is_known = || self.unverified.load(Ordering::Acquire) || by_watch();
        !self.source.can_change() || self.damaged().is_none() && is_known()
    }

    /// The published skills, if an answer has met damage in them.
    fn damaged(&self) -> Option<Arc<Generation>> {
        self.current.get().filter(|it| it.is_damaged())
    }

    /// What the watch says; `None` if there is none.
    fn verdict(&self) -> Option<Verdict> {
        self.watch.load().as_ref().map(|watch| watch.verdict())
    }

    /// Publishes what an earlier process has stored.
    fn publish_stored(&self) -> Option<Arc<Generation>> {
        let stored = Generation::new(self.source.stored()?, &self.overrides).ok()?;
        self.unverified.store(true, Ordering::Release);
        self.current.publish(stored);
        self.current.get()
    }

    fn publish_stand_in(&self) -> Option<Arc<Generation>> {
        let stand_in = Generation::new(self.source.stand_in()?, &self.overrides).ok()?;
        self.current.publish(stand_in);
        self.current.get()
    }

    /// Whether the look that runs takes longer than a call waits, and it is not known yet whether
    /// anything has changed.
    fn sweeps_for_long(&self) -> bool {
        let sweeping = self.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
        sweeping.is_some_and(|began| began.elapsed() >= SWEEP)
    }

    fn set_sweeping(&self, since: Option<Instant>) {
        *self.sweeping.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn outcome(&self, check: &Check) -> Result<Arc<Generation>, NotLoaded> {
        let failure = || {
            let failure = check.failure.as_ref();
            NotLoaded(failure.map_or_else(String::new, |failure| failure.reason.clone()))
        };
        self.current.get().ok_or_else(failure)
    }

    fn fingerprint(&self) -> Result<u64, Error> {
        let state = catch_unwind(AssertUnwindSafe(|| self.source.fingerprint()));
        let state = state.map_err(|_| Error::Source(PANICKED.to_owned()))?;
        state.map_err(Error::from)
    }

    /// Looks at the source, and watches it from here on. May block.
    fn look_fully(&self, check: &mut Check) {
        for attempt in 1.. {
            let has_skills = self.current.get().is_some();
            if has_skills && self.source.is_being_changed() {
                // The next call looks again.
                self.unverified.store(false, Ordering::Release);
                return;
            }
            self.watch_changes(check);
            self.sweep(check);
            // Whatever is incomplete even now may take long; calls need not wait for it.
            let is_enough = || attempt == ATTEMPTS || self.verdict() == Some(Verdict::Incomplete);
            if check.discarding.is_none() || has_skills && is_enough() {
                return;
            }
            self.await_rest();
        }
    }

    /// Waits until no file is incomplete, for a moment at most.
    fn await_rest(&self) {
        for _ in 0..WAITS {
            thread::sleep(NEXT_ATTEMPT);
            let verdict = self.verdict();
            if !matches!(verdict, Some(Verdict::Incomplete | Verdict::Wait(_))) {
                return;
            }
        }
    }

    /// Looks at a source that was only looked at without blocking so far, if it can be watched.
    fn begin_to_watch(&self, check: &mut Check) {
        self.watch_changes(check);
        if self.watch.load().is_some() {
            self.sweep(check);
        }
        self.set_sweeping(None);
    }

    /// Asks for the fingerprint, and loads if it has moved.
    fn sweep(&self, check: &mut Check) {
        self.set_sweeping(Some(Instant::now()));
        let state = self.fingerprint();
        self.set_sweeping(None);
        self.look(check, state);
        if let Some(watch) = &*self.watch.load() {
            watch.look_ended(check.failure.is_none() && check.discarding.is_none());
        }
        self.unverified.store(false, Ordering::Release);
    }

    /// Begins to watch, or adds new directories to what is watched. The fingerprint is asked
    /// afterwards, so no change falls between the two.
    fn watch_changes(&self, check: &mut Check) {
        // Adding the places means walking the tree.
        self.set_sweeping(Some(Instant::now()));
        let old = self.watch.load_full();
        if old.as_ref().is_some_and(|watch| !watch.look_begins())
            || check
                .unwatchable
                .is_some_and(|at| at.elapsed() < WATCH_RETRY)
        {
            return;
        }
        let Some(paths) = self.source.watch_paths() else {
            return;
        };
        let watch = old.map_or_else(|| Watch::new().map(Arc::new), Ok);
        let watched = watch.and_then(|watch| watch.add(&paths).map(|()| watch));
        match watched {
            Ok(watch) => self.watch.store(Some(watch)),
            Err(reason) => {
                self.watch.store(None);
                if check.unwatchable.replace(Instant::now()).is_none() {
                    self.report_unwatchable(&reason);
                }
            }
        }
    }

    fn report_unwatchable(&self, reason: &Unwatchable) {
        const INSTEAD: &str = "calls compare the times of all files instead";
        match reason {
            Unwatchable::Refused(_) => tracing::warn!(
                "{}: {reason}; {INSTEAD} (sysctl fs.inotify.max_user_watches and max_user_instances set the limits)",
                self.source.describe()
            ),
            reason => tracing::info!("{}: {reason}; {INSTEAD}", self.source.describe()),
        }
    }

    /// Loads if the source has moved to a state that is not known to fail.
    fn look(&self, check: &mut Check, state: Result<u64, Error>) {
        let began = Instant::now();
        if self.unverified.load(Ordering::Acquire) {
            check.loaded = self.current.get().and_then(|stored| stored.state());
        }
        if let Some(damaged) = self.damaged() {
            if check.failure.is_none() {
                tracing::warn!(
                    "{}: the stored skills are damaged and are loaded anew",
                    self.source.describe()
                );
            }
            self.source.discard(damaged.bundle());
            check.loaded = None;
        }
        let discarding = check.discarding.take();
        match state {
            Ok(state) if check.loaded == Some(state) => check.failure = None,
            Ok(state) if check.gave_up_on(state) => {}
            Ok(state) => check.discarding = self.load(check, state, discarding),
            Err(error) => check.fail(None, self.blame(&error)),
        }
        check.began = Some(began);
    }

    /// Loads and publishes. `state` was asked for before, so a change during the load shows as a
    /// moved fingerprint the next time. Returns since when loads are discarded, if this one was.
    fn load(&self, check: &mut Check, state: u64, discarding: Option<Instant>) -> Option<Instant> {
        let previous = self.current.get();
        // Nothing is built on what is damaged.
        let intact = previous.as_ref().filter(|it| !it.is_damaged());
        let bundle = intact.map(|generation| generation.bundle());
        let watch = self.watch.load_full();
        if let Some(watch) = &watch {
            watch.reading_begins();
        }
        let since = discarding.unwrap_or_else(Instant::now);
        let unsettled = || {
            let unsettled = watch.as_ref()?.unsettled();
            let wait = match intact {
                Some(_) => self.source.is_being_changed(),
                // Nothing to leave as it was.
                None => !unsettled.is_empty() && since.elapsed() < LONGEST,
            };
            Some(match intact {
                _ if wait => vec![EVERYTHING.into()],
                Some(_) => unsettled,
                None => Vec::new(),
            })
        };
        let loaded = catch_unwind(AssertUnwindSafe(|| {
            self.source.load_whole(bundle, &unsettled)
        }))
        .unwrap_or_else(|_| Err(Error::Source(PANICKED.to_owned())))
        .and_then(|loaded| {
            let generation = |loaded| Generation::new(loaded, &self.overrides);
            loaded.map(generation).transpose()
        });
        match loaded {
            Ok(None) => return Some(since),
            Ok(Some(generation)) => {
                tracing::info!(
                    skills = generation.len(),
                    "loaded {}",
                    self.source.describe()
                );
                check.loaded = generation.state().or(Some(state));
                if let Some(watch) = watch.filter(|_| generation.must_rewatch()) {
                    watch.places_changed();
                }
                self.current.publish(generation);
                check.failure = None;
            }
            Err(error) => check.fail(Some(state), self.blame(&error)),
        }
        None
    }

    fn blame(&self, error: &Error) -> String {
        format!("{}: {error:#}", self.source.describe())
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
