//! Names and paths as keys: branches of paths, and the open-addressing tables for lookup. Shared by
//! the writer and the reader, so that both agree.

use xxhash_rust::xxh3::xxh3_64;

/// As a prefix of a path, it restricts the lookup to exactly that path.
pub(crate) const ADDRESS: &str = "skill://";

/// The path in an address such as `skill://team/pdf`.
pub(crate) fn addressed(name: &str) -> Option<&str> {
    name.trim_start().strip_prefix(ADDRESS)
}

/// The directory of skills that a typed path refers to: `ui`, `ui/` and `ui/_index` are the same.
/// `_root` refers to the whole tree, which is the empty path.
pub fn branch(typed: &str) -> &str {
    let path = typed.trim().trim_matches('/');
    match path.strip_suffix("_index") {
        _ if path == "_root" => "",
        Some(directory) if directory.is_empty() || directory.ends_with('/') => {
            directory.trim_end_matches('/')
        }
        _ => path,
    }
}

/// Whether a path is a branch or is below it, by whole segments.
pub(crate) fn holds(branch: &str, path: &str) -> bool {
    branch.is_empty()
        || path
            .strip_prefix(branch)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// One line without control characters: white space collapsed to single spaces.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
    {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Builds a table of `id + 1` by key; 0 is an empty slot. A later equal key is placed after earlier
/// ones in probe order, so lookup finds the first.
pub(crate) fn slots<'a>(keys: impl ExactSizeIterator<Item = &'a str>) -> Vec<u32> {
    // At most half full: a lookup then ends after 1.5 probes on average.
    let mut slots = vec![0; (keys.len() * 2).next_power_of_two().max(2)];
    for (id, key) in (1..).zip(keys) {
        let mut at = start(key, slots.len());
        while slots[at] != 0 {
            at = (at + 1) & (slots.len() - 1);
        }
        slots[at] = id;
    }
    slots
}

/// The probe sequence of `key`: each slot once, in order. A table whose length is not a power of
/// two is invalid and yields nothing.
pub(crate) fn probe(key: &str, len: usize) -> impl Iterator<Item = usize> {
    let usable = if len.is_power_of_two() { len } else { 0 };
    let first = if usable == 0 { 0 } else { start(key, len) };
    (0..usable).map(move |step| (first + step) & (usable - 1))
}

fn start(key: &str, len: usize) -> usize {
    // Truncation is intended: only the low bits select the slot.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "only the low bits choose the slot"
    )]
    let hash = xxh3_64(key.as_bytes()) as usize;
    hash & (len - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_named_in_several_ways() {
        for (typed, expected) in [
            ("", ""),
            ("/", ""),
            ("_root", ""),
            ("_index", ""),
            ("ui", "ui"),
            (" ui/ ", "ui"),
            ("ui/_index", "ui"),
            ("ui/react/_index", "ui/react"),
            ("ui/my_index", "ui/my_index"),
            ("ui/react/auth", "ui/react/auth"),
        ] {
            assert_eq!(branch(typed), expected, "{typed:?}");
        }
    }

    #[test]
    fn a_branch_holds_whole_segments() {
        for (branch, path, expected) in [
            ("ui", "ui/a", true),
            ("ui", "ui", true),
            ("ui", "uix", false),
            ("ui", "a/ui", false),
            ("", "x", true),
        ] {
            assert_eq!(holds(branch, path), expected, "{branch} {path}");
        }
    }
}
