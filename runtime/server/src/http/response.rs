//! Responses as bytes: JSON, a line of text for a person, or server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::StatusCode;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE,
};

use super::auth::Rejection;
use super::events::Events;
use super::timed_stream::Handover;

/// The response to one request.
pub(super) type Response = hyper::Response<Body>;

/// Its body.
pub(super) struct Body {
    payload: Payload,
    handover: Option<Handover>,
}

enum Payload {
    Whole(Bytes),
    Events(Box<Events>),
}

impl Body {
    /// Bytes, if it is not a stream.
    pub(super) fn len(&self) -> Option<usize> {
        match &self.payload {
            Payload::Whole(bytes) => Some(bytes.len()),
            Payload::Events(_) => None,
        }
    }

    /// Drops `handover` with the body.
    pub(super) fn hold(&mut self, handover: Handover) {
        self.handover = Some(handover);
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match &mut self.payload {
            Payload::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Payload::Whole(bytes) => Poll::Ready(Some(std::mem::take(bytes))),
            Payload::Events(events) => events.poll_next(context),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.len() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        let exact = |len| SizeHint::with_exact(len as u64);
        self.len().map_or_else(SizeHint::default, exact)
    }
}

/// A status without a body.
pub(super) fn empty(status: StatusCode) -> Response {
    whole(status, Bytes::new())
}

pub(super) fn json(status: StatusCode, text: impl Into<Vec<u8>>) -> Response {
    let mut text = text.into();
    skillbundle_format::escape_line_ends(&mut text, 0);
    let response = whole(status, text.into());
    with(response, CONTENT_TYPE, "application/json")
}

/// One line for a person.
pub(super) fn text(status: StatusCode, text: &str) -> Response {
    let response = whole(status, format!("{text}\n").into());
    with(response, CONTENT_TYPE, "text/plain; charset=utf-8")
}

/// Server-sent events: notifications, then the JSON-RPC response.
pub(super) fn event_stream(events: Events) -> Response {
    let mut response = empty(StatusCode::OK);
    response.body_mut().payload = Payload::Events(Box::new(events));
    let response = with(response, CONTENT_TYPE, "text/event-stream");
    let response = with(response, CACHE_CONTROL, "no-cache");
    // Asks nginx and proxies like it not to hold events back.
    with(response, HeaderName::from_static("x-accel-buffering"), "no")
}

/// The path has no such method.
pub(super) fn method_not_allowed(allowed: &'static str) -> Response {
    let response = text(
        StatusCode::METHOD_NOT_ALLOWED,
        &format!("expected the method {allowed}"),
    );
    with(response, ALLOW, allowed)
}

/// The client may not use this server.
pub(super) fn rejected(rejection: Rejection) -> Response {
    let (status, reason) = match rejection {
        Rejection::NoHost => (StatusCode::BAD_REQUEST, "expected the header Host"),
        Rejection::Host => (
            StatusCode::FORBIDDEN,
            "the header Host names another server; the operator can allow the name with --allow-host",
        ),
        Rejection::Origin => (
            StatusCode::FORBIDDEN,
            "web pages of this Origin are not allowed; the operator can allow them with --allow-origin",
        ),
        Rejection::Token => (
            StatusCode::UNAUTHORIZED,
            "expected the header Authorization: Bearer, with the token of this server",
        ),
    };
    let response = text(status, reason);
    if rejection == Rejection::Token {
        return with(response, WWW_AUTHENTICATE, "Bearer");
    }
    response
}

/// The response with one more header.
pub(super) fn with(mut response: Response, name: HeaderName, value: &'static str) -> Response {
    response
        .headers_mut()
        .insert(name, HeaderValue::from_static(value));
    response
}

fn whole(status: StatusCode, bytes: Bytes) -> Response {
    let mut response = Response::new(Body {
        payload: Payload::Whole(bytes),
        handover: None,
    });
    *response.status_mut() = status;
    response
}
