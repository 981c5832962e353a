//! `skillbundle check`: reports what is wrong with skills, for authors and for pull requests. The
//! arguments are here; the work needs the feature `compile`.

#[cfg(feature = "compile")]
mod against;
#[cfg(feature = "compile")]
mod baseline;
#[cfg(feature = "compile")]
mod changed;
#[cfg(feature = "compile")]
mod counting;
#[cfg(feature = "compile")]
mod enabled;
#[cfg(feature = "compile")]
mod fix;
#[cfg(feature = "compile")]
mod format;
#[cfg(feature = "compile")]
mod input;
mod policy;
#[cfg(feature = "compile")]
mod settings;
#[cfg(feature = "compile")]
mod watch;

#[cfg(feature = "compile")]
pub(crate) use enabled::run;
#[cfg(feature = "compile")]
pub(crate) use format::{failure_annotation, failure_log};

use clap::ArgGroup;

use crate::sources::Sources;
use policy::PolicyArgs;

/// The summary in builds without the feature.
#[cfg(not(feature = "compile"))]
pub(crate) const ABOUT_MISSING: &str = "Check skills (not in this build; needs feature `compile`)";

const EXAMPLES: &str = "\
Examples:
  skillbundle check skills                      for every host that is known
  skillbundle check skills --profile claude,codex
                                                for these two
  skillbundle check skills/pdf/SKILL.md         one skill
  skillbundle check skills --strict             warnings fail, too
  skillbundle check skills --diff               what can be fixed
  skillbundle check skills --fix                fix it
  skillbundle check skills --json               findings for a script
  skillbundle check skills --format github      annotations of a pull request
  skillbundle check skills --format sarif       a log for code scanning
  skillbundle check skills --against origin/main
                                                in a pull request: what has changed, and which
                                                requests find another skill now
  skillbundle check skills --changed-since origin/main
                                                only skills that the branch has changed
  skillbundle check skills --write-baseline .skillbundle-baseline.json
                                                what is there now does not count any more
  skillbundle check skills --watch              again whenever a file changes
  skillbundle explain name-mismatch             what a finding means

What a host of the profile refuses or cuts is an error, what makes a skill worse is a warning, and
facts are notes (-v). `portable` stands for all hosts, `spec` for the Agent Skills specification
read strictly, `skillbundle` for what this program serves. `skillbundle.toml` in the tree may set
all of this, and comments may allow single findings: docs/check-settings.md.
After --fix, the exit code is that of the skills as they are then; with --diff it is 1 if something
would change.
Exit codes: 0 nothing that fails, 1 findings that fail, 2 could not run.";

/// A form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people: each finding with its line
    Human,
    /// One line for each finding
    Short,
    /// For programs, as docs/json.md describes
    Json,
    /// A log for code scanning and for editors, in SARIF 2.1.0
    Sarif,
    /// Workflow commands of GitHub Actions, which annotate a pull request
    Github,
    /// A comment for a pull request
    Markdown,
}

/// From which severity on a finding makes the check fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FailOn {
    /// Errors
    Error,
    /// Warnings and errors
    Warning,
    /// Everything, notes too
    Info,
    /// Nothing: only report
    Never,
}

// Arguments of `check`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
// A bundle is compiled already; naming one gets an error that says so.
#[command(mut_arg("bundle", |it| it.hide(true)))]
#[command(mut_arg("paths", |it| it.help("Directories of skills (the first wins), or single skill files")))]
#[command(
    override_usage = "skillbundle check [PATH]... [--profile NAME] [--against OLD] [--strict] [--fix] [--verbose] [--format FORMAT]"
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// For whom to check: portable, spec, skillbundle, or hosts such as claude,codex
    #[arg(
        long = "profile",
        visible_alias = "host",
        value_name = "NAME",
        value_delimiter = ','
    )]
    pub(crate) profiles: Vec<String>,
    /// Compare with an old version: a bundle, a directory, or a revision of git such as origin/main
    #[arg(long, value_name = "OLD", allow_hyphen_values = true)]
    pub(crate) against: Option<String>,
    /// Fail on warnings, too
    #[arg(long, conflicts_with = "fail_on")]
    pub(crate) strict: bool,
    /// The least severity that fails [default: error]
    #[arg(
        long,
        value_name = "SEVERITY",
        hide_possible_values = true,
        help = "The least severity that fails: error (default), warning, info or never"
    )]
    pub(crate) fail_on: Option<FailOn>,
    /// Fail if there are more warnings than this
    #[arg(long, value_name = "N")]
    pub(crate) max_warnings: Option<usize>,
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Report notes as well as errors and warnings
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// The form of the report
    #[arg(
        long,
        value_name = "FORMAT",
        hide_possible_values = true,
        help = "The form of the report: human (default), short, json, sarif, github or markdown"
    )]
    pub(crate) format: Option<Format>,
    /// Print JSON; the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) fixing: FixArgs,
    /// Print the JSON Schema of --json, and check nothing
    #[arg(long, exclusive = true)]
    pub(crate) print_schema: bool,
}

// What becomes of fixes. (A doc comment would become the command's description.)
#[derive(clap::Args, Default)]
#[command(group(ArgGroup::new("fixes").args(["fix", "diff"]).multiple(true)))]
pub(crate) struct FixArgs {
    /// Fix what can be fixed without changing the meaning of anything else
    #[arg(long, conflicts_with_all = ["write_baseline", "watch"])]
    pub(crate) fix: bool,
    /// With --fix or --diff: fix what somebody should look at, too
    #[arg(long = "unsafe", requires = "fixes")]
    pub(crate) unsafe_too: bool,
    /// Show what --fix would change, and write nothing
    #[arg(long, conflicts_with_all = ["format", "json", "write_baseline", "watch"])]
    pub(crate) diff: bool,
}

/// Always an error: this build has no compiler.
#[cfg(not(feature = "compile"))]
pub(crate) fn run(_: &Args) -> anyhow::Result<crate::Exit> {
    Err(anyhow::anyhow!(crate::directories::NEEDS_COMPILER))
}

/// Never a log: this build has no compiler, which writes them.
#[cfg(not(feature = "compile"))]
pub(crate) fn failure_log(_: &str, _: Option<&str>) -> Option<serde_json::Value> {
    None
}

/// Never an annotation: this build has no compiler, which writes them.
#[cfg(not(feature = "compile"))]
pub(crate) fn failure_annotation(_: &str, _: Option<&str>) -> Option<String> {
    None
}

#[cfg(feature = "compile")]
impl Args {
    /// The arguments of a check with nothing but these.
    pub(crate) fn of(sources: Sources, verbose: bool, json: bool) -> Self {
        Self {
            sources,
            profiles: Vec::new(),
            against: None,
            strict: false,
            fail_on: None,
            max_warnings: None,
            policy: PolicyArgs::default(),
            verbose,
            format: None,
            json,
            fixing: FixArgs::default(),
            print_schema: false,
        }
    }
}
