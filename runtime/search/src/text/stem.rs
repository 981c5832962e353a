//! The English Snowball stemmer (Porter 2, as of Snowball 3.1), in place and without allocation. It
//! runs on every word of a request; a library that returns new strings would take longer than the
//! ranking itself. A test compares it with a library word by word.
//!
//! Source of the rules: <https://snowballstem.org/algorithms/english/stemmer.html>.

use super::ends::Ends;

/// Stems a lower-case word in place. Words with characters other than ASCII letters and digits are
/// not changed, because the rules are for English only.
pub(crate) fn stem(word: &mut String) {
    if word.len() <= 2 || !word.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return;
    }
    if word.len() <= LONGEST_EXCEPTION
        && EXCEPTION_ENDS.may_hold(word)
        && let Ok(at) = EXCEPTIONS.binary_search_by_key(&word.as_str(), |(whole, _)| *whole)
    {
        word.clear();
        word.push_str(EXCEPTIONS[at].1);
        return;
    }
    let mut stemmer = Stemmer::new(word);
    stemmer.plurals();
    stemmer.participles();
    stemmer.final_y();
    stemmer.replace_longest((DERIVED_LETTERS, DERIVED));
    stemmer.replace_longest((NESTED_LETTERS, NESTED));
    stemmer.replace_longest((ENDINGS_LETTERS, ENDINGS));
    stemmer.final_e_and_l();
    word.make_ascii_lowercase();
}

/// Words with an irregular stem.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("andes", "andes"),
    ("atlas", "atlas"),
    ("bias", "bias"),
    ("cosmos", "cosmos"),
    ("early", "earli"),
    ("gently", "gentl"),
    ("howe", "howe"),
    ("idly", "idl"),
    ("news", "news"),
    ("only", "onli"),
    ("singly", "singl"),
    ("skies", "sky"),
    ("skis", "ski"),
    ("sky", "sky"),
    ("ugly", "ugli"),
];

const LONGEST_EXCEPTION: usize = 6;

const EXCEPTION_ENDS: Ends = {
    let (mut ends, mut at) = (Ends::NONE, 0);
    while at < EXCEPTIONS.len() {
        ends = ends.and(EXCEPTIONS[at].0);
        at += 1;
    }
    ends
};

/// Prefixes after which the first region starts, regardless of their vowels.
const PREFIXES: &[&str] = &[
    "arsen", "commun", "emerg", "gener", "inter", "later", "organ", "past", "univers",
];

/// The part of the word that must contain a suffix.
#[derive(Clone, Copy)]
enum Region {
    First,
    Second,
}

