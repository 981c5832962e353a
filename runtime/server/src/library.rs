//! The skills that are current, and how they are replaced: the source is asked
//! before every call, one load runs at a time, and one atomic swap publishes
//! it. A load that fails changes nothing. What is asked of a generation is
//! `mcp`'s business.
//!
//! A timer or a watcher only calls [`Library::current`] earlier; `changes` has one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use skillbundle_format::{Bundle, Catalog};
use tokio::sync::{Mutex, watch};

use crate::error::Error;
use crate::source::{Loaded, Mode, Source};

/// How long a state that did not load is left alone. Without it every call
/// would try again; with it a passing fault (no descriptors left) heals.
const RETRY: Duration = Duration::from_secs(2);

/// How often the same failure is reported on stderr.
const REPORT: Duration = Duration::from_secs(60);

/// What is said of a failure that leaves something to serve.
const STILL_SERVED: &str = "; the skills loaded before are still served";

/// What is said of a fault of ours.
const FAILED: &str = "reading the skills failed unexpectedly; stderr says how";

/// What is current, and where newer things come from. Clones are of one library.
#[derive(Clone)]
pub(crate) struct Library(Arc<Shelf>);

struct Shelf {
    source: Arc<dyn Source>,
    mode: Mode,
    current: ArcSwapOption<Generation>,
    check: Mutex<Check>,
    refreshing: AtomicBool,
    /// Sent whenever skills have been replaced.
    published: watch::Sender<()>,
}

/// One published bundle. A call takes one and answers from nothing else.
pub(crate) struct Generation {
    bundle: Bundle,
    /// The directory of each root, where a client can look into it.
    bases: Vec<Option<PathBuf>>,
}

/// What a refresh that was asked for came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refresh {
    /// Loaded; so many skills.
    Done(usize),
    /// Another one is under way.
    Busy,
    /// It failed, and this is why.
    Failed(String),
}

/// There is nothing to answer from, for this reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unavailable(pub(crate) String);

/// What is known about the source. Whoever holds its lock is the one load.
#[derive(Default)]
struct Check {
    /// The state that the current generation was loaded from.
    loaded: Option<u64>,
    /// When the last look at the source began.
    began: Option<Instant>,
    failure: Option<Failure>,
}

struct Failure {
    /// The state that did not load; nothing where it could not be told.
    state: Option<u64>,
    at: Instant,
    reported: Instant,
    reason: String,
}

impl Library {
    pub(crate) fn new(source: impl Source) -> Self {
        let mode = source.mode();
        Self(Arc::new(Shelf {
            source: Arc::new(source),
            mode,
            current: ArcSwapOption::empty(),
            check: Mutex::new(Check::default()),
            refreshing: AtomicBool::new(false),
            published: watch::Sender::new(()),
        }))
    }

    /// What kind of place the skills come from.
    pub(crate) fn mode(&self) -> Mode {
        self.0.mode
    }

    /// Tells of every generation that is published from now on.
    pub(crate) fn published(&self) -> watch::Receiver<()> {
        self.0.published.subscribe()
    }

    /// What the skills come from, in words.
    pub(crate) fn describe(&self) -> String {
        self.0.source.describe()
    }

    /// The skills that were loaded last, if any were, without a look at the source.
    pub(crate) fn loaded(&self) -> Option<Arc<Generation>> {
        self.0.current.load_full()
    }

    /// The skills as they are now.
    pub(crate) async fn current(&self) -> Result<Arc<Generation>, Unavailable> {
        if !self.mode().is_slow() {
            return self.0.current().await;
        }
        let inner = Arc::clone(&self.0);
        let looked = apart(async move { inner.current().await }).await;
        looked.unwrap_or_else(|| Err(Unavailable(FAILED.to_owned())))
    }

    /// The same, where telling takes no waiting and nothing is wrong.
    pub(crate) fn at_once(&self) -> Option<Arc<Generation>> {
        if self.mode().is_slow() {
            return None;
        }
        let mut unwoken = Context::from_waker(Waker::noop());
        match pin!(self.0.current()).poll(&mut unwoken) {
            Poll::Ready(current) => current.ok(),
            Poll::Pending => None,
        }
    }

    /// Loads the skills again, whether or not anything has changed.
    pub(crate) async fn refresh(&self) -> Refresh {
        let inner = Arc::clone(&self.0);
        let refreshed = apart(async move { inner.refresh().await }).await;
        refreshed.unwrap_or_else(|| Refresh::Failed(FAILED.to_owned()))
    }
}

/// Does this to its end, also where who waits for it goes away: what a client
/// that hangs up has begun would otherwise be begun again for the next one, on
/// one thread more. Nothing where it panics.
async fn apart<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Option<T> {
    tokio::spawn(work).await.ok()
}

