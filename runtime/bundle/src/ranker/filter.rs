//! A Bloom filter of neighbouring terms: most neighbours in a request are
//! neighbours in no skill, which is seen here without searching the pairs.

/// Pairs to a word. One absent pair in twenty or so then passes.
const PAIRS: usize = 4;

/// The filter of the pairs, as words.
pub(super) fn build(pairs: impl ExactSizeIterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut words = vec![0; pairs.len() / PAIRS + 1];
    let len = words.len();
    for (first, second) in pairs {
        let (word, bits) = place(first, second, len);
        words[word] |= bits;
    }
    words
}

/// The word of a pair among so many, and the bits it sets there.
pub(super) fn place(first: u32, second: u32, words: usize) -> (usize, u32) {
    let mixed = mixed(u64::from(first) << 32 | u64::from(second));
    let word = super::bucket(mixed, words);
    let bit = |shift: u32| 1 << (mixed >> shift & 31);
    (word, bit(0) | bit(5) | bit(10))
}

/// The finish of `SplitMix64`.
pub(super) fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_pass_and_few_others_do() {
        let pairs = (0..10_000_u32).map(|it| (it / 100, it % 100));
        let words = build(pairs.clone());
        let passes = |(first, second)| {
            let (word, bits) = place(first, second, words.len());
            words[word] & bits == bits
        };
        assert!(pairs.clone().all(passes));
        let others = pairs.filter(|(first, second)| passes((first + 100, *second)));
        assert!(others.count() < 1_000);
    }
}
