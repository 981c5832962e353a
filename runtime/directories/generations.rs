//! The generations of some roots in the cache: what an earlier process compiled them to, so that a
//! start over unchanged roots compiles nothing.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, UNIX_EPOCH};
use std::{env, fs};

use serde::{Deserialize, Serialize};
use skillbundle_compiler::{FileStates, Root};
use skillbundle_format::{Bundle, Error, Image, Store};
use skillbundle_server::BrokenSkill;

use crate::cache;

/// The generations of some roots.
pub(crate) struct Generations {
    store: Store,
    key: String,
    input: String,
}

/// What is noted beside a generation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Note {
    /// What was compiled, and by which program.
    input: String,
    /// The fingerprint of the roots that were compiled.
    pub(crate) fingerprint: u64,
    /// The roots that existed, as indices.
    pub(crate) present: Vec<usize>,
    /// The skills whose files did not load.
    pub(crate) broken: Vec<NotedSkill>,
    /// The declared files that must be looked at by themselves.
    pub(crate) declared: DeclaredFiles,
}

/// For each directory the files that its skills declare although their names hide them.
pub(crate) type DeclaredFiles = BTreeMap<PathBuf, Vec<String>>;

/// A skill whose file did not load.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NotedSkill {
    path: String,
    reason: String,
    /// Seconds since 1970.
    since: u64,
    is_served: bool,
}

impl From<&NotedSkill> for BrokenSkill {
    fn from(noted: &NotedSkill) -> Self {
        Self {
            path: noted.path.clone(),
            reason: noted.reason.clone(),
            since: UNIX_EPOCH + Duration::from_secs(noted.since),
            is_served: noted.is_served,
        }
    }
}

impl From<&BrokenSkill> for NotedSkill {
    fn from(broken: &BrokenSkill) -> Self {
        Self {
            path: broken.path.clone(),
            reason: broken.reason.clone(),
            is_served: broken.is_served,
            since: broken
                .since
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_secs(),
        }
    }
}

/// Writes to the cache that are under way.
static WRITES: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

impl Generations {
    /// Opens the cache for these roots. `None` if there is no cache.
    pub(crate) fn open(
        roots: &[Root],
        only: &[Option<String>],
        over: Option<&[u8]>,
    ) -> Option<Self> {
        let dirs: Vec<_> = roots.iter().map(|root| root.dir.as_path()).collect();
        Self::in_store(cache::open(&dirs)?, roots, only, over)
    }

    /// As [`Self::open`], to look only: no directory is created.
    pub(crate) fn look(
        roots: &[Root],
        only: &[Option<String>],
        over: Option<&[u8]>,
    ) -> Option<Self> {
        let dirs: Vec<_> = roots.iter().map(|root| root.dir.as_path()).collect();
        let store = Store::at(&cache::directory()?);
        let is_usable = cache::root_around(store.directory(), &dirs).is_none();
        let is_private = store.is_private().unwrap_or(false);
        Self::in_store(store, roots, only, over).filter(|_| is_usable && is_private)
    }

    fn in_store(
        store: Store,
        roots: &[Root],
        only: &[Option<String>],
        over: Option<&[u8]>,
    ) -> Option<Self> {
        let input = describe(roots, only, over)?;
        let mut hash = DefaultHasher::new();
        input.hash(&mut hash);
        let key = format!("{:016x}", hash.finish());
        Some(Self { store, key, input })
    }

    /// The latest generation, if one is stored and of this input.
    pub(crate) fn latest(&self) -> Option<(Bundle, Note)> {
        let (bundle, note) = self.store.reference(&self.key)?;
        let note: Note = serde_json::from_slice(&note).ok()?;
        (note.input == self.input).then_some((bundle, note))
    }

    /// The states of the files that a bundle was compiled from, if it is the latest generation.
    pub(crate) fn states(&self, bundle: &Bundle) -> Option<FileStates> {
        let (stored, states) = self.store.reference(&self.states_key())?;
        let is_same = stored.content_address() == bundle.content_address();
        is_same.then(|| FileStates::from_bytes(&states))
    }

    fn states_key(&self) -> String {
        format!("{}.states", self.key)
    }

    /// Removes a bundle that is damaged.
    pub(crate) fn discard(&self, damaged: &Bundle) {
        self.store.discard(&damaged.content_address());
    }

    /// Stores a bundle and maps it.
    pub(crate) fn put(&self, image: &Image<'_>) -> Result<Bundle, Error> {
        self.store.put(image)
    }

    /// What is to be noted beside a generation.
    pub(crate) fn note(
        &self,
        fingerprint: u64,
        present: Vec<usize>,
        broken: &[BrokenSkill],
        declared: DeclaredFiles,
    ) -> Note {
        Note {
            input: self.input.clone(),
            fingerprint,
            present,
            broken: broken.iter().map(NotedSkill::from).collect(),
            declared,
        }
    }

    /// Makes a stored bundle the latest generation. Runs in the background, since it waits for
    /// the disk; [`finish_writes`] waits for it.
    pub(crate) fn refer(&self, bundle: &Bundle, note: &Note, states: Vec<u8>) {
        let note = serde_json::to_vec(note).expect("a note is plain JSON");
        let (store, address) = (self.store.clone(), bundle.content_address());
        let (key, states_key) = (self.key.clone(), self.states_key());
        let mut writes = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
        let earlier = std::mem::take(&mut *writes);
        let write = thread::spawn(move || {
            // In the order of the loads: the last one is the latest generation.
            finish(earlier);
            let written = store
                .refer(&states_key, &address, &states)
                .and_then(|()| store.refer(&key, &address, &note))
                .and_then(|()| store.clean(false));
            if let Err(error) = written {
                let place = store.directory().display();
                tracing::warn!("cannot write to the cache {place}: {error}");
            }
        });
        writes.push(write);
    }
}

/// Waits for what [`Generations::refer`] began. Called before the program ends, so that even a
/// server that answered a single call leaves its work to the next one.
pub(crate) fn finish_writes() {
    let writes = std::mem::take(&mut *WRITES.lock().unwrap_or_else(PoisonError::into_inner));
    finish(writes);
}

fn finish(writes: Vec<JoinHandle<()>>) {
    for write in writes {
        // A panic was reported, and there is nothing to do about it.
        let _ = write.join();
    }
}

/// Everything that the generation depends on beside the files below the roots. The program counts
/// by its size and time, since a newer one may compile the same files to something else.
fn describe(roots: &[Root], only: &[Option<String>], over: Option<&[u8]>) -> Option<String> {
    let program = env::current_exe().ok()?;
    let metadata = fs::metadata(&program).ok()?;
    let over = over.map(|bytes| Bundle::address_of(bytes).map(|it| skillbundle_format::hex(&it)));
    let roots: Vec<_> = roots
        .iter()
        .enumerate()
        .map(|(at, root)| {
            let dir = std::path::absolute(&root.dir).unwrap_or_else(|_| root.dir.clone());
            let scope = root.scope.as_str();
            (
                dir,
                root.label.as_str(),
                scope,
                root.max_files,
                only.get(at),
            )
        })
        .collect();
    Some(format!(
        "{} {} {:?} {over:?} {roots:?}",
        env!("CARGO_PKG_VERSION"),
        metadata.len(),
        metadata.modified().ok()?,
        over = over.transpose().ok()?,
    ))
}
