//! What `serve` would make of some roots now: by the same steps, but nothing is written.

use std::collections::BTreeSet;

use anyhow::Result;
use skillbundle_compiler::{Code, Report, Severity};
use skillbundle_server::Source;

use super::super::{Examined, FileFinding, Stored, git_lock};
use super::{Directories, Generations, State, bundle, lay_over};
use crate::cli::progress::Progress;
use crate::embedded;
use crate::sources::{self, SkillRoot};

/// Examines roots. If `is_default` is true, they may be missing and lie over the skills baked into
/// this binary.
pub(crate) fn examine(roots: &[SkillRoot], is_default: bool) -> Result<Examined> {
    let directories = if is_default {
        Directories::over(roots, Some(embedded::bytes()))
    } else {
        Directories::new(roots)?
    };
    // Set here, so that no later step opens the cache, which creates it.
    let (all, only) = (&directories.roots, &directories.only);
    let look = || Generations::look(all, only, directories.beneath);
    let generations = directories.generations.get_or_init(look);
    let latest = generations.as_ref().and_then(Generations::latest);
    let states = directories.states_of_roots()?;
    let read = directories.roots_with(&states, |state| state == State::Read);
    if read.is_empty() && is_default {
        return Ok(Examined::of_bundle(embedded::bundle()?));
    }
    let _progress = Progress::start("examining", &sources::names(&SkillRoot::read(roots)));
    if let Some((_, note)) = &latest {
        directories.remembered(note);
    }
    let previous = latest.as_ref().map(|(bundle, _)| bundle);
    let compiled = directories.compile(&read, previous, &|| None)?;
    let compiled = compiled.expect("nothing is in the middle of a change");
    let mut outdated = directories.broken(&read, &compiled);
    // The others are findings.
    outdated.retain(|it| it.is_served);
    let findings = findings(&compiled.report);
    let mut set = compiled.set;
    if is_default {
        lay_over(&mut set, &embedded::bundle()?)?;
    }
    let fingerprint = directories.fingerprint()?;
    let locks = read.iter().filter_map(|root| git_lock::find(&root.dir));
    let mut seen = BTreeSet::new();
    Ok(Examined {
        bundle: bundle(&set)?,
        findings,
        outdated,
        stored: match &latest {
            None => Stored::Nothing,
            Some((_, note)) if note.fingerprint == fingerprint => Stored::Current,
            Some(_) => Stored::Outdated,
        },
        watch_paths: directories.watch_paths(),
        git_locks: locks
            .filter(|lock| seen.insert(lock.file.clone()))
            .collect(),
    })
}

/// The errors and warnings, without those that [`Examined`] has in other fields.
fn findings(report: &Report) -> Vec<FileFinding> {
    let diagnostics = report.diagnostics().iter().filter(|it| {
        let is_elsewhere = matches!(it.code, Code::SkillShadowed | Code::LastGoodKept);
        it.severity != Severity::Info && !is_elsewhere
    });
    let mut findings: Vec<_> = diagnostics
        .map(|it| FileFinding {
            is_error: it.severity == Severity::Error,
            place: match report.locate(&it.file, it.span) {
                Some(at) => format!("{}:{}:{}", it.file, at.line, at.column),
                None => it.file.clone(),
            },
            message: it.message.clone(),
            help: it.help.clone(),
        })
        .collect();
    findings.sort_by_key(|finding| !finding.is_error);
    findings
}
