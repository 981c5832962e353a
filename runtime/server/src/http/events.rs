//! An answer that takes waiting: notifications as they come, then the response. If the response
//! comes first, and soon, it is sent as JSON, otherwise all of it is sent as server-sent events
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

use super::deadline::{Deadline, DeadlinePassed};
use crate::jsonrpc::{self, Id, RpcError};
use crate::mcp::Notify;

/// Notifications that may wait for a slow client. Beyond that, senders get `false` and stop.
const MAX_WAITING: usize = 1024;

/// Between two messages a comment is sent this often, so that proxies keep the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The message of the error for a request whose time is over.
pub(super) const TOO_LONG: &str = "the answer took too long; other requests still work";

/// A JSON-RPC response, and the HTTP status that says the same.
pub(super) struct RpcResponse {
    pub(super) status: StatusCode,
    pub(super) json: Vec<u8>,
}

/// A request that is being answered. Dropped with its connection, it cancels the work.
pub(super) struct Answering {
    work: Option<Pending>,
    response: Option<RpcResponse>,
}

struct Pending {
    answer: Pin<Box<dyn Future<Output = RpcResponse> + Send>>,
    notifications: mpsc::Receiver<Vec<u8>>,
    _cancel: DropGuard,
}

/// What comes next of an answer.
pub(super) enum Next {
    Notification(Vec<u8>),
    Response(RpcResponse),
}

/// The rest of an answer as events.
pub(super) struct Events {
    first: Option<Next>,
    /// `None` after the response.
    answering: Option<Answering>,
    keep_alive: Pin<Box<Sleep>>,
    /// When the last event must be sent.
    deadline: DeadlinePassed,
    /// The id of the request.
    id: Id,
}

impl Answering {
    /// Runs `answer`, which may send notifications ahead of its response.
    pub(super) fn new<A>(token: CancellationToken, answer: impl FnOnce(Notify) -> A) -> Self
    where
        A: Future<Output = RpcResponse> + Send + 'static,
    {
        let (sender, notifications) = mpsc::channel(MAX_WAITING);
        let notify: Notify = Arc::new(move |json| sender.try_send(json.to_vec()).is_ok());
        Self {
            work: Some(Pending {
                answer: Box::pin(answer(notify)),
                notifications,
                _cancel: token.drop_guard(),
            }),
            response: None,
        }
    }

    /// A request that has been answered.
    pub(super) fn done(response: RpcResponse) -> Self {
        Self {
            work: None,
            response: Some(response),
        }
    }

    /// The next message. Must not be called after the response.
    pub(super) async fn next(&mut self) -> Next {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Next> {
        if let Some(work) = &mut self.work {
            if self.response.is_none()
                && let Poll::Ready(response) = work.answer.as_mut().poll(context)
            {
                self.response = Some(response);
            }
            let next = match self.response {
                // Not polled: tokio may make a task pause between two messages that are there.
                Some(_) => work.notifications.try_recv().ok(),
                None => ready!(work.notifications.poll_recv(context)),
            };
            if let Some(json) = next {
                return Poll::Ready(Next::Notification(json));
            }
        }
        self.response.take().map_or(Poll::Pending, |response| {
            self.work = None;
            Poll::Ready(Next::Response(response))
        })
    }
}

impl Events {
    /// Begins with the message that has come already, if one has. After `deadline`, an error takes
    /// the place of the response to the request with this id, and the work is cancelled.
    pub(super) fn new(
        first: Option<Next>,
        answering: Answering,
        id: Id,
        deadline: &Deadline,
    ) -> Self {
        Self {
            first,
            answering: Some(answering),
            keep_alive: Box::pin(sleep(KEEP_ALIVE)),
            deadline: deadline.passed(),
            id,
        }
    }

