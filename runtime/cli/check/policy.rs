//! The arguments of `check` that say which findings count.

use std::path::PathBuf;

// (A doc comment would become the command's description.)
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct PolicyArgs {
    /// Leave out the settings of the tree (skillbundle.toml)
    #[arg(long)]
    pub(super) no_settings: bool,
    /// Findings in this file do not count
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Write the findings into this file, as what --baseline reads
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["baseline", "changed_since", "watch"]
    )]
    pub(super) write_baseline: Option<PathBuf>,
    /// Count only findings in skills and files that differ from where the branch left this revision
    /// of git
    #[arg(long, value_name = "REV", allow_hyphen_values = true)]
    pub(super) changed_since: Option<String>,
    /// Check again whenever a file changes, until Ctrl-C (exit code 130)
    #[arg(long)]
    pub(super) watch: bool,
}
