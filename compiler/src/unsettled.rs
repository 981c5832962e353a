//! Leaves skills as they were whose files are in the middle of a change while they are read. A skill
//! is left as it was as a whole, its files included; one that is new is left out. So one file that
//! takes long to write holds back no other skill.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf, absolute};

use skillbundle_format::SkillSet;

use crate::draft::Draft;
use crate::paths::{ancestors, directory, is_markdown, is_skill_file, join, stem};
use crate::reuse::{kept, skills_by_file};
use crate::source::{Tree, TreeRoot};
use crate::{Root, config};

/// The places that are left as they were.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Unsettled {
    /// By root; each path stands for everything below it too.
    roots: Vec<BTreeSet<String>>,
}

impl Unsettled {
    /// The skills to which these paths belong. `None` if so much depends on one of them that nothing
    /// can be read now: a root, or the settings.
    pub(crate) fn new(
        paths: &[PathBuf],
        tree: &Tree,
        roots: &[Root],
        previous: &SkillSet,
    ) -> Option<Self> {
        if paths.is_empty() {
            return Some(Self::default());
        }
        let previous = skills_by_file(roots, previous);
        let mut unsettled = Self {
            roots: vec![BTreeSet::new(); tree.roots.len()],
        };
        for (index, (root, held)) in tree.roots.iter().zip(&mut unsettled.roots).enumerate() {
            let skills = previous.keys().filter(|(root, _)| *root == index);
            let files = Files {
                root,
                earlier: skills.map(|(_, path)| *path).collect(),
            };
            for path in paths {
                let dir = absolute(&root.dir);
                if root.real.starts_with(path) || dir.is_ok_and(|it| it.starts_with(path)) {
                    return None;
                }
                for path in root.paths_of(path) {
                    if path == config::CONFIG {
                        return None;
                    }
                    held.extend(files.owner(&path));
                }
            }
        }
        Some(unsettled)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.roots.iter().all(BTreeSet::is_empty)
    }

    /// Whether everything that `other` holds is held here.
    pub(crate) fn includes(&self, other: &Self) -> bool {
        let held = other.roots.iter().enumerate();
        held.flat_map(|(root, paths)| paths.iter().map(move |path| (root, path)))
            .all(|(root, path)| self.covers(root, path))
    }

    /// Holds what `other` holds too.
    pub(crate) fn extend(&mut self, other: Self) {
        self.roots.resize_with(other.roots.len(), BTreeSet::new);
        for (paths, more) in self.roots.iter_mut().zip(other.roots) {
            paths.extend(more);
        }
    }

    fn covers(&self, root: usize, path: &str) -> bool {
        let held = |path: &str| self.roots.get(root).is_some_and(|it| it.contains(path));
        held(path) || ancestors(path).any(held)
    }

    /// Removes the places from the tree.
    pub(crate) fn prune(&self, tree: &mut Tree) {
        for (index, root) in tree.roots.iter_mut().enumerate() {
            root.entries.retain(|it| !self.covers(index, &it.path));
            root.declared.retain(|it| !self.covers(index, &it.path));
        }
    }

    /// The drafts of the skills that were there before.
    pub(crate) fn kept(&self, tree: &Tree, roots: &[Root], previous: &SkillSet) -> Vec<Draft> {
        if self.is_empty() {
            return Vec::new();
        }
        let skills = skills_by_file(roots, previous).into_iter();
        let held = skills.filter(|((root, path), _)| self.covers(*root, path));
        held.map(|((root, path), skill)| {
            let shown = tree.roots[root].shown(path);
            kept(skill, u32::try_from(root).unwrap_or(u32::MAX), shown)
        })
        .collect()
    }
}

/// The skills' files of one root: those that are there, and those of the skills before.
struct Files<'a> {
    root: &'a TreeRoot,
    earlier: BTreeSet<&'a str>,
}

impl Files<'_> {
    fn has(&self, path: &str) -> bool {
        self.root.has(path) || self.earlier.contains(path)
    }

    fn is_skill(&self, place: &str) -> bool {
        let is_its_file = |path: &str| is_skill_file(path) && directory(path) == place;
        let edge = join(place, "");
        let earlier = self.earlier.range(edge.as_str()..);
        let mut earlier = earlier.take_while(|path| path.starts_with(&edge));
        let mut now = self.root.entries[self.root.below(place)].iter();
        earlier.any(|path| is_its_file(path)) || now.any(|it| is_its_file(&it.path))
    }

    /// What to leave as it was if this path is in the middle of a change: the skill that it belongs
    /// to, or else the path itself.
    fn owner(&self, path: &str) -> Vec<String> {
        let mut around = std::iter::once(path).chain(ancestors(path));
        if let Some(skill) = around.find(|it| self.is_skill(it)) {
            return vec![skill.to_owned()];
        }
        let page_of = |directory: &str| Some(format!("{directory}.md")).filter(|it| self.has(it));
        let page = if is_markdown(path) {
            Some(path.to_owned())
        } else {
            std::iter::once(path)
                .chain(ancestors(path))
                .find_map(page_of)
        };
        match page {
            Some(page) => vec![stem(&page).to_owned(), page],
            None => vec![path.to_owned()],
        }
    }
}

impl TreeRoot {
    /// The paths in this root that lead to a place on disk, which need not exist any more.
    fn paths_of(&self, place: &Path) -> Vec<String> {
        let relative = |from: &Path| Some(place.strip_prefix(from).ok()?.to_str()?.to_owned());
        let linked = self.entries.iter().filter(|it| it.by_link);
        let by_link = linked.filter_map(|it| match relative(&it.real)? {
            below if below.is_empty() => Some(it.path.clone()),
            below => it.is_directory.then(|| join(&it.path, &below)),
        });
        relative(&self.real).into_iter().chain(by_link).collect()
    }
}
