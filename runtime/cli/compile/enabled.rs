//! Runs `skillbundle compile`.

use std::path::Path;

use anyhow::{Context, Result};
use skillbundle_compiler::{Compiled, Report, Severity};
use skillbundle_format::{Image, SkillSet};

use super::Args;
use crate::Exit;
use crate::cli::check;
use crate::cli::display::counted;
use crate::cli::json::{self, Envelope};
use crate::cli::output::{Output, Style, info, with_help};
use crate::directories;
use crate::sources::SkillRoot;

/// Compiles, prints the findings, and writes the bundle if `-o` was given.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    if args.check {
        let args = check::Args::of(args.sources.clone(), args.verbose, args.json);
        return check::run(&args);
    }
    let (roots, is_default) = args.sources.roots("compile")?;
    if is_default && args.output.is_some() {
        // A bundle of whatever lies in the home directory is hardly what was meant.
        return Err(with_help(
            "no skills were named",
            "name a directory of skills, such as `skillbundle compile skills -o team.skb`",
        ));
    }
    let Compiled {
        mut set, report, ..
    } = directories::compile(&roots, true)?;
    if args.commit {
        // Those that are read; the others are not in the set.
        let read = SkillRoot::read(&roots);
        let commits = super::commit::of_roots(&read, &set)?;
        for (root, commit) in set.roots.iter_mut().zip(commits) {
            root.commit = commit;
        }
    }
    let image = skillbundle_format::lay_out(&set)?;
    if let Some(output) = &args.output {
        image
            .publish(output)
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
            body(&set, &report, &image, written),
        ))?;
        out.finish()?;
    } else {
        let summary = summary(&set, &report, &image, written);
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
fn summary(set: &SkillSet, report: &Report, image: &Image<'_>, written: Option<&Path>) -> String {
    let content = format!(
        "{}, {}, {}, sha256:{}; {}, {}",
        counted(set.offered().len() as u64, "skill"),
        counted(files(set), "file"),
        counted(image.byte_len(), "byte"),
        image.content_hex(),
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
    image: &Image<'_>,
    output: Option<&'a Path>,
) -> json::Compilation<'a> {
    json::Compilation {
        findings: report.to_json(),
        error_count: report.count(Severity::Error),
        warning_count: report.count(Severity::Warning),
        skill_count: set.offered().len(),
        file_count: files(set),
        bytes: image.byte_len(),
        address: json::sha256(&image.content_hex()),
        output,
    }
}

fn files(set: &SkillSet) -> u64 {
    set.offered()
        .iter()
        .map(|skill| skill.files.len() as u64)
        .sum()
}
