//! The caller's side: what takes events, never blocks, and counts what became of them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::JournalError;
use crate::event::{Event, Invocation, Record};
use crate::options::{Destination, Options};
use crate::queue::{Change, Item, Outcome, Queue, Reply, Waiting};
use crate::writer;

/// Takes events from any thread and has them written. Clones are the same journal.
///
/// Nothing is opened and no thread is started before the first event, so a process that records
/// nothing pays nothing. When the last clone is dropped, the writer writes what waits and ends;
/// call [`close`](Self::close) to wait for it.
#[derive(Clone)]
pub struct Journal {
    inner: Arc<Inner>,
}

/// Ends the writer when the last clone of a journal is dropped. The writer has no clone.
struct Inner(Arc<Shared>);

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// It is written: the transaction is committed, or the line is in the file.
    Committed,
    /// It could not be written, or it is not known whether it was; [`Status::last_error`] says why.
    Lost,
    /// It was not written, since too many events waited. Events of invocations are never dropped.
    Dropped,
    /// It was not written, since the journal is off or closed.
    Off,
}

/// Whose an id is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The caller's: nothing was recorded under it, and the invocation is now, as pending.
    New,
    /// An earlier caller's: this is recorded under it. The invocation was not recorded.
    Existing(Box<Record>),
}

/// The state of a journal. The counters are of this journal, since it was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Events that wait to be written.
    pub queued: usize,
    /// Events that were not written, since too many waited. For an HTTP server also those, of all
    /// processes, that this one has removed from a buffer that was full.
    pub dropped: u64,
    /// Events that could not be written.
    pub lost: u64,
    /// Events on disk that the PostgreSQL or HTTP server does not have yet, those of other processes
    /// included. 0 for other destinations, and before the first event.
    pub undelivered: u64,
    /// The last fault; `None` if there was none. It holds no password.
    pub last_error: Option<String>,
}

/// What callers, writer and delivery share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    state: Mutex<State>,
    /// Something waits, or the journal closes.
    work: Condvar,
    /// The writer has ended.
    ended: Condvar,
    dropped: AtomicU64,
    lost: AtomicU64,
    /// See [`Status::undelivered`].
    pub(crate) undelivered: AtomicU64,
    last_error: Mutex<Option<String>>,
}

#[derive(Default)]
struct State {
    queue: Queue,
    phase: Phase,
    /// Until when what remains may be delivered.
    deadline: Option<Instant>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// There is no writer yet.
    #[default]
    Idle,
    Writing,
    /// The writer writes what waits, and ends.
    Closing,
    Ended,
}

/// What the writer has to do.
pub(crate) enum Work {
    Batch(Vec<Item>),
    /// Nothing waits, and the time that the writer gave is up.
    Nothing,
    /// Nothing waits, and nothing will.
    End,
}

impl Journal {
    /// A journal. Touches no disk and starts no thread.
    pub fn new(options: Options) -> Self {
        let shared = Shared {
            options,
            state: Mutex::default(),
            work: Condvar::new(),
            ended: Condvar::new(),
            dropped: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            undelivered: AtomicU64::new(0),
            last_error: Mutex::default(),
        };
        Self {
            inner: Arc::new(Inner(Arc::new(shared))),
        }
    }

    /// A journal that records nothing.
    pub fn off() -> Self {
        Self::new(Options::default())
    }

    /// Whether it records nothing.
    pub fn is_off(&self) -> bool {
        self.inner.0.options.destination == Destination::Off
    }

    /// Records an event. Never blocks: the event is queued.
    ///
    /// `done` is called once: on the writer's thread after the event is written or lost, or at once,
    /// on this thread, if it is dropped or the journal is off. It must be quick, since the writer
    /// waits for it, and must not call [`close`](Self::close).
    ///
    /// Script runs, routing decisions and analytics events are dropped once 4,096 events or 32 MB
    /// wait. Events of invocations never are: their callers wait for `done` before they go on, so
    /// no more of them wait than there are callers.
    pub fn record(&self, event: Event, done: impl FnOnce(Recorded) + Send + 'static) {
        let waiting = Waiting::Record(Box::new(done));
        self.inner.0.push(Change::Event(event), waiting);
    }

    /// The same for callers who need not know.
    pub fn note(&self, event: Event) {
        self.inner.0.push(Change::Event(event), Waiting::Nobody);
    }

    /// Records an invocation under an id that somebody else chose, unless something is recorded
    /// under it: of several callers with one id, also in several processes on one file, exactly one
    /// gets [`Claim::New`]. For lines of JSON this is so only in one process, among its last 10,000
    /// ids. `done` is called as by [`record`](Self::record), with [`JournalError::Off`] if the
    /// journal is off.
    pub fn claim(
        &self,
        invocation: Invocation,
        done: impl FnOnce(Result<Claim, JournalError>) + Send + 'static,
    ) {
        let waiting = Waiting::Claim(Box::new(done));
        self.inner.0.push(Change::Claim(invocation), waiting);
    }

