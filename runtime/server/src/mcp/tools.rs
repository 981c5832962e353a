//! The table of tools, in the order that clients see, and the two methods about them. Each tool is
//! implemented in the file of its name, with its schemas as text, which are parsed when they are
//! first listed.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError};

use rmcp::model::{JsonObject, ToolAnnotations};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use skillbundle_exec::Isolation;

use super::arguments::Arguments;
use super::methods::Handler;
use super::notifier::NotifiedList;
use super::results::{self, PageParams, write_cacheable_with};
use super::tool_result::{ERROR_PROPERTIES, ToolError, ToolResult};
use super::toolset::{ToolContext, ToolSet};
use super::{
    BoxFuture, Call, Caller, Server, Skills, get_asset, get_skill, invoke_skill, list_skills,
    refresh_skills, report_usage, run_script, skill, skill_listing, skills_list, skills_search,
    tool_result,
};
use crate::Options;
use crate::analytics::UsageEvent;
use crate::jsonrpc::{Meta, Request, RpcError};
use crate::scripts::ScriptOptions;
use crate::source::Generation;

/// One tool.
pub(crate) struct ToolDefinition {
    /// The name: `[a-z0-9_]`, which every host accepts.
    pub(crate) name: &'static str,
    /// Spec 4's name with a dot. Always understood, but published only on demand, since several
    /// hosts refuse a whole server for it.
    dotted: Option<&'static str>,
    title: &'static str,
    /// What it does; `None` for the one tool whose description lists the skills.
    description: Option<&'static str>,
    /// What to do next, with tools that may not be offered: the first that is offered replaces the
    /// braces.
    next: &'static [(&'static str, &'static str)],
    input: &'static str,
    /// `None` for a tool that may answer with a text to read alone.
    output: Option<&'static str>,
    /// Whether it is offered unless the operator chooses: the few that find, load and read.
    pub(crate) by_default: bool,
    effects: Effects,
    pub(crate) run: Run,
}

/// What a call may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effects {
    /// Nothing.
    None,
    /// What the server serves, and nothing else.
    OnServer,
    /// What the operator has recorded; each call adds to it.
    OnRecord,
    /// What a script can.
    OfScripts,
}

impl Effects {
    /// What a client is told. A script that may run without isolation may do anything.
    fn annotations(self, scripts: &ScriptOptions) -> ToolAnnotations {
        let is_script = self == Self::OfScripts;
        let is_free = is_script && scripts.require_isolation == Isolation::Weak;
        ToolAnnotations::new()
            .read_only(self == Self::None)
            .destructive(is_free)
            .idempotent(!is_script && self != Self::OnRecord)
            .open_world(is_free || is_script && scripts.network)
    }
}

/// What a tool needs before it can answer, and the function that does.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// Needs the current skills.
    Skills(fn(&ToolCall<'_>) -> Result<ToolResult, ToolError>),
    /// Takes time of its own.
    Task(ToolWork),
}

/// Work that takes time. It ends early when the client no longer waits.
pub(crate) type ToolWork = for<'a> fn(TaskCall<'a>) -> BoxFuture<'a, Result<ToolResult, ToolError>>;

/// One call of a tool that needs the skills.
pub(crate) struct ToolCall<'a> {
    server: &'a Server,
    /// The skills to answer from.
    pub(crate) skills: &'a Generation,
    pub(crate) arguments: Arguments<'a>,
}

/// One call of a tool that takes time of its own.
pub(crate) struct TaskCall<'a> {
    pub(crate) server: &'a Server,
    pub(crate) arguments: Arguments<'a>,
    pub(crate) caller: &'a Caller,
    /// The name that the tool was called by.
    pub(crate) tool: &'a str,
    pub(crate) meta: Meta<'a>,
}

/// The parameters of `tools/call`.
#[derive(Deserialize)]
pub(crate) struct ToolParams<'a> {
    #[serde(borrow, rename = "_meta")]
    pub(crate) meta: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    arguments: Option<JsonObject>,
}

/// The tool that a `tools/call` names, and the arguments for it.
pub(crate) struct ToolRequest {
    tool: &'static ToolDefinition,
    /// The name that it is called by.
    name: String,
    arguments: Result<JsonObject, RpcError>,
}

/// The tools as JSON, and what they were described over: the content address of the skills, and the
/// bytes of a description.
#[derive(Default)]
pub(crate) struct ListCache {
    over: (Option<[u8; 32]>, usize),
    json: String,
}

