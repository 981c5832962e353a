//! MCP over stdin and stdout, as rmcp's transport: one JSON message a line.
//! It answers what no handler can (broken lines, ids already in use), has the
//! desk answer what needs no handler, keeps from rmcp what would end it, and
//! stops reading while replies do not leave. What a request means is `mcp`'s business.

mod counted;
pub(crate) mod desk;
mod lines;
pub(crate) mod message;
pub(crate) mod outbox;
mod scan;

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotification, ClientJsonRpcMessage, ClientRequest, InitializeRequestParams,
    JsonRpcMessage, RequestId, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use tokio::sync::watch;

use crate::platform::Input;
use desk::era_of;
use lines::{Line, Lines};
use message::{Incoming, Notice, Refused};

pub(crate) use counted::Counted;
pub(crate) use desk::{Desk, Era};
pub(crate) use outbox::Outbox;

/// Requests that may be without their reply, and handlers that may run, at
/// one time. A client that sends more waits in its own pipe: rmcp alone starts
/// a task for each and grew to 1.3 GB on 15,466 calls with nobody reading.
const IN_FLIGHT: usize = 32;

/// Messages that are dealt with before everybody else has a turn: a client
/// that floods us must not keep a signal waiting.
const TURN: usize = 32;

/// The server's side of the wire.
pub(crate) struct Transport {
    input: Input,
    lines: Lines,
    outbox: Arc<Outbox>,
    desk: Box<dyn Desk>,
    /// Messages dealt with in this turn.
    taken: usize,
    /// The era of the session, once it has one.
    era: Option<Era>,
    /// The client, where it was greeted at the desk.
    client: Option<Box<InitializeRequestParams>>,
    rmcp: Rmcp,
    /// What made rmcp necessary.
    first: Option<ClientJsonRpcMessage>,
    ended: bool,
    /// Tells who waits for something to tell that nobody asks any more.
    at_end: watch::Sender<bool>,
}

/// What rmcp is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rmcp {
    /// Nothing: it has not been needed.
    Asleep,
    /// It waits for a session. Before that it ends on every notification and
    /// response, which a client may well send: a cancelled probe with
    /// `server/discover` is one.
    Waiting,
    /// It serves one.
    Serving,
}

impl Transport {
    /// One that turns `at_end` true when the client has said its last word.
    pub(crate) fn new(
        input: Input,
        outbox: Arc<Outbox>,
        desk: Box<dyn Desk>,
        at_end: watch::Sender<bool>,
    ) -> Self {
        Self {
            input,
            lines: Lines::default(),
            outbox,
            desk,
            taken: 0,
            era: None,
            client: None,
            rmcp: Rmcp::Asleep,
            first: None,
            ended: false,
            at_end,
        }
    }

    /// Serves at the desk until something comes that rmcp must see; false
    /// where the client leaves before that.
    pub(crate) async fn needs_rmcp(&mut self) -> bool {
        self.first = self.next_for_rmcp().await;
        self.first.is_some()
    }

    /// Notes that rmcp begins; the client that it need not greet any more.
    pub(crate) fn wake_rmcp(&mut self) -> Option<InitializeRequestParams> {
        self.rmcp = match (&self.client, &self.first) {
            (Some(_), _) => Rmcp::Serving,
            (None, Some(ClientJsonRpcMessage::Request(first))) => waits_after(&first.request),
            (None, _) => Rmcp::Waiting,
        };
        self.client.as_deref().cloned()
    }

