//! Records which terms occur near each other in some skill. This helps to tell requests in the
//! bundle's domain from chance matches. Pairs are collected and stored as a Bloom filter (Bloom,
//! 1970), blocked so that a lookup reads a single word: a request looks up only a few of millions
//! of pairs.

/// Two terms co-occur if one is at most this many terms after the other, regardless of clause
/// breaks.
const REACH: usize = 2;

/// Bits of the filter per pair, and the number of bits that a pair sets. The false-positive rate is
/// about one in fifty-five.
const BITS: usize = 10;
const SET: u32 = 4;

/// The number of bits that select a bit of a word.
const PLACE: u32 = Word::BITS.ilog2();

/// The part of the filter that is read for one pair: a block of the Bloom filter.
type Word = u64;

/// An encoded word, little-endian.
pub(super) type WordBytes = [u8; size_of::<Word>()];

/// Number of pairs to collect before duplicates are dropped.
const ROOM: usize = 1 << 20;

/// Pairs that were seen last: a direct-mapped cache, small enough for the second level of a
/// processor's cache. Most pairs repeat soon, and a lookup costs less than sorting them out later.
const RECENT: usize = 1 << 14;

/// The pairs of a bundle, collected term by term.
#[derive(Debug)]
pub(super) struct Pairs {
    /// The last terms of the current text.
    before: [Option<u32>; REACH],
    /// Both numbers of each pair, the smaller one first; may contain duplicates.
    keys: Vec<u64>,
    /// Number of pairs at the last deduplication.
    distinct: usize,
    /// See [`RECENT`]. 0 is no pair, since the terms of a pair differ.
    recent: Vec<u64>,
}

impl Default for Pairs {
    fn default() -> Self {
        Self {
            before: [None; REACH],
            keys: Vec::new(),
            distinct: 0,
            recent: vec![0; RECENT],
        }
    }
}

impl Pairs {
    /// Begins a text: its terms are not near those of the previous text.
    pub(super) fn begin(&mut self) {
        self.before = [None; REACH];
    }

    /// Appends a term to the text.
    pub(super) fn push(&mut self, term: u32) {
        for near in self.before.into_iter().flatten().filter(|it| *it != term) {
            let key = key(near, term);
            let slot = &mut self.recent[recent_slot(key)];
            if *slot != key {
                *slot = key;
                self.keys.push(key);
            }
        }
        self.before.rotate_right(1);
        self.before[0] = Some(term);
        // Deduplicating each time the list has doubled costs about as much as
        // sorting it a few times, and bounds memory by twice the distinct pairs.
        if self.keys.len() > self.distinct * 2 + ROOM {
            self.deduplicate();
        }
    }

    fn deduplicate(&mut self) {
        self.keys.sort_unstable();
        self.keys.dedup();
        self.distinct = self.keys.len();
    }

    /// Adds the pairs of other texts, with their terms renumbered by `number`.
    pub(super) fn absorb(&mut self, mut other: Self, number: impl Fn(u32) -> u32) {
        other.deduplicate();
        let renumbered = other.keys.into_iter().map(|pair| {
            let [first, second] = terms(pair).map(&number);
            key(first, second)
        });
        self.keys.extend(renumbered);
    }

    /// The filter of the pairs, with their terms renumbered by `number`.
    pub(super) fn finish(mut self, number: impl Fn(u32) -> u32) -> Vec<WordBytes> {
        self.deduplicate();
        let mut words: Vec<Word> = vec![0; self.keys.len() * BITS / Word::BITS as usize + 1];
        let len = words.len();
        for pair in self.keys {
            let [first, second] = terms(pair).map(&number);
            let (word, bits) = place(first, second, len);
            words[word] |= bits;
        }
        words.into_iter().map(Word::to_le_bytes).collect()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "less than `RECENT`")]
fn recent_slot(key: u64) -> usize {
    // Fibonacci hashing (Knuth, "The Art of Computer Programming", volume 3, §6.4).
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECENT.ilog2())) as usize
}

/// Whether the filter contains a pair (or reports a false positive). Returns `None` if the filter
/// is empty.
pub(super) fn holds(words: &[WordBytes], first: u32, second: u32) -> Option<bool> {
    let (word, bits) = place(first, second, words.len());
    Some(Word::from_le_bytes(*words.get(word)?) & bits == bits)
}

/// The word of a pair, and the bits that the pair sets in it.
#[expect(clippy::cast_possible_truncation, reason = "less than `words`")]
fn place(first: u32, second: u32, words: usize) -> (usize, Word) {
    let mixed = mixed(key(first, second));
    let bits = (0..SET).fold(0, |bits, at| {
        bits | 1 << (mixed >> (at * PLACE) & Word::from(Word::BITS - 1))
    });
    // The high half of a product maps a hash to a range without a division
    // (Lemire, "Fast Random Integer Generation in an Interval", 2019).
    let word = (u128::from(mixed) * words as u128) >> 64;
    (word as usize, bits)
}

/// The finalizer of `SplitMix64` (Steele, Lea and Flood, 2014).
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

fn key(one: u32, other: u32) -> u64 {
    u64::from(one.min(other)) << 32 | u64::from(one.max(other))
}

#[expect(clippy::cast_possible_truncation, reason = "the halves of a key")]
fn terms(key: u64) -> [u32; 2] {
    [(key >> 32) as u32, key as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(texts: &[&[u32]]) -> Pairs {
        let mut pairs = Pairs::default();
        for text in texts {
            pairs.begin();
            text.iter().for_each(|term| pairs.push(*term));
        }
        pairs
    }

    fn filter(texts: &[&[u32]]) -> Vec<WordBytes> {
        pairs(texts).finish(|term| term + 1)
    }

    #[test]
    fn absorbed_pairs_are_those_of_one_collection() {
        let (first, second): (&[u32], &[u32]) = (&[0, 1, 2, 0, 3], &[7, 1, 0, 2]);
        let mut absorbing = pairs(&[first]);
        // The second collection numbers its terms in another order.
        absorbing.absorb(pairs(&[&[0, 6, 7, 5]]), |term| 7 - term);
        assert_eq!(absorbing.finish(|term| term + 1), filter(&[first, second]));
    }

    #[test]
    fn terms_co_occur_up_to_two_apart_in_one_text_in_either_order() {
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
    fn collected_pairs_pass_and_few_others_do() {
        // More than `ROOM`, so that duplicates are dropped while collecting.
        let text: Vec<u32> = (0..300_000).chain(0..300_000).collect();
        let words = filter(&[&text, &text]);
        let mut all = 1..300_000;
        assert!(all.all(|it| holds(&words, it, it + 1) == Some(true)));
        assert_eq!(words.len(), (2 * 300_000 - 3 + 3) * BITS / 64 + 1);
        let wrong = (1..300_000).filter(|it| holds(&words, *it, it + 3) == Some(true));
        let wrong = wrong.count();
        assert!(wrong < 300_000 / 50, "{wrong} of 300,000 pass wrongly");
    }
}
