//! Answers as bytes: those of ours, and what they have in common with rmcp's.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use rmcp::model::ErrorCode;

use super::guard::Stranger;
use crate::transport::message::Refused;

/// An answer to one request.
pub(super) type Answer = Response<BoxBody<Bytes, Infallible>>;

/// JSON, given as text.
pub(super) fn json(status: StatusCode, text: impl Into<Bytes>) -> Answer {
    with_type(status, "application/json", text)
}

/// One line for a person.
pub(super) fn text(status: StatusCode, text: &str) -> Answer {
    with_type(status, "text/plain; charset=utf-8", format!("{text}\n"))
}

/// An error in the words of JSON-RPC, for a request whose id was not read.
pub(super) fn error(status: StatusCode, code: ErrorCode, message: &str) -> Answer {
    refused(
        status,
        &Refused {
            id: None,
            code,
            message: message.to_owned(),
        },
    )
}

/// A message that is not served.
pub(super) fn refused(status: StatusCode, refused: &Refused) -> Answer {
    json(status, refused.to_json())
}

/// A method that means nothing at this path.
pub(super) fn not_allowed(allowed: &'static str) -> Answer {
    let answer = text(
        StatusCode::METHOD_NOT_ALLOWED,
        &format!("expected the method {allowed}"),
    );
    with(answer, ALLOW, allowed)
}

/// A request that is not let in.
pub(super) fn turned_away(stranger: Stranger) -> Answer {
    match stranger {
        Stranger::NoHost => text(StatusCode::BAD_REQUEST, "expected the header Host"),
        Stranger::Host => text(
            StatusCode::FORBIDDEN,
            "the header Host names another server; the operator can allow the name with --allow-host",
        ),
        Stranger::Origin => text(
            StatusCode::FORBIDDEN,
            "the header Origin names a web page that may not ask; the operator can allow it with --allow-origin",
        ),
        Stranger::Token => with(
            text(
                StatusCode::UNAUTHORIZED,
                "expected the header Authorization: Bearer, with the token of this server",
            ),
            WWW_AUTHENTICATE,
            "Bearer",
        ),
    }
}

/// The answer with one more header.
pub(super) fn with(mut answer: Answer, name: HeaderName, value: &'static str) -> Answer {
    answer
        .headers_mut()
        .insert(name, HeaderValue::from_static(value));
    answer
}

fn with_type(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(text.into()).boxed());
    *answer.status_mut() = status;
    with(answer, CONTENT_TYPE, kind)
}
