//! The one way to record uses of skills: into the journal of this machine, and into the one whose
//! events are sent. While neither takes an event, recording it costs two comparisons.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use skillbundle_journal::{Event, Journal, Recorded, Uuid};
use tokio::sync::oneshot;

use super::usage::{Stamp, UsageEvent};
use crate::Recording;

/// Records what happens. Clones share everything.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    journal: Journal,
    /// Whether the journal keeps every call, and not only what is done on purpose.
    keeps_calls: bool,
    /// Takes what is sent.
    outgoing: Journal,
    /// Whether that may hold what people and agents have written.
    sends_texts: bool,
}

/// What became of an event that somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It is in the journal, or waits to be sent.
    Yes,
    /// Nothing is recorded here.
    Off,
    /// It could not be written; this has been logged.
    Lost,
}

/// The two events that one use becomes, as far as they are wanted.
#[derive(Default)]
struct Wanted {
    kept: Option<Event>,
    sent: Option<Event>,
}

impl Recorder {
    pub(crate) fn new(options: &Recording) -> Self {
        let outgoing = Journal::new(options.analytics.clone());
        Self {
            journal: Journal::new(options.journal.clone()),
            // What is sent is kept too, so that the operator can see what was.
            keeps_calls: options.calls || !outgoing.is_off(),
            outgoing,
            sends_texts: options.texts,
        }
    }

    /// Records what is done on purpose in this journal, and sends nothing.
    pub(crate) fn of_journal(journal: Journal) -> Self {
        Self {
            journal,
            keeps_calls: false,
            outgoing: Journal::off(),
            sends_texts: false,
        }
    }

    /// The journal of this machine.
    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Records an event. Waits for nothing.
    pub(crate) fn record(&self, usage: &UsageEvent<'_>) {
        let Wanted { kept, sent } = self.wanted(usage);
        if let Some(event) = kept {
            self.journal.note(event);
        }
        if let Some(event) = sent {
            self.outgoing.note(event);
        }
    }

    /// The same for a caller that is told whether the event was taken. Waits until the journal has
    /// written it, as the end of an invocation does, and never for the network: an event to send is
    /// taken once it is in the queue.
    pub(crate) async fn record_and_confirm(&self, usage: &UsageEvent<'_>) -> Taken {
        let Wanted { kept, sent } = self.wanted(usage);
        let is_queued = sent.is_some_and(|event| queue(&self.outgoing, event));
        let recorded = match kept {
            None => Recorded::Off,
            Some(event) => {
                let (send, recorded) = oneshot::channel();
                self.journal.record(event, |it| {
                    // A caller that is gone no longer waits.
                    let _ = send.send(it);
                });
                recorded.await.unwrap_or(Recorded::Lost)
            }
        };
        if matches!(recorded, Recorded::Lost | Recorded::Dropped) {
            let reason = self.journal.status().last_error;
            let reason = reason.unwrap_or_else(|| "too many events wait".to_owned());
            tracing::warn!("feedback is not in the journal: {reason}");
        }
        match recorded {
            Recorded::Committed => Taken::Yes,
            _ if is_queued => Taken::Yes,
            Recorded::Off => Taken::Off,
            Recorded::Lost | Recorded::Dropped => Taken::Lost,
        }
    }

    /// Writes what waits, and sends what can be sent, within this time for each.
    pub(crate) fn close(&self, patience: Duration) {
        self.journal.close(patience);
        self.outgoing.close(patience);
    }

    fn wanted(&self, usage: &UsageEvent<'_>) -> Wanted {
        let keeps = !self.journal.is_off() && (self.keeps_calls || usage.is_explicit());
        let sends = !self.outgoing.is_off();
        if !keeps && !sends {
            return Wanted::default();
        }
        let stamp = Stamp {
            id: Uuid::now_v7(),
            at: SystemTime::now(),
        };
        Wanted {
            kept: keeps.then(|| usage.kept(stamp)),
            sent: sends.then(|| usage.sent(stamp, self.sends_texts)),
        }
    }
}

/// Whether the journal has taken the event; what becomes of it later is not waited for.
fn queue(journal: &Journal, event: Event) -> bool {
    let refused = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&refused);
    journal.record(event, move |it| {
        told.store(it != Recorded::Committed, Ordering::Relaxed);
    });
    !refused.load(Ordering::Relaxed)
}
