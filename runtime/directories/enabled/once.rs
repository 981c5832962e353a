//! Compiles directories for a command that reads them once.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use skillbundle_compiler::{
    CheckOptions, Checked, Compiled, Evaluation, Failed, Options, Report, Requests, Severity,
};
use skillbundle_format::{Bundle, SkillSet};

use super::super::single_files::select;
use super::{bundle, compiler_roots, lay_over};
use crate::cli::display::counted;
use crate::cli::output::{info, with_help};
use crate::cli::progress::Progress;
use crate::config;
use crate::embedded;
use crate::sources::{self, SkillRoot};

/// Compiles directories that must exist, each once. With `thorough`, the rules about quality run too.
pub(crate) fn compile(roots: &[SkillRoot], thorough: bool) -> Result<Compiled> {
    let roots = &existing(roots)?;
    let _progress = Progress::start("compiling", &sources::names(roots));
    let options = Options {
        optional_roots: false,
        check: thorough,
    };
    let mut compiled = skillbundle_compiler::compile(&compiler_roots(roots), &options)
        .with_context(|| format!("cannot read {}", sources::names(roots)))?;
    let parts = (
        &mut compiled.set,
        &mut compiled.report,
        &mut compiled.failed,
    );
    keep_named(roots, parts)?;
    Ok(compiled)
}

/// Compiles directories that must exist, and reads the requests that lie in them.
pub(crate) fn compile_with_requests(roots: &[SkillRoot]) -> Result<(Compiled, Requests)> {
    let roots = &existing(roots)?;
    let _progress = Progress::start("compiling", &sources::names(roots));
    let compiler_roots = compiler_roots(roots);
    let (mut compiled, mut requests) =
        skillbundle_compiler::compile_with_requests(&compiler_roots, &Options::default())
            .with_context(|| format!("cannot read {}", sources::names(roots)))?;
    let parts = (
        &mut compiled.set,
        &mut compiled.report,
        &mut compiled.failed,
    );
    keep_named(roots, parts)?;
    requests.retain_roots(|root| is_whole(roots, root));
    Ok((compiled, requests))
}

/// Checks directories that must exist, each once. Returns the bundle, too, if there are requests that
/// had to be replayed.
pub(crate) fn check(
    roots: &[SkillRoot],
    options: &CheckOptions,
) -> Result<(Checked, Option<Bundle>)> {
    let roots = &existing(roots)?;
    let _progress = Progress::start("checking", &sources::names(roots));
    let mut checked = skillbundle_compiler::check(&compiler_roots(roots), options)
        .with_context(|| format!("cannot read {}", sources::names(roots)))?;
    let parts = (&mut checked.set, &mut checked.report, &mut checked.failed);
    keep_named(roots, parts)?;
    checked.requests.retain_roots(|root| is_whole(roots, root));
    if checked.requests.is_empty(&checked.set) {
        return Ok((checked, None));
    }
    let bundle = bundle_of(&checked.set)?;
    let found = checked.requests.replay(&checked.set, &bundle)?;
    checked.add(found.report.merged(found.failed), options);
    Ok((checked, Some(bundle)))
}

/// The bundle of a set, with the settings of the operator.
pub(crate) fn bundle_of(set: &SkillSet) -> Result<Bundle> {
    Ok(bundle(set)?.overridden(config::current().overrides()))
}

/// Whether a root stands for all that is in it, and not for one file.
fn is_whole(roots: &[SkillRoot], root: usize) -> bool {
    roots.get(root).is_none_or(|root| root.only.is_none())
}

/// The roots that are read; fails if one is no directory.
pub(crate) fn existing(roots: &[SkillRoot]) -> Result<Vec<SkillRoot>> {
    roots
        .iter()
        .try_for_each(|root| check_directory(&root.dir))?;
    Ok(SkillRoot::read(roots))
}

/// Keeps what single files are about; fails if one is no skill at all.
fn keep_named(
    roots: &[SkillRoot],
    (set, report, failed): (&mut SkillSet, &mut Report, &mut Vec<Failed>),
) -> Result<()> {
    let only: Vec<_> = roots.iter().map(|root| root.only.clone()).collect();
    if only.iter().any(Option::is_some) {
        select((set, report, failed), &compiler_roots(roots), &only);
    }
    // Settings can make an error of it a warning, or leave it out.
    let has_failed = |root: u32| failed.iter().any(|it| it.root == root);
    for (index, root) in (0..).zip(roots) {
        let is_empty = !set.skills.iter().any(|skill| skill.root == index);
        if root.only.is_some() && is_empty && !report.has_errors() && !has_failed(index) {
            let file = sources::names(std::slice::from_ref(root));
            return Err(with_help(
                &format!("{file} is not a skill"),
                "a skill is a SKILL.md, or a page of a tree with `keywords`",
            ));
        }
    }
    Ok(())
}

/// Compiles directories for a query, and notes on stderr if there are errors,
/// since the skill that is wanted may be missing because of one.
pub(crate) fn compile_once(roots: &[SkillRoot]) -> Result<Bundle> {
    Ok(bundle(&compile_noting(roots)?.set)?)
}

/// As [`compile_once`] for the roots that exist, over the skills baked into this binary.
pub(crate) fn compile_over_embedded(roots: &[SkillRoot]) -> Result<Bundle> {
    let present = SkillRoot::read(roots);
    if present.is_empty() {
        return embedded::bundle();
    }
    over(compile_noting(&present)?.set)
}

/// A set over the skills baked into this binary.
fn over(mut set: SkillSet) -> Result<Bundle> {
    lay_over(&mut set, &embedded::bundle()?)?;
    Ok(bundle(&set)?)
}

/// Replays every request that lies in the directories; over the skills baked into this binary if
/// `is_default` is true.
pub(crate) fn evaluate(roots: &[SkillRoot], is_default: bool) -> Result<Evaluation> {
    if let Some(root) = roots.iter().find(|root| root.only.is_some()) {
        return Err(with_help(
            &format!(
                "{} is a file; requests lie in directories",
                sources::names(std::slice::from_ref(root))
            ),
            &format!(
                "name the directory: `skillbundle eval {}`",
                root.dir.display()
            ),
        ));
    }
    let (compiled, requests) = compile_with_requests(roots)?;
    note_errors(roots, &compiled);
    let bundle = if is_default {
        over(compiled.set.clone())?
    } else {
        bundle(&compiled.set)?
    };
    let bundle = bundle.overridden(config::current().overrides());
    let _progress = Progress::start("replaying requests in", &sources::names(roots));
    Ok(requests.replay(&compiled.set, &bundle)?)
}

fn compile_noting(roots: &[SkillRoot]) -> Result<Compiled> {
    let compiled = compile(roots, false)?;
    note_errors(roots, &compiled);
    Ok(compiled)
}

fn note_errors(roots: &[SkillRoot], compiled: &Compiled) {
    let errors = compiled.report.count(Severity::Error);
    if errors > 0 {
        let names = sources::names(roots);
        let found = counted(errors as u64, "error");
        info(&format!(
            "{found} in {names}; `skillbundle check {}` shows more",
            names.replace(", ", " ")
        ));
    }
}

/// Fails with one line if this is not a directory that can be read.
pub(super) fn check_directory(dir: &Path) -> Result<()> {
    let found = std::fs::metadata(dir).map_err(|source| skillbundle_format::Error::Read {
        path: dir.to_owned(),
        source,
    })?;
    if found.is_dir() {
        return Ok(());
    }
    Err(anyhow!("{} is not a directory", dir.display()))
}
