//! Runs `skillbundle check`.

use anyhow::Result;
use skillbundle_compiler::{CheckOptions, Checked, Profiles, Severity};
use skillbundle_search::suggest;

use super::against::{Against, against};
use super::{Args, FailOn, Format};
use crate::Exit;
use crate::cli::display::counted;
use crate::cli::json::{self, Envelope};
use crate::cli::output::{Output, with_help};
use crate::directories;

/// Checks, prints the findings, and says whether they fail.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let options = CheckOptions::new(profiles(&args.profiles)?);
    let (roots, _) = args.sources.roots("check")?;
    let (mut checked, bundle) = directories::check(&roots, &options)?;
    let against = match &args.against {
        Some(old) => Some(against(old, &roots, &checked, bundle)?),
        None => None,
    };
    if let Some(against) = &against {
        let rerouted = options.judged(against.comparison.report.clone());
        checked.report = checked.report.merged(rerouted);
    }
    let failure = failure(args, &checked);
    let mut out = Output::new();
    match args.format() {
        Format::Json => {
            let body = body(&checked, &options, against.as_ref(), failure.as_deref());
            out.json(&Envelope::new("check", body))?;
        }
        format => {
            let shown = checked.report.clone().at_least(args.least_shown());
            let findings = if format == Format::Short {
                shown.render_plain()
            } else {
                shown.render_human(out.style().color)
            };
            out.bytes(findings.as_bytes())?;
            if let Some(against) = against.filter(|_| format == Format::Human) {
                against.print(&mut out, args.verbose)?;
            }
            out.line(&summary(args, &checked, &options))?;
            out.line(&match &failure {
                Some(reason) => format!("exit code 1: {reason}"),
                None => "exit code 0".to_owned(),
            })?;
        }
    }
    out.finish()?;
    Ok(if failure.is_some() {
        Exit::ProblemsFound
    } else {
        Exit::Success
    })
}

impl Args {
    fn format(&self) -> Format {
        if self.json {
            Format::Json
        } else {
            self.format.unwrap_or(Format::Human)
        }
    }

    fn least_shown(&self) -> Severity {
        if self.verbose || self.fail_on == Some(FailOn::Info) {
            Severity::Info
        } else {
            Severity::Warning
        }
    }

    /// The least severity that fails.
    fn fails_from(&self) -> Option<Severity> {
        match self.fail_on {
            _ if self.strict => Some(Severity::Warning),
            None | Some(FailOn::Error) => Some(Severity::Error),
            Some(FailOn::Warning) => Some(Severity::Warning),
            Some(FailOn::Info) => Some(Severity::Info),
            Some(FailOn::Never) => None,
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

/// Why the check fails, if it does.
fn failure(args: &Args, checked: &Checked) -> Option<String> {
    let count = |severity| checked.report.count(severity);
    let failing = [
        (Severity::Error, "error"),
        (Severity::Warning, "warning"),
        (Severity::Info, "note"),
    ];
    let least = args.fails_from();
    let failing = failing.into_iter().filter(|it| Some(it.0) <= least);
    let found: Vec<_> = failing
        .map(|(severity, word)| (count(severity), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| counted(count as u64, word))
        .collect();
    if !found.is_empty() {
        return Some(found.join(" and "));
    }
    let warnings = count(Severity::Warning);
    let most = args.max_warnings.filter(|most| warnings > *most)?;
    let warnings = counted(warnings as u64, "warning");
    Some(format!("{warnings}, and --max-warnings allows {most}"))
}

/// `12 skills with 34 files checked for portable: 1 error, 2 warnings, 3 notes (-v shows them)`.
fn summary(args: &Args, checked: &Checked, options: &CheckOptions) -> String {
    let count = |severity, word| counted(checked.report.count(severity) as u64, word);
    let hidden =
        args.least_shown() > Severity::Warning || checked.report.count(Severity::Info) == 0;
    let more = if hidden { "" } else { " (-v shows them)" };
    format!(
        "{} with {} checked for {}: {}, {}, {}{more}",
        counted(checked.set.offered().len() as u64, "skill"),
        counted(files(checked), "file"),
        options.profiles.name(),
        count(Severity::Error, "error"),
        count(Severity::Warning, "warning"),
        count(Severity::Info, "note"),
    )
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
        comparison: against
            .map(|it| json::Comparison::new(&it.name, it.commit.as_deref(), &it.comparison)),
    }
}
