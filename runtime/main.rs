//! The `skillbundle` program: its commands and its exit codes. What each
//! command does is in `cli/`, where skills come from in `sources.rs`, how
//! directories become a bundle in `directories.rs`.

mod cache;
mod cli;
mod config;
mod directories;
mod embedded;
mod project;
mod repositories;
mod roots;
mod sources;

use std::ffi::OsString;
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;
use std::{env, iter};

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

use cli::json::{Envelope, Failed};
use cli::output::{self, Output};
use cli::tool_args::ToolArgs;
use cli::{
    check, clap_errors, compile, doctor, eval, explain, inspect, json, list, man, new, route,
    search, serve, show, verify,
};
use config::{Assignment, ConfigArgs};
use sources::Sources;

const EXAMPLES: &str = "\
Examples:
  skillbundle list                              the skills of your folders and of this binary
  skillbundle list skills                       the skills in a directory
  skillbundle new pdf-forms                     make one from a template
  skillbundle check skills                      check them
  skillbundle eval skills                       do requests find the right skill?
  skillbundle compile skills -o team.skb        compile them into a bundle
  skillbundle serve team.skb                    serve the bundle to an agent host

What you look for comes first, then where to look: a directory of skills, a bundle, or one
skill file. Without a PATH, commands read the standard folders (`skillbundle roots`) over the skills
in this binary.
`skillbundle help COMMAND` explains a command; docs/json.md describes --json.

Exit codes: 0 success, 1 problems found, 2 could not run.
NO_COLOR turns colours off; they are used on terminals only.";

/// Checks, compiles and serves agent skills
#[derive(Parser)]
#[command(name = "skillbundle", version, after_help = EXAMPLES)]
#[command(arg_required_else_help = false)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

// Deferred: a host that starts `serve` waits for one command's grammar, not for ten (0.1 ms less).
#[derive(Subcommand)]
#[command(defer = true)]
enum Command {
    /// Serve skills to an agent host over the Model Context Protocol
    Serve(serve::Args),
    /// Make a skill from a template
    #[cfg_attr(not(feature = "compile"), command(about = new::ABOUT_MISSING))]
    New(new::Args),
    /// Check skills for the hosts that shall read them
    #[cfg_attr(not(feature = "compile"), command(about = check::ABOUT_MISSING))]
    Check(check::Args),
    /// Explain a rule of `check`
    #[cfg_attr(not(feature = "compile"), command(about = explain::ABOUT_MISSING))]
    Explain(explain::Args),
    /// Compile skills into a bundle
    #[cfg_attr(not(feature = "compile"), command(about = compile::ABOUT_MISSING))]
    Compile(compile::Args),
    /// Replay requests and report which find the right skill
    #[cfg_attr(not(feature = "compile"), command(about = eval::ABOUT_MISSING))]
    Eval(eval::Args),
    /// List skills
    List(list::Args),
    /// Show where skills are looked for, and how many each place has
    Roots(cli::roots::Args),
    /// Print a skill, or one of its files
    Show(show::Args),
    /// Run a script of a skill, isolated as the server would
    Run(cli::run::Args),
    /// Invoke a skill that has a contract, with its input and output checked
    Invoke(cli::invoke::Args),
    /// Find skills by words
    Search(search::Args),
    /// Show which skill a request is routed to, and why
    Route(route::Args),
    /// Show what a bundle or a skill consists of, or what a host sees of it
    Inspect(inspect::Args),
    /// Show the settings that apply and where each was set, or their JSON Schema
    Config(cli::config::Args),
    /// Verify every byte of a bundle
    Verify(verify::Args),
    /// Show or clean what is kept between runs
    Cache(cli::cache::Args),
    /// Show what was recorded: invocations, scripts, routing, events
    #[cfg_attr(not(feature = "sqlite"), command(about = cli::journal::ABOUT_MISSING))]
    Journal(cli::journal::Args),
    /// Show which skills are used, and which requests find none
    #[cfg_attr(not(feature = "sqlite"), command(about = cli::stats::ABOUT_MISSING))]
    Stats(cli::stats::Args),
    /// Check everything that decides which skills a host sees
    Doctor(doctor::Args),
    /// Print completions for a shell
    Completions(man::CompletionsArgs),
    /// Print the manual page, or write all of them
    Man(man::ManArgs),
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    Success = 0,
    ProblemsFound = 1,
    CouldNotRun = 2,
    /// By Ctrl-C, as shells number it: 128 and the number of the signal.
    #[cfg_attr(
        not(all(feature = "compile", unix)),
        expect(dead_code, reason = "only a check that watches waits for it")
    )]
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

fn main() -> ExitCode {
    if let Some(code) = skillbundle_exec::supervise_if_asked() {
        return code;
    }
    #[cfg(unix)]
    survive_file_size_limit();
    let outcome = match command() {
        Ok(command) => run(&command),
        Err(error) => clap_errors::answer(&error, Form::asked() == Form::Json),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) if output::is_closed_pipe(&error) => Exit::Success.into(),
        Err(error) => {
            report(&error);
            Exit::CouldNotRun.into()
        }
    }
}

/// Makes a file that grows beyond `ulimit -f` an error like a full disk. Unless there is a handler,
/// the signal ends the process.
#[cfg(unix)]
fn survive_file_size_limit() {
    // Fails for signals that cannot be handled only.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Parses the arguments of a `serve` that a host's configuration has.
fn serve_args(words: &[String]) -> Result<serve::Args, clap::Error> {
    let program = iter::once("skillbundle");
    match Cli::try_parse_from(program.chain(words.iter().map(String::as_str)))?.command {
        Command::Serve(args) => Ok(args),
        _ => Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand)),
    }
}

