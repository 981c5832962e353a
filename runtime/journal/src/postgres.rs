//! Brings what the spool holds to a PostgreSQL server, in a thread of its own: in order, in batches,
//! and as often as it takes. Nothing here decides whether an event is recorded; that is the spool's.

mod address;
mod batch;
mod deliver;
mod schema;
mod tls;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use tokio::runtime::Builder;
use tokio::sync::Notify;

use crate::error::JournalError;
use crate::journal::Shared;
use address::Address;
use deliver::Deliverer;

/// The delivery thread, seen from the writer.
pub(crate) struct Delivery {
    signals: Arc<Signals>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

/// What the writer tells the delivery thread.
#[derive(Default)]
struct Signals {
    /// There is something to deliver, or the journal ends.
    notify: Notify,
    ending: AtomicBool,
    deadline: Mutex<Option<Instant>>,
}

impl Delivery {
    /// Starts the thread. A fault of the address is reported and delivers nothing: events stay in
    /// the spool.
    pub(crate) fn start(shared: &Arc<Shared>, url: &str, spool: &Path) -> Self {
        let signals = Arc::new(Signals::default());
        let thread = match Address::parse(url) {
            Ok(address) => {
                let (own, shared, spool) =
                    (Arc::clone(&signals), Arc::clone(shared), spool.to_owned());
                let builder = thread::Builder::new().name("journal-delivery".to_owned());
                let thread = builder.spawn(move || run(&own, shared, address, spool));
                thread.map_err(|error| JournalError::NoWriter(error.to_string()))
            }
            Err(error) => Err(error),
        };
        if let Err(error) = &thread {
            shared.report(error);
        }
        Self {
            signals,
            thread: thread.ok(),
            shared: Arc::clone(shared),
        }
    }

    /// So many new entries are in the spool. The thread counts exactly, some time later.
    pub(crate) fn announce(&self, count: usize) {
        let undelivered = &self.shared.undelivered;
        undelivered.fetch_add(count as u64, Ordering::Relaxed);
        self.signals.notify.notify_one();
    }

    /// Ends the thread after it has delivered what it can, at most until the journal's deadline, and
    /// at the first fault: what is left stays in the spool.
    pub(crate) fn finish(self) {
        let deadline = self.shared.deadline();
        *self.signals.deadline() = deadline;
        self.signals.ending.store(true, Ordering::Release);
        self.signals.notify.notify_one();
        if let Some(thread) = self.thread
            && thread.join().is_err()
        {
            let error = JournalError::NoWriter("the delivery to PostgreSQL panicked".to_owned());
            self.shared.report(&error);
        }
    }
}

impl Signals {
    fn is_ending(&self) -> bool {
        self.ending.load(Ordering::Acquire)
    }

    fn deadline(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn run(signals: &Signals, shared: Arc<Shared>, address: Address, spool: std::path::PathBuf) {
    let runtime = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build();
    match runtime {
        Ok(runtime) => {
            let mut deliverer = Deliverer::new(shared, address, spool);
            runtime.block_on(deliverer.run(signals));
        }
        Err(error) => shared.report(&JournalError::NoWriter(error.to_string())),
    }
}
