//! Flat tables of little-endian `u32`s: how the keyword and word tables are
//! written, and read without trusting them. It knows nothing of their meaning.

use std::ops::Range;

use crate::error::{Error, corrupt};

/// Tables begin and end on this boundary, so that they can follow one another.
const ALIGN: usize = 16;

/// Bytes of a cache line.
const LINE: usize = 64;

/// How a kind of table begins: what it is, in which layout.
pub(crate) type Magic = [u8; 4];

/// Writes one table: magic, its own length, then whatever is put.
pub(crate) struct TableWriter {
    bytes: Vec<u8>,
    what: &'static str,
}

impl TableWriter {
    /// Begins a table; `what` names it in errors.
    pub(crate) fn new(magic: Magic, what: &'static str) -> Self {
        let mut bytes = magic.to_vec();
        // The length is known at the end.
        bytes.extend([0; 4]);
        Self { bytes, what }
    }

    /// Appends one number.
    pub(crate) fn put(&mut self, number: usize) -> Result<(), Error> {
        let number = self.fit(number)?;
        self.bytes.extend(number.to_le_bytes());
        Ok(())
    }

    /// Appends numbers that are known to fit.
    pub(crate) fn put_all(&mut self, numbers: impl IntoIterator<Item = u32>) {
        self.bytes
            .extend(numbers.into_iter().flat_map(u32::to_le_bytes));
    }

    /// Appends where each of the lengths ends, beginning with 0: one more
    /// number than lengths.
    pub(crate) fn put_ends(
        &mut self,
        lengths: impl IntoIterator<Item = usize>,
    ) -> Result<(), Error> {
        let mut end = 0;
        self.put(end)?;
        for length in lengths {
            end += length;
            self.put(end)?;
        }
        Ok(())
    }

    /// Appends raw bytes; whatever follows must not need alignment.
    pub(crate) fn put_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Appends small arrays, whose beginnings are where those of cache lines
    /// are, if the table begins at one and their length is a part of a line or
    /// whole lines.
    pub(crate) fn put_arrays<const N: usize>(&mut self, arrays: &[[u8; N]]) {
        self.bytes.resize(lined(self.bytes.len(), N), 0);
        self.bytes.extend(arrays.as_flattened());
    }

    /// The finished table, its length filled in.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, Error> {
        self.bytes
            .resize(self.bytes.len().next_multiple_of(ALIGN), 0);
        let len = self.fit(self.bytes.len())?;
        self.bytes[4..8].copy_from_slice(&len.to_le_bytes());
        Ok(self.bytes)
    }

    fn fit(&self, number: usize) -> Result<u32, Error> {
        u32::try_from(number).map_err(|_| {
            let what = self.what;
            Error::Invalid(format!("the {what} would need {number} entries or bytes, more than 32 bits count; split the skills into several bundles"))
        })
    }
}

/// Where arrays of so many bytes begin behind so many bytes.
fn lined(len: usize, array: usize) -> usize {
    len.next_multiple_of(array.clamp(1, LINE))
}

