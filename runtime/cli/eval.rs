//! `skillbundle eval`: whether requests find the skills that their authors
//! mean. What can be told stands here; the doing needs the compiler, which a
//! build without the feature `compile` does not carry.

#[cfg(not(feature = "compile"))]
mod disabled;
#[cfg(feature = "compile")]
mod enabled;

use std::path::PathBuf;

#[cfg(not(feature = "compile"))]
pub(crate) use disabled::run;
#[cfg(feature = "compile")]
pub(crate) use enabled::run;

const EXAMPLES: &str = "\
Examples:
  skillbundle eval skills                       how many requests find their skill
  skillbundle eval skills -v                    and which do not
  skillbundle eval skills --min-hits 0.8 --max-false 0.1
                                                in CI: fail where routing gets worse
  skillbundle eval skills --json                everything, for a script

Requests are read from these files, wherever they lie below the directories:
  routing.json       [{\"request\": \"merge two PDFs\", \"expect\": \"pdf\"},
                      {\"request\": \"how are you\", \"expect\": null}]
  trigger-eval.json  in a skill's folder: [{\"query\": \"merge two PDFs\", \"should_trigger\": true}]
  evals.json         in a skill's folder: {\"evals\": [{\"prompt\": \"merge two PDFs\"}]}
and from a skill's frontmatter:
  triggers: [merge two PDFs], or lists under `positive` and `negative`

A hit is the right skill and no other; `offered` is the right one among several; a false trigger
is a skill found for a request that is not for it. Exits with 0 where all is fine, 1 where a
bound is not met or a request cannot be read, 2 where nothing could be done.";

// What `eval` can be told. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(
    override_usage = "skillbundle eval DIR... [--min-hits SHARE] [--max-false SHARE] [--verbose] [--json]"
)]
pub(crate) struct Args {
    /// Directories of skills, the most important first
    #[arg(required = true)]
    dir: Vec<PathBuf>,
    /// Fail where less than this share of the requests for a skill hit it, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share)]
    min_hits: Option<f64>,
    /// Fail where more than this share of the requests against a skill trigger it, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = share)]
    max_false: Option<f64>,
    /// Show each request that does not end as it should
    #[arg(short, long)]
    verbose: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn share(typed: &str) -> Result<f64, String> {
    match typed.parse() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("a number from 0 to 1 was expected".to_owned()),
    }
}
