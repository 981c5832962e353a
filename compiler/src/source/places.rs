//! The places on disk that a walk has looked at, for whoever watches them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, path};

use super::Tree;
use crate::Places;

/// Every directory of the tree, and every name on the way to it.
pub(crate) fn places(tree: &Tree) -> Places {
    let mut directories = BTreeSet::new();
    let mut entries = BTreeSet::new();
    for root in &tree.roots {
        let absolute = path::absolute(&root.dir).unwrap_or_else(|_| root.dir.clone());
        add_path(&mut entries, &absolute);
        if let Ok(real) = fs::canonicalize(&absolute) {
            add_path(&mut entries, &real);
            directories.insert(real);
        }
        for entry in &root.entries {
            if entry.is_directory {
                directories.insert(entry.real.clone());
            }
            if entry.by_link {
                entries.insert(entry.real.clone());
            }
        }
    }
    Places {
        directories: directories.into_iter().collect(),
        entries: entries.into_iter().collect(),
    }
}

/// Adds a path and those of all directories above it: if one is replaced, so is the root.
fn add_path(entries: &mut BTreeSet<PathBuf>, path: &Path) {
    entries.extend(path.ancestors().map(Path::to_owned));
}
