//! Rules about the names of served files: those that other systems cannot store, and those that they
//! take for one.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use skillbundle_search::text::fold;

use crate::diagnostic::{Code, Diagnostic};
use crate::draft::Draft;
use crate::frontmatter::unseen_in_name;
use crate::paths::{file_name, join};
use crate::source::Tree;

/// Names that belong to devices on Windows, with any extension.
const DEVICES: &[&str] = &["aux", "con", "conin$", "conout$", "nul", "prn"];

/// Devices that are numbered from 1 to 9.
const NUMBERED_DEVICES: &[&str] = &["com", "lpt"];

/// Characters that no name has on Windows. `/` and `\` separate names.
const FORBIDDEN: &str = "<>:\"|?*";

/// Longer paths do not fit the 260 characters of Windows, since a folder precedes them.
const MOST_CHARACTERS: usize = 240;

/// Checks the paths of all served files.
pub(super) fn check(tree: &Tree, drafts: &[Draft], out: &mut Vec<Diagnostic>) {
    let mut paths = BTreeSet::new();
    for draft in drafts {
        let (entry, directory) = (&draft.entry, draft.directory());
        paths.insert((entry.root, entry.file_path.clone()));
        let files = entry.files.iter().filter(|it| it.bytes.is_some());
        paths.extend(files.map(|it| (entry.root, join(directory, &it.path))));
    }
    let mut folded: BTreeMap<(u32, String), &str> = BTreeMap::new();
    // A directory that cannot be stored is reported once, at its first file.
    let (mut reported, mut reported_unseen) = (BTreeSet::new(), BTreeSet::new());
    for (number, path) in &paths {
        let root = &tree.roots[*number as usize];
        if let Some((part, why)) = illegal(path)
            && reported.insert((*number, part))
        {
            let message = format!("Windows cannot store `{}`: {why}", file_name(part));
            let diagnostic = Diagnostic::new(Code::WindowsName, root.shown(path), message);
            out.push(diagnostic.help("rename it; nobody can clone or unpack the skill there"));
        }
        let directories = path.match_indices('/').map(|it| it.0);
        for end in directories.chain([path.len()]) {
            let part = &path[..end];
            if let Some((code, character)) = unseen_in_name(file_name(part))
                && reported_unseen.insert((*number, part))
            {
                let message = format!(
                    "the name has U+{:04X}, which does not show",
                    u32::from(character)
                );
                let diagnostic = Diagnostic::new(code, root.shown(path), message);
                out.push(diagnostic.help("rename it; it looks like another name"));
            }
        }
        match folded.entry((*number, fold(path))) {
            Entry::Vacant(free) => _ = free.insert(path),
            Entry::Occupied(other) => {
                let other = other.get();
                let how = if path.to_lowercase() == other.to_lowercase() {
                    "case"
                } else {
                    "Unicode form"
                };
                let message = format!("`{path}` and `{other}` differ in {how} alone");
                let diagnostic = Diagnostic::new(Code::PathClash, root.shown(path), message);
                let diagnostic = diagnostic.related_in(root.shown(other), None, "the other one");
                out.push(diagnostic.help("rename one; macOS and Windows keep only one of them"));
            }
        }
    }
}

/// The first part of a path, with what precedes it, that Windows cannot store, and why.
fn illegal(path: &str) -> Option<(&str, String)> {
    let mut end = 0;
    for name in path.split('/') {
        end += name.len();
        if let Some(why) = illegal_name(name) {
            return Some((&path[..end], why));
        }
        end += 1;
    }
    let length = path.chars().count();
    (length > MOST_CHARACTERS).then(|| (path, format!("the path has {length} characters")))
}

fn illegal_name(name: &str) -> Option<String> {
    let device = name.split('.').next().unwrap_or_default();
    let device = device.trim_end().to_lowercase();
    let is_numbered = |it: &&str| {
        let number = device.strip_prefix(*it);
        let is_digit = |it: char| matches!(it, '1'..='9' | '¹' | '²' | '³');
        number.is_some_and(|it| it.chars().count() == 1 && it.chars().all(is_digit))
    };
    if DEVICES.contains(&device.as_str()) || NUMBERED_DEVICES.iter().any(is_numbered) {
        return Some("the name belongs to a device".to_owned());
    }
    let is_forbidden = |it: &char| FORBIDDEN.contains(*it) || u32::from(*it) < 0x20;
    if let Some(character) = name.chars().find(is_forbidden) {
        return Some(format!("the name has `{}`", character.escape_default()));
    }
    match name.chars().last() {
        Some('.') => Some("the name ends in a dot".to_owned()),
        Some(' ') => Some("the name ends in a space".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_windows_cannot_store_are_known() {
        for (path, part) in [
            ("a/b.md", None),
            ("console.md", None),
            ("com10", None),
            ("com", None),
            (".env", None),
            ("a/CON", Some("a/CON")),
            ("aux.txt/b", Some("aux.txt")),
            ("a/Nul.tar.gz", Some("a/Nul.tar.gz")),
            ("LPT1", Some("LPT1")),
            ("com².txt", Some("com².txt")),
            ("a/b./c", Some("a/b.")),
            ("a /b", Some("a ")),
            ("a:b", Some("a:b")),
            ("what?.md", Some("what?.md")),
            ("a\u{1}b", Some("a\u{1}b")),
        ] {
            let found = illegal(path).map(|it| it.0);
            assert_eq!(found, part, "{path}");
        }
        let long = "ü/".repeat(121);
        assert!(illegal(&long[..long.len() - 1]).is_some());
        assert!(illegal(&"ü/".repeat(120)[..359]).is_none());
    }
}
