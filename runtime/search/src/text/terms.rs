//! Splits text into the terms that the ranker indexes: the stems of words that carry a subject.
//! [`crate::ranker`] counts and weighs them.
//!
//! - *Words* are runs of letters, marks and digits of any script. Everything else separates words,
//!   including `_` and hyphens, so `front-end` is two words and each segment of a path is a word.
//!   `c++`, `c#` and the like keep their sign.
//! - *camelCase* is split before a capital between two lower-case letters (`fetchUser`; not `APIs`,
//!   `SQLite` or `iOS`).
//! - *Elisions* and contractions lose their short piece (`l'API`, `what's`).
//! - *Case and accents* are folded: compatibility decomposition, then the marks of Latin, Greek,
//!   Cyrillic, Hebrew and Arabic are dropped. Marks of Indic scripts are vowels and are kept.
//! - *Stop words* ([`is_term_stop_word`]) and single ASCII letters other than `c` and `r` are
//!   dropped.
//! - *Stems* are English ([`super::stem`]). Chinese, Japanese and Korean text has no spaces between
//!   words (or, for Korean, none that separate stems), so its terms are character bigrams. Stop words
//!   are cut out first ([`unspaced_start`]); a single character that is left beside one is no term.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;

use super::combining_marks::is_mark;
use super::lower_char;
use super::stem::stem;
use super::stop_words::{
    UnspacedStart, is_negation, is_term_stop_word, is_unspaced, is_unspaced_negation,
    unspaced_start,
};
use super::tokens::{is_apostrophe, without_elisions};

/// Longer words, in bytes, are dropped: they are keys and digests, which are never searched for.
const LONGEST: usize = 64;

/// A token of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<T> {
    /// A term.
    Term(T),
    /// Punctuation between clauses: the terms before and after it are not neighbours.
    Break,
    /// A word that negates what follows: the terms before and after it are not near each other.
    Negation,
}

/// Splits texts into terms. It keeps its buffers, so that the next text allocates nothing.
#[derive(Debug, Default)]
pub struct Tokenizer {
    word: String,
    decomposed: String,
}

impl Tokenizer {
    /// Passes the terms of `text` to `emit`, in order, including duplicates.
    pub fn tokens(&mut self, text: &str, mut emit: impl FnMut(Token<&str>)) {
        split(text, &mut |piece| match piece {
            Piece::Break => emit(Token::Break),
            Piece::Negation => emit(Token::Negation),
            Piece::Bigram(term) => emit(Token::Term(term)),
            Piece::Word(word, after) => {
                if let Some(term) = self.term(word, after) {
                    emit(Token::Term(term));
                }
            }
        });
    }

    /// Passes the terms of `text` and their byte ranges to `emit`, in order of their starts. Terms
    /// of text without spaces overlap.
    pub fn positions(&mut self, text: &str, mut emit: impl FnMut(&str, Range<usize>)) {
        let range = |of: &str| {
            let start = of.as_ptr().addr() - text.as_ptr().addr();
            start..start + of.len()
        };
        split(text, &mut |piece| match piece {
            Piece::Break | Piece::Negation => {}
            Piece::Bigram(term) => emit(term, range(term)),
            Piece::Word(word, after) => {
                if let Some(term) = self.term(word, after) {
                    emit(term, range(word));
                }
            }
        });
    }

    /// The term that a word becomes, if any; `after` is the text that follows the word.
    pub(super) fn term(&mut self, word: &str, after: &str) -> Option<&str> {
        if word.len() > LONGEST {
            return None;
        }
        self.word.clear();
        if word.is_ascii() {
            self.word.push_str(word);
            self.word.make_ascii_lowercase();
        } else {
            self.decomposed.clear();
            self.decomposed.extend(word.chars().flat_map(lower_char));
            let folded = self.decomposed.nfkd().filter(|c| !is_dropped_mark(*c));
            self.word.extend(folded);
        }
        if self.word.len() == 1 && self.word.starts_with(|c: char| c.is_ascii_lowercase()) {
            match signed(after) {
                Some(sign) => self.word.push_str(sign),
                None if matches!(self.word.as_str(), "c" | "r") => {}
                None => return None,
            }
        } else if is_term_stop_word(&self.word) {
            return None;
        }
        stem(&mut self.word);
        (!self.word.is_empty()).then_some(&*self.word)
    }
}

/// A piece of a text, before words become terms.
pub(super) enum Piece<'t> {
    /// See [`Token::Break`].
    Break,
    /// See [`Token::Negation`].
    Negation,
    /// A character bigram of a script without spaces, which is a term.
    Bigram(&'t str),
    /// A word, and the text after it.
    Word(&'t str, &'t str),
}

