//! Lines and columns of a byte range, for people and editors.

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
}

/// A leading byte order mark has no column, since editors do not show it.
const BOM: &[u8] = b"\xEF\xBB\xBF";

impl Location {
    /// Computes lines and columns of a span, which is clamped to the file.
    /// An invalid UTF-8 sequence counts as one character.
    pub(crate) fn of(source: &[u8], span: Span) -> Self {
        let end = span.end.min(source.len());
        let start = span.start.min(end);
        let (line, line_start) = line_of(source, start);
        let (end_line, end_line_start) = line_of(source, end);
        Self {
            line,
            column: characters(&source[line_start..start]) + 1,
            byte_column: start - line_start + 1,
            end_line,
            end_column: characters(&source[end_line_start..end]) + 1,
            end_byte_column: end - end_line_start + 1,
        }
    }
}

/// The number of the line that contains `at`, and where its text begins.
#[expect(
    clippy::naive_bytecount,
    reason = "the compiler vectorizes this; a crate is not worth it"
)]
fn line_of(source: &[u8], at: usize) -> (usize, usize) {
    let before = &source[..at];
    let number = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |newline| newline + 1);
    let bom = if start == 0 && before.starts_with(BOM) {
        BOM.len()
    } else {
        0
    };
    (number, start + bom)
}

fn characters(bytes: &[u8]) -> usize {
    bytes
        .utf8_chunks()
        .map(|chunk| chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty()))
        .sum()
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

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
}
