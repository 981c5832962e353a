//! Reads roots from disk into a [`Tree`]: sorted names, sizes, and the bytes of
//! the files that a pass asks for. The only module that reads skill trees; it does
//! not know what a skill is.

mod content_root;
mod declared;
mod ignore;
mod links;
mod platform;
mod read;
mod read_error;
mod walk;
mod walked_paths;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

pub(crate) use declared::is_left_out;
pub(crate) use ignore::{is_below_hidden, is_hidden, is_junk, is_never_read, is_version_control};
pub(crate) use read_error::{Cause, ReadError, Relevance, diagnostics};
pub(crate) use walked_paths::walked_paths;

use skillbundle_format::MAX_FILE_BYTES;
use skillbundle_search::parallel;

use crate::Root;
use crate::paths::is_within;

/// Fewer files are read faster than a thread starts.
const LEAST_FILES: usize = 32;

/// Upper bounds of what is read: far above real skill trees, so that they only
/// limit what a hostile one can cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Levels of directories below a root.
    pub(crate) depth: usize,
    /// Files and directories of one root.
    pub(crate) entries: usize,
    /// Bytes of one file.
    pub(crate) file_bytes: u64,
    /// Bytes of all files together.
    pub(crate) total_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Hosts walk 4 to 6 levels; the deepest real file is 11 deep.
            depth: 16,
            // The largest real repository of skills has 14,000 files. A root can have its own
            // limit.
            entries: 100_000,
            file_bytes: MAX_FILE_BYTES,
            // Everything is held in memory once.
            total_bytes: 1 << 30,
        }
    }
}

/// Bytes that are allowed for each file of a root whose number of files is limited explicitly: the
/// size of a typical skill, for trees where each is followed by a directory and small files.
const EXPECTED_BYTES: u64 = 4096;

/// All roots, as they are on disk.
#[derive(Debug)]
pub(crate) struct Tree {
    /// One for each requested root, in that order; then the content roots around some of them, each
    /// with at most one file.
    pub(crate) roots: Vec<TreeRoot>,
    /// Texts that take the place of what is on disk, by real paths.
    pub(crate) edited: BTreeMap<PathBuf, Arc<[u8]>>,
    limits: Limits,
    /// Bytes that may still be read.
    budget: u64,
    /// How many files have been read.
    pub(crate) reads: usize,
}

/// One root.
#[derive(Debug)]
pub(crate) struct TreeRoot {
    /// As the user wrote it.
    pub(crate) dir: PathBuf,
    /// Its real path, with every link resolved; `dir` if it cannot be read.
    pub(crate) real: PathBuf,
    /// The index of the root that this one is the content root of: see `content_root`.
    pub(crate) within: Option<usize>,
    /// Everything below it, sorted bytewise by path.
    pub(crate) entries: Vec<TreeEntry>,
    /// Declared files that the walk leaves out, sorted by path: see `declared`. Their numbers follow
    /// those of the entries.
    pub(crate) declared: Vec<TreeEntry>,
    /// The paths at which such files were looked for.
    pub(crate) declared_paths: BTreeSet<String>,
    /// What could not or must not be read, sorted by path.
    pub(crate) read_errors: Vec<ReadError>,
}

/// A file or directory below a root.
#[derive(Debug)]
pub(crate) struct TreeEntry {
    /// Relative to the root, `/`-separated, as stored on disk.
    pub(crate) path: String,
    /// Its real path, with every link resolved.
    pub(crate) real: PathBuf,
    /// Whether it was reached through a link.
    pub(crate) by_link: bool,
    /// Whether it is a directory.
    pub(crate) is_directory: bool,
    /// Size of the file.
    pub(crate) size: u64,
    /// Whether the file may be executed.
    pub(crate) executable: bool,
    /// The number of names (hard links) of the file.
    pub(crate) hard_links: u64,
    /// The content, if it was requested and could be read.
    pub(crate) bytes: Option<Arc<[u8]>>,
    /// Its size, if it was requested and is larger than what may be read.
    pub(crate) unread: Option<u64>,
    stamp: [u64; 6],
    mode: u32,
}

/// A file of a [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileId {
    /// Index of its root.
    pub(crate) root: usize,
    /// Index of its entry; those of declared files follow.
    pub(crate) entry: usize,
}

/// Walks every root: names, sizes and times, no content. A root that cannot be
/// opened is empty and has a read error.
pub(crate) fn walk(roots: &[Root], limits: Limits) -> Tree {
    // Who expects many files in a root expects as many texts.
    let expected = roots.iter().filter_map(|root| root.max_files);
    let expected = expected.map(|files| files as u64 * EXPECTED_BYTES).sum();
    let limits = Limits {
        total_bytes: limits.total_bytes.max(expected),
        ..limits
    };
    let tree_root = |root: &Root| {
        let entries = root.max_files.unwrap_or(limits.entries);
        let limits = Limits { entries, ..limits };
        let mut walked = walk_root(&root.dir, limits);
        walked.look_at(root.declared.iter().cloned().collect(), limits, false);
        walked
    };
    let mut walked: Vec<_> = roots.iter().map(tree_root).collect();
    for (index, root) in roots.iter().enumerate() {
        walked.extend(content_root::around(index, &root.dir));
    }
    Tree {
        roots: walked,
        edited: BTreeMap::new(),
        limits,
        budget: limits.total_bytes,
        reads: 0,
    }
}

