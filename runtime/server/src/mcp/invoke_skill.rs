//! `invoke_skill` (spec 5): carries out a skill that has a contract, with its input and output
//! checked, and `--typed-tools`, which offers each of them as a tool of its own. What an invocation
//! is, is decided in `invocations`; here is what a client sees of it.

use std::time::Duration;

use rmcp::model::JsonObject;
use serde_json::Value;
use skillbundle_format::{Catalog, is_agent_name};
use skillbundle_journal::Uuid;
use tokio::task::spawn_blocking;

use super::BoxFuture;
use super::arguments::{Arguments, wrong};
use super::run_script::{joined, run_to_the_end};
use super::tool_result::{ToolError, ToolResult, shortened};
use super::tools::TaskCall;
use crate::invocations::{
    Begun, HandlerOutcome, InvocationCall, InvocationError, PlannedInvocation, SkillResult,
};

pub(crate) const INPUT: &str = r#"{
  "type": "object",
  "properties": {
    "name": { "type": "string", "minLength": 1, "description": "Name of the skill" },
    "input": { "type": "object", "description": "What its input_schema asks for" },
    "invoking_agent": { "type": "string", "minLength": 1, "maxLength": 64, "description": "Name of the agent that asks, such as TaskAgent" },
    "correlation_id": { "type": "string", "format": "uuid", "description": "Joins what belongs together" },
    "invocation_id": { "type": "string", "format": "uuid", "description": "Choose one to repeat a call safely: it is carried out once" },
    "timeout_seconds": { "type": "integer", "minimum": 1, "maximum": 300, "description": "Give up earlier than the skill says" }
  },
  "required": ["name", "input"],
  "additionalProperties": false
}"#;

pub(crate) const OUTPUT: &str = r#"{
  "type": "object",
  "properties": {
    "invocation_id": { "type": "string" },
    "success": { "type": "boolean" },
    "output_payload": { "type": ["object", "null"], "description": "What the skill's output_schema promises" },
    "failure_code": { "type": ["string", "null"] },
    "failure_message": { "type": ["string", "null"] },
    "failure_details": { "type": ["object", "null"] },
    "duration_ms": { "type": "integer", "minimum": 0 },
    "timestamp": { "type": "string" },
    "skill_name": { "type": "string" },
    "correlation_id": { "type": "string" },
    "status": { "type": "string", "description": "completed, failed or timeout" },
    "severity": { "type": "string", "description": "recoverable: a retry can help; or fatal" },
    "suggested_action": { "type": "string" },
    "replayed": { "type": "boolean", "description": "Whether it was carried out before" }
  }
}"#;

/// What `timeout_seconds` can be.
const TIMEOUT: std::ops::RangeInclusive<u32> = 1..=300;

/// For what an invocation takes beside the time of its handler: starting it, ending what it has
/// left, the journal.
const AROUND: Duration = Duration::from_secs(10);

/// The tool `invoke_skill`.
pub(crate) fn run(call: TaskCall<'_>) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
    Box::pin(async move {
        let asked = asked(&call, call.arguments)?;
        let result = invoke(&call, asked).await?;
        let shown = ToolResult::json(&result.to_json());
        Ok(if result.is_success() {
            shown
        } else {
            shown.failing()
        })
    })
}

/// A skill as a tool of its own: the arguments are the input, the result is the output.
pub(crate) fn run_typed(call: TaskCall<'_>) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
    Box::pin(async move {
        let agent = [
            call.known_agent(),
            call.meta.agent(),
            call.meta.client_name(),
        ];
        let agent = agent.into_iter().flatten().find(|it| is_agent_name(it));
        let asked = InvocationCall {
            skill: call.tool.to_owned(),
            input: call.arguments.all().clone(),
            agent: agent.unwrap_or_else(|| "unknown".to_owned()),
            known_agent: call.known_agent(),
            correlation_id: id("correlation_id", call.meta.correlation_id().as_deref())?,
            ..InvocationCall::default()
        };
        let result = invoke(&call, asked).await?;
        Ok(match result.output() {
            Some(output) => ToolResult::json(&Value::Object(output.clone())),
            // Its structured content would have to be what the output's schema asks for.
            None => ToolResult::reading(result.to_json().to_string(), None).failing(),
        })
    })
}

fn asked(call: &TaskCall<'_>, arguments: Arguments<'_>) -> Result<InvocationCall, ToolError> {
    let arguments = arguments.only(&[
        "name",
        "input",
        "invoking_agent",
        "correlation_id",
        "invocation_id",
        "timeout_seconds",
    ])?;
    let input: Option<&JsonObject> = arguments.object("input")?;
    let input = input.ok_or_else(|| wrong("input", "an object", "nothing"))?;
    let known_agent = call.known_agent();
    let agent = arguments.optional_text("invoking_agent")?;
    let agent = agent.map(str::to_owned).or_else(|| known_agent.clone());
    let expected = "the name of the agent that asks, such as TaskAgent";
    let agent = agent.ok_or_else(|| wrong("invoking_agent", expected, "nothing"))?;
    let timeout = arguments.integer("timeout_seconds", TIMEOUT, *TIMEOUT.end())?;
    Ok(InvocationCall {
        skill: arguments.text("name")?.to_owned(),
        input: input.clone(),
        agent,
        known_agent,
        correlation_id: id("correlation_id", arguments.optional_text("correlation_id")?)?,
        invocation_id: id("invocation_id", arguments.optional_text("invocation_id")?)?,
        timeout: Some(Duration::from_secs(timeout.into())),
    })
}

