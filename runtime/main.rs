//! The `skillbundle` program: which commands there are, what they are for,
//! and how a run ends. What each does lies in `cli/`, which skills it is about
//! in `sources.rs`, how directories become a bundle in `directories.rs`.

mod cli;
mod directories;
mod sources;

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

use cli::output::{complain_of, is_closed_pipe};
use cli::{compile, eval, inspect, list, reference, route, search, serve, show, usage, verify};

const EXAMPLES: &str = "\
Examples:
  skillbundle list                              what this binary carries
  skillbundle list --dir skills                 what a directory holds
  skillbundle compile --check skills            find what is wrong with it
  skillbundle eval skills                       whether requests find the right skill
  skillbundle compile skills -o team.skb        make a bundle of it
  skillbundle serve --bundle team.skb           serve it to an agent host

Exit codes: 0 fine, 1 something was found to be wrong, 2 could not run.
NO_COLOR turns colours off; they are only used on a terminal.";

/// Checks, compiles and serves agent skills.
#[derive(Parser)]
#[command(name = "skillbundle", version, after_help = EXAMPLES)]
#[command(arg_required_else_help = false, disable_help_subcommand = true)]
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
    /// Check directories of skills, or make a bundle of them
    Compile(compile::Args),
    /// Replay requests and say which find the skill that they should
    Eval(eval::Args),
    /// List the skills
    List(list::Args),
    /// Print a skill, or one of its files
    Show(show::Args),
    /// Find the skills that mention every word, or come closest
    Search(search::Args),
    /// Ask which skill a request means, and why
    Route(route::Args),
    /// Show what a bundle holds, or everything about one skill
    Inspect(inspect::Args),
    /// Check every byte of a bundle
    Verify(verify::Args),
    /// Print completions for a shell
    Completions(reference::CompletionsArgs),
    /// Print the manual page, or write all of them
    Man(reference::ManArgs),
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    Fine = 0,
    Findings = 1,
    CouldNotRun = 2,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

fn main() -> ExitCode {
    let ended = match command() {
        Ok(command) => run(&command),
        Err(error) => usage::answer(&error),
    };
    match ended {
        Ok(exit) => exit.into(),
        // Whoever read our output had seen enough.
        Err(error) if is_closed_pipe(&error) => Exit::Fine.into(),
        Err(error) => {
            complain_of(&error);
            Exit::CouldNotRun.into()
        }
    }
}

/// What was typed.
fn command() -> Result<Command, clap::Error> {
    match serve::Args::quick(std::env::args_os().skip(1)) {
        Some(args) => Ok(Command::Serve(args)),
        None => Cli::try_parse().map(|cli| cli.command),
    }
}

fn run(command: &Command) -> Result<Exit> {
    match command {
        Command::Serve(args) => serve::run(args),
        Command::Compile(args) => compile::run(args),
        Command::Eval(args) => eval::run(args),
        Command::List(args) => list::run(args),
        Command::Show(args) => show::run(args),
        Command::Search(args) => search::run(args),
        Command::Route(args) => route::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Completions(args) => reference::completions(args, &mut Cli::command()),
        Command::Man(args) => reference::manual(args, Cli::command()),
    }
}
