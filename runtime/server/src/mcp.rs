//! What the protocol asks of the server, answered over the library: who we
//! are, which tools there are, and each call, from one generation. One file
//! per tool below `mcp/`; how messages travel is `transport`'s business.

mod arguments;
mod completion;
mod cursor;
mod desk;
mod extension;
#[cfg(feature = "conformance-fixtures")]
pub(crate) mod fixtures;
mod instructions;
mod listing;
mod near;
mod notices;
mod offer;
mod prepared;
mod preview;
mod prompts;
mod reply;
mod resources;
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
use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, DiscoverResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, GetSkillRequestParams, GetSkillResult, Implementation,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult,
    PaginatedRequestParams, ProtocolVersion, ReadResourceDirectoryRequestParams,
    ReadResourceDirectoryResult, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, SubscribeRequestMethod, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::watch;

use crate::Options;
use crate::changes::{List, digest};
use crate::library::{Generation, Library};
use crate::source::Mode;
use crate::transport::{Era, Outbox};
use arguments::Arguments;
use listing::Caching;
use notices::{Notices, Now};
use offer::{Offer, Present};
use reply::{Refusal, Reply};
use tools::{Ask, Run, Tool};

#[cfg(feature = "http")]
pub(crate) use desk::Clerk;
pub(crate) use desk::FrontDesk;
pub use offer::Tools;
pub use preview::Preview;

/// How long a client may keep what an embedded bundle answered. It cannot
/// change while the process lives; an hour bounds what is seen after an update.
const EMBEDDED_TTL_MS: u64 = 60 * 60 * 1000;

