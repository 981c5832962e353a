//! The line under a search hit: a window of text around the first match
//! (spec 4), or the passage that has most in common with a request. It decides
//! nothing about which documents match.

use std::ops::Range;

use crate::text::Tokenizer;
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
/// Words are what [`crate::text_index::query_words`] gives. Runs of white space
/// become one blank; a cut falls between words where it can, and shows as `…`.
pub fn excerpt(text: &str, words: &[&str]) -> String {
    let text = text.trim();
    let found = first_match(text, words).unwrap_or_default();
    let shown: Vec<char> = text[found.clone()].chars().take(MATCH_MAX).collect();
    let is_whole = shown.len() == text[found.clone()].chars().count();
    surrounded(text, found, shown, is_whole)
}

/// The passage of the text that holds the most of these terms by their weights,
/// each counted once; of equal ones the first. Nothing where it holds none.
///
/// Terms are what [`Tokenizer`] gives. The passage is as long as an excerpt, and
/// what the terms leave of it shows what stands around them.
pub fn passage(text: &str, terms: &[(String, u32)]) -> Option<String> {
    let text = text.trim();
    let found = heaviest(&places(text, terms), terms)?;
    let shown = collapsed(text[found.clone()].chars()).collect();
    Some(surrounded(text, found, shown, true))
}

/// What is shown of a match, with the text around it in the room that is left.
fn surrounded(text: &str, found: Range<usize>, shown: Vec<char>, is_whole: bool) -> String {
    let (before, after) = (&text[..found.start], &text[found.end..]);
    let room = LENGTH.saturating_sub(shown.len());
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
    head.chain(shown).chain(tail).collect()
}

/// Where a term stands in a text.
struct Place {
    /// Which of the terms.
    term: usize,
    bytes: Range<usize>,
    /// The same in characters, blanks collapsed.
    columns: Range<usize>,
}

/// Where the terms stand, in order.
fn places(text: &str, terms: &[(String, u32)]) -> Vec<Place> {
    let (mut places, mut counted, mut column) = (Vec::new(), 0, 0);
    Tokenizer::default().positions(text, |found, bytes| {
        if let Some(term) = terms.iter().position(|(term, _)| term == found) {
            // A word begins where no run of blanks goes on, so that the parts
            // add up to the whole.
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

/// The shortest part no longer than an excerpt that weighs most.
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

/// Part of a text, by the terms that stand in it.
struct Part<'t> {
    terms: &'t [(String, u32)],
    /// How often each stands there.
    counts: Vec<usize>,
    /// What they weigh, each counted once.
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

    /// Whether the part from `first` to `last` is too long, or says what stands
    /// first once more.
    fn is_better_without(&self, first: &Place, last: &Place) -> bool {
        last.columns.end - first.columns.start > LENGTH || self.counts[first.term] > 1
    }
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
    use crate::text_index::query_words;

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

    type Terms = &'static [(&'static str, u32)];

    /// Text, terms with their weights, passage. `~` stands for twenty words of
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
        // Two terms side by side weigh more than the first of them alone, and
        // one that tells much more than both.
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
        // A term that is said twice counts once.
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
                // A part of a longer word is another term.
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
