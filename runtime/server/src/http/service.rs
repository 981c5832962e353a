//! One request, from its head to its answer: who asks and what for is checked
//! in the order of what it costs, then rmcp answers. Broken messages are
//! answered here, in the words used over stdin: rmcp has no JSON for them.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming as Arriving};
use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};
use rmcp::model::{ErrorCode, RequestId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::auth::Auth;
use super::body::{self, ReadError};
use super::protocol::Protocol;
use super::response::{self, Response};
use super::timed_stream::{Activity, Handover};
use super::{Limits, health, plain};
use crate::library::Library;
use crate::transport::message::{self, Incoming, Refused, WireId};

/// Where the protocol is spoken.
pub(super) const PATH: &str = "/mcp";

/// Most characters of a path or method in the log. Ours are shorter.
const LOGGED: usize = 64;

/// Lets requests in and answers them.
pub(super) struct Service {
    auth: Auth,
    library: Library,
    mcp: Protocol,
    bodies: body::Reader,
    turns: Arc<Semaphore>,
    limits: Limits,
}

/// What the log says of a request, beside how it ended.
#[derive(Default)]
struct Asked {
    /// The method of the message, where it was read.
    method: Option<String>,
}

impl Service {
    pub(super) fn new(auth: Auth, library: Library, mcp: Protocol, limits: Limits) -> Self {
        Self {
            auth,
            library,
            mcp,
            bodies: body::Reader::new(),
            turns: Arc::new(Semaphore::new(limits.requests)),
            limits,
        }
    }

    /// Loads the skills, so that the first request need not wait for it.
    pub(super) async fn warm_up(self: Arc<Self>) {
        // A failure is in the log, and everybody who asks is told.
        let _ = self.library.current().await;
    }

    /// Responses one request. What comes with the answer is to be held until it
    /// has left.
    pub(super) async fn answer(
        &self,
        request: Request<Arriving>,
        activity: &Arc<Activity>,
    ) -> Response {
        activity.head_arrived();
        let began = Instant::now();
        let (head, body) = request.into_parts();
        let (method, path) = (head.method.clone(), head.uri.path().to_owned());
        let mut asked = Asked::default();
        let mut permit = None;
        let answer = if let Some(answer) = self.without_turn(&head).await {
            answer
        } else {
            let turn = self.in_turn(head, body, activity, &mut asked, &mut permit);
            timeout(self.limits.request, turn)
                .await
                .unwrap_or_else(|_| late(&asked, permit.is_some()))
        };
        log(&method, &path, &asked, &answer, began);
        let mut answer = answer;
        answer.body_mut().hold(Handover::new(Arc::clone(activity), permit));
        answer
    }

    /// What can be said from the head alone.
    async fn without_turn(&self, head: &Parts) -> Option<Response> {
        let path = head.uri.path();
        if let Some(answer) = health::answer(&head.method, path, &self.library).await {
            return Some(answer);
        }
        if let Err(stranger) = self.auth.check(&head.uri, &head.headers) {
            return Some(response::rejected(stranger));
        }
        if path != PATH {
            return Some(response::text(
                StatusCode::NOT_FOUND,
                "nothing here; the protocol is spoken at /mcp",
            ));
        }
        if head.method != Method::POST {
            return Some(response::method_not_allowed("POST"));
        }
        (!is_json(&head.headers)).then(|| {
            response::text(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "expected the header Content-Type: application/json",
            )
        })
    }

    /// Reads the message and has it answered, as one of a limited number.
    async fn in_turn(
        &self,
        head: Parts,
        body: Arriving,
        activity: &Activity,
        asked: &mut Asked,
        permit: &mut Option<OwnedSemaphorePermit>,
    ) -> Response {
        *permit = Arc::clone(&self.turns).acquire_owned().await.ok();
        let body = match self.bodies.read(body).await {
            Ok(body) => body,
            Err(fault) => return no_body(&fault),
        };
        activity.request_arrived();
        let (mut faulty, mut id) = (None, None);
        match message::read(body.bytes.trim_ascii()) {
            Incoming::Request(request, named) => {
                asked.method = Some(request.method().to_owned());
                if let Some(answer) = self.mcp.answer(&head.headers, &request, &named) {
                    return answer;
                }
                id = Some(named);
            }
            Incoming::Refused(refused) if refused.code == ErrorCode::INVALID_PARAMS => {
                faulty = Some(refused);
            }
            Incoming::Refused(refused) => {
                return refusal(StatusCode::BAD_REQUEST, &refused);
            }
            Incoming::Notice(_) | Incoming::Ignored => {}
        }
        // The handshake is gone from the era that has this header: it is unknown
        // there, whatever its parameters.
        let unknown = head
            .headers
            .get(plain::METHOD)
            .is_some_and(|it| it == "initialize");
        let request = Request::from_parts(head, Full::new(Bytes::from(body.bytes.clone())));
        let answer = self.mcp.handle(request).await;
        match (answer.status(), faulty) {
            // rmcp checks headers against the message first, and so they count
            // first; wrong parameters it takes for none, or the method for
            // unknown, or finds no message in them.
            (
                StatusCode::OK | StatusCode::NOT_FOUND | StatusCode::UNSUPPORTED_MEDIA_TYPE,
                Some(refused),
            ) if !unknown => refusal(StatusCode::OK, &refused),
            // The type was right: this is its word for what it cannot read, such
            // as parameters of an unknown method nested too deep.
            (StatusCode::UNSUPPORTED_MEDIA_TYPE, _) => {
                refusal(StatusCode::BAD_REQUEST, &unread(id.as_ref()))
            }
            _ => answer,
        }
    }
}

fn unread(id: Option<&RequestId>) -> Refused {
    Refused {
        id: id.and_then(WireId::of),
        code: ErrorCode::INVALID_REQUEST,
        message: "not a message of the protocol, or nested too deep".to_owned(),
    }
}

fn refusal(status: StatusCode, refused: &Refused) -> Response {
    response::json(status, refused.to_json())
}

fn error(status: StatusCode, code: ErrorCode, message: &str) -> Response {
    let message = message.to_owned();
    refusal(status, &Refused { id: None, code, message })
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next());
    essence.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn no_body(fault: &ReadError) -> Response {
    let (status, message) = match fault {
        ReadError::TooLarge => (
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "a message may be {} bytes long, this one is longer",
                body::MAX_BODY
            ),
        ),
        ReadError::Broken => (StatusCode::BAD_REQUEST, "the message broke off".to_owned()),
    };
    closing(error(status, ErrorCode::INVALID_REQUEST, &message))
}

