//! The server with what the official conformance suite asks for by name beside
//! its own: tools, resources and prompts that serve no other purpose. Only in
//! builds with the feature `conformance-fixtures`, and there only on demand.

// Log messages are of the older era; whoever speaks it is to be served.
#![expect(deprecated)]

mod catalog;
mod notices;
mod rounds;

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo,
    CustomRequest, CustomResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, GetSkillRequestParams, GetSkillResult, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListSkillsResult, ListToolsResult, LoggingLevel, PaginatedRequestParams,
    ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Reference, ResultType, ServerConfig,
    SetLevelRequestMethod, SetLevelRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Era, Server, era};
use catalog::{CATALOG, PromptFixture, Tells, ToolFixture, filled};
use rounds::Told;

/// The server and the fixtures. What is not written here, such as
/// subscriptions, is not offered over HTTP by the server itself.
#[derive(Clone)]
pub(crate) struct Fixtures {
    server: Server,
    /// What a client of the older era set. There are no sessions: for all.
    level: Arc<Mutex<Option<LoggingLevel>>>,
}

impl Fixtures {
    pub(crate) fn beside(server: Server) -> Self {
        Self {
            server,
            level: Arc::default(),
        }
    }

    /// The least level of log messages that this client wants.
    fn level(&self, context: &RequestContext<RoleServer>) -> Option<LoggingLevel> {
        if era(context) == Era::Stateless {
            return context.meta.log_level();
        }
        *self.level.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn call(
        &self,
        tool: &ToolFixture,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let told = Told {
            state: request.request_state.as_deref(),
            responses: request.input_responses.as_ref(),
            capabilities: context.client_capabilities().unwrap_or_default(),
        };
        if let Some(asked) = rounds::next(&tool.rounds, &told)? {
            return Ok(asked.into());
        }
        match tool.tells {
            Tells::Nothing => {}
            Tells::Progress => notices::progress(context).await,
            Tells::Log => notices::log(context, self.level(context)).await,
        }
        let mut answer = tool.answer.clone();
        answer.result_type = Some(ResultType::COMPLETE);
        Ok(answer.into())
    }
}

fn tool(name: &str) -> Option<&'static ToolFixture> {
    CATALOG
        .tools
        .iter()
        .find(|tool| tool.definition.name == name)
}

fn prompt(name: &str) -> Option<&'static PromptFixture> {
    let named = |prompt: &&PromptFixture| prompt.definition.name == name;
    CATALOG.prompts.iter().find(named)
}

/// What is at the address, literally or by a template.
fn contents(uri: &str) -> Option<Value> {
    let literal = CATALOG.resources.iter();
    let mut literal = literal.filter(|fixture| fixture.definition.uri == uri);
    if let Some(fixture) = literal.next() {
        return Some(fixture.contents.clone());
    }
    CATALOG.templates.iter().find_map(|fixture| {
        let (before, after) = fixture.definition.uri_template.split_once("{id}")?;
        let id = uri.strip_prefix(before)?.strip_suffix(after)?;
        let with = Map::from_iter([("id".to_owned(), id.into())]);
        Some(filled(&with, &fixture.contents))
    })
}

fn messages(
    prompt: &PromptFixture,
    given: &Map<String, Value>,
) -> Result<GetPromptResult, ErrorData> {
    for argument in prompt.definition.arguments.iter().flatten() {
        if !given.contains_key(&argument.name) {
            let message = format!("the argument {} is missing", argument.name);
            return Err(ErrorData::invalid_params(message, None));
        }
    }
    Ok(GetPromptResult::new(typed(filled(given, &prompt.messages))))
}

/// A part of the catalog as what it is on the wire.
fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it is read by the tests")
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        self.server.get_info()
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        tool(name).map(|tool| tool.definition.clone())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.server.initialize(request, context).await?;
        result.capabilities.logging = Some(Map::default());
        Ok(result)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if era(&context) == Era::Stateless {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.level);
        Ok(())
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        self.server.discover(context).await
    }

    async fn list_tools(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut result = self.server.list_tools(params, context).await?;
        let fixtures = CATALOG.tools.iter().map(|tool| tool.definition.clone());
        result.tools.extend(fixtures);
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match tool(&request.name) {
            Some(tool) => self.call(tool, &request, &context).await,
            None => self.server.call_tool(request, context).await,
        }
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut result = self.server.list_resources(params, context).await?;
        if result.next_cursor.is_none() {
            let fixtures = CATALOG.resources.iter();
            let fixtures = fixtures.map(|fixture| fixture.definition.clone());
            result.resources.extend(fixtures);
        }
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut result = self.server.list_resource_templates(params, context).await?;
        let fixtures = CATALOG.templates.iter();
        let fixtures = fixtures.map(|fixture| fixture.definition.clone());
        result.resource_templates.extend(fixtures);
        Ok(result)
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match contents(&params.uri) {
            Some(contents) => Ok(ReadResourceResult::new(vec![typed(contents)]).into()),
            None => self.server.read_resource(params, context).await,
        }
    }

    async fn list_prompts(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut result = self.server.list_prompts(params, context).await?;
        if result.next_cursor.is_none() {
            let fixtures = CATALOG.prompts.iter();
            let fixtures = fixtures.map(|prompt| prompt.definition.clone());
            result.prompts.extend(fixtures);
        }
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let Some(prompt) = prompt(&request.name) else {
            return self.server.get_prompt(request, context).await;
        };
        let told = Told {
            state: request.request_state.as_deref(),
            responses: request.input_responses.as_ref(),
            capabilities: context.client_capabilities().unwrap_or_default(),
        };
        if let Some(asked) = rounds::next(&prompt.rounds, &told)? {
            return Ok(asked.into());
        }
        let given = request.arguments.unwrap_or_default();
        messages(prompt, &given).map(GetPromptResponse::from)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        match &request.r#ref {
            // Their arguments are free text.
            Reference::Prompt(reference) if prompt(&reference.name).is_some() => {
                Ok(CompleteResult::new(CompletionInfo::default()))
            }
            _ => self.server.complete(request, context).await,
        }
    }

    async fn list_skills(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        self.server.list_skills(params, context).await
    }

    async fn get_skill(
        &self,
        params: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        self.server.get_skill(params, context).await
    }

    async fn read_resource_directory(
        &self,
        params: ReadResourceDirectoryRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        self.server.read_resource_directory(params, context).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.server.on_custom_request(request, context).await
    }
}
