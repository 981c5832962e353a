//! `skillbundle new`: makes a skill from the templates of this program. The arguments are here; the
//! work needs the feature `compile`, since nothing is put in place that the compiler objects to.

#[cfg(feature = "compile")]
mod ask;
#[cfg(feature = "compile")]
mod draft;
#[cfg(feature = "compile")]
mod enabled;
#[cfg(feature = "compile")]
mod place;
#[cfg(feature = "compile")]
mod words;

use std::path::PathBuf;

#[cfg(feature = "compile")]
pub(crate) use enabled::run;

/// The summary in builds without the feature.
#[cfg(not(feature = "compile"))]
pub(crate) const ABOUT_MISSING: &str =
    "Make a skill from a template (not in this build; needs feature `compile`)";

const EXAMPLES: &str = "\
Examples:
  skillbundle new                               asks for a name and a description
  skillbundle new pdf-forms --description \"Fill in PDF forms. Use when someone has a form to fill.\"
                                                a folder pdf-forms with a SKILL.md
  skillbundle new pdf-forms --with-script --dir team/skills
                                                with a script, in team/skills
  skillbundle new login --tree --dir skills/ui  a page of a tree, skills/ui/login.md
  skillbundle new find-item --contract          a page with a contract and its handler

Without --dir, the skill is made in the nearest skills, .claude/skills, .agents/skills or other
standard folder (`skillbundle roots`) of the project, or else in the working directory.
Nothing is ever overwritten. The paths of what was made are printed on standard output.
Exit codes: 0 made, 2 could not run.";

// Arguments of `new`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(crate) struct Args {
    /// Name of the skill: 1 to 64 lower-case letters, digits and single hyphens
    name: Option<String>,
    /// What it does and when to use it, in one line
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Make it in this directory, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Make a page of the tree dialect, which inherits and is found by its keywords
    #[arg(long)]
    tree: bool,
    /// Give it a contract, with a handler in Python; makes a page, as with --tree
    #[arg(long)]
    contract: bool,
    /// Give it a script for the agent
    #[arg(long)]
    with_script: bool,
    /// Print JSON, and ask nothing
    #[arg(long)]
    json: bool,
}

/// Always an error: this build has no compiler.
#[cfg(not(feature = "compile"))]
pub(crate) fn run(_: &Args) -> anyhow::Result<crate::Exit> {
    Err(anyhow::anyhow!(crate::directories::NEEDS_COMPILER))
}
