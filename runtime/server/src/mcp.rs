//! What the protocol asks of the server, answered over the library: who we
//! are, which tools there are, and each call, from one generation. One file
//! per tool below `mcp/`; how messages travel is `transport`'s business.

mod arguments;
mod cursor;
mod instructions;
mod near;
mod notices;
mod offer;
mod preview;
mod reply;
mod roster;
mod tools;

mod get_asset;
mod get_skill;
mod list_skills;
mod refresh_skills;
mod skill;
mod skills_list;
mod skills_search;

use std::panic::{AssertUnwindSafe, catch_unwind};

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode, Implementation, InitializeRequestParams, InitializeResult,
    JsonObject, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::Options;
use crate::changes::Digests;
use crate::library::{Generation, Library};
use crate::source::Mode;
use arguments::Arguments;
use notices::Notices;
use offer::{Offer, Present};
use reply::{Refusal, Reply};
use tools::{Run, Tool};

pub use offer::Tools;
pub use preview::Preview;

/// How long a client may keep what an embedded bundle answered. It cannot
/// change while the process lives; an hour bounds what is seen after an update.
const EMBEDDED_TTL_MS: u64 = 60 * 60 * 1000;

/// Answers the requests of one session.
pub(crate) struct Server {
    library: Library,
    options: Options,
    notices: Notices,
}

/// One call of a tool that asks the skills.
pub(crate) struct Asked<'a> {
    /// The skills to answer from.
    generation: &'a Generation,
    /// What was given with the call.
    arguments: Arguments<'a>,
    /// Where the skills come from.
    mode: Mode,
    /// What the operator wants.
    options: &'a Options,
}

impl Server {
    pub(crate) fn new(library: Library, options: Options) -> Self {
        Self {
            library,
            options,
            notices: Notices::new(),
        }
    }

    fn identity() -> Implementation {
        Implementation::new("skillbundle", env!("CARGO_PKG_VERSION"))
            .with_title("Skills")
            .with_description("Serves agent skills: instructions and files for particular tasks")
    }

    /// What there is, and whether changes of it are told.
    fn capabilities(list_changed: bool) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        if let Some(tools) = &mut capabilities.tools {
            tools.list_changed = list_changed.then_some(true);
        }
        capabilities
    }

    /// Whether other skills may be served later.
    fn can_change(&self) -> bool {
        self.library.mode() != Mode::Embedded
    }

    /// These skills, as what tools have to work with.
    fn present<'a>(&self, generation: Option<&'a Generation>) -> Present<'a> {
        Present {
            catalog: generation.and_then(|generation| generation.catalog().ok()),
            mode: self.library.mode(),
        }
    }

    /// How to use the tools, for a model that sees little else at first.
    fn instructions(&self) -> String {
        let loaded = self.library.loaded();
        let offer = self.options.offer(&self.present(loaded.as_deref()));
        instructions::text(offer, self.can_change())
    }

    /// The tools on offer over the skills that were loaded last.
    fn tools(&self, generation: Option<&Generation>) -> Vec<rmcp::model::Tool> {
        tools::all(&self.present(generation), &self.options)
    }

    /// Loads the skills where that takes no time, so that instructions know
    /// which tools there will be. A handshake waits for nothing longer.
    async fn load_if_quick(&self) {
        if !self.library.mode().is_slow() {
            // Why it failed is on stderr, and is told to the first call.
            let _ = self.library.current().await;
        }
    }

    fn unknown_tool(&self, name: &str) -> ErrorData {
        let loaded = self.library.loaded();
        let offer = self.options.offer(&self.present(loaded.as_deref()));
        ErrorData::invalid_params(
            format!(
                "unknown tool \"{}\"; this server has {}",
                reply::shortened(name),
                offer.names().join(", ")
            ),
            None,
        )
    }

    /// How long, and for whom, a client may keep what it is told.
    fn caching(&self) -> (u64, CacheScope) {
        match self.library.mode() {
            Mode::Embedded => (EMBEDDED_TTL_MS, CacheScope::Public),
            Mode::Archive | Mode::Local => (0, CacheScope::Private),
        }
    }

    async fn run(&self, tool: &Tool, arguments: &JsonObject) -> Result<Reply, ErrorData> {
        let arguments = Arguments::new(arguments);
        let ask = match tool.run {
            Run::Ask(ask) => ask,
            Run::Refresh => {
                return Ok(refresh_skills::run(&self.library, &arguments)
                    .await
                    .unwrap_or_else(Reply::from));
            }
        };
        let generation = match self.library.current().await {
            Ok(generation) => generation,
            Err(unavailable) => return Ok(Refusal::Unavailable(unavailable.0).into()),
        };
        let asked = Asked {
            generation: &generation,
            arguments,
            mode: self.library.mode(),
            options: &self.options,
        };
        // A fault in one call must not end the others. What happened is on
        // stderr by the panic hook; the client gets no text of ours.
        catch_unwind(AssertUnwindSafe(|| ask(&asked)))
            .map(|answer| answer.unwrap_or_else(Reply::from))
            .map_err(|_| {
                ErrorData::internal_error(
                    "the tool failed unexpectedly; other calls still work",
                    None,
                )
            })
    }
}

impl Asked<'_> {
    /// The tools that an answer may name.
    fn offer(&self) -> Offer {
        let present = Present {
            catalog: self.generation.catalog().ok(),
            mode: self.mode,
        };
        self.options.offer(&present)
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(Self::capabilities(self.can_change()))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_server_info(Self::identity())
            .with_instructions(self.instructions())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        self.load_if_quick().await;
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.can_change() {
            let now = || Digests::new(&self.tools(self.library.loaded().as_deref()));
            self.notices.tell(&context.peer, &self.library, now).await;
        }
    }

    async fn discover(
        &self,
        _context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        self.load_if_quick().await;
        let (ttl_ms, scope) = self.caching();
        let versions = self.supported_protocol_versions().into_owned();
        // Notices need `subscriptions/listen` here, which is not offered.
        let mut info = self.get_info();
        info.capabilities = Self::capabilities(false);
        Ok(DiscoverResult::from_server_info(versions, info)
            .with_ttl_ms(ttl_ms)
            .with_cache_scope(scope))
    }

    async fn list_tools(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if params.is_some_and(|params| params.cursor.is_some()) {
            return Err(ErrorData::invalid_params(
                "unknown cursor: all tools are on the first page",
                None,
            ));
        }
        let generation = self.library.current().await.ok();
        let described = catch_unwind(AssertUnwindSafe(|| self.tools(generation.as_deref())));
        let tools = described
            .map_err(|_| ErrorData::internal_error("the tools could not be described", None))?;
        if self.can_change() {
            self.notices.seen(Digests::new(&tools));
        }
        let (ttl_ms, scope) = self.caching();
        let mut result = ListToolsResult::with_all_items(tools)
            .with_ttl_ms(ttl_ms)
            .with_cache_scope(scope);
        if !is_modern(&context) {
            // Fields of 2026-07-28 that older clients were never told of.
            (result.ttl_ms, result.cache_scope) = (None, None);
        }
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = tools::find(&request.name)
            .filter(|tool| self.options.tools.answer(tool))
            .ok_or_else(|| self.unknown_tool(&request.name))?;
        let reply = self
            .run(tool, &request.arguments.unwrap_or_default())
            .await?;
        let mut result = reply.into_result();
        if is_modern(&context) {
            reply::sign(&mut result, Self::identity());
        }
        Ok(result.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let message = format!(
            "method \"{}\" is not known here, or needs a capability that this server does not declare",
            reply::shortened(&request.method)
        );
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| !version.has_initialize())
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
