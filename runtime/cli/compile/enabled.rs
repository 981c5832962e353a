//! `skillbundle compile` with the compiler at hand.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use skillbundle_compiler::{Compiled, Report, Severity};
use skillbundle_format::{Bundle, SkillSet};

use super::Args;
use crate::Exit;
use crate::cli::output::{Look, Output, note};
use crate::cli::text::counted;
use crate::{directories, sources};

/// Compiles, says what it found, and writes the bundle where that was asked for.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let Compiled { set, report, .. } = directories::compile(&sources::places(&args.dir))?;
    let bytes = skillbundle_format::write(&set)?;
    let bundle = Bundle::from_bytes(&bytes)?;
    if let Some(output) = &args.output {
        skillbundle_format::publish(output, &bytes)
            .with_context(|| format!("cannot write {}", output.display()))?;
    }
    let written = args.output.as_deref();
    let exit = if report.has_errors() {
        Exit::Findings
    } else {
        Exit::Fine
    };
    if args.json {
        let mut out = Output::new();
        out.json(&record(&set, &report, &bundle, written))?;
        out.finish()?;
    } else {
        let summary = summary(&set, &report, &bundle, written);
        let least = if args.verbose {
            Severity::Info
        } else {
            Severity::Warning
        };
        let findings = report.at_least(least).render_human(Look::stderr().color);
        if !findings.is_empty() {
            note(&findings);
        }
        note(&summary);
    }
    Ok(exit)
}

/// `3 skills, 2 files, 4,096 bytes, sha256:…; 1 error, 0 warnings`, and what
/// became of the bundle.
fn summary(set: &SkillSet, report: &Report, bundle: &Bundle, written: Option<&Path>) -> String {
    let content = format!(
        "{}, {}, {}, sha256:{}; {}, {}",
        counted(set.skills.len() as u64, "skill"),
        counted(files(set), "file"),
        counted(bundle.byte_len(), "byte"),
        bundle.content_hex(),
        counted(report.count(Severity::Error) as u64, "error"),
        counted(report.count(Severity::Warning) as u64, "warning"),
    );
    match written {
        None => format!("checked: {content}"),
        Some(file) if report.has_errors() => format!(
            "{}: {content}\nthe bundle was written with every skill that can be served",
            file.display()
        ),
        Some(file) => format!("{}: {content}", file.display()),
    }
}

fn record(set: &SkillSet, report: &Report, bundle: &Bundle, written: Option<&Path>) -> Value {
    json!({
        "findings": report.to_json(),
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "skills": set.skills.len(),
        "files": files(set),
        "bytes": bundle.byte_len(),
        "address": format!("sha256:{}", bundle.content_hex()),
        "output": written,
    })
}

fn files(set: &SkillSet) -> u64 {
    set.skills
        .iter()
        .map(|skill| skill.files.len() as u64)
        .sum()
}
