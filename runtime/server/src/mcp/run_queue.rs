//! How many scripts run at one time, and how many more may wait.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::scripts::ScriptError;

/// Scripts that run for each processor: while one waits for a disk, another computes.
const PER_PROCESSOR: usize = 2;

/// Scripts that may wait. With those that run they are fewer than the requests that one client may
/// have in flight, so they never keep it from asking for a skill.
const WAITING: usize = 16;

/// Lets scripts run, a limited number at a time. Clones share the limit.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunQueue {
    /// How many may run at one time, and a permit for each. Made for the first script: to find the
    /// number of processors takes reading several files, and most servers run none.
    permits: Arc<OnceLock<(usize, Arc<Semaphore>)>>,
    waiting: Arc<AtomicUsize>,
}

impl RunQueue {
    fn permits(&self) -> &(usize, Arc<Semaphore>) {
        self.permits.get_or_init(|| {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            // A machine with many processors still has one client's requests to answer.
            let at_once = (PER_PROCESSOR * processors).min(WAITING - 1);
            (at_once, Arc::new(Semaphore::new(at_once)))
        })
    }

    /// How long a permit may have to be waited for, if each script takes this long.
    pub(crate) fn longest_wait(&self, each: Duration) -> Duration {
        let rounds = WAITING.div_ceil(self.permits().0) + 1;
        each.saturating_mul(u32::try_from(rounds).unwrap_or(u32::MAX))
    }

    /// Waits for a permit, which is returned when it is dropped. Fails at once if too many wait.
    pub(crate) async fn acquire(&self) -> Result<OwnedSemaphorePermit, ScriptError> {
        let (at_once, permits) = self.permits();
        if let Ok(permit) = Arc::clone(permits).try_acquire_owned() {
            return Ok(permit);
        }
        let busy = || ScriptError::Busy(*at_once, WAITING);
        let _waiting = Waiting::new(&self.waiting).ok_or_else(busy)?;
        Arc::clone(permits)
            .acquire_owned()
            .await
            .map_err(|_| busy())
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
    async fn those_beyond_the_queue_are_refused_at_once_and_the_others_run_later() {
        let queue = RunQueue::default();
        let mut held = Vec::new();
        for _ in 0..queue.permits().0 {
            held.push(queue.acquire().await.expect("a permit is free"));
        }
        let waiting: Vec<_> = (0..WAITING)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move { queue.acquire().await.map(drop).is_ok() })
            })
            .collect();
        tokio::task::yield_now().await;
        let refused = queue.acquire().await.expect_err("the queue is full");
        assert_eq!(refused.code(), "RATE_EXCEEDED");
        held.clear();
        for waits in waiting {
            assert!(waits.await.expect("it does not panic"));
        }
        assert!(queue.acquire().await.is_ok());
    }
}
