//! The one queue between callers and the writer: bounded for events that may be dropped, and by
//! the number of callers for those that may not.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::JournalError;
use crate::event::{Event, Invocation, Record};
use crate::journal::{Claim, Recorded};

/// Events that may be dropped are dropped once so many wait …
const MAX_WAITING: usize = 4096;

/// … or so many bytes.
const MAX_WAITING_BYTES: usize = 32 << 20;

/// Largest transaction, in events: a caller waits for those that are in it with its own.
const MAX_BATCH: usize = 1024;

/// Largest transaction, in bytes.
const MAX_BATCH_BYTES: usize = 8 << 20;

/// Something to write, and whom to tell.
pub(crate) struct Item {
    pub(crate) change: Change,
    pub(crate) reply: Reply,
}

/// Something to write.
pub(crate) enum Change {
    Event(Event),
    /// An invocation, unless something is recorded under its id.
    Claim(Invocation),
}

/// Told once what became of an item, also if it is forgotten on the way.
pub(crate) struct Reply(Option<Waiting>);

pub(crate) enum Waiting {
    Nobody,
    Record(Box<dyn FnOnce(Recorded) + Send>),
    Claim(Box<dyn FnOnce(Result<Claim, JournalError>) + Send>),
}

/// What became of an item.
pub(crate) enum Outcome {
    Written,
    Claimed(Claim),
    Lost(JournalError),
    Dropped,
    Off,
}

/// What waits to be written.
#[derive(Default)]
pub(crate) struct Queue {
    items: VecDeque<Item>,
    bytes: usize,
}

impl Queue {
    /// Adds an item, or returns it if it may be dropped and too much waits.
    pub(crate) fn push(&mut self, item: Item) -> Option<Item> {
        let size = item.change.size();
        let is_full =
            self.items.len() >= MAX_WAITING || self.bytes.saturating_add(size) > MAX_WAITING_BYTES;
        if is_full && item.change.is_droppable() {
            return Some(item);
        }
        self.bytes += size;
        self.items.push_back(item);
        None
    }

    /// Takes the items of the next transaction, oldest first.
    pub(crate) fn take_batch(&mut self) -> Vec<Item> {
        let mut bytes = 0;
        let fitting = self.items.iter().take(MAX_BATCH).take_while(|item| {
            let fits = bytes < MAX_BATCH_BYTES;
            bytes += item.change.size();
            fits
        });
        let count = fitting.count();
        let batch: Vec<Item> = self.items.drain(..count).collect();
        let taken: usize = batch.iter().map(|item| item.change.size()).sum();
        self.bytes -= taken;
        batch
    }

    pub(crate) fn take_all(&mut self) -> Vec<Item> {
        self.bytes = 0;
        self.items.drain(..).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl Change {
    /// See [`Event::normalized`].
    pub(crate) fn normalized(self) -> Self {
        match self {
            Self::Event(event) => Self::Event(event.normalized()),
            Self::Claim(mut invocation) => {
                invocation.normalize();
                Self::Claim(invocation)
            }
        }
    }

    /// The invocation that it makes.
    pub(crate) const fn created(&self) -> Option<&Invocation> {
        match self {
            Self::Claim(invocation) | Self::Event(Event::Created(invocation)) => Some(invocation),
            Self::Event(_) => None,
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Event(event) => event.size(),
            Self::Claim(invocation) => invocation.size(),
        }
    }

    fn is_droppable(&self) -> bool {
        matches!(self, Self::Event(event) if event.is_droppable())
    }
}

impl Reply {
    pub(crate) const fn new(waiting: Waiting) -> Self {
        Self(Some(waiting))
    }

    /// Tells the caller. A caller's panic ends here: it must not end the writer.
    pub(crate) fn send(mut self, outcome: Outcome) {
        self.deliver(outcome);
    }

    fn deliver(&mut self, outcome: Outcome) {
        let Some(waiting) = self.0.take() else {
            return;
        };
        let told = catch_unwind(AssertUnwindSafe(|| match waiting {
            Waiting::Nobody => {}
            Waiting::Record(done) => done(outcome.recorded()),
            Waiting::Claim(done) => done(outcome.claim()),
        }));
        drop(told);
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.deliver(Outcome::Lost(JournalError::NoWriter(
            "it has ended".to_owned(),
        )));
    }
}

impl Outcome {
    /// A claim of an id under which this is recorded.
    pub(crate) fn existing(record: Record) -> Self {
        Self::Claimed(Claim::Existing(Box::new(record)))
    }

    /// Whether something was written.
    #[cfg(feature = "postgres")]
    pub(crate) const fn is_written(&self) -> bool {
        matches!(self, Self::Written | Self::Claimed(Claim::New))
    }

    /// Whether the disk is at fault, and not the event.
    pub(crate) const fn is_fault(&self) -> bool {
        matches!(self, Self::Lost(error) if !matches!(error, JournalError::Refused(_)))
    }

    const fn recorded(&self) -> Recorded {
        match self {
            Self::Written | Self::Claimed(_) => Recorded::Committed,
            Self::Lost(_) => Recorded::Lost,
            Self::Dropped => Recorded::Dropped,
            Self::Off => Recorded::Off,
        }
    }

    fn claim(self) -> Result<Claim, JournalError> {
        match self {
            Self::Written => Ok(Claim::New),
            Self::Claimed(claim) => Ok(claim),
            Self::Lost(error) => Err(error),
            Self::Dropped | Self::Off => Err(JournalError::Off),
        }
    }
}
