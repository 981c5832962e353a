//! "Did you mean": the known word closest to a mistyped one, by edit distance.

use strsim::osa_distance;

/// Longer words are no typing mistakes, and comparing them costs time.
const MAX_LETTERS: usize = 40;

/// The candidate closest to `word`, if at most a third of its letters differ.
/// Case is ignored, and `_` equals `-`. The distance counts insertions,
/// deletions, replacements and swaps of neighbours (optimal string alignment).
pub(crate) fn suggest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let length = word.chars().count();
    if length > MAX_LETTERS {
        return None;
    }
    let word = fold(word);
    candidates
        .into_iter()
        // A cheap lower bound of the distance rules out most candidates.
        .filter(|candidate| candidate.len().abs_diff(length) * 3 <= candidate.len())
        .map(|candidate| (osa_distance(&word, &fold(candidate)), candidate))
        .filter(|(distance, candidate)| distance * 3 <= candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A word without what typing mistakes do not count: case, and `_` against `-`.
pub(crate) fn fold(word: &str) -> String {
    word.to_ascii_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn the_closest_word_is_suggested_if_it_is_close_enough() {
        let known = ["description", "name", "allowed-tools", "min_score"];
        for (word, expected) in [
            ("desciption", Some("description")),
            ("Description", Some("description")),
            ("nmae", Some("name")),
            ("allowed_tools", Some("allowed-tools")),
            ("min-scores", Some("min_score")),
            ("author", None),
            ("", None),
            ("n", None),
        ] {
            assert_eq!(suggest(word, known), expected, "{word:?}");
        }
        assert_eq!(suggest(&"x".repeat(100_000), known), None);
    }
}
