//! The loop of the publishing thread: takes the lock of those who publish, sends one segment after the
//! other, and removes each that has arrived; waits for more, or after a fault longer and longer.

use std::collections::HashSet;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::error::JournalError;
use crate::http::buffer::{Buffer, Segment};
use crate::http::post::{Client, Rejected};
use crate::http::{HttpOptions, Signals};
use crate::journal::Shared;

/// The longest pause after faults, in intervals: with the usual 30 seconds a quarter of an hour.
const LONGEST_PAUSE: u32 = 30;

/// Publishes what is in one buffer.
pub(super) struct Publishing {
    shared: Arc<Shared>,
    options: HttpOptions,
    buffer: Buffer,
    client: Client,
    /// Kept from one round to the next, so that after a fault one process waits and not each comes in
    /// turn.
    lock: Option<File>,
    /// Segments that have arrived and could not be removed.
    arrived: HashSet<Uuid>,
    /// Segments about which something was logged.
    reported: HashSet<Uuid>,
}

/// What ended a round early.
struct Fault {
    error: JournalError,
    /// How long the server asked to be left alone.
    retry_after: Option<Duration>,
}

impl Publishing {
    pub(super) fn new(shared: Arc<Shared>, options: HttpOptions) -> Self {
        Self {
            buffer: Buffer::new(options.buffer.clone()),
            client: Client::new(&options.endpoint),
            shared,
            options,
            lock: None,
            arrived: HashSet::new(),
            reported: HashSet::new(),
        }
    }

    /// Publishes until the journal ends.
    pub(super) fn run(&mut self, signals: &Signals) {
        let longest = self.options.interval.saturating_mul(LONGEST_PAUSE);
        let mut pause = self.options.interval;
        let mut wait = pause;
        let mut works = true;
        loop {
            let deadline = signals.wait(wait, !works);
            if deadline.is_some() && !works {
                return;
            }
            let result = self.round(deadline);
            if let Err(fault) = &result {
                self.shared.report(&fault.error);
            }
            // Once for all faults in a row: a server may be gone for days.
            match &result {
                Err(fault) if works => tracing::warn!("analytics events wait: {}", fault.error),
                Ok(()) if !works => tracing::info!("analytics events are sent again"),
                _ => {}
            }
            self.count();
            if deadline.is_some() {
                return;
            }
            works = result.is_ok();
            match result {
                Ok(()) => {
                    pause = self.options.interval;
                    wait = pause;
                }
                Err(fault) => {
                    wait = rest(pause, longest, fault.retry_after, fastrand::f64());
                    pause = pause.saturating_mul(2).min(longest);
                }
            }
        }
    }

    /// Publishes everything there is: first the segments, which are older. Only if these arrive the
    /// file becomes a segment, so that a server that is gone leaves no heap of small ones.
    fn round(&mut self, deadline: Option<Instant>) -> Result<(), Fault> {
        if !self.is_publisher()? {
            return Ok(());
        }
        self.publish(&self.buffer.segments()?, deadline)?;
        if deadline.is_some_and(|it| it <= Instant::now()) {
            return Ok(());
        }
        let evicted = self.buffer.rotate()?;
        self.shared.count_dropped(evicted);
        self.publish(&self.buffer.segments()?, deadline)
    }

    /// Whether it is this process that publishes.
    fn is_publisher(&mut self) -> Result<bool, JournalError> {
        let held = self.lock.take();
        self.lock = match held.filter(|it| self.buffer.is_publisher(it)) {
            Some(lock) => Some(lock),
            None => self.buffer.lock_publisher()?,
        };
        Ok(self.lock.is_some())
    }

    fn publish(&mut self, segments: &[Segment], deadline: Option<Instant>) -> Result<(), Fault> {
        for segment in segments {
            let left = deadline.map(|it| it.saturating_duration_since(Instant::now()));
            let timeout = left.map_or(self.options.timeout, |it| it.min(self.options.timeout));
            if timeout.is_zero() {
                return Ok(());
            }
            // One that cannot be read must not keep back the others.
            if let Err(error) = self.publish_one(segment, timeout)? {
                self.shared.report(&error);
                if self.reported.insert(segment.id) {
                    tracing::warn!("analytics events: {error}");
                }
            }
        }
        Ok(())
    }

    /// Sends a segment and removes it. The inner error is of this segment alone.
    fn publish_one(
        &mut self,
        segment: &Segment,
        timeout: Duration,
    ) -> Result<Result<(), JournalError>, Fault> {
        let batch = match segment.read() {
            Ok(Some(batch)) => batch,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        if !self.arrived.contains(&segment.id) && batch.count > 0 {
            let body = format!("{{\"events\":[{}]}}", batch.events);
            let sent = self.client.post(segment.id, &body, timeout);
            sent.map_err(|it| self.fault(&it))?;
            self.arrived.insert(segment.id);
        }
        if let Err(error) = self.buffer.remove(segment, batch.count) {
            return Ok(Err(error));
        }
        self.arrived.remove(&segment.id);
        if batch.damaged == 0 {
            return Ok(Ok(()));
        }
        let damaged = batch.damaged;
        let problem = format!(
            "{damaged} lines of {} were no events and not sent",
            segment.id
        );
        Ok(Err(JournalError::storage(&self.options.buffer, &problem)))
    }

    fn fault(&self, rejected: &Rejected) -> Fault {
        let server = self.options.endpoint.to_string();
        Fault {
            error: JournalError::storage(server.as_ref(), &rejected.problem),
            retry_after: rejected.retry_after,
        }
    }

    /// Counts what waits, exactly.
    fn count(&self) {
        match self.buffer.backlog() {
            Ok(backlog) => {
                let undelivered = &self.shared.undelivered;
                undelivered.store(backlog.events, Ordering::Relaxed);
            }
            Err(error) => self.shared.report(&error),
        }
    }
}

/// How long to wait after a fault: at least half of the pause and up to all of it, by chance (0 to 1), so
/// that many machines do not come back at once, and as long as the server asks for within the longest.
fn rest(pause: Duration, longest: Duration, asked: Option<Duration>, chance: f64) -> Duration {
    let spread = pause.mul_f64(0.5 + chance / 2.0);
    spread.max(asked.unwrap_or_default()).min(longest)
}

impl From<JournalError> for Fault {
    fn from(error: JournalError) -> Self {
        Self {
            error,
            retry_after: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_is_a_part_of_the_pause_or_what_the_server_asks_for() {
        for (pause, asked, chance, expected) in [
            (30, None, 0.0, 15),
            (30, None, 1.0, 30),
            (900, None, 1.0, 900),
            (30, Some(0), 0.0, 15),
            (30, Some(120), 0.5, 120),
            (30, Some(86_400), 0.5, 900),
            (30, Some(u64::MAX), 0.5, 900),
        ] {
            let seconds = Duration::from_secs;
            let found = rest(seconds(pause), seconds(900), asked.map(seconds), chance);
            assert_eq!(found, seconds(expected), "{pause} {asked:?} {chance}");
        }
    }
}
