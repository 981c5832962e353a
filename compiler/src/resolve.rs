//! From drafts to one set: order, paths that are taken, names that are taken,
//! and parents. What loses a path is left out; what loses a name stays, and is
//! reached by its path.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use skillbundle_format::Dialect;
use unicode_normalization::UnicodeNormalization;

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::dialect::Draft;

/// Sorts the drafts into listing order, leaves out those whose path is taken,
/// and gives each its parent.
pub(crate) fn resolve(mut drafts: Vec<Draft>, out: &mut Vec<Diagnostic>) -> Vec<Draft> {
    drafts.sort_by(|a, b| order(a).cmp(&order(b)));
    let pages = page_paths(&drafts);
    let mut drafts = unique_paths(drafts, out);
    check_names(&drafts, out);
    set_parents(&mut drafts, &pages);
    drafts
}

/// Roots in their order; in a root first what no dot folder holds, then
/// bytewise by path. The file's path tells twins apart.
fn order(draft: &Draft) -> impl Ord + '_ {
    let entry = &draft.entry;
    let is_root = !entry.file_path.contains('/');
    let place = (entry.root, draft.in_dot_folder, &entry.path);
    (
        place,
        entry.dialect == Dialect::Tree,
        is_root,
        &entry.file_path,
    )
}

/// The paths of each root's pages, those included that lose their path.
fn page_paths(drafts: &[Draft]) -> BTreeSet<(u32, String)> {
    let pages = drafts.iter().filter(|it| it.entry.dialect == Dialect::Tree);
    pages
        .map(|it| (it.entry.root, it.entry.path.clone()))
        .collect()
}

/// The first in order keeps a path. Within a root the folder dialect comes
/// before the tree, and a root that is itself a skill after its folders.
fn unique_paths(drafts: Vec<Draft>, out: &mut Vec<Diagnostic>) -> Vec<Draft> {
    let mut owners: HashMap<String, usize> = HashMap::new();
    let mut kept: Vec<Draft> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        if let Some(&owner) = owners.get(&draft.entry.path) {
            out.push(path_taken(&kept[owner], &draft));
        } else {
            owners.insert(draft.entry.path.clone(), kept.len());
            kept.push(draft);
        }
    }
    kept
}

fn path_taken(winner: &Draft, loser: &Draft) -> Diagnostic {
    let path = &loser.entry.path;
    if winner.entry.root == loser.entry.root {
        let message = format!(
            "this skill is not served: its path `{path}` is taken by `{}`",
            winner.shown
        );
        let finding = Diagnostic::new(Code::DuplicatePath, loser.shown.as_str(), message);
        return finding
            .related_in(&winner.shown, None, "has the path")
            .help("rename one of the two");
    }
    let same = winner.entry.source == loser.entry.source;
    let what = if same {
        "the same text"
    } else {
        "another text"
    };
    let message = format!("this skill is not served: an earlier root has `{path}`, with {what}");
    let finding = Diagnostic::new(Code::SkillShadowed, loser.shown.as_str(), message);
    let severity = if same {
        Severity::Info
    } else {
        Code::SkillShadowed.severity()
    };
    finding
        .related_in(&winner.shown, None, "is served instead")
        .severity(severity)
}

/// Names are looked up in lower case. Two that differ in nothing but how their
/// letters are composed are told apart by machines only.
fn check_names(drafts: &[Draft], out: &mut Vec<Diagnostic>) {
    let names: BTreeSet<String> = drafts.iter().map(|draft| fold(&draft.entry.name)).collect();
    let mut owners: BTreeMap<String, &Draft> = BTreeMap::new();
    for draft in drafts {
        let name = draft.entry.name.as_str();
        let folded = fold(name).nfkc().collect::<String>();
        let Some(owner) = owners.get(&folded) else {
            owners.insert(folded, draft);
            continue;
        };
        let (first, path) = (&owner.entry, &draft.entry.path);
        let message = if fold(name) == fold(&first.name) {
            format!(
                "`{name}` is also the name of `{}`, which comes first; this skill is found as `{}`",
                first.path,
                way_to(path, &names)
            )
        } else {
            format!(
                "`{name}` looks like the name of `{}` and is another one",
                first.path
            )
        };
        let finding = Diagnostic::new(Code::DuplicateName, draft.shown.as_str(), message);
        let finding = finding
            .at(draft.name_span)
            .help("give one of the two another name");
        // A copy is found under its name whichever of the two is found.
        let is_copy = draft.entry.source == first.source;
        let severity = if is_copy {
            Severity::Info
        } else {
            Code::DuplicateName.severity()
        };
        let finding = finding.severity(severity);
        out.push(finding.related_in(&owner.shown, None, format!("is called `{}`", first.name)));
    }
}

/// What leads to a skill that has lost its name: its path, or its address where
/// the path is a name too, since names come first.
fn way_to(path: &str, names: &BTreeSet<String>) -> String {
    if names.contains(&fold(path)) {
        format!("skill://{path}")
    } else {
        path.to_owned()
    }
}

/// How a name is compared: as the bundle looks it up.
fn fold(name: &str) -> String {
    name.trim().chars().flat_map(char::to_lowercase).collect()
}

/// Spec 3 §4.4. A parent that does not exist is passed over for its own parent.
/// A page inherits only along paths that exist in its own root; where an
/// earlier root has a page of such a path, that page is what the path means.
fn set_parents(drafts: &mut [Draft], pages: &BTreeSet<(u32, String)>) {
    let owners: HashMap<String, u32> = (0u32..)
        .zip(drafts.iter())
        .filter(|(_, draft)| draft.entry.dialect == Dialect::Tree)
        .map(|(index, draft)| (draft.entry.path.clone(), index))
        .collect();
    for draft in drafts
        .iter_mut()
        .filter(|it| it.entry.dialect == Dialect::Tree)
    {
        let root = draft.entry.root;
        let mut parent = parent_path(&draft.entry.path);
        while let Some(path) = parent {
            let in_root = pages.contains(&(root, path.clone()));
            if let Some(&index) = owners.get(&path).filter(|_| in_root) {
                draft.entry.parent = Some(index);
                break;
            }
            parent = parent_path(&path);
        }
    }
}

/// The path that a page inherits from if it is there.
fn parent_path(path: &str) -> Option<String> {
    if path == "_root" {
        return None;
    }
    let (mut directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    if name == "_index" {
        // The parent of a directory's page lies one directory up.
        if directory.is_empty() {
            return Some("_root".to_owned());
        }
        directory = directory.rsplit_once('/').map_or("", |(above, _)| above);
    }
    Some(if directory.is_empty() {
        "_root".to_owned()
    } else {
        format!("{directory}/_index")
    })
}

#[cfg(test)]
mod tests;
