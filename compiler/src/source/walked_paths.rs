//! The paths that a walk has looked at, for those who watch them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, path};

use super::ignore::may_be_skill;
use super::{Cause, Tree};
use crate::WalkedPaths;
use crate::config::CONFIG;
use crate::paths::{ancestors, file_name};

/// Every directory of the tree, and every name on the way to it.
pub(crate) fn walked_paths(tree: &Tree) -> WalkedPaths {
    let mut directories = BTreeSet::new();
    let mut entries = BTreeSet::new();
    let mut files = BTreeSet::new();
    for root in &tree.roots {
        if root.within.is_some() {
            // The directories above the root itself are added with the root.
            let file = fs::canonicalize(&root.dir).map(|dir| dir.join(CONFIG));
            if root.has(CONFIG) {
                files.extend(file.as_ref().ok().cloned());
            }
            entries.extend(file);
            continue;
        }
        let absolute = path::absolute(&root.dir).unwrap_or_else(|_| root.dir.clone());
        add_path(&mut entries, &absolute);
        if let Ok(real) = fs::canonicalize(&absolute) {
            add_path(&mut entries, &real);
            directories.insert(real);
        }
        for path in &root.declared_paths {
            let (real, _) = root.location(path);
            // A directory on the way may appear or vanish as well.
            let above = ancestors(path).take_while(|it| !it.is_empty() && !root.has_directory(it));
            entries.extend(above.map(|it| root.location(it).0));
            files.insert(real);
        }
        for error in &root.read_errors {
            let name = file_name(&error.path);
            if matches!(error.cause, Cause::Ignored(_)) && may_be_skill(name) {
                files.insert(root.location(&error.path).0.join("SKILL.md"));
            }
        }
        for entry in &root.entries {
            if entry.is_directory {
                directories.insert(entry.real.clone());
            }
            if entry.by_link && entry.is_directory {
                entries.insert(entry.real.clone());
            } else if entry.by_link {
                files.insert(entry.real.clone());
            }
        }
    }
    WalkedPaths {
        directories: directories.into_iter().collect(),
        entries: entries.into_iter().collect(),
        files: files.into_iter().collect(),
    }
}

/// Adds a path and those of all directories above it: if one is replaced, so is the root.
fn add_path(entries: &mut BTreeSet<PathBuf>, path: &Path) {
    entries.extend(path.ancestors().map(Path::to_owned));
}
