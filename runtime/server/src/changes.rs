//! Which lists of the protocol read differently now, for clients that can be
//! told: once things have settled, and only where a client that asked again
//! would get another answer. How a client is told is `mcp`'s business.
//!
//! The library looks at its source when it is asked. While somebody waits
//! here, a timer asks too; otherwise nothing here costs anything.

use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::library::Library;

/// How long nothing may have moved before a change is told: editors and `git
/// checkout` write many files one after the other, and every notice makes a
/// host ask for the whole list and lose its prompt cache.
const QUIET: Duration = Duration::from_millis(500);

/// A source that never comes to rest is told of after this long.
const LONGEST: Duration = Duration::from_secs(5);

/// How often the timer looks. Calls see every edit at once anyway; this is for
/// hosts that sit idle with an old list.
const LOOK: Duration = Duration::from_secs(5);

/// A look may take a hundredth of the time between two: sweeping 10,000 files
/// takes 18 ms, so only larger trees are looked at less often.
const SHARE: u32 = 100;

/// A list that clients can be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Tools,
    Resources,
    Prompts,
}

impl List {
    pub(crate) const ALL: [Self; 3] = [Self::Tools, Self::Resources, Self::Prompts];
}

/// Waits for changes.
pub(crate) struct Changes<'a> {
    library: &'a Library,
    published: watch::Receiver<()>,
    /// Until the next look.
    pause: Duration,
}

impl<'a> Changes<'a> {
    /// Changes from now on.
    pub(crate) fn new(library: &'a Library) -> Self {
        Self {
            library,
            published: library.published(),
            pause: LOOK,
        }
    }

    /// Comes back when skills are loaded for the first time. Until somebody
    /// has asked for them there is nothing to look at.
    pub(crate) async fn begun(&mut self) {
        // It fails where the library is gone, and we hold it.
        let _ = self.published.changed().await;
    }

    /// Comes back when skills have been replaced and have come to rest. They
    /// may be the same as before, or say the same: compare digests.
    pub(crate) async fn settled(&mut self) {
        while !self.has_changed() {
            tokio::select! {
                _ = self.published.changed() => break,
                () = sleep(self.pause) => self.look().await,
            }
        }
        let latest = tokio::time::Instant::now() + LONGEST;
        loop {
            self.published.mark_unchanged();
            sleep(QUIET).await;
            self.look().await;
            if !self.has_changed() || tokio::time::Instant::now() >= latest {
                break;
            }
        }
        self.published.mark_unchanged();
    }

    async fn look(&mut self) {
        let began = Instant::now();
        // A fault is reported by the library; the next look may fare better.
        let _ = self.library.current().await;
        // A load takes longer than a look, and is rare.
        if !self.has_changed() {
            self.pause = LOOK.max(began.elapsed() * SHARE);
        }
    }

    fn has_changed(&self) -> bool {
        // It fails where the library is gone, and we hold it.
        self.published.has_changed().unwrap_or(false)
    }
}

/// What a list reads like: where this is the same, so is the list, in this process.
pub(crate) fn digest(list: &(impl Serialize + ?Sized)) -> u64 {
    let mut hashed = Hashed::default();
    serde_json::to_writer(&mut hashed, list)
        .expect("a list is plain JSON, and hashing cannot fail");
    hashed.0.finish()
}

/// Takes bytes and keeps their hash.
#[derive(Default)]
struct Hashed(DefaultHasher);

impl io::Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::future::Future;

    use serde_json::json;
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
    fn equal_lists_have_equal_digests_and_others_do_not() {
        let tool = |text: &'static str| json!([{ "name": "skill", "description": text }]);
        assert_eq!(digest(&tool("a")), digest(&tool("a")));
        assert_ne!(digest(&tool("a")), digest(&tool("b")));
        assert_ne!(digest(&tool("a")), digest(&json!([])));
    }

    #[test]
    fn a_change_that_a_call_saw_is_told_when_it_is_quiet() {
        on_jumping_clock(async {
            let source = Fake::new(spec_folders());
            let library = Library::new(source.clone());
            let mut changes = Changes::new(&library);
            let began = tokio::time::Instant::now();
            let _ = library.current().await;
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
            let library = Library::new(source.clone());
            let _ = library.current().await;
            let mut changes = Changes::new(&library);
            let began = tokio::time::Instant::now();
            source.edit(spec_tree());
            changes.settled().await;
            assert_eq!(since(began), 5500);
        });
    }

    #[test]
    fn nothing_is_looked_at_more_often_than_every_five_seconds() {
        on_jumping_clock(async {
            let source = Fake::new(spec_folders());
            let library = Library::new(source.clone());
            let _ = library.current().await;
            let before = source.looks();
            let mut changes = Changes::new(&library);
            let nothing = timeout(Duration::from_secs(62), changes.settled()).await;
            assert!(nothing.is_err());
            let looks = source.looks() - before;
            assert!((10..=12).contains(&looks), "{looks}");
        });
    }

    #[test]
    fn a_source_that_does_not_rest_is_told_of_in_the_end() {
        on_jumping_clock(async {
            let source = Fake::new(spec_folders());
            let library = Library::new(source.clone());
            let mut changes = Changes::new(&library);
            let began = tokio::time::Instant::now();
            let restless = async {
                loop {
                    source.edit(spec_folders());
                    let _ = library.current().await;
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
