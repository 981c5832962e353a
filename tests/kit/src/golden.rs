//! Golden files: compare with a file and show the difference, or rewrite the
//! file if `UPDATE_GOLDEN=1` is set.

use std::fs;
use std::path::Path;

use similar::TextDiff;

/// Lines shown around a change.
const CONTEXT: usize = 3;

/// Whether golden files are to be rewritten instead of compared.
pub fn updating() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some_and(|v| v == "1")
}

/// Compares with a file, or rewrites it.
pub fn assert_golden(path: &Path, actual: &str) {
    let name = path.display().to_string();
    if updating() {
        fs::write(path, actual).unwrap_or_else(|e| panic!("{name}: {e}"));
        return;
    }
    let expected = fs::read_to_string(path).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_same(&name, &expected, actual);
}

/// Panics with a readable difference unless the texts are equal.
pub fn assert_same(what: &str, expected: &str, actual: &str) {
    assert!(
        expected == actual,
        "{what} differs (- expected, + actual; UPDATE_GOLDEN=1 rewrites golden files)\n{}",
        diff(expected, actual)
    );
}

/// The changed lines with some context, as a unified diff.
pub fn diff(expected: &str, actual: &str) -> String {
    let diff = TextDiff::from_lines(expected, actual);
    diff.unified_diff().context_radius(CONTEXT).to_string()
}
