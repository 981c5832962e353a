//! What is known about a source between two looks at it: which state is loaded, what failed and when,
//! and since when loads are discarded because files are being written.

use std::time::{Duration, Instant};

/// How long a state that did not load is left alone. Without this pause every call would try
/// again; with it a passing failure (no file descriptors left) still heals.
const RETRY: Duration = Duration::from_secs(2);

/// How often the same failure is reported on stderr.
const REPORT: Duration = Duration::from_secs(60);

/// Added to a failure if there are skills to serve.
pub(super) const STILL_SERVED: &str = "; the skills loaded before are still served";

/// What is known about the source.
#[derive(Default)]
pub(super) struct Check {
    /// The state that the current generation was loaded from.
    pub(super) loaded: Option<u64>,
    /// When the last look at the source began.
    pub(super) began: Option<Instant>,
    pub(super) failure: Option<Failure>,
    /// Since when loads are discarded because files are being written.
    pub(super) discarding: Option<Instant>,
    /// When watching failed.
    pub(super) unwatchable: Option<Instant>,
}

pub(super) struct Failure {
    /// The state that did not load; `None` if the fingerprint failed.
    state: Option<u64>,
    at: Instant,
    reported: Instant,
    pub(super) reason: String,
}

impl Check {
    pub(super) fn gave_up_on(&self, state: u64) -> bool {
        self.failure
            .as_ref()
            .is_some_and(|failure| failure.state == Some(state) && failure.at.elapsed() < RETRY)
    }

    pub(super) fn fail(&mut self, state: Option<u64>, reason: String) {
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
