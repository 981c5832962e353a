//! Runs `skillbundle compile`.

use anyhow::Result;
use skillbundle_compiler::{Compiled, Report, Severity};
use skillbundle_format::{Image, SkillSet};

use super::Args;
use super::destination::Destination;
use crate::Exit;
use crate::cli::check;
use crate::cli::display::{counted, escaped};
use crate::cli::json::{self, Envelope};
use crate::cli::output::{Output, Style, info, with_help};
use crate::directories;
use crate::sources::SkillRoot;

/// Skills that a line of the summary names.
const MOST_NAMED: usize = 10;

/// What was compiled, and what became of it.
struct Outcome<'a> {
    set: &'a SkillSet,
    report: Report,
    image: &'a Image<'a>,
    destination: Destination<'a>,
    is_written: bool,
    /// The files that were meant as skills and did not load.
    failed: Vec<String>,
    /// The paths of the skills that are not in the bundle any more.
    removed: Vec<String>,
}

/// Compiles, prints the findings, and writes the bundle if `-o` was given and nothing is wrong.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let Some(output) = &args.output else {
        if args.commit {
            compare_with_commit(args)?;
        }
        let args = check::Args::of(args.sources.clone(), args.verbose, args.json);
        return check::run(&args);
    };
    let destination = Destination::new(output, args.json)?;
    let (roots, is_default) = args.sources.roots("compile")?;
    if is_default {
        // A bundle of whatever lies in the home directory is hardly what was meant.
        return Err(with_help(
            "no skills were named",
            "name a directory of skills, such as `skillbundle compile skills -o team.skb`",
        ));
    }
    let Compiled {
        mut set,
        report,
        failed,
        ..
    } = directories::compile(&roots, true)?;
    // Those that are read; the others are not in the set.
    let read = SkillRoot::read(&roots);
    if args.commit {
        let commits = super::commit::of_roots(&read, &set)?;
        for (root, commit) in set.roots.iter_mut().zip(commits) {
            root.commit = commit;
        }
    }
    let image = skillbundle_format::lay_out(&set)?;
    let is_written = !report.has_errors() || args.allow_errors;
    let removed = if is_written {
        destination.removed(&set)
    } else {
        Vec::new()
    };
    if is_written {
        destination.write(&image)?;
    }
    let file = |failed: &skillbundle_compiler::Failed| {
        let root = read.get(failed.root as usize);
        let file = root.map(|root| root.dir.join(&failed.file_path));
        file.map_or_else(|| failed.file_path.clone(), |it| it.display().to_string())
    };
    let outcome = Outcome {
        set: &set,
        report,
        image: &image,
        destination,
        is_written,
        failed: failed.iter().map(file).collect(),
        removed,
    };
    let exit = if outcome.report.has_errors() {
        Exit::ProblemsFound
    } else {
        Exit::Success
    };
    outcome.print(args)?;
    Ok(exit)
}

/// Fails if the skills are not exactly those of a commit.
fn compare_with_commit(args: &Args) -> Result<()> {
    let (roots, _) = args.sources.roots("compile")?;
    let compiled = directories::compile(&roots, false)?;
    super::commit::of_roots(&SkillRoot::read(&roots), &compiled.set)?;
    Ok(())
}

impl Outcome<'_> {
    fn print(self, args: &Args) -> Result<()> {
        if args.json {
            let mut out = Output::new();
            out.json(&Envelope::new("compile", self.body()))?;
            return Ok(out.finish()?);
        }
        let least = if args.verbose {
            Severity::Info
        } else {
            Severity::Warning
        };
        let summary = self.summary();
        let findings = self.report.at_least(least);
        let findings = findings.render_human(Style::stderr().color);
        if !findings.is_empty() {
            info(&findings);
        }
        info(&summary);
        Ok(())
    }

    /// `3 skills, 2 files, 4,096 bytes, sha256:…; 1 error, 0 warnings`, and what
    /// became of the bundle.
    fn summary(&self) -> String {
        let name = self.destination.name();
        let mut lines = vec![format!(
            "{}: {}, {}, {}, sha256:{}; {}, {}",
            if self.is_written { &name } else { "compiled" },
            counted(self.set.offered().len() as u64, "skill"),
            counted(files(self.set), "file"),
            counted(self.image.byte_len(), "byte"),
            self.image.content_hex(),
            counted(self.report.count(Severity::Error) as u64, "error"),
            counted(self.report.count(Severity::Warning) as u64, "warning"),
        )];
        if !self.removed.is_empty() {
            lines.push(format!("no longer in it: {}", named(&self.removed)));
        }
        if self.report.has_errors() {
            lines.push(self.consequence(&name));
        }
        // Paths in it are whatever a directory or a bundle has.
        let lines: Vec<_> = lines.iter().map(|line| escaped(line)).collect();
        lines.join("\n")
    }

    /// What the errors have led to.
    fn consequence(&self, name: &str) -> String {
        let without = match self.failed.as_slice() {
            [] => String::new(),
            failed => format!(" without {}", named(failed)),
        };
        if self.is_written {
            return format!("the bundle was written{without}, as --allow-errors says");
        }
        let kept = match self.destination.file() {
            Some(path) if path.exists() => format!("{name} was left as it is"),
            _ => "nothing was written".to_owned(),
        };
        format!("{kept} because of the errors; --allow-errors writes the bundle{without}")
    }

    fn body(&self) -> json::Compilation<'_> {
        json::Compilation {
            findings: self.report.to_json(),
            error_count: self.report.count(Severity::Error),
            warning_count: self.report.count(Severity::Warning),
            skill_count: self.set.offered().len(),
            file_count: files(self.set),
            bytes: self.image.byte_len(),
            address: json::sha256(&self.image.content_hex()),
            output: self.destination.file().filter(|_| self.is_written),
            failed_files: &self.failed,
            removed_skills: &self.removed,
        }
    }
}

/// The first of these in one line.
fn named(all: &[String]) -> String {
    let more = all.len().saturating_sub(MOST_NAMED);
    let named = all[..all.len() - more].join(", ");
    if more > 0 {
        format!("{named} and {more} more")
    } else {
        named
    }
}

fn files(set: &SkillSet) -> u64 {
    set.offered()
        .iter()
        .map(|skill| skill.files.len() as u64)
        .sum()
}
