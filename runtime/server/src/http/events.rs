//! An answer that takes waiting: notifications as they come, then the response. If the response
//! comes first it is sent as JSON, otherwise all of it is sent as server-sent events
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html>).

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::mcp::Notify;

/// Notifications that may wait for a slow client. A sender that is told so stops.
const MAX_WAITING: usize = 1024;

/// Between two messages a comment is sent this often, so that proxies keep the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A JSON-RPC response, and the HTTP status that says the same.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) json: Vec<u8>,
}

/// A request that is being answered. Dropped with its connection, it cancels the work.
pub(super) struct Answering {
    work: Option<Work>,
    reply: Option<Reply>,
}

struct Work {
    answer: Pin<Box<dyn Future<Output = Reply> + Send>>,
    notifications: mpsc::Receiver<Vec<u8>>,
    _cancel: DropGuard,
}

/// What comes next of an answer.
pub(super) enum Next {
    Notification(Vec<u8>),
    Reply(Reply),
}

/// The rest of an answer as events.
pub(super) struct Events {
    first: Option<Next>,
    /// `None` after the reply.
    answering: Option<Answering>,
    keep_alive: Pin<Box<Sleep>>,
}

impl Answering {
    /// Runs `answer`, which may send notifications ahead of its reply.
    pub(super) fn new<A>(token: CancellationToken, answer: impl FnOnce(Notify) -> A) -> Self
    where
        A: Future<Output = Reply> + Send + 'static,
    {
        let (sender, notifications) = mpsc::channel(MAX_WAITING);
        let notify: Notify = Arc::new(move |json| sender.try_send(json.to_vec()).is_ok());
        Self {
            work: Some(Work {
                answer: Box::pin(answer(notify)),
                notifications,
                _cancel: token.drop_guard(),
            }),
            reply: None,
        }
    }

    /// A request that has been answered.
    pub(super) fn done(reply: Reply) -> Self {
        Self {
            work: None,
            reply: Some(reply),
        }
    }

    /// The next message. Must not be called after the reply.
    pub(super) async fn next(&mut self) -> Next {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Next> {
        if let Some(work) = &mut self.work {
            if self.reply.is_none()
                && let Poll::Ready(reply) = work.answer.as_mut().poll(context)
            {
                self.reply = Some(reply);
            }
            if let Poll::Ready(Some(json)) = work.notifications.poll_recv(context) {
                return Poll::Ready(Next::Notification(json));
            }
        }
        self.reply.take().map_or(Poll::Pending, |reply| {
            self.work = None;
            Poll::Ready(Next::Reply(reply))
        })
    }
}

impl Events {
    /// Begins with the message that has come already.
    pub(super) fn new(first: Next, answering: Answering) -> Self {
        Self {
            first: Some(first),
            answering: Some(answering),
            keep_alive: Box::pin(sleep(KEEP_ALIVE)),
        }
    }

    /// The next event, or a comment if none has come for a while.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(answering) = &mut self.answering else {
            return Poll::Ready(None);
        };
        let message = match self.first.take() {
            Some(first) => Poll::Ready(first),
            None => answering.poll_next(context),
        };
        let event = match message {
            Poll::Ready(Next::Notification(json)) => event(&json),
            Poll::Ready(Next::Reply(reply)) => {
                self.answering = None;
                event(&reply.json)
            }
            Poll::Pending => {
                ready!(self.keep_alive.as_mut().poll(context));
                Bytes::from_static(b":\n\n")
            }
        };
        self.keep_alive.as_mut().reset(Instant::now() + KEEP_ALIVE);
        Poll::Ready(Some(event))
    }
}

/// Messages have no line ends inside, so that one line holds one.
fn event(json: &[u8]) -> Bytes {
    [b"data: ", json, b"\n\n"].concat().into()
}
