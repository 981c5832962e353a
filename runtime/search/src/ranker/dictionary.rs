//! A dictionary: ascending keys, each with an entry of bytes. The meaning of the entries is up to
//! the caller.

use std::ops::Range;

use super::WHAT;
use crate::error::Error;
use crate::table::{Numbers, arrays, ends};

/// The number of columns of a dictionary.
const COLUMNS: usize = 3;

/// An encoded key, little-endian.
type Key = [u8; 8];

/// A dictionary, borrowed from the columns of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dictionary<'a> {
    keys: &'a [Key],
    /// The start of each entry, followed by the end of the last one.
    ends: Numbers<'a>,
    entries: &'a [u8],
}

impl<'a> Dictionary<'a> {
    pub(super) fn read([keys, ends, entries]: [&'a [u8]; COLUMNS]) -> Result<Self, Error> {
        Ok(Self {
            keys: arrays(keys, WHAT)?,
            ends: Numbers::read(ends, WHAT)?,
            entries,
        })
    }

    /// The position of a key.
    pub(super) fn find(&self, key: u64) -> Option<u32> {
        let found = self
            .keys
            .binary_search_by_key(&key, |it| u64::from_le_bytes(*it));
        found.ok().and_then(|place| u32::try_from(place).ok())
    }

    /// The entry at a position.
    pub(super) fn entry(&self, place: u32) -> Option<&'a [u8]> {
        let range: Range<usize> = self.ends.range(place as usize)?;
        self.entries.get(range)
    }
}

/// Builds a dictionary.
#[derive(Debug, Default)]
pub(super) struct DictionaryBuilder {
    keys: Vec<Key>,
    lengths: Vec<usize>,
    entries: Vec<u8>,
}

impl DictionaryBuilder {
    /// Appends a key, which must be greater than the previous one; `write` appends its entry.
    pub(super) fn push(&mut self, key: u64, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.entries.len();
        write(&mut self.entries);
        self.keys.push(key.to_le_bytes());
        self.lengths.push(self.entries.len() - start);
    }

    pub(super) fn finish(self) -> Result<[Vec<u8>; COLUMNS], Error> {
        let keys = self.keys.into_flattened();
        Ok([keys, ends(self.lengths)?, self.entries])
    }
}
