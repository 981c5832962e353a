//! When a source is asked for newer skills, and what happens then: before every call the
//! fingerprint, only if it moved a load, then one swap of what is current. One look at the source
//! runs at a time, and a load that fails leaves the old skills in place.
//!
//! A look that cannot block runs where it is called; any other runs on a thread of its own. It runs
//! to its end even if its caller stops waiting, so a client that hangs up and asks again does not
//! start a second one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, OwnedMutexGuard, watch};

use super::current::{Current, Generation};
use super::{Kind, Source};
use crate::error::Error;

/// How long a state that did not load is left alone. Without this pause every call would try
/// again; with it a passing failure (no file descriptors left) still heals.
const RETRY: Duration = Duration::from_secs(2);

/// How often the same failure is reported on stderr.
const REPORT: Duration = Duration::from_secs(60);

/// Added to a failure if there are skills to serve.
const STILL_SERVED: &str = "; the skills loaded before are still served";

/// Reported instead of the text of a panic.
const PANICKED: &str = "reading the skills failed unexpectedly; stderr says how";

/// Keeps what is current up to date with a source. Clones share one state.
#[derive(Clone)]
pub(crate) struct Refresher(Arc<Inner>);

struct Inner {
    source: Box<dyn Source>,
    policy: Policy,
    current: Current,
    /// Held by the one look at the source that runs.
    check: Arc<Mutex<Check>>,
    /// Whether a requested refresh runs or waits for its turn.
    refreshing: AtomicBool,
}

/// When the source is asked whether it has moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    /// Once, for the first load.
    Never,
    /// Before every call, so that each call sees the latest edit.
    EveryCall,
}

/// The outcome of a requested refresh.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refreshed {
    /// Loaded this number of skills.
    Done(usize),
    /// Another one is running.
    Busy,
    /// Failed for this reason.
    Failed(String),
}

/// There are no skills to answer from, for this reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotLoaded(pub(crate) String);

/// What is known about the source.
#[derive(Default)]
struct Check {
    /// The state that the current generation was loaded from.
    loaded: Option<u64>,
    /// When the last look at the source began.
    began: Option<Instant>,
    failure: Option<Failure>,
}

struct Failure {
    /// The state that did not load; `None` if the fingerprint failed.
    state: Option<u64>,
    at: Instant,
    reported: Instant,
    reason: String,
}

impl Refresher {
    pub(crate) fn new(source: impl Source) -> Self {
        let policy = if source.can_change() {
            Policy::EveryCall
        } else {
            Policy::Never
        };
        Self(Arc::new(Inner {
            source: Box::new(source),
            policy,
            current: Current::new(),
            check: Arc::default(),
            refreshing: AtomicBool::new(false),
        }))
    }

    /// Whether other skills may be served later.
    pub(crate) fn can_change(&self) -> bool {
        self.0.policy != Policy::Never
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

    /// The skills as they are now, if that can be told without blocking.
    pub(crate) fn ready(&self) -> Option<Result<Arc<Generation>, NotLoaded>> {
        if let Some(settled) = self.0.settled() {
            return Some(Ok(settled));
        }
        let state = self.0.source.fingerprint_now()?;
        let mut check = self.0.check.try_lock().ok()?;
        self.0.look(&mut check, state.map_err(Error::from));
        Some(self.0.outcome(&check))
    }

    /// The skills as they are now.
    pub(crate) async fn current(&self) -> Result<Arc<Generation>, NotLoaded> {
        if let Some(ready) = self.ready() {
            return ready;
        }
        let called = Instant::now();
        let mut check = Arc::clone(&self.0.check).lock_owned().await;
        // A look that began after this call serves it as well: calls that arrive together share
        // one sweep of the directories.
        if check.began.is_none_or(|began| began < called) {
            check = self
                .apart(check, |inner, check| {
                    let state = inner.fingerprint();
                    inner.look(check, state);
                })
                .await?;
        }
        self.0.outcome(&check)
    }

    /// Loads the skills again, whether or not the source has moved.
    pub(crate) async fn refresh(&self) -> Refreshed {
        if self.0.refreshing.swap(true, Ordering::AcqRel) {
            return Refreshed::Busy;
        }
        let _done = Reset(&self.0.refreshing);
        let check = Arc::clone(&self.0.check).lock_owned().await;
        let loaded = self.apart(check, |inner, check| {
            let began = Instant::now();
            match inner.fingerprint() {
                Ok(state) => inner.load(check, state),
                Err(error) => check.fail(None, inner.blame(&error)),
            }
            check.began = Some(began);
        });
        let reason = match loaded.await {
            Err(NotLoaded(reason)) => return Refreshed::Failed(reason),
            Ok(check) => check.failure.as_ref().map(|failure| failure.reason.clone()),
        };
        match (reason, self.loaded()) {
            (None, current) => Refreshed::Done(current.map_or(0, |current| current.len())),
            (Some(reason), Some(_)) => Refreshed::Failed(format!("{reason}{STILL_SERVED}")),
            (Some(reason), None) => Refreshed::Failed(reason),
        }
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
    /// The current generation, if it can never be replaced.
    fn settled(&self) -> Option<Arc<Generation>> {
        match self.policy {
            Policy::Never => self.current.get(),
            Policy::EveryCall => None,
        }
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

    /// Loads if the source has moved to a state that is not known to fail.
    fn look(&self, check: &mut Check, state: Result<u64, Error>) {
        let began = Instant::now();
        match state {
            Ok(state) if check.loaded == Some(state) => check.failure = None,
            Ok(state) if check.gave_up_on(state) => {}
            Ok(state) => self.load(check, state),
            Err(error) => check.fail(None, self.blame(&error)),
        }
        check.began = Some(began);
    }

    /// Loads and publishes. `state` was asked for before, so a change during the load shows as a
    /// moved fingerprint the next time.
    fn load(&self, check: &mut Check, state: u64) {
        let previous = self.current.get();
        let previous = previous.as_ref().map(|generation| generation.bundle());
        let loaded = catch_unwind(AssertUnwindSafe(|| self.source.load(previous)))
            .unwrap_or_else(|_| Err(Error::Source(PANICKED.to_owned())))
            .and_then(Generation::new);
        match loaded {
            Ok(generation) => {
                tracing::info!(
                    skills = generation.len(),
                    "loaded {}",
                    self.source.describe()
                );
                self.current.publish(generation);
                check.loaded = Some(state);
                check.failure = None;
            }
            Err(error) => check.fail(Some(state), self.blame(&error)),
        }
    }

    fn blame(&self, error: &Error) -> String {
        format!("{}: {error:#}", self.source.describe())
    }
}

impl Check {
    fn gave_up_on(&self, state: u64) -> bool {
        self.failure
            .as_ref()
            .is_some_and(|failure| failure.state == Some(state) && failure.at.elapsed() < RETRY)
    }

    fn fail(&mut self, state: Option<u64>, reason: String) {
        let at = Instant::now();
        let known = self
            .failure
            .take()
            .filter(|last| last.reason == reason && last.reported.elapsed() < REPORT);
        if known.is_none() {
            let served = if self.loaded.is_some() {
                STILL_SERVED
            } else {
                ""
            };
            tracing::error!("{reason}{served}");
        }
        let reported = known.map_or(at, |last| last.reported);
        self.failure = Some(Failure {
            state,
            at,
            reported,
            reason,
        });
    }
}

/// Clears the mark of a requested refresh, also if its caller stops waiting.
struct Reset<'a>(&'a AtomicBool);

impl Drop for Reset<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
