//! rmcp's side of the port: no sessions, and one JSON answer a request unless
//! something is told before it.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::HeaderMap;
use hyper::{Request, StatusCode};
use rmcp::ServerHandler;
use rmcp::model::{ClientRequest, RequestId};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::body;
use super::plain;
use super::response::{self, Response};
#[cfg(feature = "conformance-fixtures")]
use crate::mcp::fixtures::Fixtures;
use crate::mcp::{Clerk, Server};
use crate::transport::outbox::respond;

type Service<H> = StreamableHttpService<H, NeverSessionManager>;

/// Who answers messages.
pub(super) enum Protocol {
    /// The server, and who answers for it what takes no waiting.
    Skills(Service<Server>, Mutex<Clerk>),
    /// The server with what the conformance suite asks for.
    #[cfg(feature = "conformance-fixtures")]
    Fixtures(Service<Fixtures>),
}

impl Protocol {
    pub(super) fn skills(server: Server) -> Self {
        Self::Skills(service(server.clone()), Mutex::new(Clerk::new(server)))
    }

    #[cfg(feature = "conformance-fixtures")]
    pub(super) fn fixtures(server: Server) -> Self {
        Self::Fixtures(service(Fixtures::beside(server)))
    }

    /// The answer to a request with nothing unusual about it, from what was
    /// written when compiling; nothing where it is for [`Self::handle`].
    pub(super) fn answer(
        &self,
        headers: &HeaderMap,
        request: &ClientRequest,
        id: &RequestId,
    ) -> Option<Response> {
        let clerk = match self {
            Self::Skills(_, clerk) => clerk,
            #[cfg(feature = "conformance-fixtures")]
            Self::Fixtures(_) => return None,
        };
        let era = plain::era(headers, request)?;
        let mut clerk = clerk.lock().unwrap_or_else(PoisonError::into_inner);
        let mut response = Vec::new();
        let answered = respond(id, &mut response, |into| clerk.answer(request, era, into));
        answered.then(|| response::json(StatusCode::OK, response))
    }

    pub(super) async fn handle(&self, request: Request<Full<Bytes>>) -> Response {
        match self {
            Self::Skills(service, _) => response::boxed(service.handle(request).await),
            #[cfg(feature = "conformance-fixtures")]
            Self::Fixtures(service) => response::boxed(service.handle(request).await),
        }
    }
}

fn service<H: ServerHandler + Clone>(handler: H) -> Service<H> {
    // Names and origins are the guard's business, sizes the reader's.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(body::MAX_BODY)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let sessions = Arc::new(NeverSessionManager::default());
    StreamableHttpService::new(move || Ok(handler.clone()), sessions, config)
}
