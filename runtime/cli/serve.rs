//! `skillbundle serve`: chooses what is served, greets a person who starts it
//! by hand, and hands over to the server. A host that starts it hears nothing.

mod http;
mod log;
mod quick;

use std::env;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use anyhow::{Result, bail};
use skillbundle_server::Source;

use super::list;
use super::offering::Offering;
use super::output::note;
use crate::Exit;
use crate::sources::Sources;
use http::Http;

const EXAMPLES: &str = "\
Examples:
  skillbundle serve                             what is baked in, and the standard roots
  skillbundle serve --dir skills                a directory; edits are seen by the next call
  skillbundle serve --bundle team.skb           a bundle; a new file in its place is picked up
  skillbundle serve --tools loader,skills_search  two tools and no others
  claude mcp add skills -- skillbundle serve    let an agent host start it
  skillbundle serve --http :8080                many hosts, at http://127.0.0.1:8080/mcp
  skillbundle serve --http 0.0.0.0:8080 --token-file token --allow-host skills.example
                                                for other machines, behind a proxy with TLS

Tools: skill, get_skill, skills_search, skills_list, list_skills, get_asset, refresh_skills.
Presets: router (get_skill, list_skills, get_asset, refresh_skills), loader (skill),
catalog (skills_list, skills_search), all. Without --tools those that can do nothing are
left out: get_asset where no skill has a file, refresh_skills where skills cannot change.

Without options, skills in ./.agent/skills, ~/.agent/skills, ./.claude/skills and
~/.claude/skills come before those baked in, in this order.

Environment:
  SKILLS_DIR         a directory of skills, as with --dir, where no option is given
  SKILLBUNDLE_TOKEN  the token of --http, where no file is given
  SKILLBUNDLE_LOG    what is logged on stderr: off, error, warn (the default), info (with --http
                     one line a request), debug, trace";

// What `serve` can be told. (A doc comment would become the command's description.)
#[derive(clap::Args, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    sources: Sources,
    #[command(flatten)]
    offering: Offering,
    #[command(flatten)]
    http: Http,
}

/// Serves until the host closes stdin or, at a port, until asked to stop.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    log::to_stderr();
    serve(with_environment(&args.sources)?.source()?, args)
}

/// The sources that were typed, or else those that the environment names.
fn with_environment(typed: &Sources) -> Result<Sources> {
    let mut sources = typed.clone();
    if !sources.is_empty() {
        return Ok(sources);
    }
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(dir) = variable("SKILLS_DIR") {
        sources.dir.push(dir.into());
    } else if variable("SKILLS_REPO").is_some() {
        bail!(
            "SKILLS_REPO is set, but this build has no git sources; check the repository out and name it with --dir or SKILLS_DIR"
        );
    }
    Ok(sources)
}

fn serve(source: impl Source, args: &Args) -> Result<Exit> {
    let options = args.offering.options();
    if let Some(address) = args.http.address() {
        http::serve(source, options, address, &args.http)?;
        return Ok(Exit::Fine);
    }
    // Where stderr is none nobody would see it, and asking stdin makes a buffer for it.
    if io::stderr().is_terminal() && io::stdin().is_terminal() {
        greet(&source, args)?;
    }
    skillbundle_server::serve(source, options)?;
    Ok(Exit::Fine)
}

/// Tells a person at a terminal what is served and what to do with it.
fn greet(source: &impl Source, args: &Args) -> Result<()> {
    let loaded = source.load(None)?;
    for notice in &loaded.notices {
        note(notice);
    }
    let skills = list::count(&loaded.bundle.catalog()?)?;
    let options = options_elsewhere(&args.sources);
    note(&format!(
        "skillbundle {version} serves {skills} from {from}\n\
         It speaks the Model Context Protocol on stdin and stdout: an agent host starts it, Ctrl-D ends it.\n\
         Try in another terminal:\n  \
           skillbundle list{options}\n  \
           claude mcp add skills -- skillbundle serve{options}",
        version = env!("CARGO_PKG_VERSION"),
        from = source.describe(),
    ));
    Ok(())
}

/// The source options as they would be typed elsewhere: with absolute paths.
fn options_elsewhere(sources: &Sources) -> String {
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let bundle = sources.bundle.as_ref().map(absolute);
    Sources {
        bundle,
        dir: sources.dir.iter().map(absolute).collect(),
    }
    .options()
}
