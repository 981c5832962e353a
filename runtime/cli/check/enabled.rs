//! Runs `skillbundle check`.

use anyhow::Result;
use skillbundle_compiler::{CheckOptions, Checked, Profiles, Severity};
use skillbundle_search::suggest;

use super::against::against;
use super::counting::{self, Counting, Kind};
use super::format::{self, Outcome};
use super::{Args, Format, fix, watch};
use crate::Exit;
use crate::cli::display::counted;
use crate::cli::json;
use crate::cli::output::{self, with_help};
use crate::directories;
use crate::sources::SkillRoot;

/// Checks, prints the findings, and says whether they fail.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    if args.print_schema {
        return format::print_schema();
    }
    let profiles = profiles(&args.profiles)?;
    let (roots, is_default) = args.sources.roots("check")?;
    args.fixing
        .allow(is_default, !args.sources.repo.is_empty())?;
    if args.policy.watch {
        return watch::run(args, &roots, || once(args, &profiles, &roots));
    }
    Ok(once(args, &profiles, &roots)?.exit)
}

/// A check that was made.
pub(super) struct Made {
    pub(super) exit: Exit,
    /// Whether somebody still reads stdout.
    pub(super) is_read: bool,
    /// For each root its declared files that a walk leaves out.
    pub(super) declared: Vec<Vec<String>>,
}

fn once(args: &Args, profiles: &Profiles, roots: &[SkillRoot]) -> Result<Made> {
    let existing = directories::existing(roots)?;
    let read = existing.len();
    let mut counting = Counting::new(args, existing)?;
    let mut options = CheckOptions::new(profiles.clone());
    options.policies = counting.policies();
    let fixed = args.fixing.find(&options, |options| {
        let mut checked = directories::check(roots, options)?.0;
        counting.apply(&mut checked)?;
        Ok(checked)
    })?;
    if let Some(fixed) = fixed.as_ref().filter(|_| args.fixing.diff) {
        let failure = counting.failure(&fixed.checked);
        let is_clean = fix::print_diff(fixed, roots, failure.as_deref())?;
        let declared = fixed.checked.declared.clone();
        return Ok(Made::new(is_clean, declared));
    }
    let applied = fixed.map(|fixed| fix::write(&fixed, roots));
    let (mut checked, bundle) = directories::check(roots, &options)?;
    let against = match &args.against {
        Some(old) => Some(against(old, roots, &checked, bundle)?),
        None => None,
    };
    if let Some(against) = &against {
        checked.add(against.comparison.report.clone(), &options);
    }
    counting.apply(&mut checked)?;
    let failure = counting.failure(&checked);
    let profile = profile(&options, read);
    let outcome = Outcome {
        checked: &checked,
        least_shown: counting.least_shown(),
        summary: summary(&counting, &checked, &options, &profile),
        profile,
        notes: counting.notes(&checked),
        policy: policy(&counting, &checked, &options),
        file_count: files(&checked),
        failure: failure.as_deref(),
        against: against.as_ref(),
        applied: applied.as_ref(),
    };
    // Whoever reads the beginning alone has checked everything.
    let is_read = output::is_read(format::print(args, outcome))?;
    Ok(Made {
        is_read,
        ..Made::new(failure.is_none(), checked.declared)
    })
}

impl Made {
    fn new(is_clean: bool, declared: Vec<Vec<String>>) -> Self {
        let exit = if is_clean {
            Exit::Success
        } else {
            Exit::ProblemsFound
        };
        Self {
            exit,
            is_read: true,
            declared,
        }
    }
}

impl Args {
    pub(super) fn format(&self) -> Format {
        if self.json {
            Format::Json
        } else {
            self.format.unwrap_or(Format::Human)
        }
    }
}

/// The profiles with these names; all hosts if none is named.
fn profiles(names: &[String]) -> Result<Profiles> {
    if names.is_empty() {
        return Ok(Profiles::portable());
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Profiles::of(&names).map_err(|unknown| {
        let help = if let Some(meant) = suggest(unknown, Profiles::names()) {
            format!("did you mean `{meant}`?")
        } else {
            let names: Vec<_> = Profiles::names().collect();
            format!("profiles are {}", names.join(", "))
        };
        with_help(&format!("no profile is called `{unknown}`"), &help)
    })
}

/// `12 skills with 34 files checked for portable: 1 error, 2 warnings, 3 notes (-v shows them)`.
fn summary(
    counting: &Counting<'_>,
    checked: &Checked,
    options: &CheckOptions,
    profile: &str,
) -> String {
    let count = |severity, word| counted(checked.report.count(severity) as u64, word);
    let hidden =
        counting.least_shown() > Severity::Warning || checked.report.count(Severity::Info) == 0;
    let more = if hidden { "" } else { " (-v shows them)" };
    let ignored = match counting::unchecked(checked, options) {
        0 => String::new(),
        count => format!(", {count} of them ignored"),
    };
    format!(
        "{} with {} checked for {profile}{ignored}: {}, {}, {}{more}",
        counted(checked.set.offered().len() as u64, "skill"),
        counted(files(checked), "file"),
        count(Severity::Error, "error"),
        count(Severity::Warning, "warning"),
        count(Severity::Info, "note"),
    )
}

/// For whom these roots are checked: by their settings, or else by the command line.
fn profile(options: &CheckOptions, roots: usize) -> String {
    let mut names: Vec<&str> = Vec::new();
    for root in 0..roots {
        let own = options.policy(root).and_then(|it| it.profiles.as_ref());
        let name = own.unwrap_or(&options.profiles).name();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// What does not count, and by which settings.
fn policy(counting: &Counting<'_>, checked: &Checked, options: &CheckOptions) -> json::CheckPolicy {
    let settings = counting.files().into_iter();
    json::CheckPolicy {
        settings_files: settings.map(str::to_owned).collect(),
        unchecked_count: counting::unchecked(checked, options),
        suppressed_count: Kind::Comment.count(checked),
        baseline_count: Kind::Baseline.count(checked),
        baseline_gone_count: counting.gone,
        unchanged_count: Kind::Unchanged.count(checked),
    }
}

fn files(checked: &Checked) -> u64 {
    let skills = checked.set.offered().iter();
    skills.map(|skill| skill.files.len() as u64).sum()
}
