//! rmcp's side of the port: no sessions, and one JSON answer a request unless
//! something is told before it.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::body;
use super::reply::Answer;
use crate::mcp::Server;
#[cfg(feature = "conformance-fixtures")]
use crate::mcp::fixtures::Fixtures;

type Service<H> = StreamableHttpService<H, NeverSessionManager>;

/// Who answers messages.
pub(super) enum Protocol {
    /// The server.
    Skills(Service<Server>),
    /// The server with what the conformance suite asks for.
    #[cfg(feature = "conformance-fixtures")]
    Fixtures(Service<Fixtures>),
}

impl Protocol {
    pub(super) fn skills(server: Server) -> Self {
        Self::Skills(service(server))
    }

    #[cfg(feature = "conformance-fixtures")]
    pub(super) fn fixtures(server: Server) -> Self {
        Self::Fixtures(service(Fixtures::beside(server)))
    }

    pub(super) async fn handle(&self, request: Request<Full<Bytes>>) -> Answer {
        match self {
            Self::Skills(service) => service.handle(request).await,
            #[cfg(feature = "conformance-fixtures")]
            Self::Fixtures(service) => service.handle(request).await,
        }
    }
}

fn service<H: ServerHandler + Clone>(handler: H) -> Service<H> {
    // Names and origins are the guard's business, sizes the reader's.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(body::MOST)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let sessions = Arc::new(NeverSessionManager::default());
    StreamableHttpService::new(move || Ok(handler.clone()), sessions, config)
}
