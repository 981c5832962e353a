//! One session from its first message to its end. A request that needs nothing that takes time is
//! answered as it is read; any other becomes a task, with a token by which the client can cancel
//! it. Both use the same method table.
//!
//! Nothing is read while replies do not leave, or while too many requests are in flight.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::lines::{InputLine, Lines};
use super::outbox::Outbox;
use crate::error::Error;
use crate::jsonrpc::{self, Invalid, Message, Request};
use crate::mcp::{Caller, Era, Notify, Plan, Server};
use crate::platform::{self, Input, Output};

/// Requests that may be in flight at one time. A client that sends more waits in its own pipe:
/// with a task for each request, 15,466 calls with unread replies took 1.3 GB.
pub(super) const IN_FLIGHT: usize = 32;

/// Messages that are handled before other tasks have a turn: a client that floods us must not keep
/// a signal waiting.
const TURN: usize = 32;

/// How long requests in flight may take when the client has closed stdin.
const DRAIN: Duration = Duration::from_secs(5);

/// How long replies may take to leave when the process is asked to stop. Supervisors kill after
/// some seconds.
const GRACE: Duration = Duration::from_secs(1);

/// How long what the host sent before its end may take to arrive.
const LAST_MESSAGES: Duration = Duration::from_secs(1);

/// How long the pipes of a host that is gone must be silent.
const SILENCE: Duration = Duration::from_secs(4);

/// How a session ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// stdin ended without a single message: nobody has seen whether the skills load.
    Unasked,
    /// In any other way.
    Served,
}

/// What arrives.
struct Session {
    input: Input,
    lines: Lines,
    /// Notified of each message.
    heard: Arc<tokio::sync::Notify>,
    /// Messages handled in this turn.
    taken: usize,
    /// Whether there was any message at all.
    was_asked: bool,
    ended: bool,
    dispatcher: Dispatcher,
}

/// Has each message answered: at once, or by a task.
struct Dispatcher {
    server: Server,
    outbox: Arc<Outbox>,
    /// The era of the session, once a request has decided it.
    era: Option<Era>,
}

/// Serves one client until it closes stdin or stops reading stdout, until the process is asked to
/// stop, or until its host is gone.
pub(crate) async fn run(server: Server, input: Input, output: Output) -> Result<Ended, Error> {
    let outbox = Arc::new(Outbox::new(output));
    let closing = CancellationToken::new();
    let heard = Arc::new(tokio::sync::Notify::new());
    let watch_parent = !server.options.outlive_parent;
    let mut session = Session {
        input,
        lines: Lines::default(),
        heard: Arc::clone(&heard),
        taken: 0,
        was_asked: false,
        ended: false,
        dispatcher: Dispatcher {
            server: server.for_session(closing.clone()),
            outbox: Arc::clone(&outbox),
            era: None,
        },
    };
    let to_the_end = async {
        session.serve().await;
        closing.cancel();
        // A request that takes longer is lost.
        let _ = timeout(DRAIN, outbox.idle()).await;
        outbox.last_flush().await;
        if session.was_asked {
            Ended::Served
        } else {
            Ended::Unasked
        }
    };
    let stopped = async {
        tokio::select! {
            asked = platform::asked_to_stop() => asked.map_err(Error::Runtime),
            () = outbox.reader_gone() => Ok(()),
            () = host_gone(&heard), if watch_parent => Ok(()),
        }
    };
    tokio::select! {
        ended = to_the_end => Ok(ended),
        stopped = stopped => {
            closing.cancel();
            // Lets listeners send their results.
            tokio::task::yield_now().await;
            // What has not left by then never will.
            let _ = timeout(GRACE, outbox.flushed()).await;
            stopped.map(|()| Ended::Served)
        }
    }
}

