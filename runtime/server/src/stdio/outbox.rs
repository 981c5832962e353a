//! What leaves: messages in the order in which they are ready, written at once if there is room and
//! kept if there is none. It also knows which requests are in flight, since the two together decide
//! when to read on.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::jsonrpc::{self, Id, Invalid, RpcError};
use crate::platform::Output;

/// Capacity that is kept between replies; what a large one took is given back.
const KEPT: usize = 256 * 1024;

/// How long a client that has closed stdin may take to read the last replies.
const LAST_FLUSH: Duration = Duration::from_secs(5);

/// Errors without an id that may go out at once, and how many more per second (a token bucket). The
/// sender cannot tell what they answer, so a flood of them is useless, and a client that echoes
/// what it reads would keep a flood going.
const WITHOUT_ID: f64 = 1024.0;
const WITHOUT_ID_PER_SECOND: f64 = 100.0;

/// The sending half.
pub(crate) struct Outbox {
    output: Output,
    state: Mutex<State>,
    /// Notified when a request is no longer in flight, or a write has failed or found no room.
    changed: Notify,
}

struct State {
    /// Whole messages; `sent` bytes of them have left.
    pending: Vec<u8>,
    sent: usize,
    /// Requests that are being answered by tasks and have not been cancelled.
    in_flight: Vec<(Id, CancellationToken)>,
    /// Tasks that have not ended, of requests in flight or cancelled. Listeners are left out: they
    /// stay as long as their client likes.
    running: usize,
    /// The reader is gone.
    broken: bool,
    /// Errors without an id that may go out now.
    without_id: f64,
    refilled: Instant,
}

/// A task that answers a request counts as running until this is dropped.
pub(crate) struct Running {
    outbox: Arc<Outbox>,
    counted: bool,
}

impl Outbox {
    pub(crate) fn new(output: Output) -> Self {
        let state = State {
            pending: Vec::new(),
            sent: 0,
            in_flight: Vec::new(),
            running: 0,
            broken: false,
            without_id: WITHOUT_ID,
            refilled: Instant::now(),
        };
        Self {
            output,
            state: Mutex::new(state),
            changed: Notify::new(),
        }
    }

    /// Whether a task is answering this request.
    pub(crate) fn is_in_flight(&self, id: &Id) -> bool {
        let state = self.state();
        state.in_flight.iter().any(|(in_flight, _)| in_flight == id)
    }

    /// Notes that a task answers this request. One that `stays` is not counted as running.
    pub(crate) fn expect(
        self: &Arc<Self>,
        id: Id,
        token: CancellationToken,
        stays: bool,
    ) -> Running {
        let mut state = self.state();
        state.in_flight.push((id, token));
        state.running += usize::from(!stays);
        Running {
            outbox: Arc::clone(self),
            counted: !stays,
        }
    }

    /// Cancels a request: from now on nothing is sent for it.
    pub(crate) fn cancel(&self, id: &Id) {
        if let Some(token) = self.forget(id) {
            token.cancel();
        }
    }

    fn forget(&self, id: &Id) -> Option<CancellationToken> {
        let in_flight = &mut self.state().in_flight;
        let index = in_flight
            .iter()
            .position(|(in_flight, _)| in_flight == id)?;
        self.changed.notify_waiters();
        Some(in_flight.swap_remove(index).1)
    }

    /// Whether any task is answering a request.
    pub(crate) fn is_busy(&self) -> bool {
        self.state().running > 0
    }

    /// Answers a request that is not in flight with what `answer` appends as its result, or with
    /// its error. If it returns `None`, nothing is sent.
    pub(crate) fn respond(
        &self,
        id: &Id,
        answer: impl FnOnce(&mut Vec<u8>) -> Option<Result<(), RpcError>>,
    ) -> Option<Result<(), RpcError>> {
        let mut answered = None;
        let sent = self.append(|out| {
            answered = jsonrpc::write_response(id, out, answer);
            answered.is_some()
        });
        if let Err(error) = sent {
            // The reader is gone, which the session sees for itself.
            tracing::debug!("cannot answer: {error}");
        }
        answered
    }

    /// Sends one whole message.
    pub(crate) fn send(&self, message: &[u8]) -> io::Result<()> {
        self.append(|out| {
            out.extend_from_slice(message);
            true
        })
    }

