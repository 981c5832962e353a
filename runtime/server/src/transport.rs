//! MCP over stdin and stdout, as rmcp's transport: one JSON message a line.
//! It answers what no handler can (broken lines, ids already in use), keeps
//! from rmcp what would end it, and stops reading while replies do not leave.
//! What a request means is `mcp`'s business.

mod counted;
mod lines;
pub(crate) mod message;
mod outbox;
mod scan;

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use tokio::sync::watch;

use crate::platform::{Input, Output};
use lines::{Line, Lines};
use message::{Incoming, Notice, Refused};

pub(crate) use counted::Counted;
pub(crate) use outbox::Outbox;

/// Requests that may be without their reply, and handlers that may run, at one time. A client that sends
/// more waits in its own pipe: rmcp alone starts a task for each and grew to
/// 1.3 GB on 15,466 calls with nobody reading.
const IN_FLIGHT: usize = 32;

/// The server's side of the wire.
pub(crate) struct Transport {
    input: Input,
    lines: Lines,
    outbox: Arc<Outbox>,
    /// Whether a session has been opened. Before that, rmcp ends on every
    /// notification and response, which a client may well send: a cancelled
    /// probe with `server/discover` is one.
    open: bool,
    ended: bool,
    /// Tells who waits for something to tell that nobody asks any more.
    at_end: watch::Sender<bool>,
}

impl Transport {
    pub(crate) fn new(input: Input, output: Output) -> Self {
        Self {
            input,
            lines: Lines::default(),
            outbox: Arc::new(Outbox::new(output)),
            open: false,
            ended: false,
            at_end: watch::Sender::new(false),
        }
    }

    /// The sending half, to watch.
    pub(crate) fn outbox(&self) -> Arc<Outbox> {
        Arc::clone(&self.outbox)
    }

    /// Turns true when the client has said its last word.
    pub(crate) fn at_end(&self) -> watch::Receiver<bool> {
        self.at_end.subscribe()
    }

    /// The next message for rmcp among the lines that have arrived.
    fn next_message(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let incoming = match self.lines.next()? {
                Line::Whole(line) => message::read(line),
                Line::TooLong(id) => Incoming::Refused(Refused::too_long(id)),
            };
            if let Some(message) = self.admit(incoming) {
                return Some(message);
            }
        }
    }

    fn admit(&mut self, incoming: Incoming) -> Option<ClientJsonRpcMessage> {
        match incoming {
            Incoming::Request(request, id) => {
                // A listener is answered when it hangs up, and must not keep calls waiting.
                let stays = matches!(request, ClientRequest::SubscriptionsListenRequest(_));
                if !self.outbox.expect(&id, stays) {
                    self.outbox.refuse(&Refused::in_use(&id));
                    return None;
                }
                self.open |= message::opens_session(&request);
                Some(ClientJsonRpcMessage::request(request, id))
            }
            Incoming::Notice(notice) if self.open => {
                if let Notice::Cancelled(params) = &notice
                    && let Some(id) = &params.request_id
                {
                    // rmcp answers nothing for it from here on.
                    self.outbox.forget(id);
                }
                Some(ClientJsonRpcMessage::notification(notice.into()))
            }
            Incoming::Notice(_) | Incoming::Ignored => None,
            Incoming::Refused(refused) => {
                self.outbox.refuse(&refused);
                None
            }
        }
    }

    async fn read_on(&mut self) {
        match self.input.read(self.lines.buffer()).await {
            Ok(0) => self.ended = true,
            Ok(_) => {}
            Err(error) => {
                tracing::error!("cannot read stdin: {error}");
                self.ended = true;
            }
        }
        if self.ended {
            self.lines.end();
        }
    }
}

impl rmcp::transport::Transport<RoleServer> for Transport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        std::future::ready(self.outbox.send(&item))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            self.outbox.fewer_than(IN_FLIGHT).await;
            self.outbox.flushed().await;
            if self.lines.has_more() && self.outbox.is_busy() {
                // Lets handlers that are ready finish first, so that a burst of
                // calls does not hold all its replies in memory at one time.
                tokio::task::yield_now().await;
            }
            if let Some(message) = self.next_message() {
                return Some(message);
            }
            if self.ended {
                self.at_end.send_replace(true);
                self.outbox.flushed().await;
                return None;
            }
            self.read_on().await;
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outbox.last_flush().await;
        Ok(())
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
