//! Columns: tables of numbers and text as byte strings, in the form in which they are stored.
//! Numbers are little-endian `u32`s. Every read is checked, because a column may come from a
//! damaged file.

use std::ops::Range;

use crate::error::Error;

/// A column of numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers<'a>(&'a [[u8; 4]]);

impl<'a> Numbers<'a> {
    /// Reads a column that [`numbers`] or [`ends`] wrote; `what` names it in errors.
    pub(crate) fn read(column: &'a [u8], what: &'static str) -> Result<Self, Error> {
        arrays(column, what).map(Self)
    }

    /// The number at `index`, if there is one.
    pub(crate) fn get(self, index: usize) -> Option<u32> {
        self.0.get(index).copied().map(u32::from_le_bytes)
    }

    /// The number of entries.
    pub(crate) fn len(self) -> usize {
        self.0.len()
    }

    /// The pair at `index`, if the column is an array of pairs.
    pub(crate) fn pair(self, index: usize) -> Option<(u32, u32)> {
        let first = index.checked_mul(2)?;
        Some((self.get(first)?, self.get(first.checked_add(1)?)?))
    }

    /// The range between entry `index` and the next one, in a column made by [`ends`]. Returns
    /// `None` if the start is after the end.
    pub(crate) fn range(self, index: usize) -> Option<Range<usize>> {
        let start = self.get(index)? as usize;
        let end = self.get(index.checked_add(1)?)? as usize;
        (start <= end).then_some(start..end)
    }
}

/// A column as arrays of `N` bytes each.
pub(crate) fn arrays<'a, const N: usize>(
    column: &'a [u8],
    what: &'static str,
) -> Result<&'a [[u8; N]], Error> {
    match column.as_chunks() {
        (arrays, []) => Ok(arrays),
        _ => Err(Error::Corrupt(what)),
    }
}

/// Encodes numbers as a column.
pub(crate) fn numbers(numbers: impl IntoIterator<Item = u32>) -> Vec<u8> {
    numbers.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Encodes lengths as a column of end offsets. It begins with 0, so it has one more number than
/// there are lengths.
pub(crate) fn ends(lengths: impl IntoIterator<Item = usize>) -> Result<Vec<u8>, Error> {
    let mut end = 0_usize;
    let mut column = vec![0; 4];
    for length in lengths {
        end += length;
        column.extend(fit(end)?.to_le_bytes());
    }
    Ok(column)
}

/// Converts a number of entries or bytes to the type that a column stores.
pub(crate) fn fit(number: usize) -> Result<u32, Error> {
    u32::try_from(number).map_err(|_| {
        Error::TooLarge(format!(
            "an index of {number} entries or bytes does not fit 32 bits; split the skills into several bundles"
        ))
    })
}

/// Reads a number in variable-byte code (LEB128) and advances `bytes`: seven bits per byte, lowest
/// first; the high bit marks a continuation. Returns `None` if the bytes end early.
pub(crate) fn read_varint(bytes: &mut &[u8]) -> Option<u32> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if *byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

/// Appends a number in variable-byte code (LEB128).
pub(crate) fn write_varint(mut number: u32, out: &mut Vec<u8>) {
    while number >= 0x80 {
        // Truncation keeps the low seven bits; 0x80 marks a continuation.
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// The partition point of the range: the first index for which `is_before` is false, if it is true
/// for all indices before that. Otherwise some index of the range or its end.
pub(crate) fn partition_point(
    range: Range<usize>,
    mut is_before: impl FnMut(usize) -> Option<bool>,
) -> Option<usize> {
    let Range {
        start: mut low,
        end: mut high,
    } = range;
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Some(low)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    /// Columns after random damage: flipped bits, a replaced number, or one column truncated or
    /// replaced by random bytes.
    pub(crate) fn damaged<const N: usize>(
        columns: [Vec<u8>; N],
    ) -> impl Strategy<Value = [Vec<u8>; N]> {
        let change = prop_oneof![
            vec((any::<Index>(), 0..8_u8), 1..4).prop_map(Change::Flip),
            (
                any::<Index>(),
                prop_oneof![0..40_u32, any::<u32>(), Just(u32::MAX)]
            )
                .prop_map(|(at, number)| Change::Number(at, number)),
            any::<Index>().prop_map(Change::Cut),
            vec(any::<u8>(), 0..400).prop_map(Change::MadeUp),
        ];
        (Just(columns), 0..N, change).prop_map(|(mut columns, column, change)| {
            change.apply(&mut columns[column]);
            columns
        })
    }

    #[derive(Debug, Clone)]
    enum Change {
        Flip(Vec<(Index, u8)>),
        Number(Index, u32),
        Cut(Index),
        MadeUp(Vec<u8>),
    }

    impl Change {
        fn apply(self, column: &mut Vec<u8>) {
            match self {
                Self::MadeUp(bytes) => *column = bytes,
                Self::Cut(at) if !column.is_empty() => column.truncate(at.index(column.len())),
                Self::Flip(flips) if !column.is_empty() => {
                    for (at, bit) in flips {
                        let at = at.index(column.len());
                        column[at] ^= 1 << bit;
                    }
                }
                Self::Number(at, number) if column.len() >= 4 => {
                    let at = at.index(column.len() / 4) * 4;
                    column[at..at + 4].copy_from_slice(&number.to_le_bytes());
                }
                _ => {}
            }
        }
    }

    #[test]
    fn numbers_come_back_and_reads_outside_give_none() {
        let column = numbers([1, 2, 3]);
        let read = Numbers::read(&column, "test").unwrap();
        assert_eq!((read.len(), read.get(2), read.get(3)), (3, Some(3), None));
        assert_eq!((read.pair(0), read.pair(1)), (Some((1, 2)), None));
        assert!(Numbers::read(&column[1..], "test").is_err());
    }

    proptest! {
        #[test]
        fn varints_come_back_and_cut_ones_give_none(numbers in vec(any::<u32>(), 1..20)) {
            let mut bytes = Vec::new();
            for number in &numbers {
                write_varint(*number, &mut bytes);
            }
            let read = |mut bytes: &[u8]| -> Vec<u32> {
                std::iter::from_fn(|| read_varint(&mut bytes)).collect()
            };
            prop_assert_eq!(&read(&bytes), &numbers);
            prop_assert_eq!(read(&bytes[..bytes.len() - 1]), &numbers[..numbers.len() - 1]);
        }
    }

    #[test]
    fn ends_give_ranges_and_refuse_backward_ones() {
        let column = ends([2, 0, 3]).unwrap();
        let read = Numbers::read(&column, "test").unwrap();
        let ranges: Vec<_> = (0..4).map(|index| read.range(index)).collect();
        assert_eq!(ranges, [Some(0..2), Some(2..2), Some(2..5), None]);
        let backward = numbers([3, 1]);
        assert_eq!(Numbers::read(&backward, "test").unwrap().range(0), None);
        assert_eq!(fit(usize::MAX).is_err(), usize::BITS > 32);
    }
}
