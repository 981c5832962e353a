//! Which terms stand near each other in some skill: what tells the subject of a
//! bundle from chance. Collected as pairs, and kept as a Bloom filter, since a
//! request asks for a few of millions.

use super::filter::mixed;

/// Two terms are near each other where one is at most so many terms behind the
/// other. Breaks do not part them.
const REACH: usize = 2;

/// Bits of the filter for each pair, and how many of them a pair sets. One
/// absent pair in some fifty-five then passes.
const BITS: usize = 10;
const SET: u32 = 4;

/// The bits that number one in a word.
const PLACE: u32 = Word::BITS.ilog2();

/// What lies together and is looked at for one pair.
type Word = u64;

/// A word as it lies in a table.
pub(super) type WordBytes = [u8; size_of::<Word>()];

/// So many pairs may be collected before those that came again are dropped.
const ROOM: usize = 1 << 20;

/// The pairs of a bundle, collected term by term.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// The last terms of the text.
    before: [Option<u32>; REACH],
    /// Both numbers of each pair, the lesser first. Some are there twice.
    keys: Vec<u64>,
    /// So many are there once.
    distinct: usize,
}

impl Pairs {
    /// Begins a text: its terms are not near those of the text before.
    pub(super) fn begin(&mut self) {
        self.before = [None; REACH];
    }

    /// Goes on with this term.
    pub(super) fn push(&mut self, term: u32) {
        let near = self.before.iter().flatten().filter(|it| **it != term);
        self.keys.extend(near.map(|near| joined(*near, term)));
        self.before.rotate_right(1);
        self.before[0] = Some(term);
        // Sorting when there are twice as many takes as long as sorting a few
        // times, and as much memory as twice the pairs.
        if self.keys.len() > self.distinct * 2 + ROOM {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.keys.sort_unstable();
        self.keys.dedup();
        self.distinct = self.keys.len();
    }

    /// The filter of the pairs, with other numbers for their terms.
    pub(super) fn finish(mut self, number: impl Fn(u32) -> u32) -> Vec<WordBytes> {
        self.settle();
        let mut words: Vec<Word> = vec![0; self.keys.len() * BITS / Word::BITS as usize + 1];
        let len = words.len();
        for pair in self.keys {
            let [first, second] = parted(pair).map(&number);
            let (word, bits) = place(first, second, len);
            words[word] |= bits;
        }
        words.into_iter().map(Word::to_le_bytes).collect()
    }
}

/// Whether the filter lets a pair pass; nothing where it has no words.
pub(super) fn holds(words: &[WordBytes], first: u32, second: u32) -> Option<bool> {
    let (word, bits) = place(first, second, words.len());
    Some(Word::from_le_bytes(*words.get(word)?) & bits == bits)
}

/// The word of a pair among so many, and the bits it sets there.
fn place(first: u32, second: u32, words: usize) -> (usize, Word) {
    let mixed = mixed(joined(first, second));
    let bits = (0..SET).fold(0, |bits, at| {
        bits | 1 << (mixed >> (at * PLACE) & Word::from(Word::BITS - 1))
    });
    (super::bucket(mixed, words), bits)
}

fn joined(one: u32, other: u32) -> u64 {
    u64::from(one.min(other)) << 32 | u64::from(one.max(other))
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of a pair")]
fn parted(pair: u64) -> [u32; 2] {
    [(pair >> 32) as u32, pair as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(texts: &[&[u32]]) -> Vec<WordBytes> {
        let mut pairs = Pairs::default();
        for text in texts {
            pairs.begin();
            text.iter().for_each(|term| pairs.push(*term));
        }
        pairs.finish(|term| term + 1)
    }

    #[test]
    fn terms_are_near_up_to_two_apart_in_one_text_in_either_order() {
        let words = filter(&[&[0, 1, 2, 3, 4], &[5, 6, 5]]);
        for (first, second, expected) in [
            (1, 2, true),
            (2, 1, true),
            (1, 3, true),
            (5, 3, true),
            (1, 4, false),
            (5, 6, false),
            (6, 7, true),
            (6, 6, false),
        ] {
            let found = holds(&words, first, second);
            assert_eq!(found, Some(expected), "{first} and {second}");
        }
        assert_eq!(holds(&[], 1, 2), None);
    }

    #[test]
    fn pairs_pass_however_often_they_come_and_few_others_do() {
        // More than there is room for, so that some are dropped on the way.
        let text: Vec<u32> = (0..300_000).chain(0..300_000).collect();
        let words = filter(&[&text, &text]);
        let all = 1..300_000;
        assert!(
            all.clone()
                .all(|it| holds(&words, it, it + 1) == Some(true))
        );
        assert_eq!(words.len(), (2 * 300_000 - 3 + 3) * BITS / 64 + 1);
        let passing = all.filter(|it| holds(&words, *it, it + 3) == Some(true));
        let passing = passing.count();
        assert!(passing < 300_000 / 50, "{passing} of 300,000 pass wrongly");
    }
}
