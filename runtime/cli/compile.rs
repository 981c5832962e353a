//! `skillbundle compile`: compiles skills into a bundle, or only checks them.
//! The arguments are here; the work needs the feature `compile`.

#[cfg(feature = "compile")]
mod commit;
#[cfg(feature = "compile")]
mod destination;
#[cfg(feature = "compile")]
mod enabled;

use std::path::PathBuf;

use clap::ArgGroup;
#[cfg(feature = "compile")]
pub(crate) use enabled::run;

use crate::sources::Sources;

/// The summary in builds without the feature.
#[cfg(not(feature = "compile"))]
pub(crate) const ABOUT_MISSING: &str =
    "Check skills, or compile them into a bundle (not in this build; needs feature `compile`)";

const EXAMPLES: &str = "\
Examples:
  skillbundle compile skills -o team.skb        make a bundle
  skillbundle compile .agent/skills vendor/skills -o all.skb
                                                from two directories; the first wins
  skillbundle compile skills -o team.skb --json findings for a script
  skillbundle compile skills --commit -o team.skb
                                                note the commit, if nothing differs from it
  skillbundle compile --repo https://github.com/org/skills -o team.skb
                                                from a repository, with its commit

  skillbundle compile skills -o - | ssh host 'cat > team.skb'
                                                to standard output

If there are errors, nothing is written, and an older bundle stays as it is.
--allow-errors writes the bundle without the skills that have errors. The bundle depends on the
content of the directories and on nothing else.
Exit codes: 0 no errors, 1 errors found, 2 could not run.";

// Arguments of `compile`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
// A bundle is compiled already; naming one gets an error that says so.
#[command(mut_arg("bundle", |it| it.hide(true)))]
#[command(mut_arg("paths", |it| it.help("Directories of skills (the first wins), or single skill files")))]
#[command(group(ArgGroup::new("outcome").required(true).args(["output", "check"])))]
#[command(override_usage = "skillbundle compile PATH... (-o FILE | --check) [OPTIONS]")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Write the bundle to this file, which may only replace a bundle; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only report problems: the same as `skillbundle check`
    #[arg(long)]
    check: bool,
    /// Write the bundle without the skills that have errors; the exit code stays 1
    #[arg(long, conflicts_with = "check")]
    allow_errors: bool,
    /// Note in the bundle which commit of git the skills are; fails if they differ from it
    #[arg(long)]
    commit: bool,
    /// Report notes as well as errors and warnings
    #[arg(short, long)]
    verbose: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Always an error: this build has no compiler.
#[cfg(not(feature = "compile"))]
pub(crate) fn run(_: &Args) -> anyhow::Result<crate::Exit> {
    Err(anyhow::anyhow!(crate::directories::NEEDS_COMPILER))
}