/// Every tool, the ones to start with first.
pub(crate) static TOOLS: &[ToolDefinition] = &[
    SKILL,
    GET_SKILL,
    SKILLS_SEARCH,
    SKILLS_LIST,
    LIST_SKILLS,
    GET_ASSET,
    RUN_SCRIPT,
    INVOKE_SKILL,
    REPORT_USAGE,
    REFRESH_SKILLS,
    #[cfg(test)]
    PANICS,
];

const SKILL: ToolDefinition = ToolDefinition {
    name: "skill",
    dotted: None,
    title: "Load Skill",
    description: None,
    next: &[],
    input: skill::INPUT,
    output: None,
    by_default: true,
    effects: Effects::None,
    run: Run::Skills(skill::run),
};

const GET_SKILL: ToolDefinition = ToolDefinition {
    name: "get_skill",
    dotted: None,
    title: "Find Skill",
    description: Some(
        "Finds the skill for a task and returns its text. Use it when no skill that you know of clearly fits. \
         If several fit or none does, it names the closest.",
    ),
    next: &[("skill", "Load one of them with `{}`.")],
    input: get_skill::INPUT,
    output: None,
    by_default: true,
    effects: Effects::None,
    run: Run::Skills(get_skill::run),
};

const SKILLS_SEARCH: ToolDefinition = ToolDefinition {
    name: "skills_search",
    dotted: Some("skills.search"),
    title: "Search Skills",
    description: Some(
        "Finds the skills whose name, description or text contains every word of a query.",
    ),
    next: &[
        ("skill", "Load a result with `{}`."),
        ("skills_list", "Read a result with `{}` and `includeBody`."),
    ],
    input: skills_search::INPUT,
    output: Some(skills_search::OUTPUT),
    by_default: true,
    effects: Effects::None,
    run: Run::Skills(skills_search::run),
};

const SKILLS_LIST: ToolDefinition = ToolDefinition {
    name: "skills_list",
    dotted: Some("skills.list"),
    title: "List Skills",
    description: Some(
        "Lists skills with name, description and location: all of them, or those that contain a text. Bodies are optional.",
    ),
    next: &[],
    input: skills_list::INPUT,
    output: Some(skills_list::OUTPUT),
    by_default: false,
    effects: Effects::None,
    run: Run::Skills(skills_list::run),
};

const LIST_SKILLS: ToolDefinition = ToolDefinition {
    name: "list_skills",
    dotted: None,
    title: "Browse Skills",
    description: Some(
        "Shows the skills as a tree, each parent above the skills that inherit from it, with keywords and file counts. Can show a single branch.",
    ),
    next: &[],
    input: list_skills::INPUT,
    output: Some(list_skills::OUTPUT),
    by_default: false,
    effects: Effects::None,
    run: Run::Skills(list_skills::run),
};

const GET_ASSET: ToolDefinition = ToolDefinition {
    name: "get_asset",
    dotted: None,
    title: "Get Skill File",
    description: Some(
        "Returns a file that the text of a skill refers to. Scripts are returned, not run.",
    ),
    next: &[("run_script", "`{}` runs those for the server.")],
    input: get_asset::INPUT,
    output: None,
    by_default: true,
    effects: Effects::None,
    run: Run::Skills(get_asset::run),
};

const RUN_SCRIPT: ToolDefinition = ToolDefinition {
    name: "run_script",
    dotted: None,
    title: "Run Skill Script",
    description: Some(
        "Runs a script that a skill declares with `execution: server`, isolated from the machine. Returns exit code and output.",
    ),
    next: &[("get_asset", "Get other scripts with `{}`.")],
    input: run_script::INPUT,
    output: Some(run_script::OUTPUT),
    by_default: true,
    effects: Effects::OfScripts,
    run: Run::Task(run_script::run),
};

const INVOKE_SKILL: ToolDefinition = ToolDefinition {
    name: "invoke_skill",
    dotted: None,
    title: "Invoke Skill",
    description: Some(
        "Carries out a skill that has a contract: checks the input, runs its handler, checks the output. The text of the skill says what it takes.",
    ),
    next: &[("skill", "Read it with `{}` first.")],
    input: invoke_skill::INPUT,
    output: Some(invoke_skill::OUTPUT),
    by_default: true,
    effects: Effects::OfScripts,
    run: Run::Task(invoke_skill::run),
};

/// A skill with a contract that is offered as a tool. Its name, description and schemas are the
/// skill's.
static TYPED: ToolDefinition = ToolDefinition {
    name: "",
    dotted: None,
    title: "",
    description: None,
    next: &[],
    input: r#"{"type":"object"}"#,
    output: None,
    by_default: false,
    effects: Effects::OfScripts,
    run: Run::Task(invoke_skill::run_typed),
};

