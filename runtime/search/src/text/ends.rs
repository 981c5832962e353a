//! The first and last letters of the words of a table: of most words, these two
//! alone tell that they are not in it, without a search.

/// By the first bytes of words, as bits their last bytes; of all bytes the
/// lower five bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends([u32; 32]);

impl Ends {
    pub(super) const NONE: Self = Self([0; 32]);

    /// These and those of one more word, which must not be empty.
    pub(super) const fn and(mut self, word: &str) -> Self {
        let word = word.as_bytes();
        self.0[(word[0] & 31) as usize] |= 1 << (word[word.len() - 1] & 31);
        self
    }

    /// Whether the word has the ends of one of the table. If not, it is not in
    /// the table.
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
