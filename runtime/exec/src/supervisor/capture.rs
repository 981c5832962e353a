//! What is kept of a stream of output, however long it is.

use std::collections::VecDeque;

use crate::Captured;

/// Bytes that are kept of the end of a stream that is longer than the limit.
const TAIL: usize = 4096;

/// Bytes of a last line that are reported.
const LINE: usize = 200;

/// One stream.
pub(super) struct Capture {
    limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
        }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.limit - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(TAIL)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// The end of what was written so far, with more than a line that is reported.
    pub(super) fn end(&self) -> Vec<u8> {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let head = &self.head[self.head.len().saturating_sub(2 * LINE)..];
        [head, &tail].concat()
    }

    pub(super) fn finish(self) -> Captured {
        Captured {
            head: self.head,
            tail: self.tail.into(),
            total: self.total,
        }
    }
}

/// The last line with text in some output, cut to a length that can be shown.
pub(super) fn last_line(bytes: &[u8]) -> Option<&[u8]> {
    let lines = bytes.rsplit(|it| matches!(it, b'\n' | b'\r'));
    let mut lines = lines.map(<[u8]>::trim_ascii);
    let line = lines.find(|it| !it.is_empty())?;
    Some(&line[..line.len().min(LINE)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept_however_it_arrives() {
        let sent: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        for limit in [0, 1, 10, 5000, 99_999, 100_000, 200_000] {
            for chunk in [1, 7, 4096, 60_000, 100_000] {
                let mut capture = Capture::new(limit);
                sent.chunks(chunk).for_each(|it| capture.add(it));
                let kept = capture.finish();
                let beyond = sent.len().saturating_sub(limit);
                assert_eq!(kept.head, sent[..limit.min(sent.len())]);
                assert_eq!(kept.tail, sent[sent.len() - beyond.min(TAIL)..]);
                assert_eq!(kept.left_out(), beyond.saturating_sub(TAIL) as u64);
            }
        }
    }

    #[test]
    fn the_last_line_is_the_last_with_text() {
        for (output, line) in [
            ("", None),
            ("\n \n", None),
            ("one", Some("one")),
            ("one\ntwo\n", Some("two")),
            ("10 %\r20 %\r", Some("20 %")),
        ] {
            assert_eq!(
                last_line(output.as_bytes()),
                line.map(str::as_bytes),
                "{output:?}"
            );
        }
    }
}