/// Cuts a table into its arrays, in the order they were put.
pub(crate) struct TableReader<'a> {
    len: usize,
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> TableReader<'a> {
    /// Checks magic and length. The bytes must be the table and nothing more.
    pub(crate) fn new(bytes: &'a [u8], magic: Magic, what: &'static str) -> Result<Self, Error> {
        let mut reader = Self {
            len: bytes.len(),
            rest: bytes,
            what,
        };
        let found = reader.bytes(magic.len())?;
        let len = reader.number()?;
        if found == magic && len == bytes.len() {
            Ok(reader)
        } else {
            Err(corrupt(what))
        }
    }

    fn number(&mut self) -> Result<usize, Error> {
        let number = self.numbers(1)?.get(0).ok_or(corrupt(self.what))?;
        Ok(number as usize)
    }

    /// The next few numbers, for the counts that a table begins with.
    pub(crate) fn counts<const N: usize>(&mut self) -> Result<[usize; N], Error> {
        let mut counts = [0; N];
        for count in &mut counts {
            *count = self.number()?;
        }
        Ok(counts)
    }

    /// The next `count` numbers.
    pub(crate) fn numbers(&mut self, count: usize) -> Result<Numbers<'a>, Error> {
        let len = count.checked_mul(4).ok_or(corrupt(self.what))?;
        let (numbers, _) = self.bytes(len)?.as_chunks();
        Ok(Numbers(numbers))
    }

    /// The next `len` raw bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(corrupt(self.what))?;
        self.rest = rest;
        Ok(bytes)
    }

    /// The next `count` small arrays, put by [`TableWriter::put_arrays`].
    pub(crate) fn arrays<const N: usize>(&mut self, count: usize) -> Result<&'a [[u8; N]], Error> {
        let read = self.len - self.rest.len();
        let padding = self.bytes(lined(read, N) - read)?;
        let bytes = self.bytes(count.checked_mul(N).ok_or(corrupt(self.what))?)?;
        if padding.iter().all(|byte| *byte == 0) {
            Ok(bytes.as_chunks().0)
        } else {
            Err(corrupt(self.what))
        }
    }

    /// Checks that only padding is left.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let padding = self.rest.len() < ALIGN && self.rest.iter().all(|b| *b == 0);
        if padding {
            Ok(())
        } else {
            Err(corrupt(self.what))
        }
    }
}

/// An array of numbers inside a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers<'a>(&'a [[u8; 4]]);

impl<'a> Numbers<'a> {
    /// The number at `index`, if there is one.
    pub(crate) fn get(self, index: usize) -> Option<u32> {
        self.0.get(index).copied().map(u32::from_le_bytes)
    }

    /// The numbers of a range, as they lie: little-endian.
    pub(crate) fn slice(self, range: Range<usize>) -> Option<&'a [[u8; 4]]> {
        self.0.get(range)
    }

    /// How many there are.
    pub(crate) fn len(self) -> usize {
        self.0.len()
    }

    /// The two numbers of an array of pairs, if there is such a pair.
    pub(crate) fn pair(self, index: usize) -> Option<(u32, u32)> {
        let first = index.checked_mul(2)?;
        Some((self.get(first)?, self.get(first.checked_add(1)?)?))
    }

    /// The range between two neighbours of an array made by
    /// [`TableWriter::put_ends`]; none where it would be backwards.
    pub(crate) fn range(self, index: usize) -> Option<Range<usize>> {
        let start = self.get(index)? as usize;
        let end = self.get(index.checked_add(1)?)? as usize;
        (start <= end).then_some(start..end)
    }
}

