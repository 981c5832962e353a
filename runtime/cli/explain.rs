//! `skillbundle explain`: prints a row of the table of rules. The arguments are here; the work needs
//! the feature `compile`.

#[cfg(feature = "compile")]
mod enabled;

#[cfg(feature = "compile")]
pub(crate) use enabled::run;

/// The summary in builds without the feature.
#[cfg(not(feature = "compile"))]
pub(crate) const ABOUT_MISSING: &str =
    "Explain a rule of `check` (not in this build; needs feature `compile`)";

const EXAMPLES: &str = "\
Examples:
  skillbundle explain                           every rule in one line
  skillbundle explain name-mismatch             one rule, with examples
  skillbundle explain name-mismatch --json      the same for a script

docs/rules.md has all of them.";

// Arguments of `explain`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The rule, as a finding shows it in brackets; all if it is left out
    #[arg(value_name = "CODE")]
    code: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Always an error: this build has no compiler.
#[cfg(not(feature = "compile"))]
pub(crate) fn run(_: &Args) -> anyhow::Result<crate::Exit> {
    Err(anyhow::anyhow!(crate::directories::NEEDS_COMPILER))
}
