//! Waits for skills to be replaced and to come to rest. While someone waits here, the watch on the
//! source is followed, or else a timer asks it; otherwise nothing here costs anything. What a client is told of a change is
//! decided in `mcp::notifier`.

use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::sleep;

use super::Refresher;
use super::watch::{LONGEST, QUIET, Watch};

/// How often the timer asks, unless `refresh.interval_minutes` is set. Calls see every edit at once
/// anyway; this is for hosts that sit idle with an old list.
const LOOK: Duration = Duration::from_secs(5);

/// Asking may take a hundredth of the time between two looks: sweeping 10,000 files takes 18 ms, so
/// only larger trees are asked less often.
const SHARE: u32 = 100;

/// Waits for changes.
pub(crate) struct Changes<'a> {
    refresher: &'a Refresher,
    published: watch::Receiver<()>,
    /// Until the next look.
    pause: Duration,
}

impl<'a> Changes<'a> {
    /// Changes from now on.
    pub(crate) fn new(refresher: &'a Refresher) -> Self {
        Self {
            refresher,
            published: refresher.subscribe(),
            pause: LOOK,
        }
    }

    /// Returns when skills are loaded for the first time. Until a request has needed them there is
    /// nothing to ask about.
    pub(crate) async fn first_load(&mut self) {
        // It fails only if the refresher is gone, and we hold it.
        let _ = self.published.changed().await;
    }

    /// Returns when skills have been replaced and have come to rest. They may be the same as
    /// before, or read the same: compare digests.
    pub(crate) async fn settled(&mut self) {
        while !self.has_changed() {
            let watch = self.refresher.watch();
            let pause = self.refresher.interval(self.pause);
            let is_timed = watch.is_none() && pause.is_some();
            tokio::select! {
                _ = self.published.changed() => break,
                () = reported(watch.as_deref()) => break,
                () = sleep(pause.unwrap_or_default()), if is_timed => self.look().await,
            }
        }
        let latest = tokio::time::Instant::now() + LONGEST;
        loop {
            self.published.mark_unchanged();
            sleep(self.unrest().unwrap_or(QUIET)).await;
            let is_late = tokio::time::Instant::now() >= latest;
            if !is_late && self.unrest().is_some() {
                continue;
            }
            self.look().await;
            if is_late || !self.has_changed() {
                break;
            }
        }
        self.published.mark_unchanged();
    }

    /// How long the watched places must still be quiet, if something has just changed there.
    fn unrest(&self) -> Option<Duration> {
        let quiet_for = self.refresher.watch()?.quiet_for()?;
        QUIET.checked_sub(quiet_for)
    }

    async fn look(&mut self) {
        let began = Instant::now();
        // A failure is reported by the refresher, and the next look may succeed.
        let _ = self.refresher.current().await;
        // A load takes longer than a look, and is rare.
        if !self.has_changed() {
            self.pause = LOOK.max(began.elapsed() * SHARE);
        }
    }

    fn has_changed(&self) -> bool {
        // It fails only if the refresher is gone, and we hold it.
        self.published.has_changed().unwrap_or(false)
    }
}

/// Returns when a watch reports a change.
async fn reported(watch: Option<&Watch>) {
    match watch {
        Some(watch) => watch.changed().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::future::Future;
    use std::sync::Arc;

    use serde_json::Value;
    use skillbundle_format::{Overrides, Setting};
    use tokio::time::timeout;

    use super::*;
    use crate::testing::{Fake, spec_folders, spec_tree};

    /// Runs on a clock that jumps over every wait.
    fn on_jumping_clock<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap()
            .block_on(work)
    }

    fn since(began: tokio::time::Instant) -> u128 {
        began.elapsed().as_millis()
    }

    #[test]
    fn a_change_that_a_call_saw_is_reported_after_a_quiet_time() {
        on_jumping_clock(async {
            let source = Fake::new(spec_folders());
            let refresher = Refresher::new(source.clone(), &Arc::default());
            let mut changes = Changes::new(&refresher);
            let began = tokio::time::Instant::now();
            let _ = refresher.current().await;
            changes.settled().await;
            assert_eq!(since(began), 500);
            let nothing = timeout(Duration::from_secs(60), changes.settled()).await;
            assert!(nothing.is_err(), "and only once");
        });
    }

    #[test]
    fn without_calls_a_timer_sees_the_change() {
        on_jumping_clock(async {
            let source = Fake::new(spec_folders());
            let refresher = Refresher::new(source.clone(), &Arc::default());
            let _ = refresher.current().await;
            let mut changes = Changes::new(&refresher);
            let began = tokio::time::Instant::now();
            source.edit(spec_tree());
            changes.settled().await;
            assert_eq!(since(began), 5500);
        });
    }

    #[test]
    fn the_timer_asks_no_more_often_than_every_five_seconds() {
        on_jumping_clock(async {
            let source = Fake::new(spec_folders());
            let refresher = Refresher::new(source.clone(), &Arc::default());
            let _ = refresher.current().await;
            let before = source.looks();
            let mut changes = Changes::new(&refresher);
            let nothing = timeout(Duration::from_secs(62), changes.settled()).await;
            assert!(nothing.is_err());
            let looks = source.looks() - before;
            assert!((10..=12).contains(&looks), "{looks}");
        });
    }

    #[test]
    fn settings_say_how_often_the_timer_asks_and_whether_it_does() {
        let set = |name: &str, value: Value| (Setting::find(name).unwrap(), value);
        let hourly = set("refresh.interval_minutes", 60.into());
        let off = set("refresh.enabled", false.into());
        let quarter = set("refresh.interval_minutes", 15.into());
        for (decided, (content_refreshes, content_minutes), seconds, looks) in [
            (vec![], (true, 15), 182, 36),
            (vec![], (true, 30), 7201, 4),
            (vec![], (false, 15), 7201, 0),
            (vec![quarter], (true, 30), 7201, 8),
            (vec![hourly.clone()], (true, 15), 7201, 2),
            (vec![hourly.clone()], (false, 15), 7201, 0),
            (vec![hourly, off], (true, 15), 7201, 0),
        ] {
            let mut skills = spec_folders();
            skills.settings.refresh_enabled = content_refreshes;
            skills.settings.refresh_interval_minutes = content_minutes;
            let overrides = Overrides {
                values: decided,
                ..Overrides::default()
            };
            on_jumping_clock(async {
                let source = Fake::new(skills);
                let refresher = Refresher::new(source.clone(), &Arc::new(overrides));
                let _ = refresher.current().await;
                let before = source.looks();
                let mut changes = Changes::new(&refresher);
                let nothing = timeout(Duration::from_secs(seconds), changes.settled()).await;
                assert!(nothing.is_err());
                let found = source.looks() - before;
                assert_eq!(found, looks, "{content_refreshes} {content_minutes}");
            });
        }
    }

    #[test]
    fn changes_of_a_source_that_never_rests_are_reported_in_the_end() {
        on_jumping_clock(async {
            let source = Fake::new(spec_folders());
            let refresher = Refresher::new(source.clone(), &Arc::default());
            let mut changes = Changes::new(&refresher);
            let began = tokio::time::Instant::now();
            let restless = async {
                loop {
                    source.edit(spec_folders());
                    let _ = refresher.current().await;
                    sleep(Duration::from_millis(100)).await;
                }
            };
            tokio::select! {
                () = restless => {}
                () = changes.settled() => {}
            }
            assert!((4900..=5600).contains(&since(began)), "{}", since(began));
        });
    }
}