/// Passes the pieces of `text` to `emit`, in order.
pub(super) fn split<'t>(text: &'t str, emit: &mut impl FnMut(Piece<'t>)) {
    let mut rest = text;
    while let Some((start, is_break)) = next_word(rest) {
        if is_break {
            emit(Piece::Break);
        }
        rest = &rest[start..];
        if let Some(end) = plain_end(rest) {
            let (word, after) = rest.split_at(end);
            rest = after;
            if is_negation(word) {
                emit(Piece::Negation);
            }
            emit(Piece::Word(word, after));
            continue;
        }
        let end = rest
            .find(|c| !is_kept(c) && !is_apostrophe(c))
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        if is_negation(run) {
            emit(Piece::Negation);
        }
        for part in without_elisions(run) {
            split_run(part, rest, emit);
        }
    }
}

/// The start of the next word, and whether a break comes before it.
fn next_word(text: &str) -> Option<(usize, bool)> {
    let mut broke = false;
    for (at, c) in text.char_indices() {
        if is_kept(c) {
            return Some((at, broke));
        }
        broke |= is_break(c);
    }
    None
}

/// Splits a run of letters and digits; `after` is the text that follows it.
fn split_run<'t>(run: &'t str, after: &'t str, emit: &mut impl FnMut(Piece<'t>)) {
    let mut rest = run;
    while let Some(first) = rest.chars().next() {
        if is_unspaced(first) {
            let end = rest.find(|c| !is_unspaced(c)).unwrap_or(rest.len());
            split_unspaced(&rest[..end], emit);
            rest = &rest[end..];
        } else {
            let end = word_end(rest);
            let last = end == rest.len();
            emit(Piece::Word(&rest[..end], if last { after } else { "" }));
            rest = &rest[end..];
        }
    }
}

/// The end of the first run of the text, if it consists of lower-case ASCII letters and digits
/// only. This is a fast path: most runs do, and need none of the other rules.
fn plain_end(text: &str) -> Option<usize> {
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let end = bytes.iter().take_while(|byte| is_plain(byte)).count();
    let parts = |next: &u8| next.is_ascii() && !next.is_ascii_alphabetic() && *next != b'\'';
    (end > 0 && bytes.get(end).is_none_or(parts)).then_some(end)
}

/// Splits a run of a script without spaces at its stop words.
fn split_unspaced<'t>(run: &'t str, emit: &mut impl FnMut(Piece<'t>)) {
    let (mut start, mut end) = (0, 0);
    let part = |part: &'t str, emit: &mut _| {
        let is_rest = part.len() < run.len() && part.chars().nth(1).is_none();
        if !is_rest {
            bigrams(part, emit);
        }
    };
    while let Some(found) = unspaced_start(&run[end..]) {
        match found {
            UnspacedStart::StopWord(length) => {
                part(&run[start..end], emit);
                start = end + length;
                if is_unspaced_negation(&run[end..start]) {
                    emit(Piece::Negation);
                }
                end = start;
            }
            UnspacedStart::Word(length) => end += length,
        }
    }
    part(&run[start..], emit);
}

/// Passes each character bigram to `emit`, or the single character of a run of one.
fn bigrams<'t>(run: &'t str, emit: &mut impl FnMut(Piece<'t>)) {
    let mut ends = run.char_indices().map(|(at, c)| at + c.len_utf8());
    let (mut start, Some(mut middle)) = (0, ends.next()) else {
        return;
    };
    if middle == run.len() {
        emit(Piece::Bigram(run));
    }
    for end in ends {
        emit(Piece::Bigram(&run[start..end]));
        (start, middle) = (middle, end);
    }
}

/// The end of the first word of a run: before a character of an unspaced script, before a capital
/// that begins a new word, or at the end of the run.
fn word_end(run: &str) -> usize {
    let mut before = '\0';
    let mut chars = run.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if is_unspaced(c) {
            return at;
        }
        let next_is_lower = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
        // Not after a capital: the parts of `APIs` and `SQLite` would not be words.
        if c.is_uppercase() && next_is_lower && (before.is_lowercase() || before.is_numeric()) {
            return at;
        }
        before = c;
    }
    run.len()
}

/// The sign that belongs to a preceding letter, as in `c++` and `f#`.
fn signed(after: &str) -> Option<&str> {
    ["++", "#"].into_iter().find(|sign| {
        after
            .strip_prefix(sign)
            .is_some_and(|rest| !rest.starts_with(|c: char| is_kept(c) || c == '#' || c == '+'))
    })
}

