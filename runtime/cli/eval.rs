//! `skillbundle eval`: replays requests and counts how many find the right
//! skill. The arguments are here; the work needs the feature `compile`.

#[cfg(feature = "compile")]
mod enabled;

#[cfg(feature = "compile")]
pub(crate) use enabled::run;

use crate::sources::Sources;

/// The summary in builds without the feature.
#[cfg(not(feature = "compile"))]
pub(crate) const ABOUT_MISSING: &str = "Replay requests and report which find the right skill \
    (not in this build; needs feature `compile`)";

const EXAMPLES: &str = "\
Examples:
  skillbundle eval skills                       how many requests find their skill
  skillbundle eval skills -v                    and which do not
  skillbundle eval skills --min-hits 0.8 --max-false 0.1
                                                in CI: fail if routing gets worse
  skillbundle eval skills --json                everything, for a script

Requests are read from these files anywhere below the directories:
  routing.json       [{\"request\": \"merge two PDFs\", \"expect\": \"pdf\"},
                      {\"request\": \"how are you\", \"expect\": null}]
  trigger-eval.json  in a skill's folder: [{\"query\": \"merge two PDFs\", \"should_trigger\": true}]
  evals.json         in a skill's folder: {\"evals\": [{\"prompt\": \"merge two PDFs\"}]}
and from a skill's frontmatter:
  triggers: [merge two PDFs], or lists under `positive` and `negative`

A request is a hit if it finds the right skill and no other, and `offered` if it finds several
with the right one among them. A false trigger is a skill found for a request that is not for it.
Exit codes: 0 success, 1 a bound was missed or a request is invalid, 2 could not run.";

// Arguments of `eval`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
// A bundle is compiled already; naming one gets an error that says so.
#[command(mut_arg("bundle", |it| it.hide(true)))]
#[command(mut_arg("paths", |it| it.help("Directories of skills (the first wins)")))]
#[command(
    override_usage = "skillbundle eval PATH... [--min-hits SHARE] [--max-false SHARE] [--verbose] [--json]"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Fail if fewer than this share of the requests find their skill, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share)]
    min_hits: Option<f64>,
    /// Fail if more than this share of the negative requests trigger a skill, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_false: Option<f64>,
    /// Show every request with a wrong outcome
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

fn share(typed: &str) -> Result<f64, String> {
    match typed.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("expected a number from 0 to 1".to_owned()),
    }
}
