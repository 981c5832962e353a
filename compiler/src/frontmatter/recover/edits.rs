//! A text with some ranges replaced, and the mapping from offsets in it back to
//! offsets in the original.

use std::collections::BTreeMap;
use std::ops::Range;

/// The range to replace, and the replacement.
pub(in crate::frontmatter) type Edit = (Range<usize>, String);

/// Replacements by their start in the original: end and new text. They never overlap.
#[derive(Debug, Default)]
pub(super) struct Edits(BTreeMap<usize, (usize, String)>);

/// The text with the replacements made.
pub(super) struct Patched {
    pub(super) text: String,
    /// Start of the original, in bytes of the file.
    base: usize,
    /// The range of each replacement in the original and in `text`.
    moved: Vec<(Range<usize>, Range<usize>)>,
}

impl Edits {
    /// Adds a replacement and drops those that it covers. Returns `false` if one
    /// of them is partly outside it.
    pub(super) fn add(&mut self, range: Range<usize>, replacement: String) -> bool {
        let touching: Vec<usize> = self
            .0
            .range(..range.end.max(range.start + 1))
            .rev()
            .take_while(|(start, (end, _))| *end > range.start || **start == range.start)
            .map(|(start, _)| *start)
            .collect();
        let inside = |start: &usize| *start >= range.start && self.0[start].0 <= range.end;
        if !touching.iter().all(inside) {
            return false;
        }
        for start in touching {
            self.0.remove(&start);
        }
        self.0.insert(range.start, (range.end, replacement));
        true
    }

    /// Makes the replacements in `file[part]`.
    pub(super) fn apply(&self, file: &str, part: &Range<usize>) -> Patched {
        let mut text = String::with_capacity(part.len());
        let mut moved = Vec::with_capacity(self.0.len());
        let mut at = part.start;
        for (start, (end, replacement)) in &self.0 {
            text.push_str(&file[at..*start]);
            moved.push((*start..*end, text.len()..text.len() + replacement.len()));
            text.push_str(replacement);
            at = *end;
        }
        text.push_str(&file[at..part.end]);
        Patched {
            text,
            base: part.start,
            moved,
        }
    }
}

impl Patched {
    /// The range in the file of a range of the text. A bound inside a replacement
    /// becomes the bound of what was replaced.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.locate(range.start, |original| original.start);
        let end = self.locate(range.end, |original| original.end);
        start..end.max(start)
    }

    /// The offset in the file of an offset of the text.
    pub(super) fn offset(&self, at: usize) -> usize {
        self.locate(at, |original| original.start)
    }

    fn locate(&self, at: usize, inside: fn(&Range<usize>) -> usize) -> usize {
        let before = self
            .moved
            .partition_point(|(_, patched)| patched.start < at);
        let Some((original, patched)) = before.checked_sub(1).map(|last| &self.moved[last]) else {
            return self.base + at;
        };
        if at < patched.end {
            inside(original)
        } else {
            original.end + (at - patched.end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_map_back_to_the_original() {
        let file = "..abcdefgh..";
        let mut edits = Edits::default();
        assert!(edits.add(3..5, "<long>".to_owned()));
        assert!(edits.add(7..7, "+".to_owned()));
        let patched = edits.apply(file, &(2..10));
        assert_eq!(patched.text, "a<long>de+fgh");
        for (range, expected) in [
            (0..1, 2..3),
            (1..7, 3..5),
            (3..5, 3..5),
            (7..9, 5..7),
            (10..13, 7..10),
            (13..13, 10..10),
        ] {
            assert_eq!(patched.original(&range), expected, "{range:?}");
        }
    }

    #[test]
    fn a_replacement_drops_what_it_covers_and_refuses_to_cut() {
        let mut edits = Edits::default();
        assert!(edits.add(3..4, "x".to_owned()));
        assert!(edits.add(2..6, "y".to_owned()));
        assert_eq!(edits.apply("abcdefgh", &(0..8)).text, "abygh");
        assert!(!edits.add(4..8, "z".to_owned()), "cuts the one at 2..6");
        assert!(
            !edits.add(3..4, "z".to_owned()),
            "is within the one at 2..6"
        );
        assert!(edits.add(6..8, "z".to_owned()));
        assert_eq!(edits.apply("abcdefgh", &(0..8)).text, "abyz");
    }
}
