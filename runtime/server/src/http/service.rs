//! One request, from its head to its response. Checks come in the order of what they cost: who
//! asks, for what, whether the message is valid, whether headers and message agree. Then the message
//! is answered as over stdin, at once if the skills are ready.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderMap, RETRY_AFTER};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use rmcp::model::ErrorCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::auth::Auth;
use super::body::{self, BodyError};
use super::deadline::Deadline;
use super::events::{self, Answering, Events, Next, RpcResponse};
use super::headers::{self, Accepts};
use super::response::{self, Response};
use super::timed_stream::{Activity, Handover};
use super::{Limits, health};
use crate::jsonrpc::{self, Id, LONGEST, Message, Request, RpcError};
use crate::mcp::{Announce, Caller, Era, Notify, Plan, Server};
use crate::source::Refresher;

/// The path of the protocol.
const PATH: &str = "/mcp";

/// Maximum characters of a path or method in the log. Ours are shorter.
const LOGGED: usize = 64;

/// Answers the requests of all connections.
pub(super) struct Service {
    auth: Auth,
    refresher: Refresher,
    server: Server,
    bodies: body::Reader,
    turns: Arc<Semaphore>,
    limits: Limits,
}

/// How far a request has come, and what the access log says of it.
struct RequestProgress {
    stage: Stage,
    /// The agent whose token it carries.
    agent: Option<Arc<str>>,
    /// The method of the message.
    method: Option<String>,
    /// When its response must be there.
    deadline: Deadline,
    /// Held while the request is answered, and until the response has left.
    turn: Option<OwnedSemaphorePermit>,
}

/// What a request waits for.
enum Stage {
    Body,
    Turn,
    Answer,
}

impl Service {
    pub(super) fn new(auth: Auth, refresher: Refresher, server: Server, limits: Limits) -> Self {
        Self {
            auth,
            refresher,
            server,
            bodies: body::Reader::new(),
            turns: Arc::new(Semaphore::new(limits.requests)),
            limits,
        }
    }

    /// Brings the skills to this machine again and again, if they come from elsewhere.
    pub(super) fn keep_synced(&self) {
        self.refresher.keep_synced();
    }

    /// Loads the skills, so that the first request need not wait.
    pub(super) async fn warm_up(self: Arc<Self>) {
        // An error is in the log, and every request that needs skills reports it.
        let _ = self.refresher.current().await;
    }

    /// Answers one request.
    pub(super) async fn answer(
        &self,
        request: hyper::Request<Incoming>,
        activity: &Arc<Activity>,
    ) -> Response {
        let began = Instant::now();
        activity.head_arrived();
        let (head, body) = request.into_parts();
        let mut progress = RequestProgress {
            stage: Stage::Body,
            agent: None,
            method: None,
            deadline: Deadline::after(self.limits.request),
            turn: None,
        };
        let mut response = match self.check_head(&head).await {
            Err(response) => response,
            Ok((accepts, agent)) => {
                progress.agent = agent;
                let passed = progress.deadline.passed();
                let answer = self.answer_message(&head, accepts, body, activity, &mut progress);
                tokio::select! {
                    biased;
                    response = answer => response,
                    () = passed => timed_out(&progress.stage),
                }
            }
        };
        log(&head, &progress, &response, began);
        let handover = Handover::new(Arc::clone(activity), progress.turn);
        response.body_mut().hold(handover);
        response
    }

    /// What the client accepts and which agent it is, or the response if the head alone decides it.
    async fn check_head(&self, head: &Parts) -> Result<(Accepts, Option<Arc<str>>), Response> {
        let path = head.uri.path();
        if let Some(response) = health::answer(&head.method, path, &self.refresher).await {
            return Err(response);
        }
        let agent = self.auth.check(&head.uri, &head.headers);
        let agent = agent.map_err(response::rejected)?;
        if path != PATH {
            return Err(response::text(
                StatusCode::NOT_FOUND,
                "nothing here; the protocol is served at /mcp",
            ));
        }
        if head.method != Method::POST {
            return Err(response::method_not_allowed("POST"));
        }
        if !headers::is_json(&head.headers) {
            return Err(response::text(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "expected the header Content-Type: application/json",
            ));
        }
        let accepts = headers::accepts(&head.headers);
        if !accepts.json && !accepts.events {
            return Err(response::text(
                StatusCode::NOT_ACCEPTABLE,
                "expected application/json or text/event-stream in the header Accept",
            ));
        }
        Ok((accepts, agent))
    }

