//! `--changed-since REV`: only what differs from where the branch left a revision of git counts.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use skillbundle_compiler::{Checked, Diagnostic, Places, Suppression};
use skillbundle_format::Dialect;
use skillbundle_git::Changes;

use crate::repositories;

/// What has changed in the repositories of the roots.
struct Changed {
    repositories: Vec<Changes>,
    /// The directory of each skill; for a page, its path without `.md`.
    homes: HashSet<PathBuf>,
    /// Those with a file that has changed.
    with_changes: HashSet<PathBuf>,
}

/// Takes out of the report what is about neither a changed file nor a skill that has one.
pub(super) fn keep(revision: &str, roots: usize, checked: &mut Checked) -> Result<()> {
    let mut repositories: Vec<Changes> = Vec::new();
    let (timeout, _) = repositories::limits();
    for root in 0..roots {
        let Some(directory) = checked.places.root(root) else {
            continue;
        };
        let changes = skillbundle_git::changed_since(directory, revision, timeout)
            .with_context(|| format!("--changed-since {revision}"))?;
        if !repositories.iter().any(|it| it.top == changes.top) {
            repositories.push(changes);
        }
    }
    let mut changed = Changed {
        repositories,
        homes: homes(checked),
        with_changes: HashSet::new(),
    };
    changed.with_changes = changed.find_homes();
    let places = &checked.places;
    checked.report.suppress(|_, it| {
        let counts = changed.concerns(it, places);
        (!counts).then_some(Suppression::Unchanged)
    });
    Ok(())
}

/// Where the skills are, also those that did not load.
fn homes(checked: &Checked) -> HashSet<PathBuf> {
    let skills = checked.set.skills.iter();
    let skills = skills.map(|it| (it.root, &it.file_path, it.dialect == Dialect::Folder));
    let failed = checked.failed.iter().map(|it| {
        let is_folder = Path::new(&it.file_path)
            .file_name()
            .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
        (it.root, &it.file_path, is_folder)
    });
    let home = |(root, file, is_folder): (u32, &String, bool)| {
        let file = checked.places.root(root as usize)?.join(file);
        Some(if is_folder {
            file.parent()?.to_owned()
        } else {
            file.with_extension("")
        })
    };
    skills.chain(failed).filter_map(home).collect()
}

impl Changed {
    fn find_homes(&self) -> HashSet<PathBuf> {
        let mut found = HashSet::new();
        for changes in &self.repositories {
            let files = changes.files.iter().map(|it| changes.top.join(it));
            found.extend(files.filter_map(|it| self.home(&it)));
        }
        found
    }

    /// The home of the skill that a file belongs to.
    fn home(&self, file: &Path) -> Option<PathBuf> {
        let page = file.with_extension("");
        let is_page = file
            .extension()
            .is_some_and(|it| it.eq_ignore_ascii_case("md"));
        if is_page && self.homes.contains(&page) {
            return Some(page);
        }
        let mut above = file.ancestors().skip(1);
        above
            .find(|it| self.homes.contains(*it))
            .map(Path::to_owned)
    }

    fn concerns(&self, it: &Diagnostic, places: &Places) -> bool {
        let related = it.related.iter().filter_map(|it| it.file.as_ref());
        let mut files = related.chain([&it.file]).map(|file| places.find(file));
        // What lies nowhere has not been left alone.
        files.any(|place| place.is_none_or(|(_, file)| self.has(&file)))
    }

    /// Whether a file has changed, or one of its skill.
    fn has(&self, file: &Path) -> bool {
        let is_at = |file: &Path| {
            let repositories = self.repositories.iter();
            let mut below =
                repositories.filter_map(|it| Some((it, file.strip_prefix(&it.top).ok()?)));
            below.any(|(changes, file)| is_changed(&changes.files, file))
        };
        let owns = |file: &Path| {
            let home = self.home(file);
            home.is_some_and(|home| self.with_changes.contains(&home))
        };
        if is_at(file) || owns(file) {
            return true;
        }
        // Through a link, git knows it by another name.
        let real = file.canonicalize().ok().filter(|real| real != file);
        real.is_some_and(|real| is_at(&real))
    }
}

/// Whether a path, something below it, or a directory above it is among the changed ones.
fn is_changed(changed: &BTreeSet<PathBuf>, path: &Path) -> bool {
    let first = changed.range(path.to_owned()..).next();
    first.is_some_and(|it| it.starts_with(path)) || path.ancestors().any(|it| changed.contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_changed_with_what_is_below_it() {
        let changed = ["a/b/c.md", "a/d", "vendor"].map(PathBuf::from);
        let changed = BTreeSet::from(changed);
        for (path, expected) in [
            ("a/b/c.md", true),
            ("a/b", true),
            ("a", true),
            ("", true),
            ("a/b/c", false),
            ("a/c", false),
            ("vendor/x/SKILL.md", true),
            ("vendored", false),
        ] {
            assert_eq!(is_changed(&changed, Path::new(path)), expected, "{path}");
        }
    }
}
