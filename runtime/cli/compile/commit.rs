//! `compile --commit`: which commit of git the skills are. A working tree can hold more than its commit,
//! less, or other line ends, so the files of the commit are compiled, too, and must give the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use skillbundle_format::{SkillEntry, SkillSet};

use crate::cli::output::with_help;
use crate::directories;
use crate::repositories;
use crate::sources::SkillRoot;

/// Skills that an error names.
const MOST_NAMED: usize = 5;

/// The commit of each root.
///
/// # Errors
///
/// A root is in no repository, or the skills are not exactly those of its commit.
pub(super) fn of_roots(roots: &[SkillRoot], set: &SkillSet) -> Result<Vec<Option<String>>> {
    let (timeout, max_bytes) = repositories::limits();
    let mut commits = Vec::new();
    let mut committed = Vec::new();
    let mut directories = Vec::new();
    for root in roots {
        if root.commit.is_some() {
            committed.push(root.clone());
            commits.push(root.commit.clone());
            continue;
        }
        let directory = tempfile::tempdir().context("cannot make a temporary directory")?;
        let head = skillbundle_git::write_head(&root.dir, directory.path(), timeout, max_bytes)
            .with_context(|| format!("--commit: {}", root.dir.display()))?;
        committed.push(SkillRoot {
            dir: directory.path().join(head.prefix),
            ..root.clone()
        });
        commits.push(Some(head.commit));
        directories.push(directory);
    }
    let is_missing = |root: &&SkillRoot| !root.dir.is_dir();
    let names = match committed.iter().find(is_missing) {
        Some(root) => vec![root.label.clone()],
        None => differing(set, &directories::compile(&committed, false)?.set)?,
    };
    if names.is_empty() {
        return Ok(commits);
    }
    let more = names.len().saturating_sub(MOST_NAMED);
    let others = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    Err(with_help(
        &format!(
            "--commit: {}{others} differ from what is committed",
            names[..names.len() - more].join(", ")
        ),
        "commit or remove what has changed (`git status --ignored` shows it), or leave --commit out",
    ))
}

/// The skills that two sets do not have in common. Where only something else differs, such as the
/// settings, that is named.
fn differing(set: &SkillSet, committed: &SkillSet) -> Result<Vec<String>> {
    let address = |set: &SkillSet| {
        let mut set = set.clone();
        for root in &mut set.roots {
            root.commit = None;
        }
        Ok::<_, anyhow::Error>(skillbundle_format::lay_out(&set)?.content_hex())
    };
    if address(set)? == address(committed)? {
        return Ok(Vec::new());
    }
    let content = |skill: &SkillEntry| {
        let files = skill.files.iter();
        let files = files.map(|it| (it.path.clone(), it.executable, it.bytes.clone()));
        (Arc::clone(&skill.source), files.collect::<Vec<_>>())
    };
    let by_path = |set: &SkillSet| -> BTreeMap<String, _> {
        let skills = set.skills.iter();
        skills.map(|it| (it.path.clone(), content(it))).collect()
    };
    let (here, there) = (by_path(set), by_path(committed));
    let paths = here
        .keys()
        .chain(there.keys().filter(|it| !here.contains_key(*it)));
    let differing = paths.filter(|path| here.get(*path) != there.get(*path));
    let mut names: Vec<String> = differing.map(|path| format!("`{path}`")).collect();
    if names.is_empty() {
        names.push("the settings (config.yaml)".to_owned());
    }
    Ok(names)
}
