//! Lazy integrity checks for a large section (`INDEX`): one checksum per page, verified when the
//! page is first read. Opening a bundle of a hundred thousand skills therefore costs the same as
//! opening one of ten, and no byte is used unchecked.

use std::sync::atomic::{AtomicU64, Ordering};

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, corrupt};

/// One memory page: the first access reads all of it anyway, and hashing it takes a quarter of a
/// microsecond. Smaller pages would enlarge the table of checksums, which every start must check.
pub(crate) const PAGE: usize = 4096;

const SUM_LEN: usize = 8;

/// The checksums of a section, one per page.
pub(crate) fn of(section: &[u8]) -> Vec<u8> {
    section
        .chunks(PAGE)
        .flat_map(|page| xxh3_64(page).to_le_bytes())
        .collect()
}

/// Records which pages of one section have been checked.
#[derive(Debug)]
pub(crate) struct Pages {
    seen: Box<[AtomicU64]>,
}

impl Pages {
    /// Returns an error unless there is one checksum for every page of a section of `section_len`
    /// bytes.
    pub(crate) fn new(sums_len: usize, section_len: usize) -> Result<Self, Error> {
        let pages = section_len.div_ceil(PAGE);
        if sums_len != pages * SUM_LEN {
            return Err(corrupt("wrong number of page checksums for a section"));
        }
        Ok(Self {
            seen: (0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    /// Checks the pages of `section` that hold `start..start + len`.
    pub(crate) fn check(
        &self,
        sums: &[u8],
        section: &[u8],
        start: usize,
        len: usize,
    ) -> Result<(), Error> {
        if len == 0 {
            return Ok(());
        }
        (start / PAGE..=(start + len - 1) / PAGE)
            .try_for_each(|page| self.check_page(sums, section, page))
    }

    fn check_page(&self, sums: &[u8], section: &[u8], page: usize) -> Result<(), Error> {
        const DAMAGED: Error = corrupt("a page of a table does not agree with its checksum");
        let (word, bit) = (self.seen.get(page / 64).ok_or(DAMAGED)?, 1 << (page % 64));
        // Relaxed is enough: the bytes never change, so two threads that check the same page only
        // duplicate work.
        if word.load(Ordering::Relaxed) & bit != 0 {
            return Ok(());
        }
        let bytes = section.get(page * PAGE..).ok_or(DAMAGED)?;
        let sum = sums
            .get(page * SUM_LEN..(page + 1) * SUM_LEN)
            .ok_or(DAMAGED)?;
        if xxh3_64(&bytes[..bytes.len().min(PAGE)]).to_le_bytes() != *sum {
            return Err(DAMAGED);
        }
        word.fetch_or(bit, Ordering::Relaxed);
        Ok(())
    }
}