/// Parses the command line.
fn command() -> Result<Command, clap::Error> {
    match serve::Args::quick(env::args_os().skip(1)) {
        Some(args) => Ok(Command::Serve(args)),
        None => Cli::try_parse().map(|cli| match cli.command {
            Command::Run(mut args) => {
                args.split();
                Command::Run(args)
            }
            command => command,
        }),
    }
}

/// The arguments about settings, and what the others set.
fn with_tools<'a>(sources: &'a Sources, tools: &ToolArgs) -> (&'a ConfigArgs, Vec<Assignment>) {
    let set = [sources.assignments(), tools.assignments()];
    (&sources.config, set.concat())
}

impl Command {
    /// The arguments about settings, and what the other ones set. None for `serve` and `doctor`,
    /// which load the settings themselves because the log depends on them, or because an error is a
    /// finding, and for commands that obey none.
    fn settings(&self) -> Option<(&ConfigArgs, Vec<Assignment>)> {
        let sources = match self {
            Self::Check(args) => &args.sources,
            Self::Compile(args) => &args.sources,
            Self::Eval(args) => &args.sources,
            Self::List(args) => &args.sources,
            Self::Roots(args) => &args.sources,
            Self::Show(args) => &args.sources,
            Self::Run(args) => return Some((&args.sources.config, args.assignments())),
            Self::Invoke(args) => return Some((&args.sources.config, args.assignments())),
            Self::Search(args) => &args.sources,
            Self::Route(args) => &args.sources,
            Self::Inspect(args) => return Some(with_tools(&args.sources, &args.tool_options)),
            Self::Config(args) => return Some(with_tools(&args.sources, &args.tool_options)),
            Self::Verify(args) => &args.sources,
            Self::Cache(args) => return Some((&args.config, Vec::new())),
            Self::Stats(args) => return Some((&args.sources.config, args.assignments())),
            Self::Journal(args) => return Some((&args.config, args.assignments())),
            Self::Serve(_)
            | Self::New(_)
            | Self::Doctor(_)
            | Self::Explain(_)
            | Self::Completions(_)
            | Self::Man(_) => return None,
        };
        Some((&sources.config, sources.assignments()))
    }
}

fn run(command: &Command) -> Result<Exit> {
    if let Some((args, assignments)) = command.settings() {
        config::load(args, assignments)?;
    }
    match command {
        Command::Serve(args) => serve::run(args),
        Command::New(args) => new::run(args),
        Command::Check(args) => check::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Compile(args) => compile::run(args),
        Command::Eval(args) => eval::run(args),
        Command::List(args) => list::run(args),
        Command::Roots(args) => cli::roots::run(args),
        Command::Show(args) => show::run(args),
        Command::Run(args) => cli::run::run(args),
        Command::Invoke(args) => cli::invoke::run(args),
        Command::Search(args) => search::run(args),
        Command::Route(args) => route::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Config(args) => cli::config::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Cache(args) => cli::cache::run(args),
        Command::Journal(args) => cli::journal::run(args),
        Command::Stats(args) => cli::stats::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Completions(args) => man::completions(args, &mut Cli::command()),
        Command::Man(args) => man::manual(args, Cli::command()),
    }
}

/// The form of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Sarif,
    Github,
}

impl Form {
    /// What was asked for, even if the command line could not be parsed.
    fn asked() -> Self {
        let words: Vec<_> = env::args_os().take_while(|word| word != "--").collect();
        let is = |word: &OsString, text: &str| word == text;
        let has_format = |name: &str| {
            let joined = format!("--format={name}");
            let mut pairs = words.windows(2);
            pairs.any(|it| is(&it[0], "--format") && is(&it[1], name))
                || words.iter().any(|it| is(it, &joined))
        };
        if has_format("sarif") {
            Self::Sarif
        } else if has_format("github") {
            Self::Github
        } else if has_format("json") || words.iter().any(|it| is(it, "--json")) {
            Self::Json
        } else {
            Self::Text
        }
    }
}

/// Prints an error: as a document on stdout if one was asked for, or else on stderr.
fn report(error: &anyhow::Error) {
    let (message, help) = output::describe(error);
    let mut out = Output::new();
    let written = match Form::asked() {
        Form::Text => return output::error(&message, help),
        Form::Github => match check::failure_annotation(&message, help) {
            Some(line) => out.line(&line),
            None => return output::error(&message, help),
        },
        Form::Sarif => match check::failure_log(&message, help) {
            Some(log) => out.json(&log),
            None => out.json(&failed(message, help)),
        },
        Form::Json => out.json(&failed(message, help)),
    };
    // If stdout is closed, the exit code is all that is left to report with.
    let _ = written.and_then(|()| out.finish());
}

fn failed(message: String, help: Option<&str>) -> Envelope<Failed> {
    let is_command = |name: &String| Cli::command().find_subcommand(name).is_some();
    let first = env::args_os()
        .nth(1)
        .and_then(|word| word.into_string().ok());
    let command = first.filter(is_command);
    let help = help.map(str::to_owned);
    let body = Failed {
        error: json::Error { message, help },
    };
    Envelope::of(command, body)
}
