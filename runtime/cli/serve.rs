//! `skillbundle serve`: chooses the skills and starts the server. Started by
//! hand on a terminal, it first explains what it serves and how to use it.

mod http;
mod log;
mod quick;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::Result;
use skillbundle_server::{Error, Options, Source};

use super::config::environment;
use super::list;
use super::output::{self, describe, info, is_closed_pipe};
use super::progress::Progress;
use super::tool_args::{self, ToolArgs};
use crate::Exit;
use crate::config;
use crate::directories;
use crate::repositories::JUST_NOW;
use crate::sources::{Selection, Sources, labelled};
use http::Http;

const EXAMPLES: &str = "\
Examples:
  skillbundle serve                             the standard folders and the skills in this binary
  skillbundle serve skills                      a directory; the next call sees an edit
  skillbundle serve team.skb                    a bundle; a replaced file is picked up
  skillbundle serve --repo https://github.com/org/skills  a git repository, kept up to date
  skillbundle serve --tools loader,skills_search  only two tools
  claude mcp add skills -- skillbundle serve    let an agent host start it
  skillbundle serve --http :8080                many hosts, at http://127.0.0.1:8080/mcp
  skillbundle serve --http 0.0.0.0:8080 --token-file token --allow-host skills.example
                                                for other machines, behind a proxy with TLS

Tools: skill, get_skill, skills_search, skills_list, list_skills, get_asset, run_script,
invoke_skill, report_usage, refresh_skills. Presets: router (get_skill, list_skills, get_asset,
run_script, report_usage, refresh_skills), loader (skill), catalog (skills_list, skills_search),
invoker (skill, invoke_skill), all. Without --tools, skill, get_skill, skills_search and, if skills
have files, scripts or contracts for them, get_asset, run_script and invoke_skill are listed; the
others answer when they are called.

Without PATH, skills in ./.agent/skills, ~/.agent/skills, ./.claude/skills, ~/.claude/skills and
the folders of other hosts come before those in this binary; `skillbundle roots` shows them all.

";

// Arguments of `serve`. (A doc comment would become the command's description.)
#[derive(clap::Args, Debug, Default)]
#[command(after_help = EXAMPLES.to_owned() + &environment())]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    tool_options: ToolArgs,
    /// Keep serving after the process that started the server is gone
    #[arg(long)]
    no_parent_watch: bool,
    #[cfg_attr(
        feature = "http",
        command(flatten, next_help_heading = "Options for HTTP")
    )]
    #[cfg_attr(
        not(feature = "http"),
        command(
            flatten,
            next_help_heading = "Options for HTTP (not in this build; needs feature `http`)"
        )
    )]
    http: Http,
}

impl Args {
    /// Every path that is named.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        let sources = &self.sources;
        let dirs = sources.dir.iter().map(|it| labelled(it).1);
        let files = sources.paths.iter().chain(&sources.bundle);
        let files = files
            .chain(sources.config.file())
            .chain(self.http.token_files());
        dirs.chain(files.map(PathBuf::as_path))
    }
}

/// Serves until the client closes stdin or is gone or, over HTTP, until a signal.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let (about_settings, set) = crate::with_tools(&args.sources, &args.tool_options);
    let loaded = config::load(about_settings, set);
    let _logging = log::to_stderr();
    let ended = loaded
        .and_then(|_| args.sources.select())
        .and_then(|selection| {
            let ended = serve(selection.source()?, args);
            ended.map_err(|error| match &selection {
                Selection::Bundle(file) if is_of_bundle(&error) => {
                    error.context(file.display().to_string())
                }
                _ => error,
            })
        });
    skillbundle_git::stop_all();
    directories::finish_writes();
    match ended {
        Err(error) if !is_closed_pipe(&error) => {
            // Like the log, the error must not wait for a stderr that nobody reads.
            let (message, help) = describe(&error);
            log::append((output::error_text(&message, help) + "\n").as_bytes());
            Ok(Exit::CouldNotRun)
        }
        ended => ended,
    }
}

/// Whether the bundle cannot be read, which its error does not name.
fn is_of_bundle(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::Bundle(_)))
}

fn serve(source: impl Source, args: &Args) -> Result<Exit> {
    let options = Options {
        outlive_parent: args.no_parent_watch,
        ..tool_args::options()?
    };
    if let Some(address) = args.http.address() {
        http::serve(source, options, address, &args.http)?;
        return Ok(Exit::Success);
    }
    // stderr first: touching stdin allocates a buffer.
    if io::stderr().is_terminal() && io::stdin().is_terminal() {
        greet(&source, args)?;
    }
    skillbundle_server::serve(source, options)?;
    Ok(Exit::Success)
}

/// Explains on a terminal what is served and what to do with it.
fn greet(source: &impl Source, args: &Args) -> Result<()> {
    if source.can_sync() {
        let _progress = Progress::start("synchronising", &source.describe());
        // Why it failed is logged by the server, which tries again.
        let _ = source.sync(JUST_NOW);
    }
    let loaded = source.load(None)?;
    for notice in &loaded.notices {
        info(notice);
    }
    let skills = list::count(&loaded.bundle.catalog()?)?;
    let arguments = absolute_arguments(&args.sources);
    info(&format!(
        "skillbundle {version} serves {skills} from {from}\n\
         It speaks the Model Context Protocol on stdin and stdout; an agent host starts it. Ctrl-D ends it.\n\
         Try in another terminal:\n  \
           skillbundle list{arguments}\n  \
           claude mcp add skills -- skillbundle serve{arguments}",
        version = env!("CARGO_PKG_VERSION"),
        from = source.describe(),
    ));
    Ok(())
}

/// The source arguments with absolute paths.
fn absolute_arguments(sources: &Sources) -> String {
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let absolute_dir = |typed: &PathBuf| match labelled(typed) {
        (Some(label), path) => {
            PathBuf::from(format!("{label}={}", absolute(&path.to_owned()).display()))
        }
        (None, path) => absolute(&path.to_owned()),
    };
    let bundle = sources.bundle.as_ref().map(absolute);
    Sources {
        bundle,
        dir: sources.dir.iter().map(absolute_dir).collect(),
        paths: sources.paths.iter().map(absolute).collect(),
        ..sources.clone()
    }
    .arguments()
}
