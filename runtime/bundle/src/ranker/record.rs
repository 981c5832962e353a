//! What a [`super::RankTable`] keeps of a term: half a cache line.

use std::ops::Range;

use super::lists::Shape;

/// A record as it lies in the table.
pub(super) type RecordBytes = [u8; 32];

/// Set in the number that tells where impacts are: it is that of a row.
const ROW: u32 = 1 << 31;

/// A term.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// [`super::hash`] of its text.
    pub(super) hash: u64,
    /// Where its lists begin: impacts, names and fields, one behind the other.
    pub(super) lists: u32,
    pub(super) impacts: Impacts,
    /// The list of documents whose names hold it, with its shares of them.
    pub(super) names: Shape,
    /// Where its pairs begin, and how many there are.
    pub(super) first_pair: u32,
    pub(super) pairs: u32,
    /// What a request tells by it, in [`super::FRACTION`]s.
    pub(super) information: u16,
    /// How rare it is in the background, see [`super::rarity`].
    pub(super) rarity: u16,
}

/// Where the impacts of a term are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Impacts {
    /// In the row of this number.
    Row(u32),
    /// In a list.
    List(Shape),
}

impl Default for Impacts {
    fn default() -> Self {
        Self::List(Shape::default())
    }
}

impl Impacts {
    fn to_number(self) -> u32 {
        match self {
            Self::Row(row) => row | ROW,
            Self::List(shape) => shape.to_number(),
        }
    }

    fn from_number(number: u32) -> Self {
        if number & ROW == 0 {
            Self::List(Shape::from_number(number))
        } else {
            Self::Row(number & !ROW)
        }
    }

    /// The shape of the list; of an empty one where there is a row.
    pub(super) fn shape(self) -> Shape {
        match self {
            Self::Row(_) => Shape::default(),
            Self::List(shape) => shape,
        }
    }
}

impl Record {
    pub(super) fn from_bytes(bytes: &RecordBytes) -> Self {
        let (numbers, _) = bytes.as_chunks();
        let number = |at: usize| u32::from_le_bytes(numbers[at]);
        let [low, high, rarity @ ..] = numbers[7];
        Self {
            hash: u64::from(number(0)) | u64::from(number(1)) << 32,
            lists: number(2),
            impacts: Impacts::from_number(number(3)),
            names: Shape::from_number(number(4)),
            first_pair: number(5),
            pairs: number(6),
            information: u16::from_le_bytes([low, high]),
            rarity: u16::from_le_bytes(rarity),
        }
    }

    pub(super) fn to_bytes(self) -> RecordBytes {
        let mut bytes = RecordBytes::default();
        bytes[..8].copy_from_slice(&self.hash.to_le_bytes());
        let numbers = [
            self.lists,
            self.impacts.to_number(),
            self.names.to_number(),
            self.first_pair,
            self.pairs,
            u32::from(self.information) | u32::from(self.rarity) << 16,
        ];
        for (place, number) in bytes[8..].chunks_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Where the units of its impacts lie.
    pub(super) fn impacts(&self) -> Option<Range<usize>> {
        range(self.lists as usize, self.impacts.shape().units())
    }

    /// Where the units of its names lie.
    pub(super) fn names(&self) -> Option<Range<usize>> {
        range(self.impacts()?.end, self.names.units())
    }

    /// The numbers of its pairs.
    pub(super) fn pairs(&self) -> Option<Range<usize>> {
        range(self.first_pair as usize, self.pairs as usize)
    }
}

fn range(start: usize, len: usize) -> Option<Range<usize>> {
    Some(start..start.checked_add(len)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_were_put() {
        let shape = Shape::from_number;
        let record = Record {
            hash: u64::MAX - 7,
            lists: u32::MAX - 6,
            impacts: Impacts::List(shape(11)),
            names: shape(16),
            first_pair: u32::MAX - 4,
            pairs: 3,
            information: u16::MAX - 2,
            rarity: u16::MAX - 3,
        };
        let in_row = Record {
            impacts: Impacts::Row(ROW - 1),
            ..record
        };
        for record in [record, in_row, Record::default()] {
            assert_eq!(Record::from_bytes(&record.to_bytes()), record);
        }
        let lists = u32::MAX as usize - 6;
        assert_eq!(record.names(), Some(lists + 5..lists + 13));
        assert_eq!(in_row.names(), Some(lists..lists + 8));
    }
}
