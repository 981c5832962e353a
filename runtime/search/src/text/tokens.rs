//! Splits a request into tokens for keyword matching (spec 3 §5.1). [`crate::keywords`] does the
//! scoring.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::combining_marks::is_mark;
use super::lower;
use super::stop_words::{AFTER_APOSTROPHE, BEFORE_APOSTROPHE, POSSESSIVE, STOP_WORDS};

/// Splits a request into tokens: lower-cased, without punctuation and stop words, without
/// duplicates, in order.
///
/// Details that the spec does not define:
/// - *Punctuation* is everything except letters, marks and digits of any script, hyphens, and the
///   zero-width joiners that occur in the spelling of Persian and Indic words. It separates tokens,
///   so `node.js` is two tokens, and `c++` is `c`.
/// - *Hyphens*: U+2010 and U+2011 count as the ASCII hyphen, dashes do not. Hyphens are trimmed at
///   both ends; a token without a letter or digit is dropped.
/// - *Apostrophes* separate tokens, and the short piece of an elision or contraction is dropped
///   (`l'API` → `api`, `what's` → nothing), but only next to an apostrophe: a separate `c`, `d` or
///   `r` is a programming language and is kept.
/// - *Scripts without spaces*: a run of Chinese or Japanese is one token.
pub fn tokenize(request: &str) -> Vec<String> {
    let text = lower(request);
    let mut seen = HashSet::new();
    text.split(|c| !is_kept(c) && !is_apostrophe(c))
        .flat_map(without_elisions)
        .map(spelled)
        .filter(|token| token.contains(char::is_alphanumeric) && !is_stop_word(token))
        .filter(|token| seen.insert(token.clone()))
        .collect()
}

/// The pieces of a word between apostrophes, without those of elisions and contractions.
pub(super) fn without_elisions(word: &str) -> impl Iterator<Item = &str> {
    let mut before = "";
    let mut pieces = word.split(is_apostrophe).peekable();
    std::iter::from_fn(move || {
        let piece = pieces.next()?;
        let after = pieces.peek().copied().unwrap_or_default();
        let elided = !after.is_empty() && after != POSSESSIVE && has(BEFORE_APOSTROPHE, piece);
        let contracted = !before.is_empty() && has(AFTER_APOSTROPHE, piece);
        before = piece;
        Some((!elided && !contracted).then_some(piece))
    })
    .flatten()
}

/// The piece with ASCII hyphens only, and none at its ends.
fn spelled(piece: &str) -> String {
    piece
        .trim_start_matches(|c: char| !c.is_alphanumeric())
        .trim_end_matches(|c| is_hyphen(c) || is_joiner(c))
        .chars()
        .map(|c| if is_hyphen(c) { '-' } else { c })
        .collect()
}

fn is_kept(c: char) -> bool {
    c.is_alphanumeric() || is_hyphen(c) || is_joiner(c) || is_mark(c)
}

/// The ASCII, typographic and full-width apostrophes.
pub(super) fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{ff07}')
}

/// The ASCII hyphen, the Unicode hyphen and the non-breaking hyphen.
fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '\u{2010}' | '\u{2011}')
}

/// Zero-width joiner and non-joiner: part of the spelling, not punctuation.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_stop_word(token: &str) -> bool {
    has(STOP_WORDS, token)
}

/// Whether a sorted table of lower-case words contains the word, ignoring ASCII case.
pub(super) fn has(table: &[&str], word: &str) -> bool {
    let lower = |byte: u8| byte.to_ascii_lowercase();
    let Some(first) = word.bytes().next().map(lower) else {
        return false;
    };
    // The first letter settles most comparisons without a loop.
    let compared = |entry: &&str| {
        let (initial, rest) = entry.as_bytes().split_first()?;
        let by_rest = || rest.iter().copied().cmp(word.bytes().skip(1).map(lower));
        Some(initial.cmp(&first).then_with(by_rest))
    };
    table
        .binary_search_by(|entry| compared(entry).unwrap_or(Ordering::Less))
        .is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Request, and its tokens separated by spaces.
    const REQUESTS: &[(&str, &str)] = &[
        // The example of the spec.
        (
            "Create a React component for the authentication",
            "create react component authentication",
        ),
        ("", ""),
        (" \t\n\u{a0}\u{3000}", ""),
        ("the of a le la les", ""),
        // Letters, marks and digits of any script are kept; everything else separates.
        ("Déployer l’API à Zürich", "déployer api zürich"),
        ("re\u{301}sume\u{301}, naïve", "re\u{301}sume\u{301} naïve"),
        ("创建 React 组件。", "创建 react 组件"),
        ("認証・コンポーネント", "認証 コンポーネント"),
        (
            "\u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940}",
            "\u{939}\u{93f}\u{928}\u{94d}\u{926}\u{940}",
        ),
        ("می\u{200c}خواهم", "می\u{200c}خواهم"),
        ("ΟΔΟΣ Straße İ", "οδοσ straße i\u{307}"),
        ("v1.95 ½ ٣", "v1 95 ½ ٣"),
        // Punctuation and symbols separate.
        (
            "node.js,react/vue;css|html_css",
            "node js react vue css html",
        ),
        ("c++ C# F# r d 3", "c f r d 3"),
        ("«pdf»—(\"docx\")", "pdf docx"),
        ("😀pdf👨\u{200d}👩 ❤\u{fe0f} ok", "pdf ok"),
        // Hyphens are kept inside a token and trimmed at its ends; a hyphen alone is dropped.
        ("front-end -x --flag-- - -- ‑", "front-end x flag"),
        ("co‐op co‑op co-op co–op", "co-op co op"),
        ("-the- peut-être", ""),
        // Elisions and contractions.
        (
            "l'authentification d'un service qu'il faut",
            "authentification service",
        ),
        ("C'est l'API que j'ai aujourd'hui", "api"),
        ("what's up, don't, can't, I'm, we'll, users'", "users"),
        ("rock'n'roll o'reilly", "rock roll o reilly"),
        ("write 'c' and 'd', C's memory", "write c d memory"),
        ("l＇app", "app"),
        // Duplicates are dropped, and the order is kept.
        ("Go go GO gopher go", "go gopher"),
        ("I want help: please use the PDF; how do I need it?", "pdf"),
    ];

    #[test]
    fn requests_become_their_tokens() {
        for (request, expected) in REQUESTS {
            assert_eq!(tokenize(request).join(" "), *expected, "{request:?}");
        }
    }

    proptest! {
        #[test]
        fn tokens_are_clean_and_survive_another_pass(request in "[\\PC\\s'’-]{0,60}") {
            let tokens = tokenize(&request);
            for (i, token) in tokens.iter().enumerate() {
                prop_assert!(token.contains(char::is_alphanumeric));
                prop_assert!(token.chars().all(is_kept));
                prop_assert!(!token.starts_with('-') && !token.ends_with('-'));
                prop_assert!(!is_stop_word(token));
                prop_assert!(!tokens[..i].contains(token));
            }
            prop_assert_eq!(tokenize(&tokens.join(" ")), tokens);
        }
    }
}