/// What is said when the time is over: who is to blame depends on how far the
/// request had come.
fn late(asked: &Asked, in_turn: bool) -> Response {
    if !in_turn {
        let answer = response::text(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many requests are under way; try again",
        );
        return closing(response::with(answer, RETRY_AFTER, "1"));
    }
    let (status, code, message) = match asked.method {
        None => (
            StatusCode::REQUEST_TIMEOUT,
            ErrorCode::INVALID_REQUEST,
            "the message took too long to arrive",
        ),
        Some(_) => (
            StatusCode::GATEWAY_TIMEOUT,
            ErrorCode::INTERNAL_ERROR,
            "the answer took too long; other requests still work",
        ),
    };
    closing(error(status, code, message))
}

/// For a connection whose request was not read to its end.
fn closing(answer: Response) -> Response {
    response::with(answer, CONNECTION, "close")
}

/// The access log. Bodies, queries and headers may hold secrets and stay out.
fn log(method: &Method, path: &str, asked: &Asked, answer: &Response, began: Instant) {
    let bytes = answer.body().len();
    let bytes = bytes.map_or_else(|| Cow::from("-"), |bytes| bytes.to_string().into());
    tracing::info!(
        "{} {} {} {} {bytes} {}us",
        shown(method.as_str()),
        shown(path),
        shown(asked.method.as_deref().unwrap_or("-")),
        answer.status().as_u16(),
        began.elapsed().as_micros(),
    );
}

/// A client's text on one line of ours.
fn shown(text: &str) -> String {
    let plain = |letter: &char| letter.is_ascii_graphic();
    let cut: String = text.chars().filter(plain).take(LOGGED).collect();
    cut
}
