//! Text analysis: lower case, tokens, stop words, stems. Indexing and querying use the same
//! functions, so that both agree.
//!
//! - [`lower`] and [`fold`]: lower case for names, keywords, search and stems.
//! - [`tokenize`]: the words of a request that are matched with declared keywords (spec 3 §5.1).
//! - [`Tokenizer`]: the terms that the ranker indexes: stems, in every script.
//! - `clauses`: the phrases that a description quotes, and its negative clauses ("not for ...");
//!   [`sayings`] are those that say what it is for.
//! - [`mentions`]: skill names that a request spells out or forbids.
//! - `numbering`: terms as numbers, for counting.
//! - `corpus_frequencies`: how rare a stem is in public skills.

pub(crate) mod clauses;
mod combining_marks;
pub(crate) mod corpus_frequencies;
mod ends;
mod mentions;
pub(crate) mod numbering;
mod stem;
mod stop_words;
pub(crate) mod terms;
mod tokens;

use unicode_normalization::UnicodeNormalization;

pub use clauses::sayings;
pub use mentions::{Mentions, mentions};
pub(crate) use stop_words::is_unspaced;
pub use terms::{Token, Tokenizer};
pub use tokens::tokenize;

/// Lower-cases each character on its own, so that the lower case of a substring is a substring of
/// the lower case of the whole text.
///
/// This is Unicode's context-free mapping plus one fold: the Greek final sigma becomes the plain
/// sigma. [`str::to_lowercase`] chooses between the two sigmas by the next character, so a search
/// for `ΟΔΟΣ` would not find it at the start of a longer word. There is no Unicode
/// normalisation, so offsets stay those of the text.
pub fn lower(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    lower_into(text, &mut out);
    out
}

/// The form in which names are compared: trimmed, in [`lower`] case and composed (Unicode's NFC),
/// since macOS writes the `é` of a file name as two code points and people type one. Foldings that
/// change a word, such as `ß` to `ss`, are left out.
pub fn fold(name: &str) -> String {
    let lower = lower(name.trim());
    if lower.is_ascii() {
        lower
    } else {
        lower.nfc().collect()
    }
}

/// Like [`lower`], but appends to a buffer that callers reuse.
pub(crate) fn lower_into(text: &str, out: &mut String) {
    let mut rest = text;
    loop {
        let ascii = rest
            .bytes()
            .position(|b| !b.is_ascii())
            .unwrap_or(rest.len());
        let (head, tail) = rest.split_at(ascii);
        let start = out.len();
        out.push_str(head);
        out[start..].make_ascii_lowercase();
        let mut chars = tail.chars();
        let Some(c) = chars.next() else { return };
        out.extend(lower_char(c));
        rest = chars.as_str();
    }
}

/// The lower case of one character: one to three characters.
pub(crate) fn lower_char(c: char) -> impl Iterator<Item = char> {
    let c = if c == 'ς' { 'σ' } else { c };
    c.to_lowercase()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lower_case_differs_from_the_standard_one_by_the_final_sigma_alone() {
        for c in (char::MIN..=char::MAX).filter(|c| *c != 'ς') {
            assert_eq!(lower(&c.to_string()), c.to_lowercase().to_string());
        }
        assert_eq!(lower("ΟΔΟΣ οδος"), "οδοσ οδοσ");
        assert_eq!(lower("İSTANBUL"), "i\u{307}stanbul");
    }

    #[test]
    fn every_form_of_a_name_folds_alike() {
        for c in char::MIN..=char::MAX {
            let name = format!("a{c}b");
            let folded = fold(&name);
            assert_eq!(fold(&name.nfc().to_string()), folded, "{c:?}");
            assert_eq!(fold(&name.nfd().to_string()), folded, "{c:?}");
            assert_eq!(fold(&folded), folded, "{c:?}");
        }
        for names in [
            ["caf\u{e9}", "CAFE\u{301} "],
            ["ΟΔΟΣ", " οδος"],
            ["ὈΔΟΣ", "ο\u{313}δος"],
            ["\u{1100}\u{1161}", "가"],
        ] {
            assert_eq!(fold(names[0]), fold(names[1]), "{names:?}");
        }
        assert_ne!(fold("οδός"), fold("οδος"), "accents count");
    }

    #[test]
    fn lower_case_never_makes_or_loses_white_space() {
        for c in char::MIN..=char::MAX {
            assert_eq!(
                c.is_whitespace(),
                lower_char(c).any(char::is_whitespace),
                "{c:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn lower_case_of_the_parts_is_the_lower_case_of_the_whole(a in "\\PC*", b in "\\PC*") {
            prop_assert_eq!(lower(&format!("{a}{b}")), lower(&a) + &lower(&b));
        }
    }
}
