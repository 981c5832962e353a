//! The directory around a root called `skills`: the content root of spec 3 §11.3, of which only
//! `config.yaml` is read.
//!
//! What lies above a root is not what the user named, so the file must plainly belong to it: the
//! root is not the top of a git repository of its own, the directory is not the dot folder of a
//! host (`.claude/skills`), and the file is no link and has the owner of the root.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::walk::new_entry;
use super::{TreeRoot, platform};
use crate::config::CONFIG;

/// The name of a root that has a content root around it.
const SKILLS: &str = "skills";

/// The content root around the root with this index, with its `config.yaml` if it has one; `None`
/// if the root has no content root.
pub(super) fn around(index: usize, dir: &Path) -> Option<TreeRoot> {
    let real = fs::canonicalize(dir).ok()?;
    let above = real.parent().filter(|_| real.ends_with(SKILLS))?;
    let name = above.file_name()?;
    if name.as_encoded_bytes().starts_with(b".") || real.join(".git").exists() {
        return None;
    }
    // As the user would type it, if that leads to the same place.
    let typed = dir.parent().filter(|_| dir.ends_with(SKILLS));
    let typed = typed.filter(|typed| leads_to(typed, above));
    let file = above.join(CONFIG);
    let metadata = fs::symlink_metadata(&file).ok();
    let metadata = metadata.filter(|metadata| {
        let root = fs::metadata(&real);
        metadata.is_file() && root.is_ok_and(|root| platform::same_owner(metadata, &root))
    });
    let entry = metadata.map(|it| new_entry(CONFIG.to_owned(), file, false, &it));
    Some(TreeRoot {
        dir: typed.unwrap_or(above).to_owned(),
        real: above.to_owned(),
        within: Some(index),
        entries: entry.into_iter().collect(),
        declared: Vec::new(),
        declared_paths: BTreeSet::new(),
        read_errors: Vec::new(),
    })
}

fn leads_to(typed: &Path, above: &Path) -> bool {
    let typed = if typed.as_os_str().is_empty() {
        Path::new(".")
    } else {
        typed
    };
    fs::canonicalize(typed).is_ok_and(|real| real == above)
}
