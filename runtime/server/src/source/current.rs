//! What is published: one generation of skills at a time, replaced by one atomic swap. Who replaces
//! it and when is decided in `refresh`.

use std::borrow::Cow;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use skillbundle_format::{Bundle, Catalog, Overrides};
use skillbundle_search::text::fold;
use tokio::sync::watch;

use super::{BrokenSkill, Loaded, LoadedRoot};
use crate::error::Error;

/// The published generation, if there is one.
pub(crate) struct Current {
    published: ArcSwapOption<Generation>,
    /// Sent whenever a generation is published.
    changes: watch::Sender<()>,
}

/// One published bundle. A call takes one and answers from nothing else.
pub(crate) struct Generation {
    bundle: Bundle,
    /// The roots that were read from directories.
    roots: Vec<LoadedRoot>,
    /// Sorted by path.
    broken: Vec<BrokenSkill>,
    /// For each of them what the paths of its files begin with, from the working directory.
    prefixes: Vec<String>,
    /// The fingerprint of what was read, if the source has told it.
    state: Option<u64>,
    /// Whether other places are to be watched than before.
    must_rewatch: bool,
}

impl Current {
    pub(crate) fn new() -> Self {
        Self {
            published: ArcSwapOption::empty(),
            changes: watch::Sender::new(()),
        }
    }

    /// The published generation.
    pub(crate) fn get(&self) -> Option<Arc<Generation>> {
        self.published.load_full()
    }

    /// Replaces the published generation. Readers keep theirs until they drop it.
    pub(crate) fn publish(&self, generation: Generation) {
        self.published.store(Some(Arc::new(generation)));
        self.changes.send_replace(());
    }

    /// Reports each generation that is published from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }
}

impl Generation {
    /// Takes what a source has loaded, with the operator's settings over its own. A bundle whose index cannot be read is an error, so it
    /// never replaces one that can be.
    pub(crate) fn new(mut loaded: Loaded, overrides: &Arc<Overrides>) -> Result<Self, Error> {
        for notice in &loaded.notices {
            tracing::warn!("{notice}");
        }
        loaded.bundle.catalog()?;
        loaded.broken.sort_by(|a, b| a.path.cmp(&b.path));
        // A client starts the server in its own working directory.
        let here = env::current_dir().ok();
        let prefix = |root: &LoadedRoot| prefix(root.base.as_deref(), here.as_deref());
        Ok(Self {
            bundle: loaded.bundle.overridden(overrides),
            prefixes: loaded.roots.iter().map(prefix).collect(),
            roots: loaded.roots,
            broken: loaded.broken,
            state: loaded.state,
            must_rewatch: loaded.must_rewatch,
        })
    }

    /// The fingerprint of what was read, if the source has told it.
    pub(super) fn state(&self) -> Option<u64> {
        self.state
    }

    /// Whether other places are to be watched than before.
    pub(super) fn must_rewatch(&self) -> bool {
        self.must_rewatch
    }

    /// Every skill whose file does not load.
    pub(crate) fn broken(&self) -> &[BrokenSkill] {
        &self.broken
    }

    /// Why the skill with this path is served in its last good version, if it is.
    pub(crate) fn why_outdated(&self, path: &str) -> Option<&BrokenSkill> {
        let at = self
            .broken
            .binary_search_by(|it| it.path.as_str().cmp(path));
        self.broken.get(at.ok()?).filter(|it| it.is_served)
    }

    /// Why no skill of this name or path is served, if there is a file that does not load.
    pub(crate) fn why_not_served(&self, name: &str) -> Option<&BrokenSkill> {
        let name = name.trim();
        let wanted = fold(name.strip_prefix("skill://").unwrap_or(name));
        let mut missing = self.broken.iter().filter(|it| !it.is_served);
        missing.find(|it| {
            let path = fold(&it.path);
            path == wanted || path.rsplit('/').next() == Some(&wanted)
        })
    }

    /// Whether an answer has met damage in it.
    pub(crate) fn is_damaged(&self) -> bool {
        self.bundle.is_damaged()
    }

    /// The bundle itself, to build the next one on.
    pub(crate) fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// The index of the skills.
    pub(crate) fn catalog(&self) -> Result<Catalog<'_>, skillbundle_format::Error> {
        self.bundle.catalog()
    }

    /// Identifies these skills.
    pub(crate) fn content_address(&self) -> [u8; 32] {
        self.bundle.content_address()
    }

    /// The content address in hexadecimal.
    #[cfg(feature = "http")]
    pub(crate) fn digest(&self) -> String {
        self.bundle.content_hex()
    }

    /// The commits of git repositories that its skills are of, as far as they are known.
    #[cfg(feature = "http")]
    pub(crate) fn commits(&self) -> Vec<String> {
        let roots = self.catalog().and_then(|catalog| catalog.roots());
        let commits = roots.into_iter().flatten().filter_map(|root| root.commit);
        commits.map(str::to_owned).collect()
    }

    /// The directory of a root, if a client can look into it.
    pub(crate) fn base(&self, root: u32) -> Option<&Path> {
        self.roots.get(root as usize)?.base.as_deref()
    }

    /// Whether a root belongs to the project that the client works on. A bundle and the skills in
    /// the program do not.
    pub(crate) fn is_of_project(&self, root: u32) -> bool {
        let root = self.roots.get(root as usize);
        root.is_some_and(|root| root.is_of_project)
    }

    /// A path of a file in a root, as a client opens it: relative to the working directory, or
    /// absolute if the root is elsewhere. Without a directory, it is relative to the root.
    pub(crate) fn path_of<'a>(&self, root: u32, path: &'a str) -> Cow<'a, str> {
        match self.prefixes.get(root as usize).map(String::as_str) {
            None | Some("") => Cow::Borrowed(path),
            Some(prefix) => Cow::Owned(format!("{prefix}{path}")),
        }
    }

    /// The number of skills.
    pub(crate) fn len(&self) -> usize {
        self.bundle.catalog().map_or(0, |catalog| catalog.len())
    }
}

/// What paths in a root begin with: empty, or a directory and a slash.
fn prefix(base: Option<&Path>, here: Option<&Path>) -> String {
    let Some(base) = base else {
        return String::new();
    };
    let below = here.and_then(|here| base.strip_prefix(here).ok());
    // Drops the `.` of `./.agent/skills`.
    let shown: PathBuf = below.unwrap_or(base).components().collect();
    match shown.to_string_lossy() {
        shown if shown.is_empty() || shown.ends_with('/') => shown.into_owned(),
        shown => format!("{shown}/"),
    }
}
