//! `initialize`, `server/discover` and `ping`: who the server is and what it offers. They wait for
//! nothing, so instructions name what a slow source has loaded only once it has.

use rmcp::model::{
    CacheScope, DiscoverResult, InitializeRequestParams, InitializeResult, JsonObject,
    PromptsCapability, ProtocolVersion, ResourcesCapability, SKILLS_EXTENSION_ID,
    ServerCapabilities, ToolsCapability,
};

use super::results::{self, Caching, Empty};
use super::{Call, Server, instructions};
use crate::jsonrpc::RpcError;

pub(crate) fn initialize(call: &Call<'_>, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let params: InitializeRequestParams = call.request.params()?;
    call.server.introduced(&params.client_info.name);
    let asked = params.protocol_version;
    let spoken = asked.has_initialize() && ProtocolVersion::KNOWN_VERSIONS.contains(&asked);
    let agreed = if spoken {
        asked
    } else {
        ProtocolVersion::LATEST_WITH_INITIALIZE
    };
    results::write(out, &call.server.info().with_protocol_version(agreed))
}

pub(crate) fn discover(call: &Call<'_>, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let versions = ProtocolVersion::KNOWN_VERSIONS.to_vec();
    let Caching { ttl_ms, scope } = Caching::of(call);
    let result = DiscoverResult::from_server_info(versions, call.server.info())
        .with_ttl_ms(ttl_ms.unwrap_or_default())
        .with_cache_scope(scope.unwrap_or(CacheScope::Private));
    results::write(out, &result)
}

pub(crate) fn ping(_: &Call<'_>, out: &mut Vec<u8>) -> Result<(), RpcError> {
    results::write(out, &Empty {})
}

impl Server {
    fn info(&self) -> InitializeResult {
        // A failure to load is on stderr, and in the answer to the first call.
        let skills = match self.refresher.ready() {
            Some(skills) => skills.ok(),
            None => self.refresher.loaded(),
        };
        let toolset = self.toolset(skills.as_deref());
        InitializeResult::new(self.capabilities())
            .with_server_info(Self::identity())
            .with_instructions(instructions::text(toolset, self.refresher.can_change()))
    }

    /// What the server offers, and whether it notifies of changes.
    pub(super) fn capabilities(&self) -> ServerCapabilities {
        let notified = self.notifier.is_some().then_some(true);
        let mut tools = ToolsCapability::default();
        tools.list_changed = notified;
        let mut resources = ResourcesCapability::default();
        (resources.list_changed, resources.subscribe) = (notified, notified);
        let mut prompts = PromptsCapability::default();
        prompts.list_changed = notified;
        let skills = JsonObject::from_iter([("directoryRead".to_owned(), true.into())]);

        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(tools);
        capabilities.resources = Some(resources);
        capabilities.prompts = Some(prompts);
        capabilities.completions = Some(JsonObject::default());
        capabilities.extensions = Some([(SKILLS_EXTENSION_ID.to_owned(), skills)].into());
        capabilities
    }
}