/// Answers the requests of one session, or of all that share the library.
#[derive(Clone)]
pub(crate) struct Server {
    library: Library,
    options: Options,
    /// What the one client knows, where it can be told of changes.
    notices: Option<Arc<Notices>>,
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
            notices: None,
        }
    }

    /// One whose client stays, and can be told of changes until it has said its
    /// last word, which turns `ended` true.
    pub(crate) fn with_notices(self, ended: watch::Receiver<bool>) -> Self {
        let can_change = self.can_change();
        Self {
            notices: can_change.then(|| Arc::new(Notices::new(ended))),
            ..self
        }
    }

    /// Notes that the client was given a list over these skills.
    fn seen(&self, list: List, skills: Option<Arc<Generation>>) {
        if let Some(notices) = &self.notices {
            notices.seen(list, skills);
        }
    }

    fn identity() -> Implementation {
        Implementation::new("skillbundle", env!("CARGO_PKG_VERSION"))
            .with_title("Skills")
            .with_description("Serves agent skills: instructions and files for particular tasks")
    }

    /// What there is, and whether changes of it are told.
    fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .enable_completions()
            .enable_skills_with_directory_read()
            .build();
        let told = self.notices.is_some().then_some(true);
        if let Some(tools) = &mut capabilities.tools {
            tools.list_changed = told;
        }
        if let Some(resources) = &mut capabilities.resources {
            (resources.list_changed, resources.subscribe) = (told, told);
        }
        if let Some(prompts) = &mut capabilities.prompts {
            prompts.list_changed = told;
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

    /// The same, for whoever may be told.
    fn caching_for(&self, context: &RequestContext<RoleServer>) -> Caching {
        self.caching_in(era(context))
    }

    fn caching_in(&self, era: Era) -> Caching {
        if era == Era::Handshake {
            return Caching::default();
        }
        let (ttl_ms, scope) = self.caching();
        Caching {
            ttl_ms: Some(ttl_ms),
            scope: Some(scope),
        }
    }

    /// Answers from the current skills. A fault in one request must not end the others.
    async fn ask<T>(
        &self,
        answer: impl FnOnce(&Arc<Generation>) -> Result<T, ErrorData>,
    ) -> Result<T, ErrorData> {
        let generation = self.library.current().await;
        let generation = generation.map_err(|unavailable| listing::unreadable(unavailable.0))?;
        catch_unwind(AssertUnwindSafe(|| answer(&generation))).unwrap_or_else(|_| {
            Err(ErrorData::internal_error(
                "the request failed unexpectedly; others still work",
                None,
            ))
        })
    }

    async fn run(&self, tool: &Tool, arguments: &JsonObject) -> Result<Reply, ErrorData> {
        let ask = match tool.run {
            Run::Ask(ask) => ask,
            Run::Refresh => {
                let arguments = Arguments::new(arguments);
                return Ok(refresh_skills::run(&self.library, &arguments)
                    .await
                    .unwrap_or_else(Reply::from));
            }
        };
        let generation = match self.library.current().await {
            Ok(generation) => generation,
            Err(unavailable) => return Ok(Refusal::Unavailable(unavailable.0).into()),
        };
        // A fault in one call must not end the others. What happened is on
        // stderr by the panic hook; the client gets no text of ours.
        catch_unwind(AssertUnwindSafe(|| self.asked(ask, &generation, arguments))).map_err(|_| {
            ErrorData::internal_error("the tool failed unexpectedly; other calls still work", None)
        })
    }

    /// What a tool answers from these skills.
    fn asked(&self, ask: Ask, generation: &Generation, arguments: &JsonObject) -> Reply {
        let asked = Asked {
            generation,
            arguments: Arguments::new(arguments),
            mode: self.library.mode(),
            options: &self.options,
        };
        ask(&asked).unwrap_or_else(Reply::from)
    }

    fn discovered(&self) -> DiscoverResult {
        let (ttl_ms, scope) = self.caching();
        let versions = self.supported_protocol_versions().into_owned();
        DiscoverResult::from_server_info(versions, self.get_info())
            .with_ttl_ms(ttl_ms)
            .with_cache_scope(scope)
    }

    /// From here on, tells the client of changes through `outbox`.
    fn tell_changes(&self, outbox: &Arc<Outbox>) {
        if let Some(notices) = self.notices.clone()
            && notices.begin()
        {
            let (server, outbox) = (self.clone(), Arc::clone(outbox));
            tokio::spawn(async move { notices.tell(&outbox, &server.library, &server).await });
        }
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
        ServerConfig::new(self.capabilities())
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_server_info(Self::identity())
            .with_instructions(self.instructions())
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.load_if_quick().await;
        let result = self.negotiate_initialize(&request)?;
        // rmcp notes what was agreed after the first handshake alone: a second
        // one that asks for more must not take the session into another era.
        request.protocol_version = result.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(result)
    }

    async fn discover(
        &self,
        _context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        self.load_if_quick().await;
        Ok(self.discovered())
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
        self.seen(List::Tools, generation);
        let caching = self.caching_for(&context);
        let mut result = ListToolsResult::with_all_items(tools);
        (result.ttl_ms, result.cache_scope) = (caching.ttl_ms, caching.scope);
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
        Ok(reply.into_result(era(&context), Self::identity()).into())
    }

    async fn list_skills(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        let caching = self.caching_for(&context);
        self.ask(|generation| extension::list(generation, params, caching))
            .await
    }

    async fn get_skill(
        &self,
        params: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        let caching = self.caching_for(&context);
        self.ask(|generation| extension::get(generation, &params, caching))
            .await
    }

    async fn read_resource_directory(
        &self,
        params: ReadResourceDirectoryRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        let caching = self.caching_for(&context);
        self.ask(|generation| extension::directory(generation, params, caching))
            .await
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let caching = self.caching_for(&context);
        self.ask(|generation| {
            let result = resources::list(generation, params, caching)?;
            self.seen(List::Resources, Some(Arc::clone(generation)));
            Ok(result)
        })
        .await
    }

    async fn list_resource_templates(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let caching = self.caching_for(&context);
        self.ask(|generation| {
            listing::Listing::new(generation, &["resources/templates/list"]).start(params)?;
            Ok(resources::templates(caching))
        })
        .await
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caching = self.caching_for(&context);
        self.ask(|generation| resources::read(generation, &params.uri, caching))
            .await
            .map(ReadResourceResponse::from)
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.ask(|generation| completion::complete(generation, &params))
            .await
            .map(CompleteResult::new)
    }

    async fn list_prompts(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let caching = self.caching_for(&context);
        self.ask(|generation| {
            let result = prompts::list(generation, params, caching)?;
            self.seen(List::Prompts, Some(Arc::clone(generation)));
            Ok(result)
        })
        .await
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.ask(|generation| prompts::get(generation, &params))
            .await
            .map(GetPromptResponse::from)
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // What is not declared is taken out by the caller.
        self.notices.as_ref().map(|_| requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        if let Some(notices) = &self.notices {
            notices.listen(&context, &self.library, self).await;
        }
        Ok(())
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let Some(notices) = &self.notices else {
            return Err(ErrorData::method_not_found::<SubscribeRequestMethod>());
        };
        let uri = params.uri;
        let version = self.ask(|generation| resources::version(generation, &uri));
        let version = version.await?;
        if notices.subscribe(uri, Some(version)) {
            return Ok(());
        }
        Err(ErrorData::invalid_params(
            format!(
                "too many subscriptions: a client may have {}",
                notices::SUBSCRIPTIONS
            ),
            None,
        ))
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if let Some(notices) = &self.notices {
            notices.unsubscribe(&params.uri);
        }
        Ok(())
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

impl Now for Server {
    fn loaded(&self) -> Option<Arc<Generation>> {
        self.library.loaded()
    }

    fn reading(&self, list: List, skills: Option<&Generation>) -> u64 {
        match list {
            List::Tools => digest(&self.tools(skills)),
            List::Resources => digest(&skills.map(resources::reading)),
            List::Prompts => digest(&skills.map(prompts::reading)),
        }
    }

    fn resource(&self, uri: &str) -> Option<[u8; 32]> {
        resources::version(self.library.loaded().as_deref()?, uri).ok()
    }
}

fn era(context: &RequestContext<RoleServer>) -> Era {
    match context.protocol_version() {
        Some(version) if !version.has_initialize() => Era::Stateless,
        _ => Era::Handshake,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