/// The first index of the range whose answer is no, where all yeses come
/// first; and where they do not, still some index in it or its end.
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

    /// What a table may have become on a bad disk or in bad hands: bits
    /// flipped, a number replaced, cut with the length mended, or all but the
    /// beginning made up.
    pub(crate) fn damaged(bytes: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
        let flipped = (Just(bytes.clone()), vec((any::<Index>(), 0..8_u8), 1..4)).prop_map(
            |(mut bytes, flips)| {
                for (at, bit) in flips {
                    let at = at.index(bytes.len());
                    bytes[at] ^= 1 << bit;
                }
                bytes
            },
        );
        let number = prop_oneof![0..40_u32, any::<u32>(), Just(u32::MAX)];
        let replaced =
            (Just(bytes.clone()), any::<Index>(), number).prop_map(|(mut bytes, at, number)| {
                let at = at.index(bytes.len() / 4) * 4;
                bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
                bytes
            });
        let cut = (Just(bytes.clone()), any::<Index>()).prop_map(|(mut bytes, cut)| {
            bytes.truncate(8 + cut.index(bytes.len() - 8));
            with_length(bytes)
        });
        let made_up = (Just(bytes), vec(any::<u8>(), 0..400)).prop_map(|(mut bytes, tail)| {
            bytes.truncate(8);
            bytes.extend(tail);
            with_length(bytes)
        });
        prop_oneof![flipped, replaced, cut, made_up]
    }

    fn with_length(mut bytes: Vec<u8>) -> Vec<u8> {
        let len = u32::try_from(bytes.len()).expect("small");
        bytes[4..8].copy_from_slice(&len.to_le_bytes());
        bytes
    }

    const TEST: Magic = *b"test";

    fn sample() -> Vec<u8> {
        let mut table = TableWriter::new(TEST, "test table");
        table.put(3).expect("fits");
        table.put_ends([2, 0, 5]).expect("fits");
        table.put_all([7, 8]);
        table.put_bytes(b"abc");
        table.finish().expect("fits")
    }

    #[test]
    fn arrays_come_back_as_they_were_put() {
        let bytes = sample();
        assert_eq!(bytes.len() % ALIGN, 0);
        let mut table = TableReader::new(&bytes, TEST, "test").expect("just written");
        assert_eq!(table.counts().expect("there"), [3]);
        let ends = table.numbers(4).expect("there");
        let ranges: Vec<_> = (0..4).map(|i| ends.range(i)).collect();
        assert_eq!(ranges, [Some(0..2), Some(2..2), Some(2..7), None]);
        let numbers = table.numbers(2).expect("there");
        assert_eq!(
            (numbers.len(), numbers.get(1), numbers.get(2)),
            (2, Some(8), None)
        );
        assert_eq!((numbers.pair(0), numbers.pair(1)), (Some((7, 8)), None));
        assert_eq!(table.bytes(3).expect("there"), b"abc");
        table.finish().expect("nothing else");
    }

    #[test]
    fn other_magic_other_length_and_leftovers_are_refused() {
        let bytes = sample();
        assert!(TableReader::new(&bytes, *b"tset", "test").is_err());
        assert!(TableReader::new(&bytes[..bytes.len() - 1], TEST, "test").is_err());
        assert!(TableReader::new(&[], TEST, "test").is_err());
        let mut table = TableReader::new(&bytes, TEST, "test").expect("just written");
        assert!(table.numbers(usize::MAX).is_err());
        assert!(table.bytes(bytes.len()).is_err());
        assert!(table.finish().is_err());
    }

    #[test]
    fn small_arrays_begin_where_lines_do_and_only_nothing_is_before_them() {
        let mut table = TableWriter::new(TEST, "test table");
        table.put_bytes(b"abc");
        table.put_arrays(&[[1; 32]; 3]);
        table.put_arrays(&[[2; 64]]);
        let mut bytes = table.finish().expect("fits");
        assert_eq!(
            (bytes[32], bytes[128]),
            (1, 2),
            "at multiples of their lengths"
        );
        let read = |bytes: &[u8]| -> Result<([u8; 32], [u8; 64]), Error> {
            let mut table = TableReader::new(bytes, TEST, "test")?;
            table.bytes(3)?;
            Ok((table.arrays(3)?[2], table.arrays(1)?[0]))
        };
        assert_eq!(read(&bytes).expect("just written"), ([1; 32], [2; 64]));
        bytes[12] = 7;
        assert!(read(&bytes).is_err(), "something in the gap");
    }

    #[test]
    fn numbers_beyond_32_bits_are_refused_with_the_way_out() {
        let mut table = TableWriter::new(TEST, "test table");
        let Some(number) = (u32::MAX as usize).checked_add(1) else {
            return;
        };
        let error = table.put(number).expect_err("too large").to_string();
        assert!(
            error.contains("test table") && error.contains("several bundles"),
            "{error}"
        );
    }

    #[test]
    fn partition_point_agrees_with_the_standard_one() {
        let sorted = [1, 1, 2, 4, 4, 9];
        for sought in 0..11 {
            let found = partition_point(0..sorted.len(), |i| Some(sorted[i] < sought));
            assert_eq!(found, Some(sorted.partition_point(|n| *n < sought)));
        }
        assert_eq!(partition_point(0..3, |_| None), None);
    }
}