fn walk_root(dir: &Path, limits: Limits) -> TreeRoot {
    let (real, (mut entries, mut read_errors)) = match resolve_root(dir) {
        Ok(real) => (real.clone(), walk::root(&real, limits)),
        Err(error) => (dir.to_owned(), (Vec::new(), vec![ReadError::root(&error)])),
    };
    entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    read_errors.sort();
    TreeRoot {
        dir: dir.to_owned(),
        real,
        within: None,
        entries,
        declared: Vec::new(),
        declared_paths: BTreeSet::new(),
        read_errors,
    }
}

/// Resolves a root that may itself be a link.
fn resolve_root(dir: &Path) -> io::Result<PathBuf> {
    let real = fs::canonicalize(dir)?;
    // Fails for a file or a locked directory, with the right error.
    fs::read_dir(&real)?;
    Ok(real)
}

impl Tree {
    /// Reads the content of files of at most `file_bytes` bytes, each once. A file
    /// that cannot be read keeps its entry without bytes and gets a read error.
    pub(crate) fn read(&mut self, wanted: impl IntoIterator<Item = FileId>, file_bytes: u64) {
        let limits = Limits {
            file_bytes: file_bytes.min(self.limits.file_bytes),
            ..self.limits
        };
        // The sizes of the walk decide what the budget allows, so that it does not depend on the
        // order in which threads read. A file that grew since then moves the fingerprint.
        let mut budget = self.budget;
        let mut jobs: Vec<(FileId, u64)> = Vec::new();
        for id in wanted {
            let entry = self.roots[id.root].get(id.entry);
            let Some(entry) = entry.filter(|it| it.bytes.is_none() && !it.is_directory) else {
                continue;
            };
            jobs.push((id, budget));
            if entry.size <= limits.file_bytes {
                budget = budget.saturating_sub(entry.size);
            }
        }
        jobs.dedup_by_key(|(id, _)| *id);
        self.reads += jobs.len();
        let results = parallel::map_chunks(&jobs, LEAST_FILES, |jobs| {
            let mut buffer = Vec::new();
            let read = jobs
                .iter()
                .map(|(id, budget)| read::file(self.entry(*id), limits, *budget, &mut buffer));
            read.collect::<Vec<_>>()
        });
        for ((id, _), result) in jobs.into_iter().zip(results.into_iter().flatten()) {
            let entry = self.roots[id.root].get_mut(id.entry);
            match result {
                Ok(bytes) => {
                    let bytes = self.edited.get(&entry.real).cloned().unwrap_or(bytes);
                    self.budget = self.budget.saturating_sub(bytes.len() as u64);
                    entry.bytes = Some(bytes);
                }
                Err(cause) => {
                    if matches!(cause, Cause::TooLarge(..) | Cause::TooMuch(_)) {
                        entry.unread = Some(entry.size);
                    }
                    let error = ReadError::new(entry.path.clone(), false, cause);
                    let read_errors = &mut self.roots[id.root].read_errors;
                    if !read_errors.contains(&error) {
                        read_errors.push(error);
                    }
                }
            }
        }
    }

    /// Drops the content of a file that nobody needs any more.
    pub(crate) fn forget(&mut self, id: FileId) {
        if let Some(bytes) = self.roots[id.root].get_mut(id.entry).bytes.take() {
            self.budget = self.budget.saturating_add(bytes.len() as u64);
        }
    }

    /// The entry of a file.
    pub(crate) fn entry(&self, id: FileId) -> &TreeEntry {
        let entry = self.roots[id.root].get(id.entry);
        entry.expect("an id of this tree")
    }

    /// Looks at exactly these declared files that the walk has left out, given by root and path.
    pub(crate) fn look_at(&mut self, paths: impl IntoIterator<Item = (usize, String)>) {
        let mut by_root = vec![BTreeSet::new(); self.roots.len()];
        for (root, path) in paths {
            by_root[root].insert(path);
        }
        for (root, paths) in self.roots.iter_mut().zip(by_root) {
            root.look_at(paths, self.limits, true);
        }
    }

    /// The file as the user would type it.
    pub(crate) fn shown(&self, id: FileId) -> String {
        self.roots[id.root].shown(&self.entry(id).path)
    }

    /// The bytes of a file, by the name that diagnostics use.
    pub(crate) fn source_of(&self, shown: &str) -> Option<Arc<[u8]>> {
        self.entry_of(shown)?.bytes.clone()
    }

