//! `skillbundle run`: runs a script of a skill in the terminal, under the rules of the server.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use serde::Serialize;
use serde_json::Value;
use skillbundle_exec::{Event, Outcome, Program};
use skillbundle_server::scripts::{PlannedScript, ScriptCall, ScriptError, Scripts, report};

use super::display::counted;
use super::json::Envelope;
use super::output::{self, Output, with_help};
use super::tool_args::{project_scripts, script_data};
use crate::Exit;
use crate::config;
use crate::sources::Sources;

const EXAMPLES: &str = "\
Examples:
  skillbundle run deploy scripts/check.sh       a script of the skill `deploy`
  skillbundle run deploy scripts/check.sh env=prod skills
                                                with an argument, of the skills in a directory
  skillbundle run deploy scripts/check.sh --cwd .
                                                in this directory, which it may read
  skillbundle run deploy scripts/check.sh --script-data data
                                                with a directory in which it keeps data
  skillbundle run deploy scripts/check.sh --dry-run
                                                what would be run, and how

A script runs if its skill declares it under `scripts` with `execution: server`. Scripts of skills
inside the project need --allow-project-scripts. It sees no files but those of the system, of its
skill, of --cwd and of --script-data, and no network, as far as this system can isolate it: `skillbundle doctor`.
docs/scripts.md has the rules.

Exit codes: 0 the script succeeded, 1 it failed, 2 it could not be run.";

/// The arguments of the script and the paths are told apart after parsing.
const USAGE: &str = "skillbundle run [OPTIONS] <SKILL> <SCRIPT> [NAME=VALUE]... [PATH]...";

// Arguments of `run`. (A doc comment would describe the command.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub(crate) struct Args {
    /// Path or name of the skill
    skill: String,
    /// The script as the skill names it; each NAME=VALUE after it is an argument of the script
    script: String,
    /// Let it run in this directory and read it
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Run scripts of skills inside the project, too
    #[arg(long)]
    allow_project_scripts: bool,
    /// Let it keep data in this directory, `$SKILL_DATA`; it is made if it is missing
    #[arg(long, value_name = "DIR")]
    script_data: Option<PathBuf>,
    /// Print what would be run, and run nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Set by [`Args::split`].
    #[arg(skip)]
    passed: Vec<(String, String)>,
}

/// What would be run.
#[derive(Serialize)]
struct Plan<'a> {
    skill: &'a str,
    resolved_from: Option<&'a str>,
    script: &'a str,
    runner: String,
    runner_args: Vec<String>,
    directory: Option<String>,
    readable: Vec<String>,
    writable: Vec<String>,
    environment: Vec<String>,
    network: bool,
    isolation: Option<&'static str>,
    /// Why there is no isolation that is allowed.
    isolation_missing: Option<String>,
    timeout_seconds: u64,
    max_output_bytes: usize,
    memory_bytes: u64,
    file_count: usize,
    file_bytes: usize,
}

/// The body of `run --dry-run --json`.
#[derive(Serialize)]
struct PlanBody<'a> {
    plan: Plan<'a>,
}

/// The body of `run --json`.
#[derive(Serialize)]
struct ResultBody {
    result: Value,
}

impl Args {
    /// Tells arguments of the script from paths: a word with a name and an equals sign is one.
    /// `./a=b` is a path.
    pub(crate) fn split(&mut self) {
        let words = std::mem::take(&mut self.sources.paths);
        for word in words {
            let argument = word.to_str().and_then(|it| it.split_once('='));
            let is_name = |name: &str| skillbundle_format::variable_of(name).is_some();
            match argument.filter(|(name, _)| is_name(name)) {
                Some((name, value)) => self.passed.push((name.to_owned(), value.to_owned())),
                None => self.sources.paths.push(word),
            }
        }
    }

    /// What these arguments set.
    pub(crate) fn assignments(&self) -> Vec<config::Assignment> {
        let own = self.sources.assignments().into_iter();
        own.chain(project_scripts(self.allow_project_scripts))
            .chain(script_data(self.script_data.as_deref()))
            .collect()
    }
}

/// Runs the script, or prints what would be run.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let opened = args.sources.open()?;
    let skill = opened.skill(&args.skill)?;
    let mut options = config::current().scripts();
    let directory = match &args.cwd {
        Some(cwd) => {
            let found = cwd.canonicalize();
            let found = found.map_err(|error| anyhow!("--cwd {}: {error}", cwd.display()))?;
            // The operator types it, so it is open.
            options.directories.insert(0, found.clone());
            Some(found.to_string_lossy().into_owned())
        }
        None => None,
    };
    let scripts = Scripts::new(options);
    let call = ScriptCall {
        skill: skill.path.to_owned(),
        file: args.script.clone(),
        args: args.passed.clone(),
        directory,
    };
    let catalog = opened.bundle.catalog()?;
    let planned = scripts.plan(catalog, |skill| opened.is_of_project(skill), &call);
    let planned = planned.map_err(|error| explained(&error))?;
    if args.dry_run {
        print_plan(&scripts, &planned, args.json)?;
        return Ok(Exit::Success);
    }
    let (planned, outcome) = execute(&scripts, planned, !args.json)?;
    let result = report(&planned, &outcome);
    let success = result["success"] == true;
    if args.json {
        let mut out = Output::new();
        out.json(&Envelope::new("run", ResultBody { result }))?;
        out.finish()?;
    } else {
        tell(&result);
    }
    Ok(if success {
        Exit::Success
    } else {
        Exit::ProblemsFound
    })
}

