//! Analytics events on their way to an HTTP server: the sink appends them to a buffer on disk, and a
//! thread publishes from there, as often as it takes. Nothing in that thread decides whether an event
//! is recorded; that is the buffer's.

mod buffer;
mod endpoint;
mod post;
mod publish;
mod sink;

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::JournalError;
use crate::journal::Shared;
use publish::Publishing;

pub use buffer::Backlog;
pub use endpoint::Endpoint;
pub(crate) use sink::BufferSink;

/// Time between two requests (spec 3 §10.3): long enough that a busy server is one request and not
/// hundreds, short enough that a dashboard is current.
const INTERVAL: Duration = Duration::from_secs(30);

/// A server that takes longer for a request, from the look-up of its name to its answer, is taken
/// for dead. The largest body needs 26 kB/s for it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Where analytics events are sent, and how. The `Debug` form shows nothing of the address but the
/// host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOptions {
    /// The server.
    pub endpoint: Endpoint,
    /// The file that events are appended to until they are sent, such as `analytics-buffer.jsonl`. It
    /// is created, readable by its owner alone, and so are missing directories. Beside it are files
    /// with the same beginning: closed segments, locks, and the number of events given up.
    pub buffer: PathBuf,
    /// Which machine or person the events are from.
    pub server_id: String,
    /// Time between two requests. After a fault it doubles, up to thirty times this.
    pub interval: Duration,
    /// How long one request may take.
    pub timeout: Duration,
}

impl HttpOptions {
    /// With the usual times: 30 seconds between two requests, 10 for each.
    pub fn new(endpoint: Endpoint, buffer: PathBuf, server_id: String) -> Self {
        Self {
            endpoint,
            buffer,
            server_id,
            interval: INTERVAL,
            timeout: TIMEOUT,
        }
    }
}

/// The publishing thread, seen from the writer.
pub(crate) struct Publisher {
    signals: Arc<Signals>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

/// What the writer tells the publishing thread.
#[derive(Default)]
pub(crate) struct Signals {
    state: Mutex<Signal>,
    changed: Condvar,
}

#[derive(Default, Clone, Copy)]
struct Signal {
    /// A segment is full.
    is_full: bool,
    /// The journal ends, and may publish until then.
    ending: Option<Instant>,
}

impl Publisher {
    /// Starts the thread. If it cannot be started that is reported, and events stay in the buffer.
    pub(crate) fn start(shared: &Arc<Shared>, options: &HttpOptions) -> Self {
        let signals = Arc::new(Signals::default());
        let builder = thread::Builder::new().name("journal-delivery".to_owned());
        let (own, of_thread) = (Arc::clone(&signals), Arc::clone(shared));
        let options = options.clone();
        let thread = builder.spawn(move || Publishing::new(of_thread, options).run(&own));
        if let Err(error) = &thread {
            shared.report(&JournalError::NoWriter(error.to_string()));
        }
        Self {
            signals,
            thread: thread.ok(),
            shared: Arc::clone(shared),
        }
    }

    /// For the sink, which knows when a segment is full.
    pub(crate) fn signals(&self) -> Arc<Signals> {
        Arc::clone(&self.signals)
    }

    /// Ends the thread after it has published what it can, at most until the journal's deadline, and
    /// not if the server did not work the last time: what is left stays in the buffer.
    pub(crate) fn finish(self) {
        let deadline = self.shared.deadline().unwrap_or_else(Instant::now);
        self.signals.tell(|it| it.ending = Some(deadline));
        if let Some(thread) = self.thread
            && thread.join().is_err()
        {
            let error = JournalError::NoWriter("the delivery of events panicked".to_owned());
            self.shared.report(&error);
        }
    }
}

impl Signals {
    /// A segment is full: there is enough for a request.
    fn segment_is_full(&self) {
        self.tell(|it| it.is_full = true);
    }

    fn tell(&self, change: impl FnOnce(&mut Signal)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits that long, for the end of the journal, and unless `patiently` for a full segment. Returns
    /// until when the journal that ends may publish.
    fn wait(&self, wait: Duration, patiently: bool) -> Option<Instant> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(state, wait, |it| {
            it.ending.is_none() && (patiently || !it.is_full)
        });
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_full = false;
        state.ending
    }
}
