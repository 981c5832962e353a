//! Roots on disk become a [`Tree`] in memory: sorted names, sizes, and the
//! bytes of those files that somebody asks for. This is the only module that
//! reads skills from the disk; what is a skill is not its business.

mod findings;
mod ignore;
mod links;
mod platform;
mod read;
mod trouble;
mod walk;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

pub(crate) use findings::{Concern, findings};
pub(crate) use ignore::{is_below_hidden, is_hidden, is_junk, is_never_read};
pub(crate) use trouble::{Fault, LinkFault, Trouble};

use crate::Root;

/// How much is read at most. Each number stands far above what real skill
/// trees hold, and bounds what a hostile one can cost.
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
            // Hosts walk 4 to 6 levels; the deepest real file lies 11 deep.
            depth: 16,
            // The largest real repository of skills has 14,000 files.
            entries: 100_000,
            // The largest real file of a skill has 4 MB.
            file_bytes: 64 << 20,
            // Everything is held in memory once.
            total_bytes: 1 << 30,
        }
    }
}

/// All roots, as they are on disk.
#[derive(Debug)]
pub(crate) struct Tree {
    /// One for each root asked for, in that order.
    pub(crate) roots: Vec<TreeRoot>,
    limits: Limits,
    /// Bytes that may still be read.
    budget: u64,
}

/// One root.
#[derive(Debug)]
pub(crate) struct TreeRoot {
    /// As the user wrote it.
    pub(crate) dir: PathBuf,
    /// Everything below it, sorted bytewise by path.
    pub(crate) entries: Vec<Entry>,
    /// What could not be looked at or must not be, sorted by path.
    pub(crate) troubles: Vec<Trouble>,
}

/// A file or directory below a root.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Relative to the root, `/`-separated, as stored on disk.
    pub(crate) path: String,
    /// Where it really lies, every link resolved.
    pub(crate) real: PathBuf,
    /// Whether a link had to be followed to reach it.
    pub(crate) by_link: bool,
    /// A directory has no content of its own.
    pub(crate) is_directory: bool,
    /// Size of the file.
    pub(crate) size: u64,
    /// Whether the file may be executed.
    pub(crate) executable: bool,
    /// How many names the file has on its disk.
    pub(crate) hard_links: u64,
    /// The content, once it was asked for and could be read.
    pub(crate) bytes: Option<Arc<[u8]>>,
    stamp: [u64; 6],
    mode: u32,
}

/// A file of a [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileId {
    /// Index of its root.
    pub(crate) root: usize,
    /// Index of its entry.
    pub(crate) entry: usize,
}

/// Looks at every root: names, sizes and times, no content. A root that does
/// not exist is empty; any other failure of a root itself is a trouble of it.
pub(crate) fn walk(roots: &[Root], limits: Limits) -> Tree {
    let roots = roots
        .iter()
        .map(|root| walk_root(&root.dir, limits))
        .collect();
    Tree {
        roots,
        limits,
        budget: limits.total_bytes,
    }
}

fn walk_root(dir: &Path, limits: Limits) -> TreeRoot {
    let (mut entries, mut troubles) = match resolve_root(dir) {
        Ok(real) => walk::root(&real, limits),
        Err(error) => (Vec::new(), vec![Trouble::root(&error)]),
    };
    entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    troubles.sort();
    TreeRoot {
        dir: dir.to_owned(),
        entries,
        troubles,
    }
}

/// A root may itself be a link: it is resolved once, here.
fn resolve_root(dir: &Path) -> io::Result<PathBuf> {
    let real = fs::canonicalize(dir)?;
    // Asked for now, since a file or a locked directory should be named as such.
    fs::read_dir(&real)?;
    Ok(real)
}

impl Tree {
    /// Reads the content of these files of at most so many bytes, each once. A
    /// file that cannot be read keeps its entry without bytes, and a trouble
    /// says why.
    pub(crate) fn read(&mut self, wanted: impl IntoIterator<Item = FileId>, file_bytes: u64) {
        let limits = Limits {
            file_bytes: file_bytes.min(self.limits.file_bytes),
            ..self.limits
        };
        for id in wanted {
            let Some(entry) = self.roots[id.root].entries.get_mut(id.entry) else {
                continue;
            };
            if entry.bytes.is_some() || entry.is_directory {
                continue;
            }
            match read::file(entry, limits, self.budget) {
                Ok(bytes) => {
                    self.budget = self.budget.saturating_sub(bytes.len() as u64);
                    entry.bytes = Some(bytes);
                }
                Err(fault) => {
                    let trouble = Trouble::file(entry.path.clone(), fault);
                    let troubles = &mut self.roots[id.root].troubles;
                    if !troubles.contains(&trouble) {
                        troubles.push(trouble);
                    }
                }
            }
        }
    }

    /// The entry of a file.
    pub(crate) fn entry(&self, id: FileId) -> &Entry {
        &self.roots[id.root].entries[id.entry]
    }

    /// The file as the user would type it.
    pub(crate) fn shown(&self, id: FileId) -> String {
        self.roots[id.root].shown(&self.entry(id).path)
    }

    /// The bytes that were read of a file, by the name that findings use.
    pub(crate) fn source_of(&self, shown: &str) -> Option<Arc<[u8]>> {
        for root in &self.roots {
            let prefix = root.shown("x");
            let below = shown.strip_prefix(prefix.strip_suffix('x')?);
            let entry = below
                .and_then(|path| root.find(path))
                .map(|at| &root.entries[at]);
            if let Some(bytes) = entry.and_then(|it| it.bytes.as_ref()) {
                return Some(Arc::clone(bytes));
            }
        }
        None
    }

    /// A number that moves when anything that was looked at does.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for root in &self.roots {
            // A root that is missing differs from one that is there and empty.
            (&root.dir, root.fault()).hash(&mut hasher);
            for entry in &root.entries {
                let place = (&entry.path, &entry.real, entry.mode);
                // A directory's own times move when junk comes and goes.
                let content = (!entry.is_directory).then_some((entry.size, entry.stamp));
                (place, content).hash(&mut hasher);
            }
            root.entries.len().hash(&mut hasher);
        }
        hasher.finish()
    }
}

impl TreeRoot {
    /// What is wrong with the root itself.
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.troubles
            .iter()
            .find(|it| it.path.is_empty())
            .map(|it| &it.fault)
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
    pub(crate) fn directory(&self, path: &str) -> bool {
        self.find(path)
            .is_some_and(|at| self.entries[at].is_directory)
    }

    /// The indices of everything below a directory; the root is the empty path.
    pub(crate) fn below(&self, directory: &str) -> std::ops::Range<usize> {
        if directory.is_empty() {
            return 0..self.entries.len();
        }
        // `0` is the byte behind `/`.
        let (first, behind) = (format!("{directory}/"), format!("{directory}0"));
        let at = |edge: &str| {
            self.entries
                .partition_point(|entry| entry.path.as_str() < edge)
        };
        at(&first)..at(&behind)
    }

    /// A path below this root as the user would type it.
    pub(crate) fn shown(&self, path: &str) -> String {
        let dir = self.dir.to_string_lossy();
        match (dir.trim_end_matches('/'), path) {
            ("." | "", path) if dir != "/" && !path.is_empty() => path.to_owned(),
            (_, "") => dir.into_owned(),
            (dir, path) => format!("{dir}/{path}"),
        }
    }
}

#[cfg(test)]
mod tests;