const REPORT_USAGE: ToolDefinition = ToolDefinition {
    name: "report_usage",
    dotted: None,
    title: "Report Usage",
    description: Some(
        "Tells the owners of a skill whether it was useful, after a task that you used it for. A comment can say what was missing or wrong.",
    ),
    next: &[],
    input: report_usage::INPUT,
    output: Some(report_usage::OUTPUT),
    by_default: false,
    effects: Effects::OnRecord,
    run: Run::Task(report_usage::run),
};

const REFRESH_SKILLS: ToolDefinition = ToolDefinition {
    name: "refresh_skills",
    dotted: None,
    title: "Refresh Skills",
    description: Some(
        "Reloads all skills. Rarely needed: every call picks up changes automatically.",
    ),
    next: &[],
    input: refresh_skills::INPUT,
    output: Some(refresh_skills::OUTPUT),
    by_default: false,
    effects: Effects::OnServer,
    run: Run::Task(refresh_skills::run),
};

/// Shows that a panic in one tool leaves the others working.
#[cfg(test)]
const PANICS: ToolDefinition = ToolDefinition {
    name: "panics",
    dotted: None,
    title: "Panics",
    description: Some("Panics."),
    next: &[],
    input: r#"{"type":"object"}"#,
    output: None,
    by_default: true,
    effects: Effects::None,
    run: Run::Skills(|_| panic!("a fault in a tool")),
};

impl ToolDefinition {
    /// The name that it is published under.
    pub(crate) fn published(&self, dotted: bool) -> &'static str {
        self.dotted.filter(|_| dotted).unwrap_or(self.name)
    }

    fn describe(
        &self,
        context: &ToolContext<'_>,
        toolset: ToolSet,
        options: &Options,
    ) -> rmcp::model::Tool {
        let annotations = self.effects.annotations(&options.scripts);
        let mut description = self.description.map_or_else(
            || skill_listing::description(context, toolset),
            str::to_owned,
        );
        let mut next = self.next.iter();
        if let Some((name, next)) = next.find_map(|(tool, next)| Some((toolset.name(tool)?, next)))
        {
            description.push(' ');
            description.push_str(&next.replace("{}", name));
        }
        let tool = rmcp::model::Tool::new(
            self.published(options.dotted_names),
            description,
            Arc::new(parsed(self.input)),
        );
        let tool = tool.with_title(self.title).with_annotations(annotations);
        match self.output {
            Some(schema) => tool.with_raw_output_schema(output_schema(schema)),
            None => tool,
        }
    }
}

/// The tool of this name, in either spelling.
pub(crate) fn find(name: &str) -> Option<&'static ToolDefinition> {
    TOOLS
        .iter()
        .find(|tool| tool.name == name || tool.dotted == Some(name))
}

/// The tools that are offered, as the protocol describes them.
pub(crate) fn all(context: &ToolContext<'_>, options: &Options) -> Vec<rmcp::model::Tool> {
    let toolset = options.toolset(context);
    let own = toolset.tools();
    let own = own.map(|tool| tool.describe(context, toolset, options));
    let is_offered = options.typed_tools && context.runs_scripts == Some(true);
    let catalog = context.catalog.filter(|_| is_offered);
    let typed = catalog.into_iter().flat_map(invoke_skill::typed_tools);
    let annotations = TYPED.effects.annotations(&options.scripts);
    // One that cannot be read is reported when it is called.
    let typed = typed.filter_map(Result::ok);
    let typed = typed.map(|tool| tool.with_annotations(annotations.clone()));
    own.chain(typed).collect()
}

/// The tools that the client of a session is offered over these skills.
pub(crate) fn described(server: &Server, skills: Option<&Generation>) -> Vec<rmcp::model::Tool> {
    all(&server.tool_context(skills, None), &server.options)
}

/// `tools/list`. It works without skills, since the tools are the same.
pub(crate) fn list(call: &Call<'_>, skills: &Skills, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let params: PageParams = call.request.optional_params()?;
    if params.cursor.is_some() {
        return Err(RpcError::invalid_params(
            "unknown cursor: all tools are on the first page",
            None,
        ));
    }
    let (server, skills) = (call.server, skills.as_ref().ok());
    let client = call.request.meta()?.client_name();
    let context = server.tool_context(skills.map(AsRef::as_ref), client.as_deref());
    let over = (skills.map(|skills| skills.content_address()), context.room);
    let mut cache = server
        .tool_list
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if cache.json.is_empty() || cache.over != over {
        let tools = all(&context, &server.options);
        let json = serde_json::to_string(&tools).map_err(results::unreadable)?;
        *cache = ListCache { over, json };
    }
    server.seen(NotifiedList::Tools, skills);
    write_cacheable_with(call, out, None, "tools", |out| {
        out.extend_from_slice(cache.json.as_bytes());
        Ok(())
    })
}

