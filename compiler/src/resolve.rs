//! From drafts to one set: order, identities, unique paths, name conflicts and parents.
//! Of two skills with one identity in two roots the first is offered; the other stays
//! in the set, shadowed. In one root, a skill whose path is taken is left out; one
//! whose name is taken stays and is found by its path.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use skillbundle_format::{Dialect, RootEntry, identify};
use skillbundle_search::text::fold;
use unicode_normalization::UnicodeNormalization;

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::draft::Draft;
use crate::paths::directory;

/// Sorts the drafts into listing order with the shadowed ones last, drops those whose
/// path is taken in their root, and sets parents.
pub(crate) fn resolve(
    mut drafts: Vec<Draft>,
    roots: &[RootEntry],
    out: &mut Vec<Diagnostic>,
) -> Vec<Draft> {
    drafts.sort_by(|a, b| order(a).cmp(&order(b)));
    let pages = page_paths(&drafts);
    let mut drafts = unique_paths(drafts, out);
    let mut entries: Vec<_> = drafts.iter_mut().map(|draft| &mut draft.entry).collect();
    let winners = identify(roots, &mut entries);
    for (loser, winner) in drafts.iter().zip(winners) {
        out.extend(winner.map(|winner| shadowed(&drafts[winner], loser)));
    }
    drafts.sort_by_key(|draft| draft.entry.shadowed);
    let offered = drafts.partition_point(|draft| !draft.entry.shadowed);
    check_names(&drafts[..offered], out);
    set_parents(&mut drafts, &pages);
    drafts
}

/// Roots in their order; in a root, dot folders last, then bytewise by path. The
/// file's path breaks ties.
fn order(draft: &Draft) -> impl Ord + '_ {
    let entry = &draft.entry;
    let is_root = !entry.file_path.contains('/');
    let position = (entry.root, draft.in_dot_folder, &entry.path);
    (
        position,
        entry.dialect == Dialect::Tree,
        is_root,
        &entry.file_path,
    )
}

/// The paths of each root's pages, including those that will lose their path.
fn page_paths(drafts: &[Draft]) -> BTreeSet<(u32, String)> {
    let pages = drafts.iter().filter(|it| it.entry.dialect == Dialect::Tree);
    pages
        .map(|it| (it.entry.root, it.entry.path.clone()))
        .collect()
}

/// The first in order keeps a path in its root: folder skills come before pages, and a
/// root that is itself a skill comes after its folders.
fn unique_paths(drafts: Vec<Draft>, out: &mut Vec<Diagnostic>) -> Vec<Draft> {
    let mut owners: HashMap<(u32, String), usize> = HashMap::new();
    let mut kept: Vec<Draft> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let key = (draft.entry.root, draft.entry.path.clone());
        if let Some(&owner) = owners.get(&key) {
            out.push(path_taken(&kept[owner], &draft));
        } else {
            owners.insert(key, kept.len());
            kept.push(draft);
        }
    }
    kept
}

fn path_taken(winner: &Draft, loser: &Draft) -> Diagnostic {
    let path = &loser.entry.path;
    let message = format!("this skill is not served: its path `{path}` is taken");
    Diagnostic::new(Code::DuplicatePath, loser.shown.as_str(), message)
        .related_in(&winner.shown, None, "this skill has the path")
        .help("rename one of the two")
}

fn shadowed(winner: &Draft, loser: &Draft) -> Diagnostic {
    let same = winner.entry.source == loser.entry.source;
    let how = if same { "the same" } else { "a different" };
    let identity = match loser.entry.dialect {
        Dialect::Folder => &loser.entry.name,
        Dialect::Tree => loser.entry.own_path(),
    };
    let message = format!("this skill is not offered: an earlier root has {how} `{identity}`");
    let diagnostic = Diagnostic::new(Code::SkillShadowed, loser.shown.as_str(), message)
        .related_in(&winner.shown, None, "this skill is offered instead")
        .help(format!("`skill://{}` finds this one", loser.entry.path));
    if same {
        diagnostic.severity(Severity::Info)
    } else {
        diagnostic
    }
}