    /// What waits, and what went wrong.
    pub fn status(&self) -> Status {
        let shared = &self.inner.0;
        Status {
            queued: shared.state().queue.len(),
            dropped: shared.dropped.load(Ordering::Relaxed),
            lost: shared.lost.load(Ordering::Relaxed),
            undelivered: shared.undelivered.load(Ordering::Relaxed),
            last_error: lock(&shared.last_error).clone(),
        }
    }

    /// Blocks: writes what waits, and delivers it to a PostgreSQL or HTTP server, as far as that works
    /// within `patience`. Later events are [`Recorded::Off`]. What could not be written by then is lost;
    /// what could not be delivered stays in the file for the next process.
    pub fn close(&self, patience: Duration) {
        self.inner.0.close(patience);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.0.end_soon(Duration::ZERO);
    }
}

impl Shared {
    fn push(self: &Arc<Self>, change: Change, waiting: Waiting) {
        let item = Item {
            change,
            reply: Reply::new(waiting),
        };
        if self.options.destination == Destination::Off {
            item.reply.send(Outcome::Off);
            return;
        }
        // Callers are told without the lock, since they may record the next event.
        let Some((item, outcome)) = self.enqueue(item) else {
            return;
        };
        match &outcome {
            Outcome::Dropped => drop(self.dropped.fetch_add(1, Ordering::Relaxed)),
            Outcome::Lost(error) => self.count_lost(error),
            _ => {}
        }
        item.reply.send(outcome);
    }

    /// Adds to the queue, and starts the writer if there is none. Returns what is not queued.
    fn enqueue(self: &Arc<Self>, item: Item) -> Option<(Item, Outcome)> {
        let mut state = self.state();
        match state.phase {
            Phase::Closing | Phase::Ended => return Some((item, Outcome::Off)),
            Phase::Writing => {}
            Phase::Idle => {
                if let Err(error) = self.start() {
                    let error = JournalError::NoWriter(error.to_string());
                    return Some((item, Outcome::Lost(error)));
                }
                state.phase = Phase::Writing;
            }
        }
        if let Some(item) = state.queue.push(item) {
            return Some((item, Outcome::Dropped));
        }
        drop(state);
        self.work.notify_one();
        None
    }

    fn start(self: &Arc<Self>) -> std::io::Result<()> {
        let shared = Arc::clone(self);
        let builder = thread::Builder::new().name("journal".to_owned());
        builder.spawn(move || writer::run(&shared)).map(drop)
    }

    /// The next transaction. Waits for it, at most as long as `patience` says.
    pub(crate) fn next(&self, patience: Option<Duration>) -> Work {
        let mut state = self.state();
        let until = patience.map(|it| Instant::now() + it);
        loop {
            if !state.queue.is_empty() {
                return Work::Batch(state.queue.take_batch());
            }
            if state.phase != Phase::Writing {
                return Work::End;
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => return Work::Nothing,
                Some(left) => {
                    let waited = self.work.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => {
                    let waited = self.work.wait(state);
                    waited.unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }

    /// Waits, for nothing but the end of the journal.
    pub(crate) fn pause(&self, pause: Duration) {
        let state = self.state();
        let waited = self
            .work
            .wait_timeout_while(state, pause, |it| it.phase == Phase::Writing);
        drop(waited);
    }

    fn end_soon(&self, patience: Duration) {
        let mut state = self.state();
        match state.phase {
            Phase::Idle => state.phase = Phase::Ended,
            Phase::Writing => state.phase = Phase::Closing,
            Phase::Closing | Phase::Ended => {}
        }
        state.deadline = Some(Instant::now() + patience);
        drop(state);
        self.work.notify_all();
    }

    fn close(&self, patience: Duration) {
        self.end_soon(patience);
        let state = self.state();
        let waited = self
            .ended
            .wait_timeout_while(state, patience, |it| it.phase != Phase::Ended);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let left = state.queue.take_all();
        drop(state);
        self.lose(left, "it was closed before everything was written");
    }

    /// When the journal is closing: until when what remains may be delivered.
    #[cfg(any(feature = "http", feature = "postgres"))]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.state().deadline
    }

    /// The writer has ended. Whatever is left is lost.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        state.phase = Phase::Ended;
        let left = state.queue.take_all();
        drop(state);
        self.lose(left, "its writer has ended");
        self.ended.notify_all();
    }

    fn lose(&self, items: Vec<Item>, why: &str) {
        for item in items {
            let error = JournalError::NoWriter(why.to_owned());
            self.count_lost(&error);
            item.reply.send(Outcome::Lost(error));
        }
    }

    pub(crate) fn count_lost(&self, error: &JournalError) {
        self.lost.fetch_add(1, Ordering::Relaxed);
        self.report(error);
    }

    /// Events that were on disk and were given up.
    #[cfg(feature = "http")]
    pub(crate) fn count_dropped(&self, count: u64) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }

    /// Keeps a fault for [`Journal::status`].
    pub(crate) fn report(&self, error: &JournalError) {
        let help = error.help().map(|help| format!("; {help}"));
        *lock(&self.last_error) = Some(format!("{error}{}", help.unwrap_or_default()));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// The lock, also after a panic of somebody who held it: no state here is left half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("options", &self.inner.0.options)
            .finish_non_exhaustive()
    }
}
