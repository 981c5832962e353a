//! Document lists: their encoding, and the sets they are decoded into.
//!
//! A list is delta encoded: the first document id, then each difference from the id before, as
//! varints. If a bitmap of all documents is no longer than that, the list is the bitmap. A list is
//! a bitmap if and only if it has a bitmap's length, so no flag is needed.

use crate::table::read_varint;

/// The stored form of a list: the gaps, or a bitmap if that is no longer.
pub(super) fn compact(gaps: &[u8], documents: u32) -> Vec<u8> {
    if gaps.len() < bitmap_len(documents) {
        return gaps.to_vec();
    }
    let mut set = Documents::none(documents);
    set.add_gaps(gaps).expect("gaps were put by write_varint");
    let mut bitmap: Vec<u8> = set
        .bits
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    bitmap.truncate(bitmap_len(documents));
    bitmap
}

fn bitmap_len(documents: u32) -> usize {
    documents.div_ceil(8) as usize
}

/// A set of documents.
#[derive(Debug)]
pub(super) struct Documents {
    count: u32,
    bits: Vec<u64>,
}

impl Documents {
    /// The empty set, for documents numbered below `count`.
    pub(super) fn none(count: u32) -> Self {
        Self {
            count,
            bits: vec![0; count.div_ceil(64) as usize],
        }
    }

    /// The set of all documents numbered below `count`.
    pub(super) fn all(count: u32) -> Self {
        let mut set = Self {
            count,
            bits: vec![u64::MAX; count.div_ceil(64) as usize],
        };
        set.drop_beyond();
        set
    }

    /// Adds a list. Returns `None` if it contains a document that does not exist.
    pub(super) fn add_list(&mut self, list: &[u8]) -> Option<()> {
        if list.len() == bitmap_len(self.count) {
            self.add_bitmap(list)
        } else {
            self.add_gaps(list)
        }
    }

    fn add_bitmap(&mut self, bitmap: &[u8]) -> Option<()> {
        for (word, bytes) in self.bits.iter_mut().zip(bitmap.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word |= u64::from_le_bytes(padded);
        }
        self.drop_beyond().then_some(())
    }

    fn add_gaps(&mut self, mut gaps: &[u8]) -> Option<()> {
        let mut id = 0_u32;
        while !gaps.is_empty() {
            let next = id.checked_add(read_varint(&mut gaps)?);
            id = next.filter(|id| *id < self.count)?;
            self.bits[id as usize / 64] |= 1 << (id % 64);
        }
        Some(())
    }

    /// Clears the bits after the last document. Returns whether they were all clear before.
    fn drop_beyond(&mut self) -> bool {
        let used = self.count % 64;
        let Some(last) = self.bits.last_mut().filter(|_| used > 0) else {
            return true;
        };
        let kept = *last & ((1 << used) - 1);
        let clean = kept == *last;
        *last = kept;
        clean
    }

    /// Intersects the set with another one.
    pub(super) fn keep(&mut self, other: &Self) {
        for (word, other) in self.bits.iter_mut().zip(&other.bits) {
            *word &= other;
        }
    }

    pub(super) fn contains_all(&self, other: &Self) -> bool {
        self.bits
            .iter()
            .zip(&other.bits)
            .all(|(word, other)| other & !word == 0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bits.iter().all(|word| *word == 0)
    }

    /// The documents in ascending order.
    pub(super) fn into_ids(self) -> Vec<u32> {
        let mut ids = Vec::new();
        for (base, word) in (0..self.count).step_by(64).zip(self.bits) {
            let mut rest = word;
            while rest != 0 {
                ids.push(base + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    use super::*;
    use crate::table::write_varint;

    fn gaps(ids: impl IntoIterator<Item = u32>) -> Vec<u8> {
        let mut list = Vec::new();
        let mut before = 0;
        for id in ids {
            write_varint(id - before, &mut list);
            before = id;
        }
        list
    }

    #[test]
    fn gaps_are_varints() {
        assert!(gaps([]).is_empty());
        assert_eq!(gaps([0, 1, 128, 16_512]), [0, 1, 127, 0x80, 0x80, 1]);
        assert_eq!(gaps([u32::MAX]), [0xff, 0xff, 0xff, 0xff, 0x0f]);
    }

    #[test]
    fn lists_that_name_no_document_or_end_early_are_refused() {
        let refused: &[&[u8]] = &[
            &[70],
            &[69, 1],
            &[0x80],
            &[0, 0x81],
            &[0xff; 7],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0x40],
        ];
        for list in refused {
            assert!(Documents::none(70).add_list(list).is_none(), "{list:?}");
        }
    }

    proptest! {
        #[test]
        fn lists_come_back_as_they_were_put(ids in btree_set(0..300_u32, 0..300)) {
            let list = compact(&gaps(ids.clone()), 300);
            prop_assert!(list.len() <= 300_usize.div_ceil(8));
            let mut set = Documents::none(300);
            prop_assert!(set.add_list(&list).is_some());
            prop_assert_eq!(set.is_empty(), ids.is_empty());
            prop_assert!(Documents::all(300).contains_all(&set));
            prop_assert_eq!(set.into_ids(), Vec::from_iter(ids));
        }

        #[test]
        fn sets_meet(a in btree_set(0..130_u32, 0..100), b in btree_set(0..130_u32, 0..100)) {
            let set = |ids: &std::collections::BTreeSet<u32>| {
                let mut set = Documents::none(130);
                set.add_gaps(&gaps(ids.iter().copied())).expect("in range");
                set
            };
            let mut both = set(&a);
            both.keep(&set(&b));
            prop_assert_eq!(both.into_ids(), a.intersection(&b).copied().collect::<Vec<_>>());
        }
    }
}
