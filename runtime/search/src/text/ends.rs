//! A prefilter for a table of words by their first and last letters: it rules most words out
//! without a search.

/// For each first byte, a bit mask of last bytes; only the lower five bits of each byte are used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends([u32; 32]);

impl Ends {
    pub(super) const NONE: Self = Self([0; 32]);

    /// Adds the first and last byte of a word, which must not be empty.
    pub(super) const fn and(mut self, word: &str) -> Self {
        let word = word.as_bytes();
        self.0[(word[0] & 31) as usize] |= 1 << (word[word.len() - 1] & 31);
        self
    }

    /// Whether the table may contain the word. `false` means that it does not.
    pub(super) fn may_hold(&self, word: &str) -> bool {
        match word.as_bytes() {
            [first, .., last] => self.0[usize::from(first & 31)] & 1 << (last & 31) != 0,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_other_ends_are_told_apart() {
        let ends = Ends::NONE.and("sky").and("was").and("été");
        for word in ["sky", "was", "été", "sly", "w", ""] {
            assert!(ends.may_hold(word), "{word}");
        }
        for word in ["say!", "way", "wash", "task"] {
            assert!(!ends.may_hold(word), "{word}");
        }
    }
}
