//! What an earlier compilation contributes to the next one: the drafts of files that have not
//! changed since then, so that only what moved is read and parsed.
//!
//! A draft is taken over if every name, time and size that it was made from is the same, and if
//! compiling it gave no finding. Files with findings are parsed again, so that each compilation
//! reports all of them. Names, parents and duplicates are resolved anew every time.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use skillbundle_format::{SkillEntry, SkillSet};

use crate::diagnostic::Diagnostic;
use crate::discover::{Discovery, FileKind, classify};
use crate::draft::{Draft, FileOrigin};
use crate::paths::{directory, is_skill_file, stem};
use crate::source::{FileId, Tree, TreeEntry, TreeRoot};
use crate::{Root, config, root_entry};

/// What a compilation leaves for the next one.
#[derive(Debug, Clone, Default)]
pub struct Previous {
    /// The skills.
    pub set: SkillSet,
    /// The states of the files that they were made from.
    pub states: FileStates,
}

/// The states of Markdown files that compiled without a finding: some twenty bytes for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileStates(HashMap<u64, State>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    /// A hash of everything that the file's draft was made from, except contents.
    hash: u64,
    traits: Traits,
}

/// What is known of a Markdown file without reading it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// Whether it became a skill.
    pub(crate) is_skill: bool,
    /// Whether it has keywords.
    pub(crate) has_keywords: bool,
    /// Whether it has no frontmatter.
    pub(crate) is_plain: bool,
}

/// Bytes of one state when stored: key, hash, traits.
const STORED: usize = 17;

impl FileStates {
    /// The states as bytes, to be stored beside the skills.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * STORED);
        for (key, State { hash, traits }) in &self.0 {
            bytes.extend(key.to_le_bytes());
            bytes.extend(hash.to_le_bytes());
            bytes.push(
                u8::from(traits.is_skill)
                    | u8::from(traits.has_keywords) << 1
                    | u8::from(traits.is_plain) << 2,
            );
        }
        bytes
    }

    /// The states in these bytes. Anything else than the result of [`Self::to_bytes`] gives some
    /// states that fit no file.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let (states, _) = bytes.as_chunks::<STORED>();
        let number = |bytes: &[u8]| {
            bytes
                .iter()
                .rev()
                .fold(0, |all, &it| all << 8 | u64::from(it))
        };
        let state = |state: &[u8; STORED]| {
            let traits = state[STORED - 1];
            let traits = Traits {
                is_skill: traits & 1 != 0,
                has_keywords: traits & 2 != 0,
                is_plain: traits & 4 != 0,
            };
            let hash = number(&state[8..16]);
            (number(&state[..8]), State { hash, traits })
        };
        Self(states.iter().map(state).collect())
    }
}

/// The files that need not be read.
#[derive(Debug, Default)]
pub(crate) struct Reuse<'a> {
    files: HashMap<FileId, (Traits, Option<&'a SkillEntry>)>,
}

impl<'a> Reuse<'a> {
    /// Compares the tree with what the earlier compilation has left.
    pub(crate) fn new(
        tree: &Tree,
        roots: &[Root],
        discovered: &[Discovery],
        previous: &'a Previous,
    ) -> Self {
        let mut reuse = Self::default();
        if previous.states.0.is_empty() {
            return reuse;
        }
        let skills = skills_by_file(roots, &previous.set);
        for discovery in discovered {
            for id in discovery.markdown() {
                let root = &tree.roots[id.root];
                let path = tree.entry(id).path.as_str();
                let Some(state) = previous.states.0.get(&key(root, path)) else {
                    continue;
                };
                let skill = skills.get(&(id.root, path)).copied();
                // A file that was none may have become a page by a marker above it.
                let is_page = classify(path, false, &discovery.claims) == FileKind::Page;
                let is_known = match skill {
                    Some(_) => state.traits.is_skill,
                    None => !state.traits.is_skill && !is_page,
                };
                if is_known && state.hash == hash_of(tree, id) {
                    reuse.files.insert(id, (state.traits, skill));
                }
            }
        }
        reuse
    }

