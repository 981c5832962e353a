//! A connection that keeps time: a head must arrive soon after its first byte,
//! an answer must be taken soon after it was given. hyper alone knows one time
//! for a slow head and an idle connection, and none for a client that does not
//! read.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep};

use super::Limits;

/// What of a request is under way, shared by the connection and its service.
#[derive(Clone, Default)]
pub(super) struct Pace(Arc<Mutex<Phase>>);

#[derive(Default)]
enum Phase {
    /// A head is arriving, or the first one is awaited: who connects has
    /// something to ask.
    #[default]
    Head,
    /// Nothing has come since the last answer.
    Idle,
    /// A request is being answered.
    Busy,
    /// Its answer is leaving. The permit of the request is held until it has
    /// left: what waits for a slow reader counts as work.
    Leaving {
        _permit: Option<OwnedSemaphorePermit>,
    },
}

/// The connection.
pub(super) struct Wire {
    stream: TcpStream,
    pace: Pace,
    limits: Limits,
    /// Until when the head must be here.
    head: Deadline,
    /// Until when the answer must have left.
    answer: Deadline,
}

impl Pace {
    /// Notes that a whole head is here.
    pub(super) fn begin(&self) {
        *self.phase() = Phase::Busy;
    }

    /// Notes that the answer is given; when it has left, the permit is free.
    pub(super) fn end(&self, permit: Option<OwnedSemaphorePermit>) {
        *self.phase() = Phase::Leaving { _permit: permit };
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes bytes; whether they are the first of a head.
    fn arrived(&self) -> bool {
        let mut phase = self.phase();
        let first = matches!(*phase, Phase::Idle);
        if first {
            *phase = Phase::Head;
        }
        first
    }

    /// Whether a request may be on its way that nobody has seen yet.
    pub(super) fn in_head(&self) -> bool {
        matches!(*self.phase(), Phase::Head)
    }

    /// Notes that everything given so far has left.
    fn left(&self) {
        let mut phase = self.phase();
        if matches!(*phase, Phase::Leaving { .. }) {
            *phase = Phase::Idle;
        }
    }
}

impl Wire {
    pub(super) fn new(stream: TcpStream, pace: Pace, limits: Limits) -> Self {
        let mut head = Deadline::default();
        head.restart(limits.head);
        Self {
            stream,
            pace,
            limits,
            head,
            answer: Deadline::default(),
        }
    }

    /// What a write came to, or that it has waited too long.
    fn within_time<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_pending() {
            self.answer.start(self.limits.answer);
            if self.answer.is_over(context) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        written
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = &mut *self;
        let before = into.filled().len();
        let read = Pin::new(&mut wire.stream).poll_read(context, into);
        match read {
            Poll::Ready(Ok(())) if into.filled().len() > before && wire.pace.arrived() => {
                wire.head.restart(wire.limits.head);
            }
            Poll::Pending if wire.pace.in_head() && wire.head.is_over(context) => {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            _ => {}
        }
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.within_time(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.within_time(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// hyper asks for this when it has written all that it holds.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() {
            self.answer.stop();
            self.pace.left();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A moment that may be set, and the timer that wakes for it.
#[derive(Default)]
struct Deadline {
    timer: Option<Pin<Box<Sleep>>>,
    set: bool,
}

impl Deadline {
    /// Sets it, unless it is set.
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

    /// Whether it has passed; if not, `context` is woken when it has.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        self.set
            && self
                .timer
                .as_mut()
                .is_some_and(|timer| timer.as_mut().poll(context).is_ready())
    }
}
