//! The line under a search hit (spec 4): a window of text around the first
//! match. It decides nothing about which documents match.

use std::collections::HashSet;
use std::ops::Range;

use crate::text::clauses::clauses;
use crate::text::terms::{Cut, Cutter};
use crate::text::{lower, lower_char};

/// How many characters the window has at most, from spec 4. The marks of its
/// two cuts come on top.
const LENGTH: usize = 160;

/// How much of the window lies before the match, if enough follows it: so much
/// shows what is being said, and the match is still seen at a glance.
const BEFORE: usize = 60;

/// A longer match is cut, or a pasted block would be the whole excerpt.
const MATCH_MAX: usize = 120;

/// Where the text was cut.
const CUT: char = '…';

/// The text around the earliest match of any of the words, or its beginning
/// where none occurs in it (the match was in a name or description then).
///
/// Words are what [`crate::words::query_words`] gives. Runs of white space
/// become one blank; a cut falls between words where it can, and shows as `…`.
pub(crate) fn excerpt(text: &str, words: &[&str]) -> String {
    let text = text.trim();
    let found = first_match(text, words).unwrap_or_default();
    let (before, after) = (&text[..found.start], &text[found.end..]);
    let shown: String = text[found.clone()].chars().take(MATCH_MAX).collect();
    let is_whole = shown.len() == found.len();

    let room = LENGTH - shown.chars().count();
    let head = Window::new(before.chars().rev(), room.min(BEFORE));
    let tail = Window::new(
        after.chars(),
        if is_whole { room - head.kept.len() } else { 0 },
    );
    // What the tail leaves goes to the head.
    let head = Window::new(before.chars().rev(), room - tail.kept.len());

    let cut = |is_cut: bool| is_cut.then_some(CUT);
    let head = cut(head.is_cut)
        .into_iter()
        .chain(head.kept.into_iter().rev());
    let tail = tail.kept.into_iter().chain(cut(tail.is_cut || !is_whole));
    head.chain(shown.chars()).chain(tail).collect()
}

/// The text from the sentence or line on that holds the most of what weighs:
/// the sum over its distinct terms, the first of equals. Nothing where no
/// sentence holds any.
pub(crate) fn passage(text: &str, weight: impl Fn(&str) -> f64) -> Option<String> {
    let mut cutter = Cutter::default();
    let mut best: Option<(f64, &str)> = None;
    for clause in clauses(text) {
        let (mut seen, mut sum) = (HashSet::new(), 0.0);
        cutter.cut(clause, |cut| {
            if let Cut::Term(term) = cut
                && seen.insert(term.to_owned())
            {
                sum += weight(term);
            }
        });
        if sum > best.map_or(0.0, |(greatest, _)| greatest) {
            best = Some((sum, clause));
        }
    }
    let (_, clause) = best?;
    let start = clause.as_ptr().addr() - text.as_ptr().addr();
    Some(excerpt(&text[start..], &[]))
}

/// Where in the text the earliest match lies, the longest of those.
fn first_match(text: &str, words: &[&str]) -> Option<Range<usize>> {
    let lowered = lower(text);
    let (start, longest) = words
        .iter()
        .filter(|word| !word.is_empty())
        .filter_map(|word| Some((lowered.find(word)?, word.len())))
        .min_by_key(|&(start, len)| (start, std::cmp::Reverse(len)))?;
    Some(unlowered(text, start..start + longest))
}

/// The characters of the text whose lower case overlaps a range of the lower
/// case of the text. The two differ in length where a character's do.
fn unlowered(text: &str, range: Range<usize>) -> Range<usize> {
    let mut lowered_end = 0;
    let mut start = None;
    for (at, c) in text.char_indices() {
        if lowered_end >= range.end {
            return start.unwrap_or(at)..at;
        }
        lowered_end += lower_char(c).map(char::len_utf8).sum::<usize>();
        if lowered_end > range.start {
            start.get_or_insert(at);
        }
    }
    start.unwrap_or(text.len())..text.len()
}

/// The characters next to the match, nearest first.
struct Window {
    kept: Vec<char>,
    is_cut: bool,
}

impl Window {
    /// At most so many of the characters, blanks collapsed. Ends between words
    /// if that takes at most half of them away.
    fn new(chars: impl Iterator<Item = char>, most: usize) -> Self {
        let mut kept: Vec<char> = collapsed(chars).take(most + 1).collect();
        let is_cut = kept.len() > most;
        if is_cut {
            let between = kept
                .iter()
                .rposition(|c| *c == ' ')
                .filter(|at| *at > most / 2);
            kept.truncate(between.unwrap_or(most));
        }
        Self { kept, is_cut }
    }
}

