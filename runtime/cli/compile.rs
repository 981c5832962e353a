//! `skillbundle compile`: directories of skills to a bundle, or just to what
//! is wrong with them. What can be told stands here; the doing needs the
//! compiler, which a build without the feature `compile` does not carry.

#[cfg(not(feature = "compile"))]
mod disabled;
#[cfg(feature = "compile")]
mod enabled;

use std::path::PathBuf;

use clap::ArgGroup;
#[cfg(not(feature = "compile"))]
pub(crate) use disabled::run;
#[cfg(feature = "compile")]
pub(crate) use enabled::run;

const EXAMPLES: &str = "\
Examples:
  skillbundle compile --check skills            say what is wrong, write nothing
  skillbundle compile skills -o team.skb        make a bundle
  skillbundle compile .agent/skills vendor/skills -o all.skb
                                                of two directories; the first wins
  skillbundle compile --check skills --json     the findings for a script

Skills with errors that make them unusable are left out; the bundle of the others is written
all the same. Exits with 0 where there are no errors, 1 where there are, 2 where nothing could
be done. The bundle depends on what is in the directories and on nothing else.";

// What `compile` can be told. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group(ArgGroup::new("outcome").required(true).args(["output", "check"])))]
#[command(override_usage = "skillbundle compile DIR... (-o FILE | --check) [--verbose] [--json]")]
pub(crate) struct Args {
    /// Directories of skills, the most important first
    #[arg(required = true)]
    dir: Vec<PathBuf>,
    /// Write the bundle to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only say what is wrong
    #[arg(long)]
    check: bool,
    /// Show what is merely worth knowing, too
    #[arg(short, long)]
    verbose: bool,
    /// Print the findings and the summary as JSON
    #[arg(long)]
    json: bool,
}
