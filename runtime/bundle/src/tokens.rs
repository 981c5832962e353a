//! How text is lower-cased and how a request is cut into tokens (spec 3 §5.1).
//! Used when compiling and when asking, so that both sides agree. It scores
//! nothing: [`crate::keywords`] and [`crate::words`] do.

use std::collections::HashSet;

mod marks;
mod stop_words;

use marks::is_mark;
use stop_words::{AFTER_APOSTROPHE, BEFORE_APOSTROPHE, POSSESSIVE, STOP_WORDS};

/// Lower-cases one character at a time, so that the lower case of a part is a
/// part of the lower case of the whole.
///
/// This is Unicode's simple rule without context, and one fold on top: the
/// Greek final sigma becomes the plain one. [`str::to_lowercase`] chooses
/// between the two by what follows, which would hide `ΟΔΟΣ` from a reader who
/// looks for `οδοσ` inside a longer word. Forms are not normalised: `é` in one
/// code point and `é` in two stay different, here as in the specs.
pub(crate) fn lower(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    lower_into(text, &mut out);
    out
}

/// [`lower`], appended to a buffer that callers reuse.
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

/// What [`lower`] makes of one character: one to three characters.
pub(crate) fn lower_char(c: char) -> impl Iterator<Item = char> {
    let c = if c == 'ς' { 'σ' } else { c };
    c.to_lowercase()
}

/// Cuts a request into tokens: lower-cased, without punctuation, without stop
/// words, each once, in order.
///
/// Points the spec leaves open, and what happens:
/// - *Punctuation* is all but letters, marks and digits of any script, hyphens,
///   and the zero-width joiners that Persian and Indic words are spelled with.
///   It separates; so `node.js` is two tokens, and `c++` is `c`.
/// - *Hyphens*: U+2010 and U+2011 count as the ASCII one, dashes do not. They
///   are trimmed at both ends; what holds no letter and no digit is dropped.
/// - *Apostrophes* separate, and the short piece of an elision or contraction
///   is dropped with them (`l'API` → `api`, `what's` → nothing), but only there:
///   a lone `c`, `d` or `r` is a language and stays.
/// - *Scripts without spaces*: a run of Chinese or Japanese is one token.
pub(crate) fn tokenize(request: &str) -> Vec<String> {
    let text = lower(request);
    let mut seen = HashSet::new();
    text.split(|c| !is_kept(c) && !is_apostrophe(c))
        .flat_map(without_elisions)
        .map(spelled)
        .filter(|token| token.contains(char::is_alphanumeric) && !is_stop_word(token))
        .filter(|token| seen.insert(token.clone()))
        .collect()
}

/// The pieces between apostrophes, less those that only glue words together.
fn without_elisions(word: &str) -> impl Iterator<Item = &str> {
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

/// The piece with one kind of hyphen, and none at its ends.
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

/// The typewriter's, the typographer's and the full-width one.
fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{ff07}')
}

/// The ASCII hyphen, Unicode's own and the one that does not break lines.
fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '\u{2010}' | '\u{2011}')
}

/// Zero-width joiner and non-joiner: spelling, not punctuation.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_stop_word(token: &str) -> bool {
    has(STOP_WORDS, token)
}

/// Whether a sorted table holds the word.
fn has(table: &[&str], word: &str) -> bool {
    table.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Request, and its tokens with single blanks between them.
    const REQUESTS: &[(&str, &str)] = &[
        // The spec's own example.
        (
            "Create a React component for the authentication",
            "create react component authentication",
        ),
        ("", ""),
        (" \t\n\u{a0}\u{3000}", ""),
        ("the of a le la les", ""),
        // Letters, marks and digits of any script survive; the rest separates.
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
        // Hyphens are kept inside, trimmed outside, dropped alone.
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
        // Each once, in order.
        ("Go go GO gopher go", "go gopher"),
        ("I want help: please use the PDF; how do I need it?", "pdf"),
    ];

    #[test]
    fn requests_become_their_tokens() {
        for (request, expected) in REQUESTS {
            assert_eq!(tokenize(request).join(" "), *expected, "{request:?}");
        }
    }

    #[test]
    fn lower_case_differs_from_the_standard_one_by_the_final_sigma_alone() {
        for c in (char::MIN..=char::MAX).filter(|c| *c != 'ς') {
            assert_eq!(lower(&c.to_string()), c.to_lowercase().to_string());
        }
        assert_eq!(lower("ΟΔΟΣ οδος"), "οδοσ οδοσ");
        assert_eq!(lower("İSTANBUL"), "i\u{307}stanbul");
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
