//! Builds and systems without watching.

use std::path::PathBuf;

use super::pending::{Pending, WatchedName};
use super::{Unwatchable, WatchPaths};

/// No events; cannot be made.
#[derive(Debug)]
pub(super) enum Events {}

impl Events {
    pub(super) fn new() -> Result<Self, Unwatchable> {
        Err(Unwatchable::Unavailable)
    }

    pub(super) fn add(&self, _: &WatchPaths) -> Result<(), Unwatchable> {
        match *self {}
    }

    pub(super) fn is_empty(&self) -> bool {
        match *self {}
    }

    pub(super) fn paths<'a>(&self, _: impl Iterator<Item = &'a WatchedName>) -> Vec<PathBuf> {
        match *self {}
    }

    pub(super) fn drain(&self, _: &mut Pending) {
        match *self {}
    }

    #[expect(clippy::unused_async, reason = "the same signature as where it waits")]
    pub(super) async fn arrived(&self) {
        match *self {}
    }
}
