//! "Did you mean": the known word that a mistyped one is closest to.

/// Of `known`, the word closest to `typed`, if close enough to be a typing
/// mistake: by Damerau-Levenshtein distance over folded words, at most two
/// edits and fewer than half of the letters. Of equally close words the first.
pub fn suggest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = crate::text::fold(typed);
    let most = 2.min(typed.chars().count().saturating_sub(1) / 2);
    let distance = |word: &str| strsim::damerau_levenshtein(&typed, &crate::text::fold(word));
    known
        .into_iter()
        .map(|word| (distance(word), word))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_mistakes_are_close_and_other_words_are_not() {
        let known = ["name", "description", "keywords", "description-short"];
        for (typed, expected) in [
            ("Name", Some("name")),
            ("nmae", Some("name")),
            ("desciption", Some("description")),
            ("keyword", Some("keywords")),
            ("kywrds", Some("keywords")),
            ("n", None),
            ("game over", None),
            ("", None),
        ] {
            assert_eq!(suggest(typed, known), expected, "{typed}");
        }
    }
}
