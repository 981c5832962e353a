//! `run_script` (spec 3 §8.4): runs a script that a skill declares for the server. Which one may be
//! run is decided in `scripts`; here is what a client sees of it: waiting, progress, cancellation,
//! and the result.

use std::time::Instant;

use serde_json::Value;
use skillbundle_exec::{Canceller, Event as RunEvent, Outcome};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Duration, MissedTickBehavior, interval_at};

use super::arguments::{Arguments, wrong};
use super::tool_result::{ResourceLink, ToolError, ToolResult};
use super::tools::TaskCall;
use super::{BoxFuture, Server};
use crate::analytics::UsageEvent;
use crate::scripts::{self, PlannedScript, ScriptCall, ScriptError, Scripts};

pub(crate) const INPUT: &str = r#"{
  "type": "object",
  "properties": {
    "skill_path": { "type": "string", "minLength": 1, "description": "Path or name of the skill" },
    "file": { "type": "string", "minLength": 1, "description": "The script as the skill names it" },
    "args": { "type": "object", "additionalProperties": { "type": "string" }, "description": "The script's arguments by name" },
    "cwd": { "type": "string", "minLength": 1, "description": "Directory to run in, if the operator opens it; else a scratch directory" }
  },
  "required": ["skill_path", "file"],
  "additionalProperties": false
}"#;

pub(crate) const OUTPUT: &str = r#"{
  "type": "object",
  "properties": {
    "success": { "type": "boolean", "description": "Whether the exit code is 0" },
    "exit_code": { "type": "integer", "description": "137 if it ran out of time, 128 + N if signal N ended it" },
    "signal": { "type": "string", "description": "The signal that ended it" },
    "stdout": { "type": "string" },
    "stderr": { "type": "string" },
    "duration_ms": { "type": "integer" },
    "script": { "type": "string" },
    "resolved_from": { "type": "string", "description": "The skill that declares it, if it is inherited" },
    "isolation": { "type": "string", "description": "namespaces, bubblewrap, landlock or weak" },
    "notes": { "type": "array", "items": { "type": "string" }, "description": "What was cut or killed, and what to do" }
  }
}"#;

/// How often a client that asks for progress gets it.
const TICK: Duration = Duration::from_secs(1);

/// For what a run takes beside the time of its script: starting it, ending what it has left, reading
/// the last output.
const AROUND: Duration = Duration::from_secs(10);

/// Where the bytes of output that is no text are read (`resources/read`).
const SCHEME: &str = "skillbundle://output/";

pub(crate) fn run(call: TaskCall<'_>) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
    Box::pin(async move {
        let wanted = wanted(call.arguments)?;
        let server = call.server;
        let skills = server.refresher.current().await;
        let skills = skills.map_err(|it| ToolError::NotLoaded(it.0))?;
        let scripts = server.scripts.clone();
        // Reads files, and may ask an interpreter where it is.
        let planned = spawn_blocking(move || {
            let catalog = skills.catalog()?;
            scripts.plan(catalog, |skill| skills.is_of_project(skill.root), &wanted)
        });
        let planned = joined(planned.await)?;
        let limits = &planned.program.limits;
        let longest = limits.time + limits.grace + AROUND;
        (call.caller.announce)(server.run_queue.longest_wait(longest) + longest);
        let _permit = tokio::select! {
            permit = server.run_queue.acquire() => permit?,
            () = call.caller.cancelled.cancelled() => return Err(ToolError::Cancelled),
        };
        let (planned, outcome) = run_to_the_end(&call, &server.scripts, planned).await?;
        Ok(result(server, &planned, outcome))
    })
}

/// What the arguments ask for.
fn wanted(arguments: Arguments<'_>) -> Result<ScriptCall, ToolError> {
    let arguments = arguments.only(&["skill_path", "file", "args", "cwd"])?;
    let args = arguments.object("args")?.into_iter().flatten();
    let args = args
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => {
                    let expected = "an object of strings";
                    return Err(wrong("args", expected, format!("`{name}` is none")));
                }
            };
            Ok((name.clone(), value))
        });
    Ok(ScriptCall {
        skill: arguments.text("skill_path")?.to_owned(),
        file: arguments.text("file")?.to_owned(),
        args: args.collect::<Result<_, _>>()?,
        directory: arguments.optional_text("cwd")?.map(str::to_owned),
    })
}

/// Kills the script if its call is dropped, as with the connection of its client.
struct KillOnDrop(Canceller);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.kill();
    }
}

/// Runs the script on a thread of its own, and reports progress. If the client no longer waits, the
/// script is ended first.
pub(crate) async fn run_to_the_end(
    call: &TaskCall<'_>,
    scripts: &Scripts,
    mut planned: PlannedScript,
) -> Result<(PlannedScript, Outcome), ToolError> {
    let (started, running) = oneshot::channel();
    let (lines, mut last_line) = mpsc::channel(1);
    let scripts = scripts.clone();
    let begin = Instant::now();
    let mut work = spawn_blocking(move || {
        let script = scripts.start(&mut planned)?;
        // If the call was dropped meanwhile, this is dropped with it.
        let _ = started.send(KillOnDrop(script.run.canceller()));
        let counted = script.counted;
        let outcome = script.run.wait(|event| {
            if let RunEvent::LastLine(line) = event {
                // One that has not been taken yet is as good.
                let _ = lines.try_send(line.to_owned());
            }
        });
        drop(counted);
        Ok::<_, ScriptError>((planned, outcome?))
    });
    let Ok(kill) = running.await else {
        // It has not started, and says why.
        return joined(work.await);
    };
    let mut ticks = interval_at((begin + TICK).into(), TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut message = "running".to_owned();
    let mut is_cancelled = false;
    loop {
        tokio::select! {
            done = &mut work => return joined(done),
            Some(line) = last_line.recv() => message = line,
            _ = ticks.tick() => call.progress(begin.elapsed().as_secs_f64().round(), &message),
            () = call.caller.cancelled.cancelled(), if !is_cancelled => {
                is_cancelled = true;
                kill.0.cancel();
            }
        }
    }
}

/// The result of a thread.
pub(crate) fn joined<T, E: Into<ToolError>>(
    result: Result<Result<T, E>, tokio::task::JoinError>,
) -> Result<T, ToolError> {
    match result {
        Ok(result) => result.map_err(Into::into),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The process is ending.
        Err(_) => Err(ToolError::Cancelled),
    }
}

/// What the client sees. Output that is no text can be read as a resource for a while.
fn result(server: &Server, planned: &PlannedScript, outcome: Outcome) -> ToolResult {
    let report = scripts::report(planned, &outcome);
    server.recorder.record(&UsageEvent::ScriptRun {
        planned,
        outcome: &outcome,
        correlation_id: None,
    });
    // For the record: which script, never with which values.
    tracing::info!(
        "ran {} of {}: exit code {}, {} ms, {}",
        planned.program.script,
        planned.skill,
        report["exit_code"],
        report["duration_ms"],
        outcome.isolation,
    );
    let mut links = Vec::new();
    for (name, stream) in [("stdout", outcome.stdout), ("stderr", outcome.stderr)] {
        if !scripts::is_text(&stream) {
            let bytes = [stream.head, stream.tail].concat();
            links.push(ResourceLink {
                name,
                size: bytes.len(),
                uri: server.outputs.keep(SCHEME, name, bytes),
            });
        }
    }
    ToolResult::json(&report).with_links(links)
}