    /// Reads the message and answers it, as one of a limited number.
    async fn answer_message(
        &self,
        head: &Parts,
        accepts: Accepts,
        body: Incoming,
        activity: &Activity,
        progress: &mut RequestProgress,
    ) -> Response {
        let body = match self.bodies.read(body).await {
            Ok(body) => body,
            Err(error) => return unread(&error),
        };
        activity.request_arrived();
        progress.stage = Stage::Turn;
        let request = match jsonrpc::read(body.bytes.trim_ascii()) {
            Ok(Message::Request(request)) => request,
            Ok(message) => return accept(&head.headers, &message),
            Err(invalid) => return error(BAD_REQUEST, invalid.id.as_ref(), &invalid.error),
        };
        progress.method = Some(request.method.clone().into_owned());
        let schema = |tool: &str| self.server.header_schema(tool);
        let reject = |era, wrong: &RpcError| {
            let status = headers::status(era, &request, wrong);
            error(status, Some(&request.id), wrong)
        };
        let era = match headers::check_request(&head.headers, &request, schema) {
            Ok(era) => era,
            Err(wrong) => return reject(Era::Stateless, &wrong),
        };
        let plan = match self.server.plan(&request, Some(era)) {
            Ok(plan) => plan,
            Err(wrong) => return reject(era, &wrong),
        };
        progress.turn = Arc::clone(&self.turns).acquire_owned().await.ok();
        progress.stage = Stage::Answer;
        let id = request.id.clone();
        let mut json = Vec::new();
        let answered = jsonrpc::write_response(&request.id, &mut json, |out| {
            self.server.answer_now(&plan, &request, out)
        });
        let mut answering = match answered {
            Some(answered) => Answering::done(rpc_response(era, &request, &answered, json)),
            None => self.start(plan, request.into_owned(), era, accepts, progress),
        };
        let first = if accepts.events {
            timeout(self.limits.until_stream, answering.next())
                .await
                .ok()
        } else {
            Some(answering.next().await)
        };
        match first {
            Some(Next::Response(first)) if accepts.json || first.status != StatusCode::OK => {
                response::json(first.status, first.json)
            }
            first => {
                progress.deadline.restart(self.limits.stream);
                response::event_stream(Events::new(first, answering, id, &progress.deadline))
            }
        }
    }

    /// Begins to answer a request that must wait for something.
    fn start(
        &self,
        plan: Plan,
        request: Request<'static>,
        era: Era,
        accepts: Accepts,
        progress: &RequestProgress,
    ) -> Answering {
        let server = self.server.clone();
        let cancelled = CancellationToken::new();
        let (deadline, agent) = (progress.deadline.clone(), progress.agent.clone());
        let announce: Announce = Arc::new(move |time| deadline.announce(time));
        Answering::new(cancelled.clone(), move |notify| {
            // A client that takes no events gets the response alone.
            let ignore: Notify = Arc::new(|_| true);
            let notify = if accepts.events { notify } else { ignore };
            async move {
                let caller = Caller {
                    cancelled,
                    notify,
                    announce,
                    agent,
                };
                let mut json = Vec::new();
                let start = jsonrpc::begin_response(&request.id, &mut json);
                let answered = server.answer(&plan, &request, &caller, &mut json).await;
                jsonrpc::end_response(&request.id, start, &mut json, &answered);
                rpc_response(era, &request, &answered, json)
            }
        })
    }
}

const BAD_REQUEST: StatusCode = StatusCode::BAD_REQUEST;

fn rpc_response(
    era: Era,
    request: &Request<'_>,
    answered: &Result<(), RpcError>,
    json: Vec<u8>,
) -> RpcResponse {
    let error = answered.as_ref().err();
    let status = error.map_or(StatusCode::OK, |error| headers::status(era, request, error));
    RpcResponse { status, json }
}

/// Accepts a notification. None of them means anything here, since there are no sessions.
fn accept(headers: &HeaderMap, message: &Message<'_>) -> Response {
    let checked = match message {
        Message::Notification(notification) => {
            headers::check_notification(headers, notification).map(|()| StatusCode::ACCEPTED)
        }
        _ => headers::check_version(headers).and_then(|_| {
            let message = "the server sends no requests, so it takes no responses";
            Err(RpcError::invalid_request(message, None))
        }),
    };
    match checked {
        Ok(status) => response::empty(status),
        Err(wrong) => error(BAD_REQUEST, None, &wrong),
    }
}

fn error(status: StatusCode, id: Option<&Id>, error: &RpcError) -> Response {
    let mut json = Vec::new();
    jsonrpc::write_error(id, error, &mut json);
    response::json(status, json)
}

fn unread(read_error: &BodyError) -> Response {
    let (status, message) = match read_error {
        BodyError::TooLarge => (
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("a message may be {LONGEST} bytes long, this one is longer"),
        ),
        BodyError::Broken => (BAD_REQUEST, "the message broke off".to_owned()),
    };
    closing(error(
        status,
        None,
        &RpcError::invalid_request(message, None),
    ))
}

/// The response when the time is over. Who is to blame depends on how far the request had come.
fn timed_out(stage: &Stage) -> Response {
    let (status, code, message) = match stage {
        Stage::Body => (
            StatusCode::REQUEST_TIMEOUT,
            ErrorCode::INVALID_REQUEST,
            "the message took too long to arrive",
        ),
        Stage::Turn => {
            let busy = response::text(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many requests are under way; try again",
            );
            return closing(response::with(busy, RETRY_AFTER, "1"));
        }
        Stage::Answer => (
            StatusCode::GATEWAY_TIMEOUT,
            ErrorCode::INTERNAL_ERROR,
            events::TOO_LONG,
        ),
    };
    closing(error(status, None, &RpcError::new(code, message, None)))
}

/// Closes the connection after the response: its request was not read to the end, or not answered.
fn closing(response: Response) -> Response {
    response::with(response, CONNECTION, "close")
}

/// The access log. Bodies, queries and headers may hold secrets and stay out.
fn log(head: &Parts, progress: &RequestProgress, response: &Response, began: Instant) {
    let bytes = response.body().len();
    let bytes = bytes.map_or(Cow::from("-"), |bytes| bytes.to_string().into());
    tracing::info!(
        "{} {} {} {} {bytes} {}us",
        printable(head.method.as_str()),
        printable(head.uri.path()),
        printable(progress.method.as_deref().unwrap_or("-")),
        response.status().as_u16(),
        began.elapsed().as_micros(),
    );
}

/// Text of a client without what could fake a line of the log.
fn printable(text: &str) -> String {
    let graphic = text.chars().filter(char::is_ascii_graphic);
    graphic.take(LOGGED).collect()
}
