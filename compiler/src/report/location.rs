//! Lines and columns of a byte range, for people and editors. A file is indexed once, so that the
//! place of a finding costs no pass over the file.

use std::ops::Range;

use memchr::memchr_iter;

use crate::diagnostic::Span;

/// The position of a [`Span`] in its file. Lines and columns count from 1; the end is
/// exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// Line of `start`.
    pub line: usize,
    /// Column of `start`, in characters.
    pub column: usize,
    /// Column of `start`, in bytes.
    pub byte_column: usize,
    /// Line of `end`.
    pub end_line: usize,
    /// Column of `end`, in characters.
    pub end_column: usize,
    /// Column of `end`, in bytes.
    pub end_byte_column: usize,
    /// Characters before `start`, without a byte order mark.
    pub character: usize,
    /// Characters before `end`, without a byte order mark.
    pub end_character: usize,
}

impl Location {
    /// The place of one span in a text that is not indexed.
    pub(crate) fn of(source: &[u8], span: Span) -> Self {
        LineIndex::new(source).locate(source, span)
    }
}

/// A leading byte order mark has no column, since editors do not show it.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Bytes between two counts of characters: what a look-up may have to read, in a line of any length.
const BLOCK: usize = 256;

/// Where the lines of a text begin, and how many characters are before each block of bytes.
#[derive(Debug)]
pub(super) struct LineIndex {
    /// Offsets of the first byte of each line; of the first line after a byte order mark.
    lines: Vec<usize>,
    /// For each block the first character that begins in it or after it: its offset, and the number
    /// of characters before it.
    blocks: Vec<(usize, usize)>,
}

impl LineIndex {
    /// Reads the text once. An invalid UTF-8 sequence counts as one character.
    pub(super) fn new(source: &[u8]) -> Self {
        let first = if source.starts_with(BOM) {
            BOM.len()
        } else {
            0
        };
        let mut lines = vec![first];
        lines.extend(memchr_iter(b'\n', source).map(|at| at + 1));
        let mut blocks = Vec::with_capacity(source.len() / BLOCK + 1);
        let (mut at, mut count) = (0, 0);
        // The characters up to the next block, or one invalid sequence.
        let mut add = |bytes: usize, characters: usize| {
            if blocks.len() * BLOCK <= at {
                blocks.push((at, count));
            }
            at += bytes;
            count += characters;
            (blocks.len() * BLOCK).saturating_sub(at)
        };
        let mut room = 0;
        for chunk in source.utf8_chunks() {
            let mut rest = chunk.valid();
            while !rest.is_empty() {
                let part = up_to(rest, room.max(1));
                room = add(part.len(), part.chars().count());
                rest = &rest[part.len()..];
            }
            if !chunk.invalid().is_empty() {
                room = add(chunk.invalid().len(), 1);
            }
        }
        if blocks.len() * BLOCK <= source.len() {
            blocks.push((at, count));
        }
        Self { lines, blocks }
    }

    /// Lines and columns of a span, which is clamped to the text.
    pub(super) fn locate(&self, source: &[u8], span: Span) -> Location {
        let end = span.end.min(source.len());
        let start = span.start.min(end);
        let first = self.characters_before(source, self.lines[0]);
        let place = |at: usize| {
            let (line, begin) = self.line_of(at);
            let count = self.characters_before(source, at);
            let column = count.saturating_sub(self.characters_before(source, begin)) + 1;
            let byte_column = at.saturating_sub(begin) + 1;
            (line, column, byte_column, count.saturating_sub(first))
        };
        let (line, column, byte_column, character) = place(start);
        let (end_line, end_column, end_byte_column, end_character) = place(end);
        Location {
            line,
            column,
            byte_column,
            end_line,
            end_column,
            end_byte_column,
            character,
            end_character,
        }
    }

    /// Where the text of the line that contains `at` begins and ends, without its line end.
    pub(super) fn line_around(&self, source: &[u8], at: usize) -> Range<usize> {
        let (line, begin) = self.line_of(at.min(source.len()));
        let end = match self.lines.get(line) {
            Some(next) => next - 1,
            None => source.len(),
        };
        let end = end.max(begin);
        let is_crlf = source[begin..end].ends_with(b"\r");
        begin..end - usize::from(is_crlf)
    }

