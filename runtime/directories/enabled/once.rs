//! Compiles directories for a command that reads them once.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use skillbundle_compiler::{Compiled, Evaluation, Options, Severity};
use skillbundle_format::{Bundle, SkillSet};

use super::super::single_files::select;
use super::{bundle, compiler_roots, lay_over};
use crate::cli::display::counted;
use crate::cli::output::{info, with_help};
use crate::cli::progress::Progress;
use crate::config;
use crate::embedded;
use crate::sources::{self, SkillRoot};

/// Compiles directories that must exist, each once.
pub(crate) fn compile(roots: &[SkillRoot]) -> Result<Compiled> {
    roots
        .iter()
        .try_for_each(|root| check_directory(&root.dir))?;
    let roots = &SkillRoot::read(roots);
    let _progress = Progress::start("compiling", &sources::names(roots));
    let only: Vec<_> = roots.iter().map(|root| root.only.clone()).collect();
    let compiler_roots = compiler_roots(roots);
    let mut compiled = skillbundle_compiler::compile(&compiler_roots, &Options::default())
        .with_context(|| format!("cannot read {}", sources::names(roots)))?;
    if only.iter().any(Option::is_some) {
        select(&mut compiled, &compiler_roots, &only);
    }
    for (index, root) in (0..).zip(roots) {
        let is_empty = !compiled.set.skills.iter().any(|skill| skill.root == index);
        if root.only.is_some() && is_empty && !compiled.report.has_errors() {
            let file = sources::names(std::slice::from_ref(root));
            return Err(with_help(
                &format!("{file} is not a skill"),
                "a skill is a SKILL.md, or a page of a tree with `keywords`",
            ));
        }
    }
    Ok(compiled)
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
    let compiled = compile_noting(roots)?;
    let bundle = if is_default {
        over(compiled.set.clone())?
    } else {
        bundle(&compiled.set)?
    };
    let bundle = bundle.overridden(config::current().overrides());
    let _progress = Progress::start("replaying requests in", &sources::names(roots));
    Ok(skillbundle_compiler::evaluate(
        &compiler_roots(&SkillRoot::read(roots)),
        &compiled,
        &bundle,
    )?)
}

fn compile_noting(roots: &[SkillRoot]) -> Result<Compiled> {
    let compiled = compile(roots)?;
    let errors = compiled.report.count(Severity::Error);
    if errors > 0 {
        let names = sources::names(roots);
        let found = counted(errors as u64, "error");
        info(&format!(
            "{found} in {names}; `skillbundle compile --check {}` shows more",
            names.replace(", ", " ")
        ));
    }
    Ok(compiled)
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
