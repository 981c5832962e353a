//! What is on disk, found without the compiler: skill files, and the files of a
//! skill.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold no skills of their own.
const NOT_ENTERED: [&str; 4] = ["node_modules", ".git", "target", "__pycache__"];

/// Names that are never bundled: caches, editor files, version control.
fn is_junk(name: &str) -> bool {
    [
        ".DS_Store",
        "Thumbs.db",
        "desktop.ini",
        ".git",
        ".gitignore",
        ".gitattributes",
        ".gitkeep",
    ]
    .contains(&name)
        || [".pyc", ".pyo", ".swp", "~"]
            .iter()
            .any(|end| name.ends_with(end))
        || name.starts_with("._")
        || [".venv", "venv", ".idea", ".vscode"].contains(&name)
        || NOT_ENTERED.contains(&name)
}

/// Every file named `SKILL.md` below a folder, ignoring case.
pub(super) fn skill_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for (name, path) in entries(folder) {
        if path.is_dir() {
            if !NOT_ENTERED.contains(&name.as_str()) {
                skill_files(&path, found);
            }
        } else if name.eq_ignore_ascii_case("SKILL.md") {
            found.push(path);
        }
    }
}

/// The files below a skill's folder by their `/`-separated paths, without its
/// own skill file and without junk.
pub(super) fn files_of(folder: &Path) -> BTreeMap<String, PathBuf> {
    fn walk(folder: &Path, prefix: &str, found: &mut BTreeMap<String, PathBuf>) {
        for (name, path) in entries(folder) {
            if is_junk(&name) || (prefix.is_empty() && name.eq_ignore_ascii_case("SKILL.md")) {
                continue;
            }
            let key = format!("{prefix}{name}");
            if path.is_dir() {
                walk(&path, &format!("{key}/"), found);
            } else {
                found.insert(key, path);
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(folder, "", &mut found);
    found
}

fn entries(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| {
            let entry = entry.expect("an entry");
            (
                entry.file_name().into_string().expect("names are UTF-8"),
                entry.path(),
            )
        })
        .collect();
    entries.sort();
    entries
}
