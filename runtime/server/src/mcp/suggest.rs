//! How far a mistyped name is from an existing one: the edit distance (Levenshtein), up to 2.

/// The number of letters to change, insert or delete; 3 stands for any number above 2.
pub(crate) fn distance(from: &[char], to: &[char]) -> usize {
    const FAR: usize = 3;
    if from.len().abs_diff(to.len()) >= FAR {
        return FAR;
    }
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.iter().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], at + 1);
        for (other, found) in to.iter().enumerate() {
            let change = corner + usize::from(letter != found);
            corner = row[other + 1];
            row[other + 1] = change.min(corner + 1).min(row[other] + 1);
        }
        if row.iter().all(|away| *away >= FAR) {
            return FAR;
        }
    }
    row[to.len()].min(FAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_letters_up_to_two() {
        for (from, to, expected) in [
            ("git", "git", 0),
            ("gti", "git", 2),
            ("gi", "git", 1),
            ("gits", "git", 1),
            ("", "ab", 2),
            ("pdf", "xlsx", 3),
            ("", "abcd", 3),
        ] {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            assert_eq!(
                distance(&letters(from), &letters(to)),
                expected,
                "{from} {to}"
            );
            assert_eq!(
                distance(&letters(to), &letters(from)),
                expected,
                "{to} {from}"
            );
        }
    }
}