fn id(argument: &'static str, given: Option<&str>) -> Result<Option<Uuid>, ToolError> {
    let parse = |text: &str| {
        // Only the usual form: others would be the same id under two spellings in a log.
        let usual = Some(text).filter(|it| it.len() == 36);
        let id = usual.and_then(|it| Uuid::parse_str(it).ok());
        let expected = "a UUID, such as 550e8400-e29b-41d4-a716-446655440000";
        id.ok_or_else(|| wrong(argument, expected, format!("{:?}", shortened(text))))
    };
    given.map(parse).transpose()
}

async fn invoke(call: &TaskCall<'_>, asked: InvocationCall) -> Result<SkillResult, ToolError> {
    let server = call.server;
    let skills = server.refresher.current().await;
    let skills = skills.map_err(|it| ToolError::NotLoaded(it.0))?;
    let invocations = server.invocations.clone();
    // Reads files, and may ask an interpreter where it is.
    let planned = spawn_blocking(move || {
        let (catalog, address) = (skills.catalog()?, skills.content_address());
        let is_of_project =
            |skill: &skillbundle_format::Skill<'_>| skills.is_of_project(skill.root);
        invocations.plan(catalog, address, is_of_project, asked)
    });
    let mut planned: PlannedInvocation = joined(planned.await)?;
    let longest = planned.longest() + AROUND;
    (call.caller.announce)(server.run_queue.longest_wait(longest) + longest);
    // It begins when it may run, so that waiting is no part of its duration.
    let mut held = None;
    if !planned.is_refused() {
        let permit = tokio::select! {
            permit = server.run_queue.acquire() => permit,
            () = call.caller.cancelled.cancelled() => return Err(ToolError::Cancelled),
        };
        match permit {
            Ok(permit) => held = Some(permit),
            Err(error) => planned = planned.refused_as_busy(&error),
        }
    }
    let (open, script) = match server.invocations.begin(planned).await? {
        Begun::Done(result) => return Ok(*result),
        Begun::Run(open, script) => (open, script),
    };
    let limit = script.program.limits.time;
    match run_to_the_end(call, &server.scripts, *script).await {
        Ok((script, outcome)) => {
            let handler = HandlerOutcome {
                outcome: &outcome,
                limit,
            };
            drop(held);
            open.note_script(&script, &handler);
            Ok(open.end(handler).await)
        }
        Err(ToolError::Script(error)) => {
            // What is wrong with the machine is for its operator; that nothing ran, for the caller.
            tracing::warn!("a handler was not run: {error}");
            Ok(open.broken(error.to_string()).await)
        }
        Err(error) => Err(error),
    }
}

/// The skills that are offered as tools, unless a tool of the server has their name.
pub(crate) fn typed_tools(
    catalog: Catalog<'_>,
) -> impl Iterator<Item = Result<rmcp::model::Tool, skillbundle_format::Error>> + '_ {
    let taken = |name: &str| super::tools::find(name).is_some();
    catalog.with_contracts().filter_map(move |skill| {
        let described = || {
            let skill = skill?;
            let Some(contract) = skill.contract()?.filter(|it| it.handler.is_some()) else {
                return Ok(None);
            };
            if taken(skill.name) {
                return Ok(None);
            }
            let schema = |text: &str| serde_json::from_str::<JsonObject>(text).unwrap_or_default();
            let tool = rmcp::model::Tool::new(
                skill.name.to_owned(),
                skill.summary.to_owned(),
                std::sync::Arc::new(schema(contract.input_schema)),
            );
            let output = std::sync::Arc::new(schema(contract.output_schema));
            Ok(Some(tool.with_raw_output_schema(output)))
        };
        described().transpose()
    })
}

/// Whether a tool of this name is a skill with a contract, as far as that is known.
pub(crate) fn is_typed_tool(catalog: Option<Catalog<'_>>, name: &str) -> bool {
    let Some(catalog) = catalog else {
        // Not loaded yet; the call finds out.
        return skillbundle_format::is_contract_name(name);
    };
    let mut skills = catalog.with_contracts().filter_map(Result::ok);
    skills.any(|it| it.name == name)
}

impl From<InvocationError> for ToolError {
    fn from(error: InvocationError) -> Self {
        match error {
            InvocationError::Script(error) => Self::Script(error),
            InvocationError::Damaged(error) => Self::Damaged(error),
            InvocationError::Ending => Self::Cancelled,
            other => Self::Invocation(Box::new(other)),
        }
    }
}
