//! Excerpts for search hits: a window of text around the first match (spec 4), or the passage that
//! best covers the terms of a request. Matching is done elsewhere.

use std::ops::Range;

use crate::text::Tokenizer;
use crate::text::{lower, lower_char};

/// The maximum length of the window in characters, from spec 4, without the `…` at its two ends.
const LENGTH: usize = 160;

/// The part of the window before the match, if enough text follows. It is enough to show the
/// context, and short enough to see the match at a glance.
const BEFORE: usize = 60;

/// Longer matches are cut; otherwise a match of a pasted block would fill the whole excerpt.
const MATCH_MAX: usize = 120;

/// Marks a cut.
const CUT: char = '…';

/// The text around the earliest match of any of the words, or the beginning of the text if none of
/// them occurs in it (the match is then in a name or description).
///
/// `words` comes from [`crate::text_index::query_words`]. Runs of white space become one space.
/// Cuts are between words if possible, and shown as `…`.
pub fn excerpt(text: &str, words: &[&str]) -> String {
    let text = text.trim();
    let found = first_match(text, words).unwrap_or_default();
    let shown: Vec<char> = text[found.clone()].chars().take(MATCH_MAX).collect();
    let is_whole = shown.len() == text[found.clone()].chars().count();
    surrounded(text, found, shown, is_whole)
}

/// The passage with the greatest total weight of terms, each term counted once; of equal passages
/// the first. Returns `None` if the text contains none of the terms.
///
/// `terms` comes from [`Tokenizer`]. The passage is as long as an excerpt; the room that the terms
/// leave is filled with the text around them.
pub fn passage(text: &str, terms: &[(String, u32)]) -> Option<String> {
    let text = text.trim();
    let found = heaviest(&places(text, terms), terms)?;
    let shown = collapsed(text[found.clone()].chars()).collect();
    Some(surrounded(text, found, shown, true))
}

/// The match as it is shown, with surrounding text in the remaining room.
fn surrounded(text: &str, found: Range<usize>, shown: Vec<char>, is_whole: bool) -> String {
    let (before, after) = (&text[..found.start], &text[found.end..]);
    let room = LENGTH.saturating_sub(shown.len());
    let head = Window::new(before.chars().rev(), room.min(BEFORE));
    let tail = Window::new(
        after.chars(),
        if is_whole { room - head.kept.len() } else { 0 },
    );
    // The head gets the room that the tail leaves.
    let head = Window::new(before.chars().rev(), room - tail.kept.len());

    let cut = |is_cut: bool| is_cut.then_some(CUT);
    let head = cut(head.is_cut)
        .into_iter()
        .chain(head.kept.into_iter().rev());
    let tail = tail.kept.into_iter().chain(cut(tail.is_cut || !is_whole));
    head.chain(shown).chain(tail).collect()
}

/// An occurrence of a term in a text.
struct Place {
    /// The index of the term.
    term: usize,
    bytes: Range<usize>,
    /// The same range in characters, with white space collapsed.
    columns: Range<usize>,
}

/// The occurrences of the terms, in order.
fn places(text: &str, terms: &[(String, u32)]) -> Vec<Place> {
    let (mut places, mut counted, mut column) = (Vec::new(), 0, 0);
    Tokenizer::default().positions(text, |found, bytes| {
        if let Some(term) = terms.iter().position(|(term, _)| term == found) {
            // Words do not begin inside a run of white space, so the lengths of the parts add up to
            // the length of the whole.
            column += collapsed(text[counted..bytes.start].chars()).count();
            counted = bytes.start;
            let end = column + text[bytes.clone()].chars().count();
            places.push(Place {
                term,
                bytes,
                columns: column..end,
            });
        }
    });
    places
}

/// The part of greatest weight that is no longer than an excerpt, without repeated terms at its
/// start (a sliding window over the occurrences).
fn heaviest(places: &[Place], terms: &[(String, u32)]) -> Option<Range<usize>> {
    let mut part = Part::new(terms);
    let (mut first, mut best) = (0, None);
    for (last, place) in places.iter().enumerate() {
        part.take_in(place.term);
        while first < last && part.is_better_without(&places[first], place) {
            part.let_go(places[first].term);
            first += 1;
        }
        if best.as_ref().is_none_or(|(most, _)| part.weight > *most) {
            best = Some((part.weight, places[first].bytes.start..place.bytes.end));
        }
    }
    best.map(|(_, bytes)| bytes)
}

/// A part of a text, represented by the terms that occur in it.
struct Part<'t> {
    terms: &'t [(String, u32)],
    /// The number of occurrences of each term.
    counts: Vec<usize>,
    /// The total weight of the terms, each counted once.
    weight: u32,
}

impl<'t> Part<'t> {
    fn new(terms: &'t [(String, u32)]) -> Self {
        Self {
            terms,
            counts: vec![0; terms.len()],
            weight: 0,
        }
    }

    fn take_in(&mut self, term: usize) {
        self.counts[term] += 1;
        if self.counts[term] == 1 {
            self.weight += self.terms[term].1;
        }
    }

