//! Runs `skillbundle compile`.

use std::path::Path;

use anyhow::{Context, Result};
use skillbundle_compiler::{Compiled, Report, Severity};
use skillbundle_format::{Bundle, SkillSet};

use super::Args;
use crate::Exit;
use crate::cli::display::counted;
use crate::cli::json::{self, Envelope};
use crate::cli::output::{Output, Style, info, with_help};
use crate::directories;

/// Compiles, prints the findings, and writes the bundle if `-o` was given.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let (roots, is_default) = args.sources.roots("compile --check")?;
    if is_default && args.output.is_some() {
        // A bundle of whatever lies in the home directory is hardly what was meant.
        return Err(with_help(
            "no skills were named",
            "name a directory of skills, such as `skillbundle compile skills -o team.skb`",
        ));
    }
    let Compiled { set, report, .. } = directories::compile(&roots)?;
    let bytes = skillbundle_format::write(&set)?;
    let bundle = Bundle::from_bytes(&bytes)?;
    if let Some(output) = &args.output {
        skillbundle_format::publish(output, &bytes)
            .with_context(|| format!("cannot write {}", output.display()))?;
    }
    let written = args.output.as_deref();
    let exit = if report.has_errors() {
        Exit::ProblemsFound
    } else {
        Exit::Success
    };
    if args.json {
        let mut out = Output::new();
        out.json(&Envelope::new(
            "compile",
            body(&set, &report, &bundle, written),
        ))?;
        out.finish()?;
    } else {
        let summary = summary(&set, &report, &bundle, written);
        let least = if args.verbose {
            Severity::Info
        } else {
            Severity::Warning
        };
        let findings = report.at_least(least).render_human(Style::stderr().color);
        if !findings.is_empty() {
            info(&findings);
        }
        info(&summary);
    }
    Ok(exit)
}

/// `3 skills, 2 files, 4,096 bytes, sha256:…; 1 error, 0 warnings`, and what
/// became of the bundle.
fn summary(set: &SkillSet, report: &Report, bundle: &Bundle, written: Option<&Path>) -> String {
    let content = format!(
        "{}, {}, {}, sha256:{}; {}, {}",
        counted(set.offered().len() as u64, "skill"),
        counted(files(set), "file"),
        counted(bundle.byte_len(), "byte"),
        bundle.content_hex(),
        counted(report.count(Severity::Error) as u64, "error"),
        counted(report.count(Severity::Warning) as u64, "warning"),
    );
    match written {
        None => format!("checked: {content}"),
        Some(file) if report.has_errors() => format!(
            "{}: {content}\nthe bundle was written without the skills that have errors",
            file.display()
        ),
        Some(file) => format!("{}: {content}", file.display()),
    }
}

fn body<'a>(
    set: &SkillSet,
    report: &Report,
    bundle: &Bundle,
    output: Option<&'a Path>,
) -> json::Compilation<'a> {
    json::Compilation {
        findings: report.to_json(),
        error_count: report.count(Severity::Error),
        warning_count: report.count(Severity::Warning),
        skill_count: set.offered().len(),
        file_count: files(set),
        bytes: bundle.byte_len(),
        address: json::address(bundle),
        output,
    }
}

fn files(set: &SkillSet) -> u64 {
    set.offered()
        .iter()
        .map(|skill| skill.files.len() as u64)
        .sum()
}
