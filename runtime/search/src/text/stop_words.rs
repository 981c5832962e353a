//! English and French stop words (spec 3 §5.1), as sorted tables. They are function words, and the
//! few verbs that only introduce a request ("I want help with"). A word that could name a subject
//! is not included, whatever it means in the other language: `car`, `comment`, `ai`, `es`, `go`,
//! `create`, `make`, `test`.

use super::ends::Ends;
use super::tokens::has;

/// Dropped if they are a whole token.
#[rustfmt::skip]
pub(super) const STOP_WORDS: &[&str] = &[
    "a", "about", "aimerais", "alors", "also", "am", "an", "and", "any", "are", "as", "at", "au",
    "aussi", "aux", "avait", "avec", "avez", "avoir", "avons", "be", "been", "being", "besoin",
    "both", "but", "by", "can", "cannot", "ce", "ceci", "cela", "ces", "cet", "cette", "chez",
    "comme", "could", "dans", "de", "des", "devez", "did", "do", "does", "doing", "dois", "doit",
    "donc", "dont", "du", "each", "elle", "elles", "en", "entre", "est", "est-ce", "et", "eux",
    "faut", "for", "from", "had", "has", "have", "having", "he", "help", "her", "here", "his",
    "how", "i", "if", "il", "ils", "in", "into", "is", "it", "its", "je", "just", "la", "le", "les",
    "leur", "leurs", "lui", "ma", "mais", "may", "me", "merci", "mes", "might", "moi", "mon",
    "must", "my", "même", "ne", "need", "ni", "no", "nor", "nos", "not", "notre", "nous", "of",
    "on", "ont", "onto", "or", "other", "ou", "our", "out", "over", "où", "par", "pas", "peut",
    "peut-être", "peux", "please", "plus", "pour", "pouvez", "puis", "quand", "que", "quel",
    "quelle", "quelles", "quels", "qui", "quoi", "sa", "sans", "se", "sera", "ses", "shall", "she",
    "should", "si", "so", "some", "sommes", "son", "sont", "sous", "such", "suis", "sur", "svp",
    "ta", "te", "tes", "than", "that", "the", "their", "them", "then", "there", "these", "they",
    "this", "those", "to", "toi", "ton", "too", "tous", "tout", "toute", "toutes", "très", "tu",
    "un", "une", "up", "use", "using", "vers", "very", "veut", "veux", "vos", "votre", "voudrais",
    "vous", "want", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom",
    "whose", "why", "will", "with", "would", "y", "you", "your", "à", "ça", "étaient", "était",
    "été", "êtes", "être",
];

/// Dropped by the ranker only: words of requests that do not distinguish skills, and those of
/// [`STOP_WORDS`] that lose an accent before they are compared. The tokens of spec 3 keep them.
#[rustfmt::skip]
const TERM_STOP_WORDS: &[&str] = &[
    "etaient", "etait", "ete", "etes", "etre", "get", "got", "let", "like", "meme", "one",
    "thing", "things", "tres", "us", "way",
];

/// Dropped directly before an apostrophe and more letters: French elisions, and the verbs of
/// English negations (`don't`, `isn't`).
#[rustfmt::skip]
pub(super) const BEFORE_APOSTROPHE: &[&str] = &[
    "ain", "aren", "aujourd", "c", "can", "couldn", "d", "didn", "doesn", "don", "hadn", "hasn",
    "haven", "isn", "j", "jusqu", "l", "lorsqu", "m", "mustn", "n", "needn", "presqu", "puisqu",
    "qu", "quelqu", "quoiqu", "s", "shouldn", "t", "wasn", "weren", "won", "wouldn",
];

/// Dropped directly after letters and an apostrophe: English contractions, `j'ai`, and the end of
/// `aujourd'hui`.
pub(super) const AFTER_APOSTROPHE: &[&str] = &["ai", "d", "hui", "ll", "m", "re", "s", "t", "ve"];

/// The English possessive suffix. The `c` of `C's` is not the elision of `c'est`.
pub(super) const POSSESSIVE: &str = "s";

/// Whether the ranker drops a lower-case word: a stop word of spec 3, or one of
/// [`TERM_STOP_WORDS`].
pub(super) fn is_term_stop_word(word: &str) -> bool {
    ENDS.may_hold(word) && (has(STOP_WORDS, word) || has(TERM_STOP_WORDS, word))
}

const ENDS: Ends = add_ends(TERM_STOP_WORDS, add_ends(STOP_WORDS, Ends::NONE));

const fn add_ends(table: &[&str], mut ends: Ends) -> Ends {
    let mut at = 0;
    while at < table.len() {
        ends = ends.and(table[at]);
        at += 1;
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_both_tables_is_dropped_by_the_ranker_and_others_are_not() {
        for word in STOP_WORDS.iter().chain(TERM_STOP_WORDS) {
            assert!(is_term_stop_word(word), "{word}");
        }
        for word in ["", "c", "r", "test", "them", "theme", "tout", "toucan"] {
            let expected = STOP_WORDS.contains(&word) || TERM_STOP_WORDS.contains(&word);
            assert_eq!(is_term_stop_word(word), expected, "{word}");
        }
    }

    #[test]
    fn tables_are_sorted_and_hold_each_word_once() {
        for table in [
            STOP_WORDS,
            TERM_STOP_WORDS,
            BEFORE_APOSTROPHE,
            AFTER_APOSTROPHE,
        ] {
            assert!(table.is_sorted_by(|a, b| a < b), "{table:?}");
        }
    }

    #[test]
    fn words_that_name_subjects_are_not_stopped() {
        for word in [
            "ai", "c", "car", "comment", "create", "d", "es", "go", "make", "r", "test", "write",
        ] {
            assert!(STOP_WORDS.binary_search(&word).is_err(), "{word}");
        }
    }
}
