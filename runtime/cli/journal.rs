//! `skillbundle journal`: what a journal holds. What is recorded, and when, is docs/journal.md.

#[cfg(feature = "sqlite")]
mod enabled;
#[cfg(feature = "sqlite")]
mod json;

use std::path::PathBuf;

use crate::config::{Assignment, ConfigArgs};

#[cfg(feature = "sqlite")]
pub(crate) use enabled::run;

/// The summary in builds without the feature.
#[cfg(not(feature = "sqlite"))]
pub(crate) const ABOUT_MISSING: &str = "Show what was recorded: invocations, scripts, routing, events \
    (not in this build; needs feature `sqlite`)";

const EXAMPLES: &str = "\
Examples:
  skillbundle journal                           the latest invocations
  skillbundle journal list --skill pdf --status failed --since 2h
  skillbundle journal show 0198c1d2-…           one invocation, and what belongs to it
  skillbundle journal events --since 2h         scripts, routing decisions, analytics
  skillbundle journal stats --since 7d          how the invocations of each skill went
  skillbundle journal export > journal.jsonl    everything, a line of JSON for each
  skillbundle journal prune --until 90d         remove what is older than 90 days
  skillbundle journal --journal other.db        another file

It reads the file that `journal.destination` names, or else skillbundle/journal.db in
$XDG_STATE_HOME or ~/.local/state, also while servers write it. TIME is a span before now such as
30m, 2h or 3d, or a date such as 2026-01-12 or 2026-01-12T10:00:00Z. Without --until,
`prune` removes what is older than `journal.retention_days`. `stats` is about invocations alone;
`skillbundle stats` shows which skills are used. docs/journal.md has more.";

// Arguments of `journal`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to do
    #[arg(value_enum, default_value = "list")]
    action: Action,
    /// With `show`: the id of an invocation
    id: Option<String>,
    /// The SQLite file
    #[arg(long, value_name = "PATH")]
    journal: Option<PathBuf>,
    /// Only of this skill
    #[arg(long)]
    skill: Option<String>,
    /// Only of this agent
    #[arg(long)]
    agent: Option<String>,
    /// Only with this status: pending, running, completed, failed or timeout
    #[arg(long)]
    status: Option<String>,
    /// Only from this time on
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only from before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only with this correlation id
    #[arg(long, value_name = "ID")]
    correlation: Option<String>,
    /// At most this many, the latest; `list` shows 50 unless told otherwise
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Action {
    /// List invocations, the latest first
    List,
    /// List runs of scripts, routing decisions and analytics events, the latest first
    Events,
    /// Print one invocation, and the events with its correlation id
    Show,
    /// Count the invocations of each skill, their failures and durations
    Stats,
    /// Print everything as lines of JSON, the oldest first
    Export,
    /// Remove what is old
    Prune,
}

impl Args {
    /// What these arguments set.
    pub(crate) fn assignments(&self) -> Vec<Assignment> {
        let journal = self.journal.iter().map(|path| {
            let path = path.to_string_lossy().into_owned();
            Assignment::by_option("journal.destination", path, "--journal")
        });
        journal.collect()
    }
}

#[cfg(not(feature = "sqlite"))]
pub(crate) fn run(_: &Args) -> anyhow::Result<crate::Exit> {
    Err(super::output::with_help(
        "this build does not read journals",
        "build it with `--features sqlite`",
    ))
}
