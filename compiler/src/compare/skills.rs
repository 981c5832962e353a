//! Compares the skills of two bundles: their frontmatter, their text and their files.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Map, Value};
use skillbundle_format::{Catalog, Error, Skill};
use skillbundle_search::text::fold;

use super::{ChangedSkill, Collision, Comparison, FieldChange, FileChange, SkillSize};
use crate::paths::file_name;

/// The field that stands for what follows the frontmatter.
const TEXT: &str = "text";

/// The paths of the skills that have a name.
type Names = BTreeMap<String, BTreeSet<String>>;

/// What tells whether two skills are the same.
type Key = dyn Fn(&Skill<'_>) -> Result<String, Error>;

/// The skills that both versions have: their ids before, and now.
#[derive(Debug, Default)]
pub(super) struct Same {
    /// By the path before.
    pub(super) by_old: BTreeMap<String, (u32, u32)>,
    /// By the path now.
    pub(super) by_new: BTreeMap<String, (u32, u32)>,
}

/// Fills in what differs about skills, and returns which ones are the same skill.
pub(super) fn compare(
    old: &Catalog<'_>,
    new: &Catalog<'_>,
    out: &mut Comparison,
) -> Result<Same, Error> {
    let before = old.skills().collect::<Result<Vec<_>, _>>()?;
    let now = new.skills().collect::<Result<Vec<_>, _>>()?;
    let same = pairs(&before, &now)?;
    let mut same_skills = Same::default();
    let of_new: BTreeMap<u32, usize> = same.iter().map(|(old, new)| (now[*new].id, *old)).collect();
    for skill in &now {
        let Some(old) = of_new.get(&skill.id).map(|at| &before[*at]) else {
            out.added.push(size(skill)?);
            continue;
        };
        let ids = (old.id, skill.id);
        same_skills.by_old.insert(old.path.to_owned(), ids);
        same_skills.by_new.insert(skill.path.to_owned(), ids);
        out.changed.extend(changed(old, skill)?);
    }
    for skill in &before {
        if !same_skills.by_old.contains_key(skill.path) {
            out.removed.push(size(skill)?);
        }
    }
    out.added.sort_by(|a, b| a.path.cmp(&b.path));
    out.removed.sort_by(|a, b| a.path.cmp(&b.path));
    out.changed.sort_by(|a, b| a.path.cmp(&b.path));
    out.settings_changed = old.content_settings()? != new.content_settings()?;
    let (had, has) = (collisions(old)?, collisions(new)?);
    out.collisions = only_in(&has, &had);
    out.resolved = only_in(&had, &has);
    Ok(same_skills)
}

/// The skills that are the same in both versions, by their places: those of one path, then of the
/// others those that are the only ones of a name, then those of one text.
fn pairs(before: &[Skill<'_>], now: &[Skill<'_>]) -> Result<Vec<(usize, usize)>, Error> {
    let mut pairs = Vec::new();
    let mut left: Vec<usize> = (0..before.len()).collect();
    let mut right: Vec<usize> = (0..now.len()).collect();
    let path = |skill: &Skill<'_>| Ok(skill.path.to_owned());
    let name = |skill: &Skill<'_>| Ok(fold(skill.name));
    let digest = |skill: &Skill<'_>| Ok(skillbundle_format::hex(&skill.digest()?));
    let keys: [&Key; 3] = [&path, &name, &digest];
    for key in keys {
        let (old, new) = (unique(before, &left, key)?, unique(now, &right, key)?);
        for (key, at) in old {
            if let Some(other) = new.get(&key) {
                pairs.push((at, *other));
            }
        }
        let (lefts, rights): (HashSet<_>, HashSet<_>) = pairs.iter().copied().unzip();
        left.retain(|at| !lefts.contains(at));
        right.retain(|at| !rights.contains(at));
    }
    Ok(pairs)
}

/// The places of skills by a key that no other of them has.
fn unique(
    skills: &[Skill<'_>],
    places: &[usize],
    key: &Key,
) -> Result<BTreeMap<String, usize>, Error> {
    let mut found: BTreeMap<String, Option<usize>> = BTreeMap::new();
    for at in places {
        let place = found.entry(key(&skills[*at])?);
        place.and_modify(|it| *it = None).or_insert(Some(*at));
    }
    Ok(found
        .into_iter()
        .filter_map(|(key, at)| Some((key, at?)))
        .collect())
}

fn size(skill: &Skill<'_>) -> Result<SkillSize, Error> {
    let files = skill.files()?;
    let of_files: u64 = files.iter().filter_map(|file| file.size).sum();
    Ok(SkillSize {
        path: skill.path.to_owned(),
        summary: skill.summary.to_owned(),
        files: files.len(),
        bytes: skill.size()? + of_files,
    })
}

/// What differs between two versions of a skill.
fn changed(old: &Skill<'_>, new: &Skill<'_>) -> Result<Option<ChangedSkill>, Error> {
    let has_moved = old.path != new.path;
    let mut files = files(old, new)?;
    let mut changed_fields = Vec::new();
    if old.digest()? != new.digest()? {
        changed_fields = fields(old, new)?;
        let own = FileChange {
            path: file_name(new.file_path).to_owned(),
            old: Some(old.size()?),
            new: Some(new.size()?),
        };
        files.insert(0, own);
    }
    if files.is_empty() && !has_moved {
        return Ok(None);
    }
    Ok(Some(ChangedSkill {
        path: new.path.to_owned(),
        old_path: has_moved.then(|| old.path.to_owned()),
        fields: changed_fields,
        files,
    }))
}

fn files(old: &Skill<'_>, new: &Skill<'_>) -> Result<Vec<FileChange>, Error> {
    let mut all: BTreeMap<&str, [Option<_>; 2]> = BTreeMap::new();
    for (version, skill) in [old, new].into_iter().enumerate() {
        for file in skill.files()? {
            all.entry(file.path).or_default()[version] = Some(file);
        }
    }
    let mut changes = Vec::new();
    for (path, [old, new]) in all {
        let content = |file: &skillbundle_format::File<'_>| {
            (file.digest(), file.size, file.executable, file.role)
        };
        if old.as_ref().map(content) != new.as_ref().map(content) {
            changes.push(FileChange {
                path: path.to_owned(),
                // A declared file may be missing.
                old: old.map(|file| file.size.unwrap_or(0)),
                new: new.map(|file| file.size.unwrap_or(0)),
            });
        }
    }
    Ok(changes)
}

/// The keys of the frontmatter that differ, and whether the text does.
fn fields(old: &Skill<'_>, new: &Skill<'_>) -> Result<Vec<FieldChange>, Error> {
    let (before, now) = (frontmatter(old)?, frontmatter(new)?);
    let gone = before.keys().filter(|key| !now.contains_key(*key));
    let mut changes = Vec::new();
    for key in now.keys().chain(gone) {
        let (old, new) = (before.get(key), now.get(key));
        if old != new {
            changes.push(FieldChange {
                field: key.clone(),
                old: old.map(shown),
                new: new.map(shown),
            });
        }
    }
    if old.body()? != new.body()? {
        changes.push(FieldChange {
            field: TEXT.to_owned(),
            old: None,
            new: None,
        });
    }
    Ok(changes)
}

fn frontmatter(skill: &Skill<'_>) -> Result<Map<String, Value>, Error> {
    // The compiler wrote this JSON. If it cannot be parsed, it has no keys.
    Ok(serde_json::from_str(skill.frontmatter_json()?).unwrap_or_default())
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// The names that several skills have, with their paths.
fn collisions(catalog: &Catalog<'_>) -> Result<Names, Error> {
    let mut names = Names::new();
    for skill in catalog.skills().chain(catalog.shadowed()) {
        let skill = skill?;
        let paths = names.entry(fold(skill.name)).or_default();
        paths.insert(skill.path.to_owned());
    }
    names.retain(|_, paths| paths.len() > 1);
    Ok(names)
}

/// The names of one version that the other does not have, or has with fewer skills.
fn only_in(one: &Names, other: &Names) -> Vec<Collision> {
    let is_new = |(name, paths): &(&String, &BTreeSet<String>)| {
        let known = other.get(*name);
        known.is_none_or(|known| !paths.is_subset(known))
    };
    let found = one.iter().filter(is_new);
    found
        .map(|(name, paths)| Collision {
            name: name.clone(),
            paths: paths.iter().cloned().collect(),
        })
        .collect()
}
