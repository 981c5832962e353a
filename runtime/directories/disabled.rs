//! Directories in a build that carries no compiler: each way in says so.

use std::io;

use anyhow::{Result, bail};
use skillbundle_format::Bundle;
use skillbundle_server::{Embedded, Error, Loaded, Source};

use crate::sources::{self, Place};

/// What a person is told who names a directory.
pub(crate) const NEEDS_COMPILER: &str = "this build has no compiler (it was made without the feature `compile`), \
    so it reads no directories of skills; name a bundle with --bundle, or use a build with the feature";

/// No value of this type exists in this build.
pub(crate) enum Directories {}

impl Directories {
    /// Says that this build cannot.
    pub(crate) fn new(_places: Vec<Place>) -> Result<Self> {
        bail!(NEEDS_COMPILER)
    }
}

impl Source for Directories {
    fn fingerprint(&self) -> io::Result<u64> {
        match *self {}
    }

    fn load(&self, _previous: Option<&Bundle>) -> Result<Loaded, Error> {
        match *self {}
    }

    fn describe(&self) -> String {
        match *self {}
    }
}

/// The skills baked into this binary. Roots that exist are named, since they
/// are not read.
pub(crate) fn over_embedded(places: Vec<Place>) -> impl Source {
    let unread = places.into_iter().filter(|place| place.dir.is_dir());
    let unread: Vec<String> = unread
        .map(|Place { label, scope, .. }| format!("{label} ({})", scope.as_str()))
        .collect();
    if !unread.is_empty() {
        tracing::warn!("not served: {}; {NEEDS_COMPILER}", unread.join(", "));
    }
    Embedded::new(sources::EMBEDDED)
}

/// Says that this build cannot.
pub(crate) fn compile_once(_places: &[Place]) -> Result<Bundle> {
    bail!(NEEDS_COMPILER)
}