/// Runs the script to its end; if it streams, its output is this program's.
fn execute(
    scripts: &Scripts,
    mut planned: PlannedScript,
    streams: bool,
) -> Result<(PlannedScript, Outcome)> {
    planned.program.streams = streams;
    let running = scripts.start(&mut planned).map_err(|it| explained(&it))?;
    let canceller = running.run.canceller();
    let mut unwritten = None;
    let outcome = running.run.wait(|event| {
        let written = match event {
            Event::Stdout(bytes) => write_now(&mut io::stdout().lock(), bytes),
            Event::Stderr(bytes) => write_now(&mut io::stderr().lock(), bytes),
            Event::LastLine(_) => Ok(()),
        };
        if let Err(error) = written {
            // Mostly, the reader has enough.
            canceller.kill();
            unwritten.get_or_insert(error);
        }
    });
    if let Some(error) = unwritten {
        return Err(error.into());
    }
    let outcome = outcome.map_err(|it| explained(&it.into()))?;
    Ok((planned, outcome))
}

fn write_now(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

/// Says on stderr what the output does not show.
fn tell(result: &Value) {
    let notes = result["notes"].as_array().into_iter().flatten();
    for note in notes.filter_map(Value::as_str) {
        output::info(note);
    }
    if result["success"] == true {
        return;
    }
    let how = match result["signal"].as_str() {
        Some(signal) => format!("was ended by {signal}"),
        None => format!("ended with exit code {}", result["exit_code"]),
    };
    let script = result["script"].as_str().unwrap_or_default();
    output::error(&format!("the script {script} {how}"), None);
}

/// The error with what a person at a terminal can do. Its own message is for models.
fn explained(error: &ScriptError) -> anyhow::Error {
    let message = error.to_string();
    let (what, own_help) = message.split_once("; ").unwrap_or((&message, ""));
    let help = match error {
        ScriptError::ForAgent(_) => {
            "print it with `skillbundle show SKILL --file SCRIPT`, and run it yourself"
        }
        ScriptError::OfProject(_) => "read it, and if you trust it, add --allow-project-scripts",
        ScriptError::MissingArguments { .. } => {
            return with_help(
                &message,
                "pass each as NAME=VALUE; `skillbundle inspect --skill SKILL` shows them",
            );
        }
        ScriptError::Directory { .. } => "name a directory that exists",
        _ if own_help.is_empty() => return anyhow!(message),
        _ => own_help,
    };
    with_help(what, help)
}

fn print_plan(scripts: &Scripts, planned: &PlannedScript, json: bool) -> Result<()> {
    let isolation = scripts.isolation();
    let plan = Plan::new(planned, isolation.as_ref());
    let mut out = Output::new();
    if json {
        out.json(&Envelope::new("run", PlanBody { plan }))?;
        return Ok(out.finish()?);
    }
    let of = match plan.resolved_from {
        Some(from) => format!("{}, inherited from {from}", plan.skill),
        None => plan.skill.to_owned(),
    };
    let runner = [vec![plan.runner.clone()], plan.runner_args.clone()].concat();
    let mut rows = vec![
        ("script", format!("{} of {of}", plan.script)),
        ("runner", runner.join(" ")),
        (
            "directory",
            plan.directory
                .clone()
                .unwrap_or_else(|| "a scratch directory".to_owned()),
        ),
        (
            "files",
            format!(
                "{}, {}, copied to $SKILL_DIR",
                counted(plan.file_count as u64, "file"),
                counted(plan.file_bytes as u64, "byte")
            ),
        ),
        (
            "network",
            if plan.network { "yes" } else { "no" }.to_owned(),
        ),
        (
            "limits",
            format!(
                "{} s, {} of each output, {} of memory",
                plan.timeout_seconds,
                counted(plan.max_output_bytes as u64, "byte"),
                counted(plan.memory_bytes, "byte")
            ),
        ),
        (
            "isolation",
            match (plan.isolation, &plan.isolation_missing) {
                (Some(level), _) => level.to_owned(),
                (None, Some(why)) => format!("not run: {why}"),
                (None, None) => "unknown".to_owned(),
            },
        ),
    ];
    rows.extend(plan.readable.iter().map(|it| ("readable", it.clone())));
    rows.extend(plan.writable.iter().map(|it| ("writable", it.clone())));
    rows.extend(
        plan.environment
            .iter()
            .map(|it| ("environment", it.clone())),
    );
    for (name, value) in rows {
        out.line(&format!("{name:<12}{}", super::display::one_line(&value)))?;
    }
    Ok(out.finish()?)
}

impl<'a> Plan<'a> {
    fn new(
        planned: &'a PlannedScript,
        isolation: Result<&skillbundle_exec::Isolation, &ScriptError>,
    ) -> Self {
        let program: &Program = &planned.program;
        let text = |path: &PathBuf| path.display().to_string();
        let variables = match isolation {
            Ok(isolation) => program.environment_at(*isolation),
            Err(_) => program.environment.clone(),
        };
        Self {
            skill: &planned.skill,
            resolved_from: planned.from.as_deref(),
            script: &program.script,
            runner: text(&program.runner.program),
            runner_args: program
                .runner
                .args
                .iter()
                .map(|it| it.to_string_lossy().into_owned())
                .collect(),
            directory: program.directory.as_ref().map(text),
            readable: program.readable.iter().map(text).collect(),
            writable: program.writable.iter().map(text).collect(),
            environment: variables
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
            network: program.network,
            isolation: isolation.ok().map(|it| it.as_str()),
            isolation_missing: isolation.err().map(ToString::to_string),
            timeout_seconds: program.limits.time.as_secs(),
            max_output_bytes: program.limits.output_bytes,
            memory_bytes: program.limits.memory_bytes,
            file_count: program.files.len(),
            file_bytes: program.files.iter().map(|it| it.bytes.len()).sum(),
        }
    }
}
