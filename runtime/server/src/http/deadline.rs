//! When the answer to a request must be there. A task that knows that it takes longer than others
//! moves it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// A point in time that moves. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Deadline(Arc<Mutex<Times>>);

#[derive(Debug)]
struct Times {
    /// What every request gets.
    usual: Instant,
    /// What the task has announced.
    announced: Option<Instant>,
}

/// Waits for a deadline.
#[derive(Debug)]
pub(super) struct DeadlinePassed {
    deadline: Deadline,
    sleep: Pin<Box<Sleep>>,
}

impl Deadline {
    /// One that is this far away.
    pub(super) fn after(time: Duration) -> Self {
        Self(Arc::new(Mutex::new(Times {
            usual: Instant::now() + time,
            announced: None,
        })))
    }

    /// Begins anew with this time, or more if a task has announced that it needs more.
    pub(super) fn restart(&self, time: Duration) {
        self.times().usual = Instant::now() + time;
    }

    /// Announces that a task may take this long from now.
    pub(super) fn announce(&self, time: Duration) {
        self.times().announced = Some(Instant::now() + time);
    }

    /// Waits for it, wherever it moves.
    pub(super) fn passed(&self) -> DeadlinePassed {
        DeadlinePassed {
            sleep: Box::pin(sleep_until(self.at())),
            deadline: self.clone(),
        }
    }

    fn at(&self) -> Instant {
        let times = self.times();
        times.announced.unwrap_or(times.usual).max(times.usual)
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Future for DeadlinePassed {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.sleep.as_mut().poll(context));
            let at = self.deadline.at();
            if at <= self.sleep.deadline() {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_a_task_announces_counts_beside_the_usual_time() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let deadline = Deadline::after(Duration::from_secs(10));
        let passed = deadline.passed();
        deadline.announce(Duration::from_secs(5));
        assert_eq!(deadline.at(), at(10));
        deadline.clone().announce(Duration::from_secs(20));
        assert_eq!(deadline.at(), at(20));
        deadline.restart(Duration::from_secs(1));
        assert_eq!(deadline.at(), at(20));
        passed.await;
        assert_eq!(Instant::now(), at(20));
        deadline.restart(Duration::from_secs(2));
        deadline.passed().await;
        assert_eq!(Instant::now(), at(22));
    }
}