/// Returns when the host is gone although another process, such as a child that inherited them,
/// still holds the pipes: the parent has ended, and nothing arrives. If messages still arrive, the
/// parent was not the host, and only the pipes count from then on.
async fn host_gone(heard: &tokio::sync::Notify) {
    platform::parent_gone().await;
    sleep(LAST_MESSAGES).await;
    if timeout(SILENCE, heard.notified()).await.is_ok() {
        return std::future::pending().await;
    }
    tracing::info!("the host is gone");
}

impl Session {
    /// Reads and answers until the end of input.
    async fn serve(&mut self) {
        let outbox = Arc::clone(&self.dispatcher.outbox);
        loop {
            outbox.fewer_than(IN_FLIGHT).await;
            outbox.flushed().await;
            if self.lines.has_more() && outbox.is_busy() || self.taken >= TURN {
                self.taken = 0;
                // Lets tasks that are ready finish first, so that a burst of calls does not hold
                // all its replies in memory at one time.
                tokio::task::yield_now().await;
            }
            let message = match self.lines.next() {
                Some(InputLine::Whole(line)) => jsonrpc::read(line),
                Some(InputLine::TooLong(id)) => Err(Invalid::too_long(id)),
                None if self.ended => return,
                None => {
                    self.read_on().await;
                    continue;
                }
            };
            self.taken += 1;
            self.was_asked = true;
            self.heard.notify_waiters();
            self.dispatcher.dispatch(message);
        }
    }

    /// Reads more, unless a task leaves replies that must be flushed first.
    async fn read_on(&mut self) {
        let read = tokio::select! {
            read = self.input.read(self.lines.buffer()) => read,
            () = self.dispatcher.outbox.backed_up() => return,
        };
        match read {
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

impl Dispatcher {
    fn dispatch(&mut self, message: Result<Message<'_>, Invalid>) {
        match message {
            Ok(Message::Request(request)) => self.request(request),
            Ok(Message::Notification(notification)) => match &*notification.method {
                "notifications/initialized" if self.era == Some(Era::Handshake) => {
                    self.server.client_is_ready(notify(&self.outbox));
                }
                "notifications/cancelled" => {
                    if let Some(id) = notification.cancelled_request() {
                        self.outbox.cancel(&id);
                    }
                }
                _ => {}
            },
            Ok(Message::Response) => {}
            Err(invalid) => self.outbox.refuse(&invalid),
        }
    }

    fn request(&mut self, request: Request<'_>) {
        if self.outbox.is_in_flight(&request.id) {
            return self.outbox.refuse(&Invalid::id_in_use(request.id));
        }
        let plan = match self.server.plan(&request, self.era) {
            Ok(plan) => plan,
            Err(error) => {
                self.outbox.respond(&request.id, |_| Some(Err(error)));
                return;
            }
        };
        let answered = self.outbox.respond(&request.id, |out| {
            self.server.answer_now(&plan, &request, out)
        });
        if !matches!(answered, Some(Err(_))) {
            self.era = plan.session_after(self.era);
        }
        if answered.is_none() {
            self.spawn(plan, request.into_owned());
        }
    }

    fn spawn(&self, plan: Plan, request: Request<'static>) {
        let caller = Caller {
            cancelled: CancellationToken::new(),
            notify: notify(&self.outbox),
            // A client here waits as long as it takes.
            announce: Arc::new(|_| ()),
            agent: None,
        };
        let token = caller.cancelled.clone();
        let running = self
            .outbox
            .expect(request.id.clone(), token, plan.stays_open());
        let server = self.server.clone();
        tokio::spawn(async move {
            let mut response = Vec::new();
            let start = jsonrpc::begin_response(&request.id, &mut response);
            let answered = server.answer(&plan, &request, &caller, &mut response).await;
            jsonrpc::end_response(&request.id, start, &mut response, &answered);
            running.reply(&request.id, &response);
        });
    }
}

/// Sends notifications to the client of this outbox.
fn notify(outbox: &Arc<Outbox>) -> Notify {
    let outbox = Arc::clone(outbox);
    Arc::new(move |message| outbox.send(message).is_ok())
}
