//! Golden texts: compare, show the difference line by line, and rewrite the
//! file when `UPDATE_GOLDEN=1` is set.

use std::fmt::Write as _;
use std::path::Path;

/// Whether golden files are to be rewritten instead of compared.
pub(crate) fn updating() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some_and(|v| v == "1")
}

/// Compares with a file, or rewrites it.
pub(crate) fn assert_golden(path: &Path, actual: &str) {
    if updating() {
        std::fs::write(path, actual).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        return;
    }
    let expected =
        std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_same(&path.display().to_string(), &expected, actual);
}

/// Panics with a readable difference unless the texts are equal.
pub(crate) fn assert_same(what: &str, expected: &str, actual: &str) {
    assert!(
        expected == actual,
        "{what} differs (- expected, + actual; UPDATE_GOLDEN=1 rewrites golden files)\n{}",
        diff(expected, actual)
    );
}

/// The lines of both texts, `-` for those only expected, `+` for those only there.
pub(crate) fn diff(expected: &str, actual: &str) -> String {
    let old: Vec<&str> = expected.split('\n').collect();
    let new: Vec<&str> = actual.split('\n').collect();
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..]
        .iter()
        .rev()
        .zip(new[head..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let mut out = String::new();
    for line in &old[head.saturating_sub(CONTEXT)..head] {
        let _ = writeln!(out, "  {line}");
    }
    changed(
        &mut out,
        &old[head..old.len() - tail],
        &new[head..new.len() - tail],
    );
    for line in old[old.len() - tail..].iter().take(CONTEXT) {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// Lines shown around a change.
const CONTEXT: usize = 3;

/// Beyond this many pairs of lines the table below would be larger than its use.
const TABLE: usize = 4_000_000;

/// The changed middle, by longest common subsequence.
fn changed(out: &mut String, old: &[&str], new: &[&str]) {
    if old.len() * new.len() > TABLE {
        for line in old {
            let _ = writeln!(out, "- {line}");
        }
        for line in new {
            let _ = writeln!(out, "+ {line}");
        }
        return;
    }
    let mut common = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            let _ = writeln!(out, "  {}", old[i]);
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            let _ = writeln!(out, "- {}", old[i]);
            i += 1;
        } else {
            let _ = writeln!(out, "+ {}", new[j]);
            j += 1;
        }
    }
}
