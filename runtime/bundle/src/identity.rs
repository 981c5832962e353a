//! Which of several skills that claim the same identity is offered (specs 1, 2 and 4: the first),
//! and paths that are unique over all roots. A folder-dialect skill is identified by its folded
//! name, a page of a tree by its path.

use std::borrow::BorrowMut;
use std::collections::{HashMap, HashSet};

use skillbundle_search::text::fold;

use crate::model::{Audience, Dialect, RootEntry, SkillEntry, SkillSet};

impl SkillEntry {
    /// The path in its own root.
    pub fn own_path(&self) -> &str {
        self.path.get(self.prefix..).unwrap_or(&self.path)
    }

    /// What decides about its place in a set.
    pub(crate) fn position(&self) -> (bool, Audience) {
        (self.shadowed, self.audience)
    }

    /// Forgets what [`identify`] decided.
    pub fn reset_identity(&mut self) {
        self.path.drain(..self.prefix.min(self.path.len()));
        (self.prefix, self.shadowed) = (0, false);
    }
}

impl SkillSet {
    /// The skills that are offered: all but the shadowed ones, which come last.
    pub fn offered(&self) -> &[SkillEntry] {
        let end = self.skills.iter().position(|skill| skill.shadowed);
        &self.skills[..end.unwrap_or(self.skills.len())]
    }

    /// The skills that models are shown: the first of those that are offered.
    pub fn listed(&self) -> &[SkillEntry] {
        let offered = self.offered();
        let end = offered.partition_point(|skill| skill.audience == Audience::Everyone);
        &offered[..end]
    }
}

/// Puts skills into the order of [`SkillSet::skills`]; parents follow.
pub fn arrange<T: BorrowMut<SkillEntry>>(skills: &mut Vec<T>) {
    let mut numbered: Vec<(usize, T)> = skills.drain(..).enumerate().collect();
    numbered.sort_by_key(|(_, skill)| skill.borrow().position());
    let mut places = vec![0; numbered.len()];
    for (new, (old, _)) in (0..).zip(&numbered) {
        places[*old] = new;
    }
    skills.extend(numbered.into_iter().map(|(_, mut skill)| {
        let parent = &mut skill.borrow_mut().parent;
        *parent = parent.map(|parent| places[parent as usize]);
        skill
    }));
}

/// Marks the skills that are shadowed by one of an earlier root and puts the label of the root in
/// front of paths that are taken; an offered skill takes a path before a shadowed one. Expects
/// skills in listing order with their own paths, of which each occurs once in a root. Returns for
/// each shadowed skill the index of the one that is offered instead.
pub fn identify(roots: &[RootEntry], skills: &mut [&mut SkillEntry]) -> Vec<Option<usize>> {
    let claims = skills.iter().map(|skill| Claim {
        name: &skill.name,
        path: &skill.path,
        dialect: skill.dialect,
        root: skill.root,
    });
    let winners = winners(&claims.collect::<Vec<_>>());
    let mut taken = HashSet::new();
    for shadowed in [false, true] {
        for (skill, winner) in skills.iter_mut().zip(&winners) {
            if winner.is_some() == shadowed {
                skill.shadowed = shadowed;
                if !taken.insert(skill.path.clone()) {
                    qualify(roots, skill, &mut taken);
                }
            }
        }
    }
    winners
}

/// What decides about the identity of a skill.
pub(crate) struct Claim<'a> {
    pub(crate) name: &'a str,
    /// The path in its own root.
    pub(crate) path: &'a str,
    pub(crate) dialect: Dialect,
    pub(crate) root: u32,
}

/// For each skill, in listing order, the one of an earlier root with the same identity.
pub(crate) fn winners(skills: &[Claim<'_>]) -> Vec<Option<usize>> {
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut paths: HashMap<&str, usize> = HashMap::new();
    let mut winners = Vec::with_capacity(skills.len());
    for (at, skill) in skills.iter().enumerate() {
        let name = fold(skill.name);
        // Whatever the dialects, one name at one path is one skill.
        let at_path = paths.get(skill.path);
        let first = match skill.dialect {
            Dialect::Folder => names
                .get(&name)
                .or(at_path.filter(|first| fold(skills[**first].name) == name)),
            Dialect::Tree => at_path,
        };
        let winner = first
            .copied()
            .filter(|first| skills[*first].root != skill.root);
        if winner.is_none() {
            paths.entry(skill.path).or_insert(at);
            if skill.dialect == Dialect::Folder {
                names.entry(name).or_insert(at);
            }
        }
        winners.push(winner);
    }
    winners
}

/// Puts the label of the root in front of a path: `.claude/skills/pdf`.
fn qualify(roots: &[RootEntry], skill: &mut SkillEntry, taken: &mut HashSet<String>) {
    let label = roots
        .get(skill.root as usize)
        .map_or("", |root| &root.label);
    let segments = label.split(['/', '\\']);
    let named: Vec<_> = segments
        .filter(|it| !matches!(*it, "" | "." | ".."))
        .collect();
    let label = named.join("/");
    for number in 1_u32.. {
        let prefix = match (number, label.as_str()) {
            (1, label) if !label.is_empty() => format!("{label}/"),
            (number, label) => format!("{label}-{number}/"),
        };
        let path = format!("{prefix}{}", skill.path);
        if taken.insert(path.clone()) {
            (skill.path, skill.prefix) = (path, prefix.len());
            return;
        }
    }
}
