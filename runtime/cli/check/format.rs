//! Prints the report of a check in the form that was asked for.

use std::env;

use anyhow::{Context, Result};
use serde_json::Value;
use skillbundle_compiler::{Checked, Run, Severity};

use super::against::Against;
use super::fix::{self, Applied};
use super::{Args, Format};
use crate::Exit;
use crate::cli::display::escaped;
use crate::cli::json::{self, Envelope};
use crate::cli::output::Output;

/// What is printed.
pub(super) struct Outcome<'a> {
    pub(super) checked: &'a Checked,
    pub(super) least_shown: Severity,
    /// For whom was checked.
    pub(super) profile: String,
    /// One line about everything.
    pub(super) summary: String,
    /// Lines about what does not count.
    pub(super) notes: Vec<String>,
    pub(super) policy: json::CheckPolicy,
    pub(super) file_count: u64,
    /// Why the check fails, if it does.
    pub(super) failure: Option<&'a str>,
    /// The comparison with the old version, if one was asked for.
    pub(super) against: Option<&'a Against>,
    /// What was fixed, if that was asked for.
    pub(super) applied: Option<&'a Applied>,
}

/// Prints it to stdout.
pub(super) fn print(args: &Args, it: Outcome<'_>) -> Result<()> {
    let mut out = Output::new();
    let directory = env::current_dir().context("the working directory is gone")?;
    match args.format() {
        Format::Json => out.json(&Envelope::new("check", body(it)))?,
        Format::Sarif => {
            let exit = it.failure.map_or(Exit::Success, |_| Exit::ProblemsFound);
            out.json(&it.checked.report.to_sarif(Run {
                version: env!("CARGO_PKG_VERSION"),
                directory: &directory,
                exit_code: exit as u8,
                exit_reason: it.failure,
            }))?;
        }
        Format::Markdown => out.bytes(page(&it).as_bytes())?,
        format => {
            let shown = it.checked.report.clone().at_least(it.least_shown);
            let style = out.style();
            let findings = match (format, style.width) {
                (Format::Short, _) => shown.render_plain(),
                (Format::Github, _) => shown.errors_first().render_github(&directory),
                (_, Some(columns)) => shown.render_terminal(style.color, columns),
                (_, None) => shown.render_human(style.color),
            };
            out.bytes(findings.as_bytes())?;
            if let Some(against) = it.against.filter(|_| format == Format::Human) {
                against.print(&mut out, args.verbose)?;
            }
            let remaining = fix::remaining(it.checked).filter(|_| format == Format::Human);
            let lines = [it.summary.clone()].into_iter().chain(it.notes.clone());
            for line in applied(&it)
                .chain(lines)
                .chain(remaining)
                .chain([ending(&it)])
            {
                // These lines quote the names of files, too.
                let line = escaped(&line);
                match format {
                    Format::Github => out.line(&skillbundle_compiler::github_text(&line))?,
                    _ => out.line(&line)?,
                }
            }
        }
    }
    Ok(out.finish()?)
}

/// What became of fixes.
fn applied(it: &Outcome<'_>) -> impl Iterator<Item = String> {
    it.applied.iter().flat_map(|it| it.lines())
}

/// Bytes of a comment on GitHub.
const COMMENT_BYTES: usize = 65_536;

/// A comment for a pull request. Of a longer one the end is left out.
fn page(it: &Outcome<'_>) -> String {
    const CUT: &str = "\nThe rest is left out, since a comment has an end.\n";
    let shown = it.checked.report.clone().at_least(it.least_shown);
    let notes: Vec<String> = applied(it).chain(it.notes.iter().cloned()).collect();
    let outcome = match it.failure {
        Some(reason) => format!("failed: {reason}"),
        None => "passed".to_owned(),
    };
    let mut page = shown.render_markdown(&outcome, &it.summary, &notes);
    if let Some(against) = it.against {
        page.push('\n');
        page += &against.to_markdown();
    }
    if page.len() > COMMENT_BYTES {
        let most = &page.as_bytes()[..COMMENT_BYTES - CUT.len()];
        let end = most.iter().rposition(|it| *it == b'\n');
        page.truncate(end.map_or(0, |it| it + 1));
        page += CUT;
    }
    page
}

/// The schema of the JSON form.
const SCHEMA: &str = include_str!("../../../docs/check.schema.json");

/// Prints the schema of the JSON form.
pub(super) fn print_schema() -> Result<Exit> {
    let mut out = Output::new();
    out.bytes(SCHEMA.as_bytes())?;
    out.finish()?;
    Ok(Exit::Success)
}

/// The annotation of a run that failed.
#[expect(
    clippy::unnecessary_wraps,
    reason = "a build without the compiler has none"
)]
pub(crate) fn failure_annotation(message: &str, help: Option<&str>) -> Option<String> {
    Some(skillbundle_compiler::github_failure(message, help))
}

/// The log of a run that failed.
#[expect(
    clippy::unnecessary_wraps,
    reason = "a build without the compiler has no log"
)]
pub(crate) fn failure_log(message: &str, help: Option<&str>) -> Option<Value> {
    let version = env!("CARGO_PKG_VERSION");
    let exit = Exit::CouldNotRun as u8;
    Some(skillbundle_compiler::sarif_failure(
        version, exit, message, help,
    ))
}

fn ending(it: &Outcome<'_>) -> String {
    match it.failure {
        Some(reason) => format!("exit code 1: {reason}"),
        None => "exit code 0".to_owned(),
    }
}

fn body(it: Outcome<'_>) -> json::Check<'_> {
    let Checked { report, set, .. } = it.checked;
    json::Check {
        findings: report.to_json(),
        error_count: report.count(Severity::Error),
        warning_count: report.count(Severity::Warning),
        info_count: report.count(Severity::Info),
        skill_count: set.offered().len(),
        file_count: it.file_count,
        profile: it.profile,
        failure: it.failure,
        policy: it.policy,
        fixed_count: it.applied.map_or(0, |it| it.count),
        not_fixed: it.applied.map_or_else(Vec::new, Applied::not_fixed),
        fixable_count: it.checked.fixable().0,
        unsafe_fixable_count: it.checked.fixable().1,
        comparison: (it.against)
            .map(|it| json::Comparison::new(&it.name, it.commit.as_deref(), &it.comparison)),
    }
}
