//! Terms as numbers, for counting. Most words of a corpus repeat, so each distinct word is stemmed
//! and looked up once; after that, one lookup turns a word into the number of its term.

use super::terms::{Piece, Token, Tokenizer, split};
use crate::word_map::WordMap;

/// The number of words that are remembered. Frequent words come early, so more would cost memory
/// and save little.
const REMEMBERED: usize = 1 << 18;

/// Numbers terms in the order in which they are first seen.
#[derive(Default)]
pub(crate) struct Numbering {
    tokenizer: Tokenizer,
    terms: WordMap<u32>,
    /// The term of each remembered word, as written; `None` if it has none.
    words: WordMap<Option<u32>>,
}

impl Numbering {
    /// Passes the tokens of `text` to `emit`, in order, with the number of each term.
    pub(crate) fn tokens(&mut self, text: &str, mut emit: impl FnMut(Token<u32>)) {
        split(text, &mut |piece| match piece {
            Piece::Break => emit(Token::Break),
            Piece::Negation => emit(Token::Negation),
            Piece::Bigram(term) => emit(Token::Term(number(&mut self.terms, term))),
            Piece::Word(word, after) => {
                if let Some(term) = self.word(word, after) {
                    emit(Token::Term(term));
                }
            }
        });
    }

    fn word(&mut self, word: &str, after: &str) -> Option<u32> {
        // The term of a single letter depends on what follows it.
        let is_alone = word.len() > 1 && word.is_ascii();
        if let Some(known) = self.words.get(word).filter(|_| is_alone) {
            return *known;
        }
        let term = self.tokenizer.term(word, after);
        let term = term.map(|term| number(&mut self.terms, term));
        if is_alone && self.words.len() < REMEMBERED {
            self.words.insert(word, term);
        }
        term
    }

    /// The terms in the order of their numbers.
    pub(crate) fn into_terms(self) -> Vec<Box<str>> {
        let mut terms: Vec<_> = self.terms.iter().collect();
        terms.sort_unstable_by_key(|(_, number)| *number);
        terms.into_iter().map(|(term, _)| term.into()).collect()
    }
}

fn number(terms: &mut WordMap<u32>, term: &str) -> u32 {
    if let Some(number) = terms.get(term) {
        return *number;
    }
    let number = u32::try_from(terms.len()).expect("a bundle holds fewer than 2³² bytes of terms");
    terms.insert(term, number);
    number
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_stand_for_the_terms_of_the_tokenizer(
            texts in proptest::collection::vec("([a-cC]{1,2}[+# .'é]{0,2}|the |not |\\PC ){0,12}", 0..6),
        ) {
            let (mut numbering, mut tokenizer) = (Numbering::default(), Tokenizer::default());
            let (mut numbers, mut expected) = (Vec::new(), Vec::new());
            for text in &texts {
                numbering.tokens(text, |it| numbers.push(it));
                tokenizer.tokens(text, |token| expected.push(match token {
                    Token::Term(term) => Token::Term(term.to_owned()),
                    Token::Break => Token::Break,
                    Token::Negation => Token::Negation,
                }));
            }
            let terms = numbering.into_terms();
            let found = numbers.into_iter().map(|it| match it {
                Token::Term(number) => Token::Term(terms[number as usize].to_string()),
                Token::Break => Token::Break,
                Token::Negation => Token::Negation,
            });
            prop_assert_eq!(found.collect::<Vec<_>>(), expected);
        }
    }
}
