//! Runs `skillbundle check`.

use anyhow::Result;
use skillbundle_compiler::{CheckOptions, Checked, Profiles, Severity};
use skillbundle_search::suggest;

use super::against::{Against, against};
use super::counting::{Counting, Kind};
use super::{Args, Format, watch};
use crate::Exit;
use crate::cli::display::{self, counted};
use crate::cli::json::{self, Envelope};
use crate::cli::output::{Output, with_help};
use crate::directories;
use crate::sources::SkillRoot;

/// Checks, prints the findings, and says whether they fail.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let profiles = profiles(&args.profiles)?;
    let (roots, _) = args.sources.roots("check")?;
    if args.policy.watch {
        return watch::run(args, &roots, || once(args, &profiles, &roots));
    }
    Ok(once(args, &profiles, &roots)?.exit)
}

/// A check that was made.
pub(super) struct Made {
    pub(super) exit: Exit,
    /// For each root its declared files that a walk leaves out.
    pub(super) declared: Vec<Vec<String>>,
}

fn once(args: &Args, profiles: &Profiles, roots: &[SkillRoot]) -> Result<Made> {
    let read = directories::existing(roots)?;
    let mut counting = Counting::new(args, read)?;
    let mut options = CheckOptions::new(profiles.clone());
    options.policies = counting.policies();
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
    let mut out = Output::new();
    match args.format() {
        Format::Json => {
            let mut body = body(&checked, &options, against.as_ref(), failure.as_deref());
            body.policy = policy(&counting, &checked, &options);
            out.json(&Envelope::new("check", body))?;
        }
        format => {
            let shown = checked.report.clone().at_least(counting.least_shown());
            let findings = if format == Format::Short {
                shown.render_plain()
            } else {
                shown.render_human(out.style().color)
            };
            out.bytes(findings.as_bytes())?;
            if let Some(against) = against.filter(|_| format == Format::Human) {
                against.print(&mut out, args.verbose)?;
            }
            out.line(&summary(&counting, &checked, &options))?;
            for note in counting.notes(&checked) {
                out.line(&display::many_lines(&note))?;
            }
            out.line(&match &failure {
                Some(reason) => format!("exit code 1: {reason}"),
                None => "exit code 0".to_owned(),
            })?;
        }
    }
    out.finish()?;
    let exit = if failure.is_some() {
        Exit::ProblemsFound
    } else {
        Exit::Success
    };
    let declared = checked.declared;
    Ok(Made { exit, declared })
}

impl Args {
    fn format(&self) -> Format {
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
        let help = match suggest(unknown, Profiles::names()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => {
                let names: Vec<_> = Profiles::names().collect();
                format!("profiles are {}", names.join(", "))
            }
        };
        with_help(&format!("no profile is called `{unknown}`"), &help)
    })
}

/// `12 skills with 34 files checked for portable: 1 error, 2 warnings, 3 notes (-v shows them)`.
fn summary(counting: &Counting<'_>, checked: &Checked, options: &CheckOptions) -> String {
    let count = |severity, word| counted(checked.report.count(severity) as u64, word);
    let hidden =
        counting.least_shown() > Severity::Warning || checked.report.count(Severity::Info) == 0;
    let more = if hidden { "" } else { " (-v shows them)" };
    let ignored = match counting.unchecked(checked, options) {
        0 => String::new(),
        count => format!(", {count} of them ignored"),
    };
    format!(
        "{} with {} checked for {}{ignored}: {}, {}, {}{more}",
        counted(checked.set.offered().len() as u64, "skill"),
        counted(files(checked), "file"),
        options.profiles.name(),
        count(Severity::Error, "error"),
        count(Severity::Warning, "warning"),
        count(Severity::Info, "note"),
    )
}

/// What does not count, and by which settings.
fn policy(counting: &Counting<'_>, checked: &Checked, options: &CheckOptions) -> json::CheckPolicy {
    let settings = counting.files().into_iter();
    json::CheckPolicy {
        settings_files: settings.map(str::to_owned).collect(),
        unchecked_count: counting.unchecked(checked, options),
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

fn body<'a>(
    checked: &Checked,
    options: &'a CheckOptions,
    against: Option<&'a Against>,
    failure: Option<&'a str>,
) -> json::Check<'a> {
    json::Check {
        findings: checked.report.to_json(),
        error_count: checked.report.count(Severity::Error),
        warning_count: checked.report.count(Severity::Warning),
        info_count: checked.report.count(Severity::Info),
        skill_count: checked.set.offered().len(),
        file_count: files(checked),
        profile: options.profiles.name(),
        failure,
        policy: json::CheckPolicy::default(),
        comparison: against
            .map(|it| json::Comparison::new(&it.name, it.commit.as_deref(), &it.comparison)),
    }
}
