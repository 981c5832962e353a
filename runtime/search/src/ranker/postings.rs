//! Posting lists: documents in ascending order, each with a one-byte payload (an impact, a share of
//! a name, or a mask of fields). Delta encoding: the gap from the previous document as a varint,
//! then the payload (Manning, Raghavan and Schütze, "Introduction to Information Retrieval", §5.3).
//! The impacts of a frequent term are stored as a row of bytes instead, one for each document, like
//! the bit vectors in Moffat and Culpepper's "Hybrid Bitvector Index Compression" (2007).

use crate::table::{fit, read_varint, write_varint};

/// Impacts are stored as a row unless the list is shorter by more than this factor: adding up a row
/// takes a tenth of the time of a list with as many postings.
const ROW_GAIN: usize = 4;

/// The number of documents of a row that are added up together. Rows are whole blocks.
pub(super) const BLOCK: usize = 64;

/// An encoded list. As an iterator it yields documents and payloads; a damaged list yields wrong
/// ones or ends early.
#[derive(Debug, Clone)]
pub(super) struct Postings<'a> {
    bytes: &'a [u8],
    document: u32,
}

/// The impacts of a term or of a pair of neighbours.
#[derive(Debug, Clone)]
pub(super) enum Impacts<'a> {
    List(Postings<'a>),
    /// One impact for each document; 0 if the document lacks the term.
    Row(&'a [[u8; BLOCK]]),
}

impl<'a> Postings<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, document: 0 }
    }

    /// The payload of a document; 0 if the list does not contain it.
    pub(super) fn get(&self, document: u32) -> u8 {
        let found = self.clone().find(|(at, _)| *at >= document);
        found.map_or(0, |(at, number)| if at == document { number } else { 0 })
    }
}

impl Iterator for Postings<'_> {
    type Item = (u32, u8);

    fn next(&mut self) -> Option<(u32, u8)> {
        let gap = read_varint(&mut self.bytes)?;
        self.document = self.document.wrapping_add(gap);
        let (number, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some((self.document, *number))
    }
}

impl<'a> Impacts<'a> {
    /// Reads what [`write_impacts`] wrote for this number of documents. Bytes of a row's length are
    /// a row, since lists are shorter.
    pub(super) fn new(bytes: &'a [u8], documents: usize) -> Self {
        if bytes.len() == row_length(documents) {
            Self::Row(bytes.as_chunks().0)
        } else {
            Self::List(Postings::new(bytes))
        }
    }

    /// The impact in a document; 0 if there is none.
    pub(super) fn get(&self, document: u32) -> u8 {
        match self {
            Self::List(postings) => postings.get(document),
            Self::Row(row) => {
                let impact = row.as_flattened().get(document as usize);
                impact.copied().unwrap_or(0)
            }
        }
    }
}

fn row_length(documents: usize) -> usize {
    documents.next_multiple_of(BLOCK)
}

/// Appends the list of these documents, which must ascend. Documents with payload 0 are omitted.
pub(super) fn write_postings(list: impl Iterator<Item = (u32, u8)>, out: &mut Vec<u8>) {
    let mut before = 0;
    for (document, number) in list.filter(|(_, number)| *number > 0) {
        write_varint(document - before, out);
        out.push(number);
        before = document;
    }
}

/// Appends impacts as a list or as a row.
pub(super) fn write_impacts(
    list: impl Iterator<Item = (u32, u8)> + Clone,
    documents: usize,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    write_postings(list.clone(), out);
    if (out.len() - start) * ROW_GAIN >= row_length(documents) {
        out.truncate(start);
        out.resize(start + row_length(documents), 0);
        for (document, impact) in list {
            out[start + document as usize] = impact;
        }
    }
}

/// Reads bytes that [`write_sized`] wrote, and advances `bytes`.
pub(super) fn read_sized<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = read_varint(bytes)?;
    let (sized, rest) = bytes.split_at_checked(length as usize)?;
    *bytes = rest;
    Some(sized)
}

/// Appends the bytes that `write` writes, prefixed with their length.
pub(super) fn write_sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = Vec::new();
    write(&mut bytes);
    let length = fit(bytes.len()).expect("a list of 2²⁴ documents takes less");
    write_varint(length, out);
    out.extend(bytes);
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
                prop_assert!(postings.clone().eq(expected.map(|(at, number)| (*at, *number))));
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
    fn impacts_are_a_row_or_a_list_and_the_same_in_both() {
        for (documents, step, expected) in [
            (640, 1, 640),
            (640, 8, 640),
            (640, 9, 2 * 72),
            (7, 1, 2 * 7),
            (8, 1, 64),
            (25_600, 127, 2 * 202),
            (25_600, 128, 3 * 200 - 1),
        ] {
            let list = (0..documents).step_by(step).map(|at| (at, 7));
            let mut bytes = Vec::new();
            write_impacts(list, documents as usize, &mut bytes);
            assert_eq!(bytes.len(), expected, "{documents} by {step}");
            let impacts = Impacts::new(&bytes, documents as usize);
            for at in 0..documents {
                let expected = if (at as usize).is_multiple_of(step) {
                    7
                } else {
                    0
                };
                assert_eq!(impacts.get(at), expected, "{at} of {documents} by {step}");
            }
        }
    }
}