    /// The entry of a file that was read, by the name that diagnostics use.
    pub(crate) fn entry_of(&self, shown: &str) -> Option<&TreeEntry> {
        self.roots.iter().find_map(|root| {
            let prefix = root.shown("x");
            let path = shown.strip_prefix(prefix.strip_suffix('x')?)?;
            let entry = root.get(root.find_declared(path)?)?;
            entry.bytes.is_some().then_some(entry)
        })
    }

    /// Whether the system has refused to read something.
    pub(crate) fn has_unreadable(&self) -> bool {
        let mut errors = self.roots.iter().flat_map(|root| &root.read_errors);
        errors.any(|it| matches!(it.cause, Cause::Unreadable(_)))
    }

    /// For each requested root the declared files that the walk leaves out.
    pub(crate) fn declared_paths(&self) -> Vec<Vec<String>> {
        let roots = self.roots.iter().filter(|root| root.within.is_none());
        roots
            .map(|root| root.declared_paths.iter().cloned().collect())
            .collect()
    }

    /// For each root a hash that changes when anything that was walked does.
    pub(crate) fn fingerprints(&self) -> Vec<u64> {
        self.roots.iter().map(TreeRoot::fingerprint).collect()
    }
}

impl TreeEntry {
    /// What changes when the file does.
    pub(crate) fn state(&self) -> impl Hash {
        // A directory's own times change when junk comes and goes.
        let content = (!self.is_directory).then_some((self.size, self.stamp));
        (&self.path, &self.real, self.mode, content)
    }
}

impl TreeRoot {
    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        // A missing root differs from an empty one.
        (&self.dir, self.cause()).hash(&mut hasher);
        for entry in self.entries.iter().chain(&self.declared) {
            entry.state().hash(&mut hasher);
        }
        self.entries.len().hash(&mut hasher);
        hasher.finish()
    }

    /// Why the root itself cannot be read.
    pub(crate) fn cause(&self) -> Option<&Cause> {
        self.read_errors
            .iter()
            .find(|it| it.path.is_empty())
            .map(|it| &it.cause)
    }

    /// The entry with this number.
    pub(crate) fn get(&self, at: usize) -> Option<&TreeEntry> {
        let declared = || self.declared.get(at - self.entries.len());
        self.entries.get(at).or_else(declared)
    }

    fn get_mut(&mut self, at: usize) -> &mut TreeEntry {
        match at.checked_sub(self.entries.len()) {
            Some(at) => &mut self.declared[at],
            None => &mut self.entries[at],
        }
    }

    /// Finds a file that a skill may declare by its path: an entry, or one that the walk leaves out.
    pub(crate) fn find_declared(&self, path: &str) -> Option<usize> {
        let declared = || {
            let found = self
                .declared
                .binary_search_by(|entry| entry.path.as_str().cmp(path));
            Some(self.entries.len() + found.ok()?)
        };
        self.find(path).or_else(declared)
    }

    /// Whether the walk has left this directory out by its name.
    pub(crate) fn ignores(&self, path: &str) -> bool {
        let mut read_errors = self.read_errors.iter();
        read_errors.any(|it| it.path == path && matches!(it.cause, Cause::Ignored(_)))
    }

    /// Finds an entry by its path.
    pub(crate) fn find(&self, path: &str) -> Option<usize> {
        self.entries
            .binary_search_by(|entry| entry.path.as_str().cmp(path))
            .ok()
    }

    /// Whether there is a file or directory at this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        path.is_empty() || self.find(path).is_some()
    }

    /// Whether there is a directory at this path.
    pub(crate) fn has_directory(&self, path: &str) -> bool {
        self.find(path)
            .is_some_and(|at| self.entries[at].is_directory)
    }

    /// The indices of all entries below a directory; the root is the empty path.
    pub(crate) fn below(&self, directory: &str) -> std::ops::Range<usize> {
        if directory.is_empty() {
            return 0..self.entries.len();
        }
        // `0` is the byte after `/`.
        let (first, after) = (format!("{directory}/"), format!("{directory}0"));
        let at = |edge: &str| {
            self.entries
                .partition_point(|entry| entry.path.as_str() < edge)
        };
        at(&first)..at(&after)
    }

    /// The numbers of the declared files below a directory that the walk leaves out.
    pub(crate) fn declared_below(&self, directory: &str) -> impl Iterator<Item = usize> {
        let numbered = (self.entries.len()..).zip(&self.declared);
        numbered
            .filter(move |(_, it)| is_within(&it.path, directory))
            .map(|(at, _)| at)
    }

    /// A path below this root as the user would type it.
    pub(crate) fn shown(&self, path: &str) -> String {
        shown(&self.dir, path)
    }
}

/// A path below a directory as the user would type it.
pub(crate) fn shown(dir: &Path, path: &str) -> String {
    let dir = dir.to_string_lossy();
    match (dir.trim_end_matches('/'), path) {
        ("." | "", path) if dir != "/" && !path.is_empty() => path.to_owned(),
        (_, "") => dir.into_owned(),
        (dir, path) => format!("{dir}/{path}"),
    }
}

#[cfg(test)]
mod tests;
