//! `skillbundle invoke`: carries out a skill that has a contract, in the terminal, under the rules of
//! the server.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use serde_json::{Map, Value};
use skillbundle_journal::{Journal, Uuid};
use skillbundle_server::invocations::{InvocationCall, InvocationError, Invocations, SkillResult};
use skillbundle_server::scripts::{ScriptError, Scripts};

use super::json::Envelope;
use super::output::{self, Output, with_help};
use super::tool_args;
use crate::Exit;
use crate::config;
use crate::sources::Sources;

const EXAMPLES: &str = "\
Examples:
  skillbundle invoke greet --input '{\"name\": \"Ada\"}' --agent TaskAgent
                                                a skill of the standard folders
  skillbundle invoke greet skills --input -     of a directory, with the input on stdin
  skillbundle invoke user_creation --examples --script-data data --agent AuthAgent --input user.json
                                                an example that is baked into this program

A skill can be invoked if it has a `contract` with a handler: docs/contracts.md. Its input and output
are checked, its handler runs isolated like a script of `skillbundle run`, and what happened is in
the journal (`skillbundle journal list`).

Exit codes: 0 the skill succeeded, 1 it failed, 2 it could not be invoked.";

/// Most bytes of an input. A request of a client has as many.
const MAX_INPUT: u64 = 4 << 20;

/// How long the journal may take to write what waits.
const LAST_EVENTS: Duration = Duration::from_secs(5);

// Arguments of `invoke`. (A doc comment would describe the command.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name or path of the skill
    skill: String,
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Its input: a JSON object, a file with one, or `-` for stdin
    #[arg(long, value_name = "JSON|FILE|-")]
    input: Option<String>,
    /// The agent that asks
    #[arg(long, value_name = "NAME", default_value = "terminal")]
    agent: String,
    /// Join this invocation with others
    #[arg(long, value_name = "UUID")]
    correlation: Option<Uuid>,
    /// The id of the invocation: repeated with the same input, it is carried out once
    #[arg(long, value_name = "UUID")]
    id: Option<Uuid>,
    /// Give up after this many seconds, if the skill allows more
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=300))]
    timeout: Option<u32>,
    /// Run handlers of skills inside the project, too
    #[arg(long)]
    allow_project_scripts: bool,
    /// Let the handler keep data in this directory
    #[arg(long, value_name = "DIR")]
    script_data: Option<std::path::PathBuf>,
    /// Record it here: `off`, a file, jsonl:FILE or postgres://… [default: a file in the user's
    /// state directory]
    #[arg(long, value_name = "PLACE")]
    journal: Option<String>,
    /// Print the whole result as JSON
    #[arg(long)]
    json: bool,
}

/// The body of `invoke --json`.
#[derive(Serialize)]
struct ResultBody {
    skill_result: Value,
}

impl Args {
    /// What these arguments set.
    pub(crate) fn assignments(&self) -> Vec<config::Assignment> {
        let own = self.sources.assignments().into_iter();
        own.chain(tool_args::project_scripts(self.allow_project_scripts))
            .chain(tool_args::script_data(self.script_data.as_deref()))
            .chain(tool_args::journal(self.journal.as_deref()))
            .collect()
    }
}

/// Invokes the skill and prints its output.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let input = input(args.input.as_deref())?;
    let opened = args.sources.open()?;
    let journal = Journal::new(config::current().journal()?);
    let invocations = Invocations::new(Scripts::new(config::current().scripts()), journal.clone());
    let call = InvocationCall {
        skill: args.skill.clone(),
        input,
        agent: args.agent.clone(),
        known_agent: None,
        correlation_id: args.correlation,
        invocation_id: args.id,
        timeout: args.timeout.map(|it| Duration::from_secs(it.into())),
    };
    let (catalog, address) = (opened.bundle.catalog()?, opened.bundle.content_address());
    let planned = invocations.plan(catalog, address, |it| opened.is_of_project(it), call);
    let planned = planned.map_err(|error| explained(&error))?;
    let result = invocations.invoke_here(planned);
    journal.close(LAST_EVENTS);
    if let Some(error) = journal.status().last_error {
        output::info(&format!("the journal: {error}"));
    }
    let result = result.map_err(|error| explained(&error))?;
    print(&result, args.json)?;
    Ok(if result.is_success() {
        Exit::Success
    } else {
        Exit::ProblemsFound
    })
}

fn print(result: &SkillResult, json: bool) -> Result<()> {
    let mut out = Output::new();
    if json {
        let skill_result = result.to_json();
        out.json(&Envelope::new("invoke", ResultBody { skill_result }))?;
    } else if let Some(answer) = result.output() {
        out.line(&serde_json::to_string_pretty(answer)?)?;
    } else {
        let code = result.failure_code().map_or("", |it| it.as_str());
        let message = result.failure_message().unwrap_or_default();
        let help = result.failure_code().map(|it| it.mode().suggested_action);
        let id = result.invocation_id();
        let shown = format!("`skillbundle journal show {id}` has the details");
        let help = help.map(|it| format!("{}; {shown}", lower_first(it)));
        let details = result.failure_details();
        let details = details.map_or_else(String::new, |it| format!("\ndetails: {it}"));
        output::error(&format!("{code}: {message}{details}"), help.as_deref());
    }
    Ok(out.finish()?)
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_lowercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The input: what is typed, or the content of a file or of stdin.
fn input(typed: Option<&str>) -> Result<Map<String, Value>> {
    let (text, from) = match typed {
        Some(json) if json.trim_start().starts_with('{') => (json.to_owned(), "--input"),
        Some("-") => (read(io::stdin().lock(), "stdin")?, "stdin"),
        Some(file) => {
            let open = File::open(Path::new(file)).with_context(|| format!("--input {file}"))?;
            (read(open, file)?, file)
        }
        None if io::stdin().is_terminal() => ("{}".to_owned(), "--input"),
        None => {
            return Err(with_help(
                "no input was given",
                "write `--input '{…}'`, `--input FILE`, or `--input -` for stdin",
            ));
        }
    };
    let value: Value =
        serde_json::from_str(&text).map_err(|error| anyhow!("{from} is no JSON: {error}"))?;
    match value {
        Value::Object(input) => Ok(input),
        _ => Err(with_help(
            &format!("{from} has no JSON object"),
            "an input is an object, such as {\"name\": \"Ada\"}",
        )),
    }
}

fn read(from: impl Read, name: &str) -> Result<String> {
    let mut text = String::new();
    from.take(MAX_INPUT + 1)
        .read_to_string(&mut text)
        .with_context(|| name.to_owned())?;
    if text.len() as u64 > MAX_INPUT {
        return Err(anyhow!("{name} has more than {MAX_INPUT} bytes"));
    }
    Ok(text)
}

/// The error with what a person at a terminal can do. Its own message is for models.
fn explained(error: &InvocationError) -> anyhow::Error {
    let message = error.to_string();
    let (what, help) = message.split_once("; ").unwrap_or((&message, ""));
    match error {
        InvocationError::Script(ScriptError::OfProject(_)) => with_help(
            what,
            "read it, and if you trust it, add --allow-project-scripts",
        ),
        InvocationError::NoContract(_) | InvocationError::NoHandler(_) => with_help(
            what,
            "print it with `skillbundle show SKILL`, and follow its text",
        ),
        _ if help.is_empty() => anyhow!(message),
        _ => with_help(what, help),
    }
}
