//! What a [`super::RankTable`] keeps of a term: half a cache line.

use std::ops::Range;

/// A record as it lies in the table.
pub(super) type RecordBytes = [u8; 32];

/// A term.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// [`super::hash`] of its text.
    pub(super) hash: u64,
    /// Where its lists begin: postings, and names behind them.
    pub(super) lists: u32,
    pub(super) postings: u32,
    /// Documents whose names hold it.
    pub(super) names: u32,
    /// Where its pairs begin, and how many there are.
    pub(super) first_pair: u32,
    pub(super) pairs: u32,
    /// What a request tells by it, in [`super::FRACTION`]s.
    pub(super) information: u16,
    /// Its number among the rows; below 65,535.
    pub(super) row: Option<u32>,
}

impl Record {
    pub(super) fn from_bytes(bytes: &RecordBytes) -> Self {
        let (numbers, _) = bytes.as_chunks();
        let number = |at: usize| u32::from_le_bytes(numbers[at]);
        let [information_low, information_high, row @ ..] = numbers[7];
        Self {
            hash: u64::from(number(0)) | u64::from(number(1)) << 32,
            lists: number(2),
            postings: number(3),
            names: number(4),
            first_pair: number(5),
            pairs: number(6),
            information: u16::from_le_bytes([information_low, information_high]),
            row: u32::from(u16::from_le_bytes(row)).checked_sub(1),
        }
    }

    pub(super) fn to_bytes(self) -> RecordBytes {
        let mut bytes = RecordBytes::default();
        bytes[..8].copy_from_slice(&self.hash.to_le_bytes());
        let row = self.row.map_or(0, |row| row + 1);
        let numbers = [
            self.lists,
            self.postings,
            self.names,
            self.first_pair,
            self.pairs,
            row << 16 | u32::from(self.information),
        ];
        for (place, number) in bytes[8..].chunks_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    pub(super) fn postings(&self) -> Option<Range<usize>> {
        range(self.lists, self.postings)
    }

    pub(super) fn names(&self) -> Option<Range<usize>> {
        range(self.lists.checked_add(self.postings)?, self.names)
    }

    pub(super) fn pairs(&self) -> Option<Range<usize>> {
        range(self.first_pair, self.pairs)
    }
}

fn range(start: u32, len: u32) -> Option<Range<usize>> {
    Some(start as usize..start.checked_add(len)? as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_were_put() {
        let record = Record {
            hash: u64::MAX - 7,
            lists: u32::MAX - 6,
            postings: 5,
            names: 8,
            first_pair: u32::MAX - 4,
            pairs: 3,
            information: u16::MAX - 2,
            row: Some(65_534),
        };
        assert_eq!(Record::from_bytes(&record.to_bytes()), record);
        assert_eq!(
            Record::from_bytes(&RecordBytes::default()),
            Record::default()
        );
        assert_eq!(record.names(), None, "beyond 32 bits");
    }
}