impl ToolRequest {
    /// Finds the tool. If the parameters could not be parsed but the name can, the error is reported
    /// when the tool is called.
    pub(crate) fn new(
        server: &Server,
        request: &Request<'_>,
        params: Result<ToolParams<'_>, RpcError>,
    ) -> Result<Self, RpcError> {
        #[derive(Deserialize)]
        struct Name<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
        }
        let (name, arguments) = match params {
            Ok(params) => (params.name, Ok(params.arguments.unwrap_or_default())),
            Err(error) => (request.params::<Name<'_>>()?.name, Err(error)),
        };
        let tool = chosen(server, &name)?;
        Ok(Self {
            tool,
            name: name.into_owned(),
            arguments,
        })
    }

    /// What the tool needs.
    pub(crate) fn handler(&self) -> Handler {
        match self.tool.run {
            Run::Skills(_) => Handler::Skills(call),
            Run::Task(_) => Handler::Task(work),
        }
    }
}

impl<'a> Call<'a> {
    /// How to run the tool that is called, and its arguments.
    fn tool(&self) -> Result<(Run, Arguments<'a>), RpcError> {
        let request = self
            .tool
            .expect("`ToolRequest::handler` is the only way here");
        let arguments = request.arguments.as_ref().map_err(Clone::clone)?;
        Ok((request.tool.run, Arguments::new(arguments)))
    }
}

/// `tools/call` of a tool that answers from the skills.
fn call(call: &Call<'_>, skills: &Skills, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let (Run::Skills(run), arguments) = call.tool()? else {
        unreachable!("the handler follows from `Run`");
    };
    let reply = match skills {
        Ok(skills) => run(&ToolCall {
            server: call.server,
            skills,
            arguments,
        }),
        Err(not_loaded) => Err(ToolError::NotLoaded(not_loaded.0.clone())),
    };
    reply.unwrap_or_else(ToolResult::from).write(call.era, out)
}

/// `tools/call` of a tool that takes time.
fn work<'a>(
    call: &'a Call<'a>,
    caller: &'a Caller,
    out: &'a mut Vec<u8>,
) -> BoxFuture<'a, Result<(), RpcError>> {
    Box::pin(async move {
        let (Run::Task(run), arguments) = call.tool()? else {
            unreachable!("the handler follows from `Run`");
        };
        let meta = call.request.meta()?;
        let task = TaskCall {
            server: call.server,
            arguments,
            caller,
            tool: call.tool.map_or("", |it| &it.name),
            meta,
        };
        let reply = run(task).await;
        reply.unwrap_or_else(ToolResult::from).write(call.era, out)
    })
}

/// The tool of this name, if the operator has not left it out.
fn chosen(server: &Server, name: &str) -> Result<&'static ToolDefinition, RpcError> {
    let found = find(name).filter(|tool| server.options.tools.answers(tool));
    if found.is_none() && server.options.typed_tools {
        let skills = server.refresher.loaded();
        let catalog = skills.as_ref().and_then(|it| it.catalog().ok());
        if find(name).is_none() && invoke_skill::is_typed_tool(catalog, name) {
            return Ok(&TYPED);
        }
    }
    found.ok_or_else(|| unknown(server, name))
}

fn unknown(server: &Server, name: &str) -> RpcError {
    let toolset = server.toolset(server.refresher.loaded().as_deref());
    RpcError::invalid_params(
        format!(
            "unknown tool \"{}\"; this server has {}",
            tool_result::shortened(name),
            toolset.names().join(", ")
        ),
        None,
    )
}

impl ToolCall<'_> {
    /// Records a use of skills.
    pub(crate) fn record(&self, usage: &UsageEvent<'_>) {
        self.server.recorder.record(usage);
    }

    /// The tools that an answer may name.
    pub(crate) fn toolset(&self) -> ToolSet {
        self.server.toolset(Some(self.skills))
    }

    pub(crate) fn options(&self) -> &Options {
        &self.server.options
    }
}

impl TaskCall<'_> {
    /// The agent that the caller is known to be: by its token, or since the operator says so.
    pub(crate) fn known_agent(&self) -> Option<String> {
        let by_token = self.caller.agent.as_deref().map(str::to_owned);
        by_token.or_else(|| self.server.options.agent.clone())
    }
}

/// The schema of results, errors among them.
fn output_schema(text: &str) -> Arc<JsonObject> {
    let mut schema = parsed(text);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.extend(parsed(ERROR_PROPERTIES));
    }
    Arc::new(schema)
}

fn parsed(text: &str) -> JsonObject {
    serde_json::from_str(text).expect("a test parses every schema")
}
