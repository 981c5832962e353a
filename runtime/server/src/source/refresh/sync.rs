//! Refreshes that are asked for, and those of a timer: where skills come from elsewhere, they are
//! brought to this machine first. Calls are answered meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::sleep;

use super::check::STILL_SERVED;
use super::{AFTER_START, Checkout, Inner, NotLoaded, PANICKED, Refreshed, Refresher};

/// How often a source that is elsewhere is synchronised, unless `refresh.interval_minutes` is set
/// (spec 3 §9.3).
const SYNC: Duration = Duration::from_secs(15 * 60);

/// At its start, a server takes what another one has just brought: hosts start several at once, and
/// again and again.
const JUST_NOW: Duration = Duration::from_secs(60);

/// How soon the first synchronisation is tried again if it fails, and twice as long each time after
/// that: a server may start before its machine has a network.
const FIRST_RETRY: Duration = Duration::from_secs(10);

impl Refresher {
    /// Brings the latest skills to this machine, if they come from elsewhere, and loads them again,
    /// whether or not the source has moved. Goes on if its caller stops waiting.
    pub(crate) async fn refresh(&self) -> Refreshed {
        self.refresh_if(Duration::ZERO, true).await
    }

    /// The same where what was brought `fresh` ago is recent enough, and where skills that have not
    /// changed are loaded only if that `is_asked_for`.
    async fn refresh_if(&self, fresh: Duration, is_asked_for: bool) -> Refreshed {
        if self.0.refreshing.swap(true, Ordering::AcqRel) {
            return Refreshed::Busy;
        }
        let refresher = self.clone();
        let task = tokio::spawn(async move {
            let _done = Reset(&refresher.0.refreshing);
            let synced = refresher.sync(fresh).await;
            refresher.load_again(synced, is_asked_for).await
        });
        let failed = |_| Refreshed::Failed(PANICKED.to_owned());
        task.await.unwrap_or_else(failed)
    }

    /// Synchronises the source, which takes as long as a network does. Calls are answered meanwhile.
    async fn sync(&self, fresh: Duration) -> Result<usize, String> {
        if !self.0.source.can_sync() {
            return Ok(0);
        }
        let inner = Arc::clone(&self.0);
        let sync = move || catch_unwind(AssertUnwindSafe(|| inner.source.sync(fresh)));
        let synced = match tokio::task::spawn_blocking(sync).await {
            Ok(Ok(synced)) => synced.map_err(|error| format!("{error:#}")),
            _ => Err(PANICKED.to_owned()),
        };
        if let Err(reason) = &synced {
            tracing::warn!("{reason}");
        }
        synced
    }

    /// Loads the skills again after a synchronisation, whatever has become of that.
    async fn load_again(&self, synced: Result<usize, String>, is_asked_for: bool) -> Refreshed {
        let mut check = Arc::clone(&self.0.check).lock_owned().await;
        if is_asked_for {
            // Loads also what is not known to have changed.
            check.loaded = None;
            check.failure = None;
        }
        let loaded = self.apart(check, Inner::look_fully);
        let reason = match loaded.await {
            Err(NotLoaded(reason)) => return Refreshed::Failed(reason),
            Ok(check) => check.failure.as_ref().map(|failure| failure.reason.clone()),
        };
        let (files_changed, unsynced) = match synced {
            Ok(files_changed) => (files_changed, None),
            Err(reason) => (0, Some(reason)),
        };
        match (unsynced.or(reason), self.loaded()) {
            (None, current) => Refreshed::Done {
                skills: current.map_or(0, |current| current.len()),
                files_changed,
            },
            (Some(reason), Some(_)) => Refreshed::Failed(format!("{reason}{STILL_SERVED}")),
            (Some(reason), None) => Refreshed::Failed(reason),
        }
    }

    /// The repositories that the skills come from.
    pub(crate) fn checkouts(&self) -> Vec<Checkout> {
        self.0.source.checkouts()
    }

    /// Brings the latest skills to this machine now and again and again, if they come from
    /// elsewhere. Must be called on the runtime, and ends with it.
    pub(crate) fn keep_synced(&self) {
        if !self.0.source.can_sync() {
            return;
        }
        let refresher = self.clone();
        tokio::spawn(async move {
            // The first calls of a process go first.
            sleep(AFTER_START).await;
            let mut fresh = JUST_NOW;
            let mut retry = FIRST_RETRY;
            let mut has_failed = true;
            loop {
                // Failures are in the log.
                let outcome = refresher.refresh_if(fresh, false).await;
                has_failed &= matches!(outcome, Refreshed::Failed(_));
                // Whether to refresh periodically may be up to the skills.
                let interval = loop {
                    match refresher.interval(SYNC) {
                        Some(interval) => break interval,
                        None => sleep(SYNC).await,
                    }
                };
                let pause = if has_failed {
                    retry.min(interval)
                } else {
                    interval
                };
                retry = retry.saturating_mul(2);
                sleep(pause).await;
                fresh = interval / 2;
            }
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
