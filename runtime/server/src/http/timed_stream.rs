//! One connection with deadlines: a head must arrive soon after its first byte, a response must be
//! taken soon after it was written. hyper has one timeout for slow heads and idle connections, and
//! none for clients that do not read. [`Activity`] says what the connection is doing, so that the
//! accept loop can choose which one to close when slots run out.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::{Instant, Sleep, sleep};

use super::Limits;

/// What a connection is doing, shared by its stream, its service and the accept loop.
pub(super) struct Activity {
    state: Mutex<(Phase, Instant)>,
    evicted: Notify,
}

/// The steps of one exchange, in order.
enum Phase {
    /// No byte has come since the last response.
    Idle,
    /// A head is arriving, or the first one is awaited.
    Head,
    /// The head is complete, the body of the request is arriving.
    Body,
    /// The request is being answered.
    Busy,
    /// The response is written. The turn of the request is held until it has left: what waits for
    /// a slow reader counts as work.
    Leaving { _turn: Option<OwnedSemaphorePermit> },
}

/// Held by the body of a response: once it is dropped, everything has been handed to the stream.
pub(super) struct Handover {
    activity: Arc<Activity>,
    turn: Option<OwnedSemaphorePermit>,
}

/// The stream of one connection.
pub(super) struct TimedStream {
    stream: TcpStream,
    activity: Arc<Activity>,
    limits: Limits,
    /// When the head must be complete.
    head: Deadline,
    /// When the response must have left.
    response: Deadline,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new((Phase::Head, Instant::now())),
            evicted: Notify::new(),
        }
    }

    /// The head of a request is complete.
    pub(super) fn head_arrived(&self) {
        self.enter(Phase::Body);
    }

    /// The request is complete and is going to be answered.
    pub(super) fn request_arrived(&self) {
        self.enter(Phase::Busy);
    }

    /// The order in which connections are closed for new ones, least first: the longest idle one,
    /// else the one whose head or else whose body has been arriving longest. `None` if a request
    /// is being answered.
    pub(super) fn eviction_order(&self) -> Option<(u8, Instant)> {
        let state = self.state();
        let tier = match state.0 {
            Phase::Idle => 0,
            Phase::Head => 1,
            Phase::Body => 2,
            Phase::Busy | Phase::Leaving { .. } => return None,
        };
        Some((tier, state.1))
    }

    /// Asks the connection to close.
    pub(super) fn evict(&self) {
        self.evicted.notify_one();
    }

    /// Returns when the connection is to close. By then a request may be under way again.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    fn state(&self) -> MutexGuard<'_, (Phase, Instant)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, phase: Phase) {
        *self.state() = (phase, Instant::now());
    }

    /// Notes that bytes came. Returns whether they are the first ones of a head.
    fn bytes_came(&self) -> bool {
        let first = matches!(self.state().0, Phase::Idle);
        if first {
            self.enter(Phase::Head);
        }
        first
    }

    fn in_head(&self) -> bool {
        matches!(self.state().0, Phase::Head)
    }

    /// Notes that everything written so far has left.
    fn flushed(&self) {
        if matches!(self.state().0, Phase::Leaving { .. }) {
            self.enter(Phase::Idle);
        }
    }
}

impl Handover {
    pub(super) fn new(activity: Arc<Activity>, turn: Option<OwnedSemaphorePermit>) -> Self {
        Self { activity, turn }
    }
}

impl Drop for Handover {
    fn drop(&mut self) {
        let turn = self.turn.take();
        self.activity.enter(Phase::Leaving { _turn: turn });
    }
}

impl TimedStream {
    pub(super) fn new(stream: TcpStream, activity: Arc<Activity>, limits: Limits) -> Self {
        let mut head = Deadline::default();
        head.restart(limits.head);
        Self {
            stream,
            activity,
            limits,
            head,
            response: Deadline::default(),
        }
    }

    /// The result of a write, or an error if writing has been pending for too long.
    fn in_time<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_pending() {
            self.response.start(self.limits.response);
            if self.response.has_passed(context) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        written
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = into.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, into);
        match read {
            Poll::Ready(Ok(())) if into.filled().len() > before && this.activity.bytes_came() => {
                this.head.restart(this.limits.head);
            }
            Poll::Pending if this.activity.in_head() && this.head.has_passed(context) => {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            _ => {}
        }
        read
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.in_time(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// hyper calls this when it has written all that it holds.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() {
            self.response.stop();
            self.activity.flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A point in time that may be set, and the timer that wakes the task then.
#[derive(Default)]
struct Deadline {
    timer: Option<Pin<Box<Sleep>>>,
    set: bool,
}

impl Deadline {
    /// Sets it unless it is set.
    fn start(&mut self, after: Duration) {
        if !self.set {
            self.restart(after);
        }
    }

    fn restart(&mut self, after: Duration) {
        self.set = true;
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(Instant::now() + after),
            None => self.timer = Some(Box::pin(sleep(after))),
        }
    }

    fn stop(&mut self) {
        self.set = false;
    }

    /// Whether it has passed. If not, the task of `context` is woken when it does.
    fn has_passed(&mut self, context: &mut Context<'_>) -> bool {
        self.set
            && self
                .timer
                .as_mut()
                .is_some_and(|timer| timer.as_mut().poll(context).is_ready())
    }
}
