//! How many scripts run at one time, and how many more may wait for their turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::scripts::ScriptError;

/// Scripts that run for each processor: while one waits for a disk, another computes.
const PER_PROCESSOR: usize = 2;

/// Scripts that may wait. With those that run they are fewer than the requests that one client may
/// have in flight, so they never keep it from asking for a skill.
const WAITING: usize = 16;

/// Hands out turns. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    at_once: usize,
    free: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

impl Turns {
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        // A machine with many processors still has one client's requests to answer.
        let at_once = (PER_PROCESSOR * processors).min(WAITING - 1);
        Self {
            at_once,
            free: Arc::new(Semaphore::new(at_once)),
            waiting: Arc::default(),
        }
    }

    /// How long a turn may have to be waited for, if each script takes this long.
    pub(crate) fn longest_wait(&self, each: Duration) -> Duration {
        let rounds = WAITING.div_ceil(self.at_once) + 1;
        each.saturating_mul(u32::try_from(rounds).unwrap_or(u32::MAX))
    }

    /// Waits for a turn, which lasts until it is dropped. Fails at once if too many wait.
    pub(crate) async fn take(&self) -> Result<OwnedSemaphorePermit, ScriptError> {
        let free = Arc::clone(&self.free);
        if let Ok(turn) = Arc::clone(&free).try_acquire_owned() {
            return Ok(turn);
        }
        let busy = || ScriptError::Busy(self.at_once, WAITING);
        let _waiting = Waiting::new(&self.waiting).ok_or_else(busy)?;
        free.acquire_owned().await.map_err(|_| busy())
    }
}

/// One that waits, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(waiting: &'a AtomicUsize) -> Option<Self> {
        let waits = Self(waiting);
        (waiting.fetch_add(1, Ordering::Relaxed) < WAITING).then_some(waits)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn those_beyond_the_queue_are_refused_at_once_and_the_others_get_their_turn() {
        let turns = Turns::new();
        let mut held = Vec::new();
        for _ in 0..turns.at_once {
            held.push(turns.take().await.expect("a turn is free"));
        }
        let waiting: Vec<_> = (0..WAITING)
            .map(|_| {
                let turns = turns.clone();
                tokio::spawn(async move { turns.take().await.map(drop).is_ok() })
            })
            .collect();
        tokio::task::yield_now().await;
        let refused = turns.take().await.expect_err("the queue is full");
        assert_eq!(refused.code(), "RATE_EXCEEDED");
        held.clear();
        for waits in waiting {
            assert!(waits.await.expect("it does not panic"));
        }
        assert!(turns.take().await.is_ok());
    }
}