/// The condition on the letters before a suffix.
#[derive(Clone, Copy)]
enum Before {
    Anything,
    OneOf(&'static [u8]),
}

/// A suffix, its replacement, and the conditions of the rule.
type Rule = (&'static str, &'static str, Region, Before);

use Before::{Anything, OneOf};
use Region::{First, Second};

/// Letters that an `li` may follow.
const LI_ENDINGS: Before = OneOf(b"cdeghkmnrt");

/// Step 2, longest suffixes first.
const DERIVED: &[Rule] = &[
    ("ational", "ate", First, Anything),
    ("fulness", "ful", First, Anything),
    ("iveness", "ive", First, Anything),
    ("ization", "ize", First, Anything),
    ("ousness", "ous", First, Anything),
    ("biliti", "ble", First, Anything),
    ("lessli", "less", First, Anything),
    ("tional", "tion", First, Anything),
    ("alism", "al", First, Anything),
    ("aliti", "al", First, Anything),
    ("ation", "ate", First, Anything),
    ("entli", "ent", First, Anything),
    ("fulli", "ful", First, Anything),
    ("iviti", "ive", First, Anything),
    ("ogist", "og", First, Anything),
    ("ousli", "ous", First, Anything),
    ("abli", "able", First, Anything),
    ("alli", "al", First, Anything),
    ("anci", "ance", First, Anything),
    ("ator", "ate", First, Anything),
    ("enci", "ence", First, Anything),
    ("izer", "ize", First, Anything),
    ("bli", "ble", First, Anything),
    ("ogi", "og", First, OneOf(b"l")),
    ("li", "", First, LI_ENDINGS),
];

/// Step 3, longest suffixes first.
const NESTED: &[Rule] = &[
    ("ational", "ate", First, Anything),
    ("tional", "tion", First, Anything),
    ("alize", "al", First, Anything),
    ("ative", "", Second, Anything),
    ("icate", "ic", First, Anything),
    ("iciti", "ic", First, Anything),
    ("ical", "ic", First, Anything),
    ("ness", "", First, Anything),
    ("ful", "", First, Anything),
];

/// Step 4, longest suffixes first.
const ENDINGS: &[Rule] = &[
    ("ement", "", Second, Anything),
    ("able", "", Second, Anything),
    ("ance", "", Second, Anything),
    ("ence", "", Second, Anything),
    ("ible", "", Second, Anything),
    ("ment", "", Second, Anything),
    ("ant", "", Second, Anything),
    ("ate", "", Second, Anything),
    ("ent", "", Second, Anything),
    ("ion", "", Second, OneOf(b"st")),
    ("ism", "", Second, Anything),
    ("iti", "", Second, Anything),
    ("ive", "", Second, Anything),
    ("ize", "", Second, Anything),
    ("ous", "", Second, Anything),
    ("al", "", Second, Anything),
    ("er", "", Second, Anything),
    ("ic", "", Second, Anything),
];

const DERIVED_LETTERS: u32 = last_letters(DERIVED);
const NESTED_LETTERS: u32 = last_letters(NESTED);
const ENDINGS_LETTERS: u32 = last_letters(ENDINGS);

/// The last letters of the suffixes, as a bit mask. Most words end in another letter.
const fn last_letters(rules: &[Rule]) -> u32 {
    let (mut letters, mut at) = (0, 0);
    while at < rules.len() {
        let suffix = rules[at].0.as_bytes();
        letters |= 1 << (suffix[suffix.len() - 1] & 31);
        at += 1;
    }
    letters
}

/// A word that is being stemmed. A `y` that is a consonant is spelled `Y`.
struct Stemmer<'a> {
    word: &'a mut String,
    /// The starts of the two regions.
    first: usize,
    second: usize,
}

impl<'a> Stemmer<'a> {
    fn new(word: &'a mut String) -> Self {
        mark_consonant_y(word);
        let bytes = word.as_bytes();
        // Compare the first letter before calling `starts_with`: it rules most prefixes out.
        let begins = |prefix: &&&str| {
            prefix.as_bytes().first() == bytes.first() && word.starts_with(**prefix)
        };
        let first = PREFIXES
            .iter()
            .find(begins)
            .map_or_else(|| region(bytes, 0), |prefix| prefix.len());
        let second = region(bytes, first);
        Self {
            word,
            first,
            second,
        }
    }

    fn ends_with(&self, suffix: &str) -> bool {
        self.word.ends_with(suffix)
    }

    /// The word without its last `suffix` letters.
    fn before(&self, suffix: usize) -> &[u8] {
        &self.word.as_bytes()[..self.word.len() - suffix]
    }

    fn cut(&mut self, letters: usize) {
        self.word.truncate(self.word.len() - letters);
    }

    fn replace(&mut self, suffix: usize, with: &str) {
        self.cut(suffix);
        self.word.push_str(with);
    }

    fn lies_in(&self, suffix: usize, region: Region) -> bool {
        let start = match region {
            First => self.first,
            Second => self.second,
        };
        self.word.len() - suffix >= start
    }