/// Reports equal names. A lookup compares them in lower case; names that differ only
/// in Unicode composition look equal to people.
fn check_names(drafts: &[Draft], out: &mut Vec<Diagnostic>) {
    let names: BTreeSet<String> = drafts.iter().map(|draft| fold(&draft.entry.name)).collect();
    let mut owners: BTreeMap<String, &Draft> = BTreeMap::new();
    // Hosts that read one folder keep one skill for a name. They compare names exactly.
    let mut in_folders = HashSet::new();
    let mut looks = Looks::of(drafts);
    for draft in drafts {
        let name = draft.entry.name.as_str();
        let is_lost_elsewhere = !in_folders.insert((home(draft), name));
        let folded = fold(name).nfkc().collect::<String>();
        let alike = looks.first_like(draft, &folded);
        let Some(owner) = owners.get(&folded).copied().or(alike) else {
            owners.insert(folded, draft);
            continue;
        };
        let (first, path) = (&owner.entry, &draft.entry.path);
        let message = if fold(name) == fold(&first.name) {
            format!(
                "the name `{name}` finds `{}`, which comes first",
                first.path
            )
        } else {
            format!("the name `{name}` looks like the name of `{}`", first.path)
        };
        let help = format!(
            "give one of the two another name; `{}` finds this skill",
            unique_key(path, &names)
        );
        let diagnostic = Diagnostic::new(Code::DuplicateName, draft.shown.as_str(), message);
        let diagnostic = diagnostic.at(draft.name_span).help(help);
        let note = format!("this skill is called `{}`", first.name);
        let diagnostic = diagnostic.related_in(&owner.shown, None, note);
        out.push(if is_lost_elsewhere {
            diagnostic
        } else if draft.entry.source == first.source {
            // With a copy it does not matter which of the two is found.
            diagnostic.severity(Severity::Info)
        } else {
            diagnostic.severity(Severity::Warning)
        });
    }
}

/// What names look like, if one of them is not ASCII: the skeletons of Unicode TR 39, in which the
/// Cyrillic а is a Latin a. Those of two ASCII names are not compared, since `m` looks like `rn` there.
struct Looks<'a>(Option<HashMap<String, &'a Draft>>);

impl<'a> Looks<'a> {
    fn of(drafts: &[Draft]) -> Self {
        let is_needed = drafts.iter().any(|it| !it.entry.name.is_ascii());
        Self(is_needed.then(HashMap::new))
    }

    /// The first skill whose name looks like this one, which is given in its folded form.
    fn first_like(&mut self, draft: &'a Draft, name: &str) -> Option<&'a Draft> {
        let skeleton = unicode_security::skeleton(name).collect();
        let first = *self.0.as_mut()?.entry(skeleton).or_insert(draft);
        let is_ascii = draft.entry.name.is_ascii() && first.entry.name.is_ascii();
        (!is_ascii && !std::ptr::eq(first, draft)).then_some(first)
    }
}

/// The root and the folder in which a host finds a skill.
fn home(draft: &Draft) -> (u32, &str) {
    let entry = &draft.entry;
    let above = directory(&entry.file_path);
    match entry.dialect {
        Dialect::Folder => (entry.root, directory(above)),
        Dialect::Tree => (entry.root, above),
    }
}

/// What finds a skill whose name finds another one: its path, or its URI if the path
/// is also a name, since names come first.
fn unique_key(path: &str, names: &BTreeSet<String>) -> String {
    if names.contains(&fold(path)) {
        format!("skill://{path}")
    } else {
        path.to_owned()
    }
}

/// Spec 3 §4.4. If a parent does not exist, its own parent is used. A page only
/// inherits along paths that exist in its own root; if an earlier root has a page
/// with such a path, the path means that page.
fn set_parents(drafts: &mut [Draft], pages: &BTreeSet<(u32, String)>) {
    let owners: HashMap<String, u32> = (0u32..)
        .zip(drafts.iter())
        .filter(|(_, draft)| draft.entry.dialect == Dialect::Tree && !draft.entry.shadowed)
        .map(|(index, draft)| (draft.entry.path.clone(), index))
        .collect();
    for draft in drafts
        .iter_mut()
        .filter(|it| it.entry.dialect == Dialect::Tree)
    {
        let root = draft.entry.root;
        let mut parent = parent_path(draft.entry.own_path());
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

/// The path that a page inherits from, if it exists.
fn parent_path(path: &str) -> Option<String> {
    if path == "_root" {
        return None;
    }
    let (mut directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    if name == "_index" {
        // The parent of a directory's page is one directory up.
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