fn is_kept(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric()
    } else {
        c.is_alphanumeric() || is_mark(c)
    }
}

/// Whether the character separates clauses.
fn is_break(c: char) -> bool {
    matches!(
        c,
        '.' | ','
            | ';'
            | ':'
            | '!'
            | '?'
            | '('
            | ')'
            | '\n'
            | '。'
            | '、'
            | '，'
            | '；'
            | '：'
            | '！'
            | '？'
            | '（'
            | '）'
    )
}

/// Accents, points and vowel signs, which writers often omit.
fn is_dropped_mark(c: char) -> bool {
    matches!(u32::from(c), 0x0300..=0x036f | 0x0591..=0x05c7 | 0x064b..=0x065f | 0x0670)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Text, and its terms separated by spaces; `|` is a break, `!` a negation.
    const TEXTS: &[(&str, &str)] = &[
        ("", ""),
        ("the of a le la les what how please", ""),
        ("Deploying deployments deployed", "deploy deploy deploy"),
        ("fill the PDF forms, then merge", "fill pdf form | merg"),
        ("Déployer l’API à Zürich", "deploy api zurich"),
        ("re\u{301}sume\u{301} résumé", "resum resum"),
        ("what's the user's files, don't", "user file | !"),
        (
            "merge, not fill, without C’s tables",
            "merg | ! fill | ! without c tabl",
        ),
        (
            "fetchUserById HTTPServer iOS parseJSON",
            "fetch user id httpserver io parsejson",
        ),
        (
            "front-end snake_case src/api/users.ts",
            "front end snake case src api user | ts",
        ),
        ("c++ C# f# c r d x 3 #42 a+b", "c++ c# f# c r 3 42"),
        ("v1.10 3.5", "v1 | 10 3 | 5"),
        ("创建组件", "创建 建组 组件"),
        ("React组件 の", "react 组件 の"),
        ("帮我写这周的周报", "周报"),
        ("合并不要填写表单", "合并 ! 填写 写表 表单"),
        ("B站 请求是否有效的", "站 请求 有效"),
        ("认证。组件", "认证 | 组件"),
        ("로그인", "로그 그인"),
        ("ＰＤＦ ﬁle", "pdf file"),
        (
            "\u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940}",
            "\u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940}",
        ),
        ("кафé МОСКВА", "кафe москва"),
        ("😀 — «pdf»", "pdf"),
    ];

    fn terms(cutter: &mut Tokenizer, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        cutter.tokens(text, |token| {
            if let Token::Term(term) = token {
                terms.push(term.to_owned());
            }
        });
        terms
    }

    fn shown(text: &str) -> String {
        let mut parts = Vec::new();
        Tokenizer::default().tokens(text, |token| {
            parts.push(match token {
                Token::Term(term) => term.to_owned(),
                Token::Break => "|".to_owned(),
                Token::Negation => "!".to_owned(),
            });
        });
        parts.join(" ")
    }

    #[test]
    fn texts_become_their_terms() {
        for (text, expected) in TEXTS {
            assert_eq!(shown(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn a_term_has_the_place_of_the_word_it_was_made_of() {
        let text = "Déployer l’API: fetchUser, 创建组件 in C++";
        let mut found = Vec::new();
        Tokenizer::default().positions(text, |term, at| found.push((term.to_owned(), &text[at])));
        let found: Vec<_> = found
            .iter()
            .map(|(term, at)| (term.as_str(), *at))
            .collect();
        assert_eq!(
            found,
            [
                ("deploy", "Déployer"),
                ("api", "API"),
                ("fetch", "fetch"),
                ("user", "User"),
                ("创建", "创建"),
                ("建组", "建组"),
                ("组件", "组件"),
                ("c++", "C"),
            ]
        );
    }

    #[test]
    fn digests_and_keys_are_no_terms() {
        assert_eq!(shown(&"a1".repeat(33)), "");
        assert_ne!(shown(&"a1".repeat(32)), "");
    }

    proptest! {
        #[test]
        fn terms_are_never_empty_and_need_no_buffers_of_their_own(a in "\\PC{0,40}", b in "\\PC{0,40}") {
            let mut cutter = Tokenizer::default();
            let fresh = terms(&mut Tokenizer::default(), &b);
            terms(&mut cutter, &a);
            prop_assert!(fresh.iter().all(|term| !term.is_empty() && term.len() <= LONGEST * 4));
            prop_assert_eq!(terms(&mut cutter, &b), fresh);
        }
    }
}
