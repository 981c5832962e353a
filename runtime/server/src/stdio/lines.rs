//! Cuts what arrives into lines, and lets none grow without bound: of a line that is too long, only
//! the id is kept.

use crate::jsonrpc::{Id, IdScan, LONGEST};

/// Capacity that is kept between lines; what a large line took is given back.
const KEPT: usize = 64 * 1024;

/// Bytes that have arrived and are not yet used.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where no line end was found.
    searched: usize,
    /// Set while an over-long line is being dropped.
    dropping: Option<IdScan>,
    ended: bool,
}

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InputLine<'a> {
    /// Its bytes, without line end, byte order mark and white space around.
    Whole(&'a [u8]),
    /// Longer than [`LONGEST`]; its id, if there was one.
    TooLong(Option<Id>),
}

impl Lines {
    /// Where to append what arrives.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.buffer.is_empty() && self.buffer.capacity() > 2 * KEPT {
            self.buffer = Vec::with_capacity(KEPT);
        }
        &mut self.buffer
    }

    /// Nothing more will arrive: what is left counts as a line.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// Whether bytes of a further line are here.
    pub(crate) fn has_more(&self) -> bool {
        self.start < self.buffer.len()
    }

    /// The next line that is not blank.
    pub(crate) fn next(&mut self) -> Option<InputLine<'_>> {
        loop {
            let begin = self.start;
            let end = self.line_end()?;
            if let Some(mut scan) = self.dropping.take() {
                scan.feed(&self.buffer[begin..end]);
                return Some(InputLine::TooLong(scan.found()));
            }
            if end - begin > LONGEST {
                return Some(InputLine::TooLong(IdScan::find(&self.buffer[begin..end])));
            }
            if !trim(&self.buffer[begin..end]).is_empty() {
                return Some(InputLine::Whole(trim(&self.buffer[begin..end])));
            }
        }
    }

    /// Ends the current line and begins the next one.
    fn line_end(&mut self) -> Option<usize> {
        let len = self.buffer.len();
        if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            let end = self.searched + at;
            (self.start, self.searched) = (end + 1, end + 1);
            return Some(end);
        }
        self.searched = len;
        if self.ended && (self.has_more() || self.dropping.is_some()) {
            self.start = len;
            return Some(len);
        }
        if self.dropping.is_some() || len - self.start > LONGEST {
            let scan = self.dropping.get_or_insert_default();
            scan.feed(&self.buffer[self.start..]);
            self.start = len;
        }
        None
    }
}

fn trim(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(line)
        .trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is cut from `input` when it arrives in pieces of `size`.
    fn cut(input: &[u8], size: usize) -> Vec<Result<String, Option<String>>> {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        let mut take = |lines: &mut Lines| {
            while let Some(line) = lines.next() {
                found.push(match line {
                    InputLine::Whole(line) => Ok(String::from_utf8_lossy(line).into_owned()),
                    InputLine::TooLong(id) => Err(id.map(|id| id.as_json().to_owned())),
                });
            }
        };
        for piece in input.chunks(size) {
            lines.buffer().extend_from_slice(piece);
            take(&mut lines);
        }
        lines.end();
        take(&mut lines);
        found
    }

    #[test]
    fn lines_are_cut_the_same_in_any_pieces() {
        let input = b"one\r\n\n  \n\xef\xbb\xbftwo\n three \nlast without end";
        let expected: Vec<_> = ["one", "two", "three", "last without end"]
            .map(|line| Ok(line.to_owned()))
            .to_vec();
        for size in [1, 2, 3, 7, 1000] {
            assert_eq!(cut(input, size), expected, "pieces of {size}");
        }
        assert_eq!(cut(b"", 1), []);
        assert_eq!(cut(b"\n\n", 1), []);
    }

    #[test]
    fn an_over_long_line_leaves_its_id_and_little_memory() {
        let long = "x".repeat(LONGEST);
        let first = format!("{{\"id\":1,\"p\":\"{long}\"}}\nnext\n");
        let last = format!("{{\"p\":\"{long}\",\"id\":\"z\"}}\nnext\n");
        let none = format!("{long}y\nnext\n");
        for size in [65_536, 10 * LONGEST] {
            for (input, id) in [(&first, Some("1")), (&last, Some("\"z\"")), (&none, None)] {
                let expected = vec![Err(id.map(str::to_owned)), Ok("next".to_owned())];
                assert_eq!(cut(input.as_bytes(), size), expected, "pieces of {size}");
            }
        }
        let cut_short = format!("{{\"id\":1,\"p\":\"{long}");
        assert_eq!(
            cut(cut_short.as_bytes(), 65_536),
            [Err(Some("1".to_owned()))],
            "the end of input ends the line"
        );
    }

    #[test]
    fn a_line_of_the_maximum_length_is_read() {
        let line = "x".repeat(LONGEST);
        assert_eq!(cut(format!("{line}\n").as_bytes(), 65_536), [Ok(line)]);
    }

    #[test]
    fn dropping_does_not_collect() {
        let mut lines = Lines::default();
        for _ in 0..400 {
            lines.buffer().extend_from_slice(&vec![b'x'; KEPT]);
            assert_eq!(lines.next(), None);
        }
        assert!(
            lines.buffer.capacity() < 3 * LONGEST,
            "{} bytes",
            lines.buffer.capacity()
        );
        lines.buffer().push(b'\n');
        assert_eq!(lines.next(), Some(InputLine::TooLong(None)));
        assert!(lines.buffer().capacity() <= 2 * KEPT);
    }
}
