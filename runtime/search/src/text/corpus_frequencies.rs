//! The number of public skills, of about twenty thousand, that contain a stem. It says how rare a
//! stem is in general, for trees that are too small to say. The counts are in
//! `corpus_frequencies.tsv`, in byte order, one stem and its count per line.

/// The number of skills that were counted.
const SKILLS: f64 = 20_944.0;

/// The count that is assumed for a stem that is not in the list.
const UNLISTED: f64 = 2.0;

const LIST: &str = include_str!("corpus_frequencies.tsv");

/// The share of public skills that contain the stem.
pub(crate) fn share(stem: &str) -> f64 {
    count(stem).unwrap_or(UNLISTED) / SKILLS
}

/// Binary search by bytes. The line to compare starts after the last line end before the middle.
fn count(stem: &str) -> Option<f64> {
    let bytes = LIST.as_bytes();
    let (mut low, mut high) = (0, bytes.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        let start = memchr::memrchr(b'\n', &bytes[low..middle]).map_or(low, |at| low + at + 1);
        let end = memchr::memchr(b'\n', &bytes[start..])? + start;
        let (listed, count) = LIST.get(start..end)?.split_once('\t')?;
        match listed.cmp(stem) {
            std::cmp::Ordering::Less => low = end + 1,
            std::cmp::Ordering::Greater => high = start,
            std::cmp::Ordering::Equal => return count.parse().ok(),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_found_and_in_order() {
        let mut before = "";
        for line in LIST.lines() {
            let (stem, listed) = line.split_once('\t').expect("a stem and a count");
            assert!(before < stem, "{before:?} before {stem:?}");
            assert_eq!(count(stem), listed.parse().ok(), "{stem:?}");
            before = stem;
        }
    }

    #[test]
    fn what_is_not_listed_is_rare() {
        for stem in ["", "zzzz", "zq", "\u{10ffff}"] {
            assert!(share(stem) < 0.000_1, "{stem:?}");
        }
        assert!(share("file") > 0.1);
    }
}
