//! `skillbundle stats`: which skills are used and which are not, from what the journal has recorded.
//! How invocations went is `skillbundle journal stats`.

#[cfg(feature = "sqlite")]
mod enabled;
#[cfg(feature = "sqlite")]
mod json;
#[cfg(feature = "sqlite")]
mod report;
#[cfg(feature = "sqlite")]
mod usage;

use std::path::PathBuf;

use crate::config::Assignment;
use crate::sources::Sources;

#[cfg(feature = "sqlite")]
pub(crate) use enabled::run;

/// The summary in builds without the feature.
#[cfg(not(feature = "sqlite"))]
pub(crate) const ABOUT_MISSING: &str = "Show which skills are used, and which requests find none \
    (not in this build; needs feature `sqlite`)";

const EXAMPLES: &str = "\
Examples:
  skillbundle stats                             everything that was recorded
  skillbundle stats --since 7d                  the last seven days
  skillbundle stats skills --since 2026-11-01   name the skills, to see which were never used
  skillbundle stats --top 50                    more rows of each list
  skillbundle stats --json > stats.json         for a script

It reads the journal, also while servers write it. Servers record how skills are used if
`journal.calls` is on: `skillbundle serve --set journal.calls=true`. Without it they record
invocations and feedback alone. How invocations ended and how long they took is
`skillbundle journal stats`. TIME is a span before now such as 7d or 12h, or a date such as
2026-11-01; days are those of UTC. docs/stats.md explains every number.";

// Arguments of `stats`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Only from this time on
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Show at most this many rows of each list [default: 10, and 1000 with --json]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// The SQLite file
    #[arg(long, value_name = "PATH")]
    journal: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// What these arguments set.
    pub(crate) fn assignments(&self) -> Vec<Assignment> {
        let journal = self.journal.iter().map(|path| {
            let path = path.to_string_lossy().into_owned();
            Assignment::by_option("journal.destination", path, "--journal")
        });
        let own = self.sources.assignments().into_iter();
        own.chain(journal).collect()
    }
}

#[cfg(not(feature = "sqlite"))]
pub(crate) fn run(_: &Args) -> anyhow::Result<crate::Exit> {
    Err(super::output::with_help(
        "this build does not read journals",
        "build it with `--features sqlite`",
    ))
}