/// The characters, each run of white space as one blank.
fn collapsed(chars: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    let mut after_blank = false;
    chars.filter_map(move |c| {
        let is_blank = c.is_whitespace();
        let is_repeated = is_blank && after_blank;
        after_blank = is_blank;
        (!is_repeated).then_some(if is_blank { ' ' } else { c })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::words::query_words;

    #[test]
    fn the_passage_is_the_sentence_that_weighs_most() {
        let text = "# Forms\n\nOpen the file. Merge the files of a form, then flatten it. Done.\n- deploy\n";
        let weight = |term: &str| match term {
            "merg" | "flatten" => 2.0,
            "file" => 1.0,
            "deploi" | "deploy" => 3.0,
            _ => 0.0,
        };
        assert_eq!(
            passage(text, weight).as_deref(),
            Some("Merge the files of a form, then flatten it. Done. - deploy")
        );
        assert_eq!(passage(text, |_| 0.0), None);
        assert_eq!(passage("", weight), None);
        let long = format!(
            "file {}merge flatten {}",
            "x. ".repeat(300),
            "y ".repeat(300)
        );
        let found = passage(&long, weight).expect("there");
        assert!(found.starts_with("merge flatten y y"), "{found}");
        assert!(
            found.ends_with('…') && found.chars().count() <= LENGTH + 1,
            "{found}"
        );
    }

    fn around(text: &str, query: &str) -> String {
        let words = query_words(query);
        excerpt(text, &words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Text, query, excerpt. `~` stands for ten words of ten characters.
    const EXCERPTS: &[(&str, &str, &str)] = &[
        ("", "pdf", ""),
        (" \n\t ", "pdf", ""),
        (
            "# Fill\r\n\r\n1.  open `Form.PDF`\n\n",
            "pdf",
            "# Fill 1. open `Form.PDF`",
        ),
        ("# Fill\n\nnothing here", "pdf", "# Fill nothing here"),
        ("# Fill\n\nnothing here", "", "# Fill nothing here"),
        // Of several words the earliest match leads, whatever their order.
        (
            "~ ready ~ bd ~",
            "bd ready",
            "…123456789 123456789 123456789 123456789 123456789 123456789 ready 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789…",
        ),
        // Near the beginning and near the end, the other side gets the room.
        (
            "pdf ~ ~",
            "pdf",
            "pdf 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789…",
        ),
        (
            "~ ~ pdf",
            "pdf",
            "…123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 pdf",
        ),
        // Lower case may be longer or shorter than the text.
        ("İİİİ Ⱥ STRAẞE", "straße", "İİİİ Ⱥ STRAẞE"),
        ("ΟΔΟΣ", "οδος", "ΟΔΟΣ"),
    ];

    #[test]
    fn excerpts_show_the_first_match_in_its_surroundings() {
        let words = "123456789 ".repeat(10);
        for (text, query, expected) in EXCERPTS {
            assert_eq!(
                around(&text.replace('~', words.trim()), query),
                *expected,
                "{text:?} for {query:?}"
            );
        }
    }

    #[test]
    fn text_without_blanks_is_cut_between_characters() {
        let text = "前".repeat(300) + "组件" + &"后".repeat(300);
        let found = around(&text, "组件");
        assert_eq!(
            found,
            format!("…{}组件{}…", "前".repeat(60), "后".repeat(98))
        );
    }

    #[test]
    fn a_long_match_shows_its_beginning() {
        let long = "x".repeat(5000);
        let found = around(&format!("{} {long} end", "word ".repeat(50)), &long);
        assert!(found.starts_with("…word word"), "{found}");
        assert!(
            found.ends_with(&format!("word {}…", "x".repeat(MATCH_MAX))),
            "{found}"
        );
    }

    #[test]
    fn matches_inside_a_longer_lower_case_show_the_whole_character() {
        assert_eq!(unlowered("aİb", 2..3), 1..3);
        assert_eq!(unlowered("aİb", 2..5), 1..4);
        assert_eq!(unlowered("ȺȺx", 3..7), 2..5);
    }

    proptest! {
        #[test]
        fn excerpts_are_short_tidy_and_hold_the_match(
            text in "([a-zA-ZéİΣȺẞ组]{1,9}[ \n]{1,3}){0,80}|\\PC{0,300}|.{0,300}",
            query in "[a-zéİΣ组]{1,3}( [a-z]{1,2})?",
        ) {
            let found = around(&text, &query);
            prop_assert!(found.chars().count() <= LENGTH + 2, "{}", found);
            prop_assert!(!found.contains(['\n', '\r', '\t']) && !found.contains("  "), "{:?}", found);
            prop_assert_eq!(found.trim(), &found);
            let (text, shown) = (lower(&text), lower(&found));
            let words = query_words(&query);
            let earliest = words.iter().filter(|word| text.contains(*word)).min_by_key(|word| text.find(*word));
            if let Some(word) = earliest {
                prop_assert!(shown.contains(word), "{:?} lacks {:?}", found, word);
            }
        }
    }
}