    /// The number of the line that contains `at`, and where its text begins.
    fn line_of(&self, at: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|begin| *begin <= at).max(1);
        (line, self.lines[line - 1])
    }

    /// The number of characters that begin before `at`. Reads no more than a block.
    fn characters_before(&self, source: &[u8], at: usize) -> usize {
        let (begin, before) = self.blocks[at / BLOCK];
        before + source.get(begin..at).map_or(0, characters)
    }
}

/// The beginning of a text, of so many bytes or of as many more as its last character has.
fn up_to(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    &text[..end]
}

fn characters(bytes: &[u8]) -> usize {
    #[cfg(test)]
    tests::READ.with(|read| read.set(read.get() + bytes.len()));
    bytes
        .utf8_chunks()
        .map(|chunk| chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty()))
        .sum()
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Bytes that look-ups have read.
        pub(super) static READ: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn columns_count_characters_and_bytes() {
        // source, byte range, (line, column, byte column, end line, end column)
        type Place = (usize, usize, usize, usize, usize);
        let cases: &[(&[u8], Range<usize>, Place)] = &[
            (b"", 0..0, (1, 1, 1, 1, 1)),
            (b"ab\ncd", 3..5, (2, 1, 1, 2, 3)),
            (b"ab\r\ncd", 4..5, (2, 1, 1, 2, 2)),
            ("日本: x".as_bytes(), 6..7, (1, 3, 7, 1, 4)),
            ("\u{feff}---\nq".as_bytes(), 3..6, (1, 1, 1, 1, 4)),
            (b"a\xFF\xFEb", 3..4, (1, 4, 4, 1, 5)),
            (b"ab", 1..99, (1, 2, 2, 1, 3)),
            (b"ab", 7..9, (1, 3, 3, 1, 3)),
        ];
        for (source, range, expected) in cases {
            let span = Location::of(source, range.into());
            let found = (
                span.line,
                span.column,
                span.byte_column,
                span.end_line,
                span.end_column,
            );
            assert_eq!(
                found,
                *expected,
                "{range:?} of {:?}",
                String::from_utf8_lossy(source)
            );
        }
    }

    /// By the definition: everything before the place is read.
    fn slowly(source: &[u8], at: usize) -> (usize, usize) {
        let before = &source[..at];
        let begin = before
            .iter()
            .rposition(|it| *it == b'\n')
            .map_or(0, |it| it + 1);
        let bom = if begin == 0 && before.starts_with(BOM) {
            BOM.len()
        } else {
            0
        };
        let line = before.split(|it| *it == b'\n').count();
        (line, characters(&source[begin + bom..at]) + 1)
    }

    proptest::proptest! {
        #[test]
        fn an_index_finds_what_counting_from_the_start_finds(
            pieces in proptest::collection::vec(proptest::sample::select(vec![
                &b"\n"[..], b"\r\n", b"abc", "é日😀".as_bytes(), b"\xFF", b"\xE6\x97", b"\xF0\x90\x80", BOM,
            ]), 0..400),
            has_bom: bool,
        ) {
            let mut source = if has_bom { BOM.to_vec() } else { Vec::new() };
            source.extend(pieces.concat());
            let index = LineIndex::new(&source);
            let first = if source.starts_with(BOM) { BOM.len() } else { 0 };
            for at in first..=source.len() {
                let found = index.locate(&source, Span::from(at..at));
                proptest::prop_assert_eq!((found.line, found.column), slowly(&source, at), "{}", at);
            }
        }
    }

    #[test]
    fn a_place_costs_no_more_in_a_large_file_than_in_a_small_one() {
        // One long line, and many short ones.
        for line in ["é".repeat(1 << 19), "é\n".repeat(1 << 18)] {
            let source = line.as_bytes();
            let index = LineIndex::new(source);
            READ.set(0);
            let places = 1_000;
            for place in 0..places {
                let at = source.len() / places * place;
                index.locate(source, Span::from(at..at + 1));
            }
            // Start, end, their lines and the first line.
            assert!(
                READ.get() <= places * 5 * (BLOCK + 4),
                "{} bytes",
                READ.get()
            );
        }
    }
}
