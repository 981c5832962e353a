//! A map whose keys are words. Looking up every word of every document takes most of the time of
//! building an index, so nearly all words are stored in the table itself: a lookup follows no
//! pointer and compares 16 bytes at once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use crate::hashing::Hashing;

/// A word, zeros, and in the last byte its length.
type ShortWord = [u8; 16];

/// The most bytes of a [`ShortWord`].
const SHORT: usize = size_of::<ShortWord>() - 1;

/// A map from words to values. Its order is arbitrary and must not affect a result.
pub(crate) struct WordMap<V> {
    short: HashMap<ShortWord, V, Hashing>,
    long: HashMap<Box<str>, V, Hashing>,
}

impl<V> Default for WordMap<V> {
    fn default() -> Self {
        Self {
            short: HashMap::default(),
            long: HashMap::default(),
        }
    }
}

impl<V> WordMap<V> {
    pub(crate) fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    pub(crate) fn get(&self, word: &str) -> Option<&V> {
        match packed(word) {
            Some(short) => self.short.get(&short),
            None => self.long.get(word),
        }
    }

    pub(crate) fn get_mut(&mut self, word: &str) -> Option<&mut V> {
        match packed(word) {
            Some(short) => self.short.get_mut(&short),
            None => self.long.get_mut(word),
        }
    }

    pub(crate) fn insert(&mut self, word: &str, value: V) {
        match packed(word) {
            Some(short) => _ = self.short.insert(short, value),
            None => _ = self.long.insert(word.into(), value),
        }
    }

    /// Adds the words of another map; `join` joins the values of words that both have.
    pub(crate) fn absorb(&mut self, other: Self, join: impl Fn(&mut V, V)) {
        absorb(&mut self.short, other.short, &join);
        absorb(&mut self.long, other.long, &join);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        let short = self
            .short
            .iter()
            .map(|(word, value)| (unpacked(word), value));
        short.chain(self.long.iter().map(|(word, value)| (&**word, value)))
    }
}

fn absorb<K: Eq + Hash, V>(
    map: &mut HashMap<K, V, Hashing>,
    other: HashMap<K, V, Hashing>,
    join: impl Fn(&mut V, V),
) {
    for (word, value) in other {
        match map.entry(word) {
            Entry::Vacant(place) => _ = place.insert(value),
            Entry::Occupied(mut place) => join(place.get_mut(), value),
        }
    }
}

/// Reads whole integers that overlap: a copy of a few bytes would be read back before it has
/// reached the cache, which stalls.
fn packed(word: &str) -> Option<ShortWord> {
    let bytes = word.as_bytes();
    let len = bytes.len();
    let low_bits = |bytes: usize| 8 * u32::try_from(bytes).unwrap_or_default();
    let text = match len {
        0 => 0,
        1..4 => {
            let [first, middle, last] = [bytes[0], bytes[len / 2], bytes[len - 1]].map(u128::from);
            first | middle << low_bits(len / 2) | last << low_bits(len - 1)
        }
        4..8 => {
            let first = u32::from_le_bytes(*bytes.first_chunk()?);
            let last = u32::from_le_bytes(*bytes.last_chunk()?);
            u128::from(first) | u128::from(last) << low_bits(len - 4)
        }
        8..=SHORT => {
            let first = u64::from_le_bytes(*bytes.first_chunk()?);
            let last = u64::from_le_bytes(*bytes.last_chunk()?);
            u128::from(first) | u128::from(last) << low_bits(len - 8)
        }
        _ => return None,
    };
    Some((text | (len as u128) << low_bits(SHORT)).to_le_bytes())
}

fn unpacked(short: &ShortWord) -> &str {
    let word = &short[..usize::from(short[SHORT])];
    std::str::from_utf8(word).expect("made of a word")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_word_map_holds_what_an_ordered_map_holds(
            words in proptest::collection::vec("[a\u{0}é]{0,20}", 0..40),
            more in proptest::collection::vec("[a\u{0}é]{0,20}", 0..40),
        ) {
            let (mut map, mut other, mut expected) = (WordMap::default(), WordMap::default(), BTreeMap::new());
            for (map, words) in [(&mut map, &words), (&mut other, &more)] {
                for word in words {
                    *expected.entry(word.as_str()).or_insert(0) += 1;
                    match map.get_mut(word) {
                        Some(count) => *count += 1,
                        None => map.insert(word, 1),
                    }
                }
            }
            map.absorb(other, |count, more| *count += more);
            prop_assert_eq!(map.len(), expected.len());
            prop_assert!(expected.iter().all(|(word, count)| map.get(word) == Some(count)));
            let found: BTreeMap<_, _> = map.iter().map(|(word, count)| (word, *count)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