    /// What is known of a file; `None` if it has to be read.
    pub(crate) fn traits(&self, id: FileId) -> Option<Traits> {
        self.files.get(&id).map(|(traits, _)| *traits)
    }

    /// The draft of a file that has not changed.
    pub(crate) fn draft(&self, tree: &Tree, id: FileId) -> Option<Draft> {
        let (_, skill) = self.files.get(&id)?;
        let root = u32::try_from(id.root).unwrap_or(u32::MAX);
        Some(kept((*skill)?, root, tree.shown(id)))
    }
}

/// A draft as it was compiled before.
pub(crate) fn kept(skill: &SkillEntry, root: u32, shown: String) -> Draft {
    let mut entry = skill.clone();
    let content = FileOrigin::Kept(std::mem::take(&mut entry.files));
    entry.reset_identity();
    entry.root = root;
    entry.parent = None;
    Draft::new(entry, shown, None, content)
}

/// The skills of an earlier compilation by their root now and their file.
pub(crate) fn skills_by_file<'a>(
    roots: &[Root],
    previous: &'a SkillSet,
) -> HashMap<(usize, &'a str), &'a SkillEntry> {
    let now = |old: u32| {
        let old = previous.roots.get(old as usize)?;
        roots.iter().position(|root| root_entry(root) == *old)
    };
    let roots: Vec<Option<usize>> = (0u32..).take(previous.roots.len()).map(now).collect();
    let skills = previous.skills.iter();
    skills
        .filter_map(|skill| {
            let root = (*roots.get(skill.root as usize)?)?;
            Some(((root, skill.file_path.as_str()), skill))
        })
        .collect()
}

/// The states to leave for the next compilation: of the files that gave no finding.
pub(crate) fn states(
    tree: &Tree,
    read: &[(FileId, Traits)],
    findings: &[Diagnostic],
) -> FileStates {
    let related = findings.iter().flat_map(|it| &it.related);
    let files = findings.iter().map(|it| it.file.as_str());
    let files: BTreeSet<&str> = files
        .chain(related.filter_map(|it| it.file.as_deref()))
        .collect();
    let mut states = HashMap::with_capacity(read.len());
    for &(id, traits) in read {
        let root = &tree.roots[id.root];
        let path = tree.entry(id).path.as_str();
        let below = root.shown(own_directory(path));
        let has_finding = files.contains(tree.shown(id).as_str())
            || files
                .range(below.as_str()..)
                .take_while(|file| file.starts_with(&below))
                .any(|file| file.len() == below.len() || file[below.len()..].starts_with('/'));
        if !has_finding {
            let hash = hash_of(tree, id);
            states.insert(key(root, path), State { hash, traits });
        }
    }
    FileStates(states)
}

/// The directory that belongs to a file: that of a `SKILL.md`, the resources of a page.
fn own_directory(path: &str) -> &str {
    if is_skill_file(path) {
        directory(path)
    } else {
        stem(path)
    }
}

/// Identifies a file.
fn key(root: &TreeRoot, path: &str) -> u64 {
    let mut hash = DefaultHasher::new();
    (&root.dir, path).hash(&mut hash);
    hash.finish()
}

/// A hash of everything that decides what a file compiles to, except contents: its own name, time
/// and size, those of the files that belong to it, and those of the settings.
fn hash_of(tree: &Tree, id: FileId) -> u64 {
    let mut hash = DefaultHasher::new();
    let root = &tree.roots[id.root];
    let entry = tree.entry(id);
    entry.state().hash(&mut hash);
    let own = own_directory(&entry.path);
    for file in root.below(own).chain(root.declared_below(own)) {
        root.get(file).map(TreeEntry::state).hash(&mut hash);
    }
    for settings in config::files(tree) {
        tree.entry(settings).state().hash(&mut hash);
    }
    hash.finish()
}
