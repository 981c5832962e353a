//! Repositories as a source for the server. It serves the files of their mirrors; only [`sync`] looks
//! at the network. Where there never was a copy, it serves the skills baked into this program, and
//! says so.
//!
//! [`sync`]: Source::sync

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use skillbundle_format::Bundle;
use skillbundle_server::{Checkout, Error, Kind, Loaded, Source};

use super::{Mirrors, Repositories};
use crate::directories::Directories;
use crate::embedded;

/// How long the first load waits for the first copy. Calls wait less, and are told.
const FIRST_COPY: Duration = Duration::from_secs(60);

/// Repositories that are mirrored.
pub(crate) struct GitSource {
    mirrors: Arc<Mirrors>,
    directories: Directories,
    /// The fingerprint of what was loaded last; 0 if nothing was.
    loaded: AtomicU64,
    /// Whether a first attempt to synchronise has ended.
    was_tried: Mutex<bool>,
    tried: Condvar,
}

impl GitSource {
    /// Takes the mirrors as they are.
    pub(crate) fn new(repositories: &Repositories) -> Result<Self> {
        let mirrors = Arc::new(repositories.mirrors()?);
        Ok(Self {
            directories: Directories::mirrored(Arc::clone(&mirrors))?,
            mirrors,
            loaded: AtomicU64::new(0),
            was_tried: Mutex::new(false),
            tried: Condvar::new(),
        })
    }

    /// Waits for the first attempt to synchronise, if there are no files at all.
    fn await_first_copy(&self) {
        if self.mirrors.count() > 0 {
            return;
        }
        let was_tried = self
            .was_tried
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .tried
            .wait_timeout_while(was_tried, FIRST_COPY, |it| !*it);
        drop(waited);
    }

    /// What is served where there is no copy of any repository.
    fn instead(&self) -> Result<Loaded, Error> {
        let nothing = format!(
            "{}: there is no copy of it on this machine",
            self.describe()
        );
        if !embedded::is_served() {
            return Err(Error::Source(nothing));
        }
        let mut loaded = Loaded::from(Bundle::from_static(embedded::bytes())?);
        loaded.notices = vec![format!(
            "{nothing}; the skills of this program are served instead"
        )];
        loaded.state = Some(self.mirrors.fingerprint());
        Ok(loaded)
    }

    fn note(&self, loaded: Loaded) -> Loaded {
        if let Some(state) = loaded.state {
            self.loaded.store(state, Ordering::Relaxed);
        }
        loaded
    }
}

/// How many mirrors a bundle is made of.
fn roots_of(bundle: &Bundle) -> usize {
    let roots = bundle.catalog().and_then(|it| it.roots());
    roots.map_or(0, |roots| roots.len())
}

impl Source for GitSource {
    fn fingerprint(&self) -> io::Result<u64> {
        Ok(self.mirrors.fingerprint())
    }

    /// Reading a link tells whether anything has changed; a load takes long.
    fn fingerprint_now(&self) -> Option<io::Result<u64>> {
        let state = self.mirrors.fingerprint();
        (state == self.loaded.load(Ordering::Relaxed)).then_some(Ok(state))
    }

    fn load(&self, previous: Option<&Bundle>) -> Result<Loaded, Error> {
        self.await_first_copy();
        if self.mirrors.count() == 0 && !self.mirrors.were_loaded() {
            return self.instead().map(|it| self.note(it));
        }
        let mut loaded = self.directories.load(previous)?;
        self.mirrors.note_loaded(roots_of(&loaded.bundle));
        loaded.notices.extend(self.mirrors.notices());
        Ok(self.note(loaded))
    }

    fn load_whole(
        &self,
        previous: Option<&Bundle>,
        _unsettled: &dyn Fn() -> Option<Vec<PathBuf>>,
    ) -> Result<Option<Loaded>, Error> {
        // Files of a mirror are never in the middle of a change.
        self.load(previous).map(Some)
    }

    fn stored(&self) -> Option<Loaded> {
        let stored = self.directories.stored()?;
        self.mirrors.note_loaded(roots_of(&stored.bundle));
        Some(stored)
    }

    fn discard(&self, damaged: &Bundle) {
        self.directories.discard(damaged);
    }

    fn can_sync(&self) -> bool {
        true
    }

    fn sync(&self, fresh: Duration) -> Result<usize, Error> {
        let synced = self.mirrors.sync(fresh);
        *self
            .was_tried
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.tried.notify_all();
        synced.map_err(|error| Error::Source(error.to_string()))
    }

    fn checkouts(&self) -> Vec<Checkout> {
        self.mirrors.checkouts()
    }

    fn kind(&self) -> Kind {
        Kind::Git
    }

    fn describe(&self) -> String {
        self.mirrors.describe()
    }
}
