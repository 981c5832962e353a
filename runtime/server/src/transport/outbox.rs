//! What leaves: replies in the order they are ready, written at once where
//! there is room and kept where there is none. It also knows which requests
//! have no reply yet, since the two together say when to read on.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, RequestId, ServerNotification};
use rmcp::service::TxJsonRpcMessage;
use tokio::sync::Notify;

use super::message::Refused;
use crate::platform::Output;

/// Capacity that is kept between replies; what a large one took is given back.
const KEPT: usize = 256 * 1024;

/// How long a client that has closed stdin may take to read the last replies.
const LAST_FLUSH: Duration = Duration::from_secs(5);

/// Answers without an id that may go out at once, and how many more a second:
/// the sender cannot tell what they answer, so a flood of them helps nobody,
/// and one that echoes what it reads would keep a flood going.
const NAMELESS: f64 = 1024.0;
const NAMELESS_PER_SECOND: f64 = 100.0;

/// The sending half.
pub(crate) struct Outbox {
    output: Output,
    state: Mutex<State>,
    /// Told when a request has got its reply, or a write has failed.
    changed: Notify,
}

struct State {
    /// Whole messages; `sent` bytes of them have left.
    pending: Vec<u8>,
    sent: usize,
    in_flight: Vec<RequestId>,
    /// Requests that are answered when their client has had enough.
    staying: Vec<RequestId>,
    /// Handlers that have not ended, of requests in flight or cancelled.
    running: usize,
    /// The reader is gone.
    broken: bool,
    nameless: f64,
    refilled: Instant,
}

impl Outbox {
    pub(crate) fn new(output: Output) -> Self {
        let state = State {
            pending: Vec::new(),
            sent: 0,
            in_flight: Vec::new(),
            staying: Vec::new(),
            running: 0,
            broken: false,
            nameless: NAMELESS,
            refilled: Instant::now(),
        };
        Self {
            output,
            state: Mutex::new(state),
            changed: Notify::new(),
        }
    }

    /// Whether this request is without a reply.
    pub(crate) fn awaits(&self, id: &RequestId) -> bool {
        let state = self.state();
        state.in_flight.contains(id) || state.staying.contains(id)
    }

    /// Notes that this request needs a reply. One that `stays` does not count
    /// as being in flight.
    pub(crate) fn expect(&self, id: RequestId, stays: bool) {
        let mut state = self.state();
        if stays {
            state.staying.push(id);
        } else {
            state.in_flight.push(id);
        }
    }

    /// Notes that this request gets no reply.
    pub(crate) fn forget(&self, id: &RequestId) {
        let mut state = self.state();
        state.staying.retain(|held| held != id);
        if let Some(at) = state.in_flight.iter().position(|held| held == id) {
            state.in_flight.swap_remove(at);
            self.changed.notify_waiters();
        }
    }

    /// Notes that a handler runs, until what is returned is dropped.
    pub(crate) fn begin(&self) -> Running<'_> {
        self.state().running += 1;
        Running(self)
    }

    /// Whether any request has no reply yet.
    pub(crate) fn is_busy(&self) -> bool {
        !self.state().in_flight.is_empty()
    }

    /// Sends a message of rmcp.
    pub(crate) fn send(&self, message: &TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
        match message {
            JsonRpcMessage::Response(response) => self.forget(&response.id),
            JsonRpcMessage::Error(error) => error.id.iter().for_each(|id| self.forget(id)),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
        self.append(|into| serde_json::to_writer(into, message).map_err(io::Error::from))
    }

    /// Answers a request that nobody has noted, with what `write` adds as its
    /// result. Where it says false, nothing is sent.
    pub(crate) fn answer(&self, id: &RequestId, write: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        let mut answered = true;
        let sent = self.append(|into| {
            answered = respond(id, into, write);
            let declined = || io::Error::other("not for the desk");
            answered.then_some(()).ok_or_else(declined)
        });
        if let (true, Err(error)) = (answered, sent) {
            // Nobody reads any more, which the session sees for itself.
            tracing::debug!("cannot answer: {error}");
        }
        answered
    }

    /// Tells the client something that it has not asked for.
    pub(crate) fn notify(&self, notice: ServerNotification) -> io::Result<()> {
        self.send(&JsonRpcMessage::notification(notice))
    }

    /// Answers a line that is no request.
    pub(crate) fn refuse(&self, refused: &Refused) {
        if refused.id.is_none() && !self.state().may_answer_nameless() {
            return;
        }
        let sent = self.append(|into| {
            into.extend_from_slice(refused.to_json().as_bytes());
            Ok(())
        });
        if let Err(error) = sent {
            tracing::debug!("cannot answer a broken line: {error}");
        }
    }

    /// Waits until fewer than `most` requests are without a reply, and fewer
    /// handlers run.
    pub(crate) async fn fewer_than(&self, most: usize) {
        loop {
            let changed = self.changed.notified();
            if self.state().under_way() < most {
                return;
            }
            changed.await;
        }
    }

    /// Waits until everything has left, or nothing more can.
    pub(crate) async fn flushed(&self) {
        if self.is_flushed() {
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
        let broken = async {
            loop {
                let changed = self.changed.notified();
                if self.state().broken {
                    return;
                }
                changed.await;
            }
        };
        tokio::select! {
            () = broken => {}
            () = self.output.reader_gone() => {}
        }
    }

    fn append(&self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
        let mut state = self.state();
        if state.broken {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let begin = state.pending.len();
        if let Err(error) = write(&mut state.pending) {
            state.pending.truncate(begin);
            return Err(error);
        }
        state.pending.push(b'\n');
        // What already waits for room must leave first, and is being seen to.
        if begin > state.sent {
            return Ok(());
        }
        match state.flush(&self.output) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                drop(state);
                self.give_up(&error);
                Err(error)
            }
            _ => Ok(()),
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

    fn is_flushed(&self) -> bool {
        let state = self.state();
        state.sent == state.pending.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds the response to a request, with what `write` adds as its result; where
/// that says false, so does this, and what was added is worth nothing.
pub(crate) fn respond(
    id: &RequestId,
    into: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> bool,
) -> bool {
    into.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    if serde_json::to_writer(&mut *into, id).is_err() {
        return false;
    }
    into.extend_from_slice(br#","result":"#);
    let written = write(into);
    into.push(b'}');
    written
}

/// A handler that runs.
pub(crate) struct Running<'a>(&'a Outbox);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.state().running -= 1;
        self.0.changed.notify_waiters();
    }
}

impl State {
    fn under_way(&self) -> usize {
        self.in_flight.len().max(self.running)
    }

    /// Writes until everything has left; `WouldBlock` where there is no room.
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

    fn may_answer_nameless(&mut self) -> bool {
        let now = Instant::now();
        let since = now.duration_since(self.refilled).as_secs_f64();
        self.nameless = (self.nameless + since * NAMELESS_PER_SECOND).min(NAMELESS);
        self.refilled = now;
        let may = self.nameless >= 1.0;
        if may {
            self.nameless -= 1.0;
        }
        may
    }
}