    /// Answers a message that is not valid.
    pub(crate) fn refuse(&self, invalid: &Invalid) {
        if invalid.id.is_none() && !self.state().may_answer_without_id() {
            return;
        }
        let sent = self.append(|out| {
            jsonrpc::write_error(invalid.id.as_ref(), &invalid.error, out);
            true
        });
        if let Err(error) = sent {
            tracing::debug!("cannot answer an invalid message: {error}");
        }
    }

    /// Waits until fewer than `most` tasks answer requests.
    pub(crate) async fn fewer_than(&self, most: usize) {
        self.until(|state| state.running < most).await;
    }

    /// Waits until no request is in flight.
    pub(crate) async fn idle(&self) {
        self.until(|state| state.in_flight.is_empty()).await;
    }

    /// Waits until replies are kept for want of room.
    pub(crate) async fn backed_up(&self) {
        self.until(|state| !state.is_flushed()).await;
    }

    async fn until(&self, done: impl Fn(&State) -> bool) {
        loop {
            let changed = self.changed.notified();
            if done(&self.state()) {
                return;
            }
            changed.await;
        }
    }

    /// Waits until everything has left, or nothing more can.
    pub(crate) async fn flushed(&self) {
        if self.state().is_flushed() {
            return;
        }
        let flushed = self
            .output
            .when_writable(|| self.state().flush(&self.output))
            .await;
        if let Err(error) = flushed {
            self.give_up(&error);
        }
    }

    /// The same, but not for ever: the client may have stopped reading.
    pub(crate) async fn last_flush(&self) {
        if tokio::time::timeout(LAST_FLUSH, self.flushed())
            .await
            .is_err()
        {
            tracing::warn!(
                "the client has closed stdin and reads no replies; some of them are lost"
            );
        }
    }

    /// Waits until the reader of our replies is gone.
    pub(crate) async fn reader_gone(&self) {
        tokio::select! {
            () = self.until(|state| state.broken) => {}
            () = self.output.reader_gone() => {}
        }
    }

    /// Appends a message and its line end, unless `write` returns `false`, and writes what there is
    /// room for.
    fn append(&self, write: impl FnOnce(&mut Vec<u8>) -> bool) -> io::Result<()> {
        let mut state = self.state();
        if state.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let begin = state.pending.len();
        if !write(&mut state.pending) {
            return Ok(());
        }
        skillbundle_format::escape_line_ends(&mut state.pending, begin);
        state.pending.push(b'\n');
        // What already waits for room must leave first, and the session sees to it.
        if begin > state.sent {
            return Ok(());
        }
        match state.flush(&self.output) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.changed.notify_waiters();
                Ok(())
            }
            Err(error) => {
                drop(state);
                self.give_up(&error);
                Err(error)
            }
        }
    }

    fn give_up(&self, error: &io::Error) {
        tracing::debug!("cannot write stdout: {error}");
        let mut state = self.state();
        state.broken = true;
        state.pending = Vec::new();
        state.sent = 0;
        drop(state);
        self.changed.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// Sends the response to this task's request, unless it was cancelled.
    pub(crate) fn reply(self, id: &Id, response: &[u8]) {
        if self.outbox.forget(id).is_none() {
            return;
        }
        if let Err(error) = self.outbox.send(response) {
            tracing::debug!("cannot answer: {error}");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.outbox.state().running -= usize::from(self.counted);
        self.outbox.changed.notify_waiters();
    }
}

impl State {
    fn is_flushed(&self) -> bool {
        self.sent == self.pending.len()
    }

    /// Writes until everything has left; `WouldBlock` if there is no room.
    fn flush(&mut self, output: &Output) -> io::Result<()> {
        while self.sent < self.pending.len() {
            match output.write_now(&self.pending[self.sent..])? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => self.sent += written,
            }
        }
        self.sent = 0;
        self.pending.clear();
        if self.pending.capacity() > KEPT {
            self.pending = Vec::new();
        }
        Ok(())
    }

    fn may_answer_without_id(&mut self) -> bool {
        let now = Instant::now();
        let since = now.duration_since(self.refilled).as_secs_f64();
        self.without_id = (self.without_id + since * WITHOUT_ID_PER_SECOND).min(WITHOUT_ID);
        self.refilled = now;
        let may = self.without_id >= 1.0;
        if may {
            self.without_id -= 1.0;
        }
        may
    }
}