    /// Step 1a.
    fn plurals(&mut self) {
        if self.ends_with("sses") {
            self.cut(2);
        } else if self.ends_with("ied") || self.ends_with("ies") {
            let with = if self.word.len() > 4 { "i" } else { "ie" };
            self.replace(3, with);
        } else if self.ends_with("s")
            && !self.ends_with("us")
            && !self.ends_with("ss")
            && self.before(2).iter().copied().any(is_vowel)
        {
            self.cut(1);
        }
    }

    /// Step 1b.
    fn participles(&mut self) {
        for suffix in ["eedly", "eed"] {
            if self.ends_with(suffix) {
                let kept = matches!(self.before(suffix.len()), b"proc" | b"exc" | b"succ");
                if self.lies_in(suffix.len(), First) && !kept {
                    self.replace(suffix.len(), "ee");
                }
                return;
            }
        }
        for suffix in ["ingly", "edly", "ing", "ed"] {
            if self.ends_with(suffix) {
                self.participle(suffix);
                return;
            }
        }
    }

    fn participle(&mut self, suffix: &str) {
        let stem = self.before(suffix.len());
        if suffix == "ing" {
            match stem {
                // dying, lying, tying, vying.
                [consonant, b'y'] if !is_vowel(*consonant) => return self.replace(4, "ie"),
                b"inn" | b"out" | b"cann" | b"herr" | b"earr" | b"even" => return,
                _ => {}
            }
        }
        if !stem.iter().copied().any(is_vowel) {
            return;
        }
        self.cut(suffix.len());
        let bytes = self.word.as_bytes();
        match bytes {
            [.., b'a', b't'] | [.., b'b', b'l'] | [.., b'i', b'z'] => self.word.push('e'),
            // add, egg, off.
            [b'a' | b'e' | b'o', a, b] if a == b && is_doubled(*b) => {}
            [.., a, b] if a == b && is_doubled(*b) => self.cut(1),
            _ if self.word.len() == self.first && ends_in_short_syllable(bytes) => {
                self.word.push('e');
            }
            _ => {}
        }
    }

    /// Step 1c.
    fn final_y(&mut self) {
        if let [_, .., before, b'y' | b'Y'] = self.word.as_bytes()
            && !is_vowel(*before)
        {
            self.replace(1, "i");
        }
    }

    /// Steps 2 to 4: only the longest matching suffix is considered, even if its conditions are not
    /// met.
    fn replace_longest(&mut self, (letters, rules): (u32, &[Rule])) {
        let last = self.word.as_bytes().last();
        if last.is_none_or(|last| letters & 1 << (last & 31) == 0) {
            return;
        }
        // Compare the last letter before calling `ends_with`: it rules most suffixes out.
        let fits =
            |(suffix, ..): &&Rule| suffix.as_bytes().last() == last && self.ends_with(suffix);
        let Some((suffix, with, region, before)) = rules.iter().find(fits) else {
            return;
        };
        let fits = match before {
            Anything => true,
            OneOf(letters) => self
                .before(suffix.len())
                .last()
                .is_some_and(|last| letters.contains(last)),
        };
        if fits && self.lies_in(suffix.len(), *region) {
            self.replace(suffix.len(), with);
        }
    }

    /// Step 5.
    fn final_e_and_l(&mut self) {
        let stem = self.before(1);
        let goes = match self.word.as_bytes().last() {
            Some(b'e') => {
                self.lies_in(1, Second) || self.lies_in(1, First) && !ends_in_short_syllable(stem)
            }
            Some(b'l') => self.lies_in(1, Second) && stem.last() == Some(&b'l'),
            _ => false,
        };
        if goes {
            self.cut(1);
        }
    }
}

/// Spells each `y` at the beginning or after a vowel as `Y`.
fn mark_consonant_y(word: &mut String) {
    if !word.contains('y') {
        return;
    }
    for at in 0..word.len() {
        let before = at.checked_sub(1).map(|before| word.as_bytes()[before]);
        if word.as_bytes()[at] == b'y' && before.is_none_or(is_vowel) {
            word.replace_range(at..=at, "Y");
        }
    }
}