    fn let_go(&mut self, term: usize) {
        self.counts[term] -= 1;
        if self.counts[term] == 0 {
            self.weight -= self.terms[term].1;
        }
    }

    /// Whether the part from `first` to `last` is too long, or contains the term of `first` again
    /// later.
    fn is_better_without(&self, first: &Place, last: &Place) -> bool {
        last.columns.end - first.columns.start > LENGTH || self.counts[first.term] > 1
    }
}

/// The range of the earliest match in the text; of several at the same start, the longest.
fn first_match(text: &str, words: &[&str]) -> Option<Range<usize>> {
    let lowered = lower(text);
    let (start, longest) = words
        .iter()
        .filter(|word| !word.is_empty())
        .filter_map(|word| Some((lowered.find(word)?, word.len())))
        .min_by_key(|&(start, len)| (start, std::cmp::Reverse(len)))?;
    Some(unlowered(text, start..start + longest))
}

/// Maps a range of the lower-cased text to the characters of the text that it overlaps. Offsets
/// differ, because some characters change their length in lower case.
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
    /// At most `most` of the characters, with white space collapsed. Ends between words if that
    /// drops at most half of them.
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

/// The characters, with each run of white space as one space.
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
    use crate::text_index::query_words;

    fn around(text: &str, query: &str) -> String {
        let words = query_words(query);
        excerpt(text, &words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Text, query, excerpt. `~` is ten words of ten characters.
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
        // The earliest match of several words counts, in whatever order they are given.
        (
            "~ ready ~ bd ~",
            "bd ready",
            "…123456789 123456789 123456789 123456789 123456789 123456789 ready 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789…",
        ),
        // Near the beginning and the end of the text, the other side gets the room.
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

    type Terms = &'static [(&'static str, u32)];

    /// Text, terms with their weights, passage. `~` is twenty words of
    /// ten characters.
    const PASSAGES: &[(&str, Terms, Option<&str>)] = &[
        ("", &[("pdf", 9)], None),
        ("nothing here", &[("pdf", 9)], None),
        ("nothing here", &[], None),
        (
            "# Fill\n\n1.  open `Form.PDF`\n",
            &[("pdf", 9)],
            Some("# Fill 1. open `Form.PDF`"),
        ),
        // Two adjacent terms weigh more than the first one alone, and a single term of great weight
        // more than both.
        (
            "form ~ merging the forms ~ pdf",
            &[("form", 5), ("merg", 5), ("pdf", 4)],
            Some(
                "…123456789 123456789 123456789 123456789 123456789 123456789 merging the forms 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789…",
            ),
        ),
        (
            "form ~ merging the forms ~ pdf",
            &[("form", 5), ("merg", 5), ("pdf", 11)],
            Some(
                "…123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 pdf",
            ),
        ),
        // A repeated term counts once.
        (
            "pdf ~ form form form",
            &[("form", 5), ("pdf", 6)],
            Some(
                "pdf 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789…",
            ),
        ),
        ("创建组件。", &[("组件", 3)], Some("创建组件。")),
    ];

    #[test]
    fn passages_hold_the_most_of_the_terms_by_weight() {
        let words = "123456789 ".repeat(20);
        for (text, terms, expected) in PASSAGES {
            let found = passage(&text.replace('~', words.trim()), &weighed(terms));
            assert_eq!(found.as_deref(), *expected, "{text:?} for {terms:?}");
        }
    }

    fn weighed(terms: Terms) -> Vec<(String, u32)> {
        let owned = |(term, weight): &(&str, u32)| ((*term).to_owned(), *weight);
        terms.iter().map(owned).collect()
    }

    proptest! {
        #[test]
        fn passages_are_short_tidy_and_none_holds_more(
            words in prop::collection::vec("(alpha|beta|gamma|组件|[a-z]{2,9}[,.]?)[ \n]{1,3}", 0..120),
        ) {
            let text = words.concat();
            let terms = weighed(&[("alpha", 5), ("beta", 3), ("gamma", 2), ("组件", 4)]);
            let weight = |text: &str| -> u32 {
                let mut held = [0; 4];
                for place in places(text, &terms) {
                    held[place.term] = terms[place.term].1;
                }
                held.iter().sum()
            };
            let Some(found) = passage(&text, &terms) else {
                prop_assert_eq!(weight(&text), 0);
                return Ok(());
            };
            prop_assert!(found.chars().count() <= LENGTH + 2, "{}", found);
            prop_assert!(!found.contains('\n') && !found.contains("  "), "{:?}", found);
            let tidy: Vec<char> = collapsed(text.trim().chars()).collect();
            for from in 0..tidy.len() {
                let part: String = tidy[from..].iter().take(LENGTH).collect();
                // Part of a longer word would be a different term.
                let starts = from == 0 || tidy[from - 1] == ' ';
                let ends = from + LENGTH >= tidy.len() || tidy[from + LENGTH] == ' ';
                if starts && ends {
                    prop_assert!(weight(&part) <= weight(&found), "{:?} holds more than {:?}", part, found);
                }
            }
        }

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
