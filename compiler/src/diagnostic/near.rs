//! "Did you mean": the known word that a mistyped one is nearest to.

/// The candidate that `word` was probably meant to be: at most a third of its
/// letters differ, and letter case and `-` against `_` do not count.
pub(crate) fn near<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = normal(word);
    // Longer words are no typing errors, and comparing them costs time.
    if word.len() > 40 {
        return None;
    }
    candidates
        .into_iter()
        // So many letters differ at least; most candidates end here.
        .filter(|candidate| candidate.len().abs_diff(word.len()) * 3 <= candidate.len())
        .map(|candidate| (distance(&word, &normal(candidate)), candidate))
        .filter(|(distance, candidate)| distance * 3 <= candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn normal(word: &str) -> Vec<char> {
    word.chars()
        .map(|it| {
            if it == '_' {
                '-'
            } else {
                it.to_ascii_lowercase()
            }
        })
        .collect()
}

/// How many letters to insert, delete, replace or swap with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in b.iter().enumerate() {
            let mut least = (above[j] + usize::from(letter != other))
                .min(above[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *letter == b[j - 1] && a[i - 1] == *other {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::near;

    #[test]
    fn the_nearest_word_is_offered_if_it_is_near() {
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
            assert_eq!(near(word, known), expected, "{word:?}");
        }
        assert_eq!(near(&"x".repeat(100_000), known), None);
    }
}