impl Shelf {
    async fn current(&self) -> Result<Arc<Generation>, Unavailable> {
        if self.mode == Mode::Embedded
            && let Some(current) = self.current.load_full()
        {
            return Ok(current);
        }
        let asked = Instant::now();
        let mut check = self.check.lock().await;
        // A look that began after this call was made serves it as well: calls
        // that arrive together share one sweep.
        if check.began.is_none_or(|began| began < asked) {
            self.look(&mut check).await;
        }
        self.current
            .load_full()
            .ok_or_else(|| Unavailable(check.reason()))
    }

    async fn refresh(&self) -> Refresh {
        if self.refreshing.swap(true, Ordering::AcqRel) {
            return Refresh::Busy;
        }
        let _done = Reset(&self.refreshing);
        let mut check = self.check.lock().await;
        let began = Instant::now();
        match self.state().await {
            Ok(state) => self.load(&mut check, state).await,
            Err(error) => check.fail(None, self.blame(&error)),
        }
        check.began = Some(began);
        match (&check.failure, self.current.load().as_deref()) {
            (None, Some(current)) => Refresh::Done(current.len()),
            (_, Some(_)) => Refresh::Failed(format!("{}{STILL_SERVED}", check.reason())),
            (_, None) => Refresh::Failed(check.reason()),
        }
    }

    async fn look(&self, check: &mut Check) {
        let began = Instant::now();
        match self.state().await {
            Ok(state) if check.loaded == Some(state) => check.failure = None,
            Ok(state) if check.gave_up_on(state) => {}
            Ok(state) => self.load(check, state).await,
            Err(error) => check.fail(None, self.blame(&error)),
        }
        check.began = Some(began);
    }

    /// The source's present state.
    async fn state(&self) -> Result<u64, Error> {
        self.ask(|source| source.fingerprint().map_err(Error::from))
            .await
    }

    fn blame(&self, error: &Error) -> String {
        format!("{}: {error}", self.source.describe())
    }

    /// Loads and publishes. `state` was asked for before, so that a change
    /// during the load shows as a moved one the next time.
    async fn load(&self, check: &mut Check, state: u64) {
        match self.ask(Source::load).await.and_then(Generation::new) {
            Ok(generation) => {
                let source = self.source.describe();
                tracing::info!(skills = generation.len(), "loaded {source}");
                self.current.store(Some(Arc::new(generation)));
                self.published.send_replace(());
                check.loaded = Some(state);
                check.failure = None;
            }
            Err(error) => check.fail(Some(state), self.blame(&error)),
        }
    }

    /// Asks the source, on a thread of its own where that may take long. A
    /// panic in it is a failure like any other.
    async fn ask<T: Send + 'static>(
        &self,
        question: fn(&dyn Source) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let source = Arc::clone(&self.source);
        let asked = move || catch_unwind(AssertUnwindSafe(|| question(&*source)));
        let answer = if self.mode.is_slow() {
            tokio::task::spawn_blocking(asked)
                .await
                .ok()
                .and_then(Result::ok)
        } else {
            asked().ok()
        };
        answer.unwrap_or_else(|| Err(Error::Source(FAILED.to_owned())))
    }
}

impl Generation {
    fn new(loaded: Loaded) -> Result<Self, Error> {
        for notice in &loaded.notices {
            tracing::warn!("{notice}");
        }
        // A bundle whose index cannot be looked into must not replace one that can.
        loaded.bundle.catalog()?;
        Ok(Self {
            bundle: loaded.bundle,
            bases: loaded.bases,
        })
    }

    /// The questions that these skills answer.
    pub(crate) fn catalog(&self) -> Result<Catalog<'_>, skillbundle_format::Error> {
        self.bundle.catalog()
    }

    /// What tells these skills from any others.
    pub(crate) fn content_address(&self) -> [u8; 32] {
        self.bundle.content_address()
    }

    /// The same in words: what a request answered by these skills can name.
    #[cfg(feature = "http")]
    pub(crate) fn digest(&self) -> String {
        self.bundle.content_hex()
    }

    /// The directory of a root, where a client can look into it.
    pub(crate) fn base(&self, root: u32) -> Option<&PathBuf> {
        self.bases.get(root as usize)?.as_ref()
    }

    /// The number of skills.
    pub(crate) fn len(&self) -> usize {
        self.bundle.catalog().map_or(0, |catalog| catalog.len())
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

    fn reason(&self) -> String {
        self.failure
            .as_ref()
            .map_or_else(String::new, |failure| failure.reason.clone())
    }
}

/// Takes the mark of a refresh away, however it ends.
struct Reset<'a>(&'a AtomicBool);

impl Drop for Reset<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
