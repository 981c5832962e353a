//! The same functions in a build without the compiler: each returns an error.

use std::io;
use std::sync::Arc;

use anyhow::{Result, bail};
use skillbundle_format::Bundle;
use skillbundle_server::{Embedded, Error, Loaded, Source};

use super::Examined;
use crate::embedded;
use crate::repositories::Mirrors;
use crate::sources::SkillRoot;

/// The error for every use of directories.
pub(crate) const NEEDS_COMPILER: &str =
    "this build cannot read directories of skills: it lacks the feature `compile`";

/// No value of this type exists in this build.
pub(crate) enum Directories {}

impl Directories {
    /// Always an error.
    pub(crate) fn new(_: &[SkillRoot]) -> Result<Self> {
        bail!(NEEDS_COMPILER)
    }

    /// Always an error.
    pub(crate) fn mirrored(_: Arc<Mirrors>) -> Result<Self> {
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
pub(crate) fn over_embedded(roots: &[SkillRoot]) -> impl Source {
    let unread = roots.iter().filter(|root| root.dir.is_dir());
    let unread: Vec<String> = unread
        .map(|SkillRoot { label, scope, .. }| format!("{label} ({})", scope.as_str()))
        .collect();
    if !unread.is_empty() {
        tracing::warn!("not served: {}; {NEEDS_COMPILER}", unread.join(", "));
    }
    Embedded::new(embedded::bytes())
}

/// Always an error.
pub(crate) fn compile_once(_: &[SkillRoot]) -> Result<Bundle> {
    bail!(NEEDS_COMPILER)
}

/// The skills baked into this binary.
pub(crate) fn compile_over_embedded(_: &[SkillRoot]) -> Result<Bundle> {
    embedded::bundle()
}

/// The skills baked into this binary, if nothing was named; otherwise an error.
pub(crate) fn examine(_: &[SkillRoot], is_default: bool) -> Result<Examined> {
    if !is_default {
        bail!(NEEDS_COMPILER);
    }
    Ok(Examined::of_bundle(embedded::bundle()?))
}

/// There are none in this build.
pub(crate) fn finish_writes() {}