    /// The next event, or a comment if none has come for a while.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(answering) = &mut self.answering else {
            return Poll::Ready(None);
        };
        // Polled first: messages may come without a pause.
        if Pin::new(&mut self.deadline).poll(context).is_ready() {
            self.answering = None;
            return Poll::Ready(Some(too_long(&self.id)));
        }
        let message = match self.first.take() {
            Some(first) => Poll::Ready(first),
            None => answering.poll_next(context),
        };
        let event = match message {
            Poll::Ready(Next::Notification(json)) => event(&json),
            Poll::Ready(Next::Response(response)) => {
                self.answering = None;
                event(&response.json)
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

/// The event that ends a stream whose time is over.
fn too_long(id: &Id) -> Bytes {
    let mut json = Vec::new();
    let error = RpcError::internal_error(TOO_LONG, None);
    jsonrpc::write_error(Some(id), &error, &mut json);
    event(&json)
}

/// Messages have no line ends inside, so that one line holds one.
fn event(json: &[u8]) -> Bytes {
    let mut event = [b"data: ", json].concat();
    skillbundle_format::escape_line_ends(&mut event, 0);
    event.extend_from_slice(b"\n\n");
    event.into()
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio::time::advance;

    use super::*;

    fn response(json: &str) -> RpcResponse {
        RpcResponse {
            status: StatusCode::OK,
            json: json.into(),
        }
    }

    /// An answer that notifies twice, waits for `go`, notifies again and replies.
    fn answering(token: CancellationToken, go: oneshot::Receiver<()>) -> Answering {
        Answering::new(token, |notify| async move {
            assert!(notify(b"1") && notify(b"2"));
            let _ = go.await;
            assert!(notify(b"3"));
            response("4")
        })
    }

    fn events(first: Next, answering: Answering) -> Events {
        let id = Id::from_json("7").unwrap();
        Events::new(Some(first), answering, id, &Deadline::after(KEEP_ALIVE * 4))
    }

    async fn event(events: &mut Events) -> Option<String> {
        let bytes = poll_fn(|context| events.poll_next(context)).await;
        bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn notifications_come_in_order_ahead_of_the_reply() {
        let (go, gone) = oneshot::channel();
        let mut answering = answering(CancellationToken::new(), gone);
        let first = answering.next().await;
        assert!(matches!(&first, Next::Notification(json) if json == b"1"));
        let mut events = events(first, answering);
        assert_eq!(event(&mut events).await.unwrap(), "data: 1\n\n");
        assert_eq!(event(&mut events).await.unwrap(), "data: 2\n\n");
        let started = Instant::now();
        for _ in 0..2 {
            assert_eq!(event(&mut events).await.unwrap(), ":\n\n");
        }
        assert_eq!(started.elapsed().as_secs(), 2 * KEEP_ALIVE.as_secs());
        advance(KEEP_ALIVE / 2).await;
        go.send(()).unwrap();
        assert_eq!(event(&mut events).await.unwrap(), "data: 3\n\n");
        assert_eq!(event(&mut events).await.unwrap(), "data: 4\n\n");
        assert_eq!(event(&mut events).await, None);
    }

    /// Whether notifications come all the time or never again.
    #[tokio::test(start_paused = true)]
    async fn an_endless_stream_ends_with_an_error_and_cancels_the_work() {
        for pause in [Duration::from_millis(100), Duration::from_secs(3600)] {
            let token = CancellationToken::new();
            let mut answering = Answering::new(token.clone(), |notify| async move {
                loop {
                    notify(b"1");
                    sleep(pause).await;
                }
            });
            let mut events = events(answering.next().await, answering);
            let started = Instant::now();
            let mut last = String::new();
            while let Some(event) = event(&mut events).await {
                last = event;
            }
            assert_eq!(started.elapsed(), KEEP_ALIVE * 4);
            assert!(
                last.starts_with(r#"data: {"jsonrpc":"2.0","id":7,"error":{"code":-32603,"#),
                "{last}"
            );
            assert!(token.is_cancelled());
        }
    }

    #[tokio::test]
    async fn a_client_that_leaves_cancels_the_work() {
        let token = CancellationToken::new();
        let (_go, gone) = oneshot::channel();
        let mut answering = answering(token.clone(), gone);
        let events = events(answering.next().await, answering);
        assert!(!token.is_cancelled());
        drop(events);
        assert!(token.is_cancelled());
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_not_sent_more() {
        let mut answering = Answering::new(CancellationToken::new(), |notify| async move {
            let sent = (0..=MAX_WAITING).filter(|_| notify(b"{}")).count();
            response(&sent.to_string())
        });
        for _ in 0..MAX_WAITING {
            assert!(matches!(answering.next().await, Next::Notification(_)));
        }
        let last = answering.next().await;
        assert!(
            matches!(last, Next::Response(response) if response.json == MAX_WAITING.to_string().as_bytes())
        );
    }
}
