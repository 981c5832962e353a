//! A hasher for maps whose keys are words. Looking up every word of every document takes most of the
//! time of building an index; xxh3 takes a fraction of the default hasher's time. The order of such
//! a map must not affect a result.

use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Builds a [`WordHasher`].
pub(crate) type Hashing = BuildHasherDefault<WordHasher>;

/// xxh3 for keys that are one text or byte string.
#[derive(Default)]
pub(crate) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    /// The end mark of a text: there is only one text in a key.
    fn write_u8(&mut self, _: u8) {}

    /// The length of a byte string, which xxh3 includes.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}