/// The start of the region after the first consonant that follows a vowel.
fn region(word: &[u8], from: usize) -> usize {
    let rest = &word[from..];
    let found = rest
        .windows(2)
        .position(|pair| is_vowel(pair[0]) && !is_vowel(pair[1]));
    found.map_or(word.len(), |at| from + at + 2)
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

fn is_doubled(letter: u8) -> bool {
    matches!(
        letter,
        b'b' | b'd' | b'f' | b'g' | b'm' | b'n' | b'p' | b'r' | b't'
    )
}

/// Whether the word ends in a short syllable: a vowel between consonants (the last not w, x or Y),
/// a vowel and a consonant that are the whole word, or `past`.
fn ends_in_short_syllable(word: &[u8]) -> bool {
    match word {
        [.., b'p', b'a', b's', b't'] => true,
        [.., before, vowel, after] if !is_vowel(*before) && is_vowel(*vowel) => {
            !is_vowel(*after) && !matches!(after, b'w' | b'x' | b'Y')
        }
        [vowel, after] => is_vowel(*vowel) && !is_vowel(*after),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use waken_snowball::Algorithm;

    use super::*;

    fn stemmed(word: &str) -> String {
        let mut word = word.to_owned();
        stem(&mut word);
        word
    }

    /// Words for every rule, with their stems from the page of the rules or from its author's
    /// vocabulary.
    const STEMS: &[(&str, &str)] = &[
        ("consign", "consign"),
        ("consistency", "consist"),
        ("knightly", "knight"),
        ("caresses", "caress"),
        ("cries", "cri"),
        ("ties", "tie"),
        ("gas", "gas"),
        ("gaps", "gap"),
        ("proceed", "proceed"),
        ("agreed", "agre"),
        ("hopping", "hop"),
        ("hoping", "hope"),
        ("adding", "add"),
        ("dying", "die"),
        ("outing", "outing"),
        ("luxuriating", "luxuri"),
        ("sky", "sky"),
        ("skies", "sky"),
        ("say", "say"),
        ("cry", "cri"),
        ("generate", "generat"),
        ("general", "general"),
        ("organization", "organiz"),
        ("internal", "internal"),
        ("deployments", "deploy"),
        ("authentication", "authent"),
        ("relational", "relat"),
        ("biologist", "biolog"),
        ("fly", "fli"),
        ("yes", "yes"),
        ("youth", "youth"),
        ("po", "po"),
        ("été", "été"),
        ("v2s", "v2s"),
    ];

    #[test]
    fn words_have_the_stems_that_the_rules_give() {
        for (word, expected) in STEMS {
            assert_eq!(stemmed(word), *expected, "{word}");
        }
    }

    #[test]
    fn exceptions_are_sorted() {
        assert!(EXCEPTIONS.is_sorted_by(|a, b| a.0 < b.0));
        let longest = EXCEPTIONS.iter().map(|(whole, _)| whole.len()).max();
        assert_eq!(longest, Some(LONGEST_EXCEPTION));
    }

    fn words() -> impl Strategy<Value = String> {
        let parts = prop::sample::select(vec![
            "a", "e", "i", "o", "u", "y", "b", "l", "s", "t", "w", "x", "r", "n", "gener", "past",
            "inter", "later", "ing", "ed", "edly", "ingly", "eed", "ies", "ss", "us", "li", "ogi",
            "ogist", "ation", "ational", "izer", "ness", "ful", "fulli", "lessli", "ement", "ion",
            "ative", "ical", "ate", "ll", "e", "iviti", "biliti", "bli", "proc", "exc", "cann",
            "even", "3",
        ]);
        prop::collection::vec(parts, 1..6).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn stems_are_those_of_the_snowball_library(word in words()) {
            // The library implements Snowball 3.0, which lacks this prefix.
            prop_assume!(!word.starts_with("inter"));
            prop_assert_eq!(stemmed(&word), Algorithm::English.stemmer().stem(&word));
        }
    }
}
