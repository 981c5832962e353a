//! "Did you mean": the known word closest to a mistyped one.

use strsim::osa_distance;

/// Longer words are unlikely to be typing mistakes, and comparing them is slow.
const MAX_LETTERS: usize = 40;

/// The number of typing mistakes that turn `known` into `typed`: insertions, deletions,
/// replacements and swaps of neighbouring letters (optimal string alignment distance). Case is
/// ignored, and `_` equals `-`. Returns `None` if more than a third of the letters of `known`
/// differ.
pub fn typos(typed: &str, known: &str) -> Option<usize> {
    let length = typed.chars().count();
    // A cheap lower bound of the distance rules out most words.
    let may_fit = length <= MAX_LETTERS && known.len().abs_diff(length) * 3 <= known.len();
    let distance = may_fit.then(|| osa_distance(&plain(typed), &plain(known)))?;
    (distance * 3 <= known.len()).then_some(distance)
}

/// The known word with the fewest [`typos`]; of equally close words the first.
pub fn suggest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .filter_map(|word| Some((typos(typed, word)?, word)))
        .min_by_key(|(typos, _)| *typos)
        .map(|(_, word)| word)
}

/// The form in which words are compared: lower case, with `-` for `_`.
fn plain(word: &str) -> String {
    word.to_lowercase().replace('_', "-")
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
