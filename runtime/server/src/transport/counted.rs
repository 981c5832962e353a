//! Knows how many handlers run. A cancelled request needs no reply any more,
//! but rmcp lets its handler go on: counted by replies alone, a client that
//! cancels each of its calls could have any number of them run at one time.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{ClientNotification, ClientRequest, ProtocolVersion, ServerConfig, ServerResult};
use rmcp::service::{NotificationContext, RequestContext, Service};
use rmcp::{ErrorData, RoleServer};

use super::outbox::Outbox;

/// A service whose handlers are counted where reading is decided on.
pub(crate) struct Counted<S> {
    service: S,
    outbox: Arc<Outbox>,
}

impl<S> Counted<S> {
    pub(crate) fn new(service: S, outbox: Arc<Outbox>) -> Self {
        Self { service, outbox }
    }
}

impl<S: Service<RoleServer>> Service<RoleServer> for Counted<S> {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        // Listeners stay, and are few: they must not keep others waiting.
        let stays = matches!(request, ClientRequest::SubscriptionsListenRequest(_));
        let _running = (!stays).then(|| self.outbox.begin());
        self.service.handle_request(request, context).await
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.service
            .handle_notification(notification, context)
            .await
    }

    fn get_info(&self) -> ServerConfig {
        self.service.get_info()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.service.supported_protocol_versions()
    }
}