    /// Waits for the next message that rmcp must see; nothing at the end.
    async fn next_for_rmcp(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.outbox.fewer_than(IN_FLIGHT).await;
            self.outbox.flushed().await;
            if self.lines.has_more() && self.outbox.is_busy() || self.taken >= TURN {
                self.taken = 0;
                // Lets handlers that are ready finish first, so that a burst of
                // calls does not hold all its replies in memory at one time.
                tokio::task::yield_now().await;
            }
            match self.next_incoming() {
                Some(incoming) => {
                    self.taken += 1;
                    if let Some(message) = self.admit(incoming) {
                        return Some(message);
                    }
                }
                None if self.ended => {
                    self.at_end.send_replace(true);
                    self.outbox.flushed().await;
                    return None;
                }
                None => self.read_on().await,
            }
        }
    }

    fn next_incoming(&mut self) -> Option<Incoming> {
        Some(match self.lines.next()? {
            Line::Whole(line) => message::read(line),
            Line::TooLong(id) => Incoming::Refused(Refused::too_long(id)),
        })
    }

    /// What of this rmcp must see.
    fn admit(&mut self, incoming: Incoming) -> Option<ClientJsonRpcMessage> {
        match incoming {
            Incoming::Request(request, id) => self.admit_request(request, id),
            Incoming::Notice(Notice::Initialized) => {
                if self.era == Some(Era::Handshake) {
                    self.desk.greeted();
                }
                None
            }
            Incoming::Notice(Notice::Cancelled(params)) => {
                if let Some(id) = &params.request_id {
                    // rmcp answers nothing for it from here on.
                    self.outbox.forget(id);
                }
                let notice = CancelledNotification::new(params);
                let serving = self.rmcp == Rmcp::Serving;
                serving.then(|| ClientJsonRpcMessage::notification(notice.into()))
            }
            Incoming::Ignored => None,
            Incoming::Refused(refused) => {
                self.outbox.refuse(&refused);
                None
            }
        }
    }

    fn admit_request(
        &mut self,
        request: ClientRequest,
        id: RequestId,
    ) -> Option<ClientJsonRpcMessage> {
        if self.outbox.awaits(&id) {
            self.outbox.refuse(&Refused::in_use(&id));
            return None;
        }
        if self.answer(&request, &id) {
            tracing::debug!(%id, method = request.method(), "answered at the desk");
            return None;
        }
        // A listener is answered when it hangs up, and must not keep calls waiting.
        let stays = matches!(request, ClientRequest::SubscriptionsListenRequest(_));
        self.outbox.expect(id.clone(), stays);
        if self.rmcp == Rmcp::Waiting {
            self.rmcp = waits_after(&request);
        }
        if self.era.is_none()
            && message::opens_session(&request)
            && !matches!(request, ClientRequest::InitializeRequest(_))
        {
            self.era = Some(Era::Stateless);
        }
        Some(ClientJsonRpcMessage::request(request, id))
    }

    /// Answers at the desk, where that can be.
    fn answer(&mut self, request: &ClientRequest, id: &RequestId) -> bool {
        if let ClientRequest::InitializeRequest(request) = request {
            return self.greet(&request.params, id);
        }
        let Some(era) = era_of(request, self.era) else {
            return false;
        };
        let desk = &mut self.desk;
        self.outbox
            .answer(id, |into| desk.answer(request, era, into))
    }

    fn greet(&mut self, client: &InitializeRequestParams, id: &RequestId) -> bool {
        if self.rmcp != Rmcp::Asleep || self.era.is_some() {
            return false;
        }
        let (desk, mut agreed) = (&mut self.desk, None);
        let greeted = self.outbox.answer(id, |into| {
            agreed = desk.greet(client, into);
            agreed.is_some()
        });
        if let Some(version) = agreed.filter(|_| greeted) {
            let mut client = Box::new(client.clone());
            client.protocol_version = version;
            self.client = Some(client);
            self.era = Some(Era::Handshake);
        }
        greeted
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
        if self.era.is_none()
            && let JsonRpcMessage::Response(response) = &item
            && let ServerResult::InitializeResult(_) = &response.result
        {
            self.era = Some(Era::Handshake);
        }
        std::future::ready(self.outbox.send(&item))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        match self.first.take() {
            Some(first) => Some(first),
            None => self.next_for_rmcp().await,
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outbox.last_flush().await;
        Ok(())
    }
}

/// What rmcp does once it has this request, while it waits for a session.
fn waits_after(request: &ClientRequest) -> Rmcp {
    if message::opens_session(request) {
        Rmcp::Serving
    } else {
        Rmcp::Waiting
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
