//! Posting lists: documents in ascending order with a small number beside each
//! (an impact, a share of a name, a mask of fields). Delta encoding: the gap
//! from the document before in variable-byte code, then the number in one byte
//! (Manning, Raghavan and Schütze, "Introduction to Information Retrieval", §5.3).

/// The low bits of a byte that carry a number; the high bit says that more follow.
const LOW: u8 = 0x7f;

/// A list as it lies in a table. As an iterator it gives documents and numbers;
/// a damaged list gives wrong ones, or ends early.
#[derive(Debug, Clone, Copy)]
pub(super) struct Postings<'a> {
    bytes: &'a [u8],
    document: u32,
}

impl<'a> Postings<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, document: 0 }
    }

    /// The number beside a document; 0 if the list lacks it.
    pub(super) fn get(mut self, document: u32) -> u8 {
        let found = self.find(|(at, _)| *at >= document);
        found.map_or(0, |(at, number)| if at == document { number } else { 0 })
    }
}

impl Iterator for Postings<'_> {
    type Item = (u32, u8);

    fn next(&mut self) -> Option<(u32, u8)> {
        self.document = self.document.wrapping_add(read_number(&mut self.bytes)?);
        let (number, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some((self.document, *number))
    }
}

/// Appends the list of these documents, ascending. Those with the number 0 are left out.
pub(super) fn write_postings(list: impl Iterator<Item = (u32, u8)>, out: &mut Vec<u8>) {
    let mut before = 0;
    for (document, number) in list.filter(|(_, number)| *number > 0) {
        write_number(document - before, out);
        out.push(number);
        before = document;
    }
}

/// Takes a list that [`write_list`] wrote off the bytes.
pub(super) fn read_list<'a>(bytes: &mut &'a [u8]) -> Option<Postings<'a>> {
    let length = read_number(bytes)?;
    let (list, rest) = bytes.split_at_checked(length as usize)?;
    *bytes = rest;
    Some(Postings::new(list))
}

/// Appends a list after its length in bytes.
pub(super) fn write_list(list: impl Iterator<Item = (u32, u8)>, out: &mut Vec<u8>) {
    let mut bytes = Vec::new();
    write_postings(list, &mut bytes);
    // Six bytes for each of 2²⁴ documents at most.
    let length = u32::try_from(bytes.len()).expect("less than 2³² bytes");
    write_number(length, out);
    out.extend(bytes);
}

/// Takes a number in variable-byte code, lowest bits first, off the bytes.
pub(super) fn read_number(bytes: &mut &[u8]) -> Option<u32> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & LOW).checked_shl(shift)?;
        if *byte <= LOW {
            return Some(number);
        }
        shift += LOW.count_ones();
    }
}

/// Appends a number in variable-byte code.
pub(super) fn write_number(mut number: u32, out: &mut Vec<u8>) {
    while number > u32::from(LOW) {
        out.push(!LOW | number.to_le_bytes()[0]);
        number >>= LOW.count_ones();
    }
    out.push(number.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use proptest::collection::btree_map;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_are_read_as_they_were_written(
            dense in btree_map(0_u32..2_000, any::<u8>(), 0..200),
            sparse in btree_map(any::<u32>(), any::<u8>(), 0..20),
        ) {
            for list in [dense, sparse] {
                let mut bytes = Vec::new();
                write_postings(list.iter().map(|(at, number)| (*at, *number)), &mut bytes);
                let postings = Postings::new(&bytes);
                let expected = list.iter().filter(|(_, number)| **number > 0);
                prop_assert!(postings.eq(expected.map(|(at, number)| (*at, *number))));
                for at in list.keys().flat_map(|at| [at.saturating_sub(1), *at, at.saturating_add(1)]) {
                    prop_assert_eq!(postings.get(at), list.get(&at).copied().unwrap_or(0));
                }
            }
        }

        #[test]
        fn any_bytes_are_some_list(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(Postings::new(&bytes).count() <= bytes.len() / 2);
        }
    }

    #[test]
    fn short_gaps_take_one_byte() {
        let length = |gap: u32| {
            let mut bytes = Vec::new();
            write_postings((1..=10).map(|at| (at * gap, 1)), &mut bytes);
            bytes.len()
        };
        assert_eq!((length(127), length(128), length(16_384)), (20, 30, 40));
    }
}
