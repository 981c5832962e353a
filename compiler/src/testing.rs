//! For tests: a table in the skills that document this tool equals a table of the
//! code. `UPDATE_GOLDEN=1` rewrites the documentation.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The cells of one row.
pub(crate) type Row = Vec<String>;

/// Compares the first Markdown table after the line `before` of a file below
/// `skills/` with `header` and `rows`.
pub(crate) fn check(file: &str, before: &str, header: &[&str], rows: &[Row]) {
    // Two tests may rewrite one file.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../skills")
        .join(file);
    let text = fs::read_to_string(&path).expect("the documentation exists");
    let heading = text.find(&format!("{before}\n"));
    let heading = heading.unwrap_or_else(|| panic!("{file} has no line `{before}`"));
    let start = heading + text[heading..].find("\n|").expect("a table follows") + 1;
    let length = text[start..]
        .find("\n\n")
        .map_or(text.len() - start, |at| at + 1);

    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let header: Row = header.iter().map(|&it| it.to_owned()).collect();
    let mut expected = line(&header);
    expected += &["|", &"---|".repeat(header.len()), "\n"].concat();
    expected.extend(rows.iter().map(|row| line(row)));

    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let text = [&text[..start], &expected, &text[start + length..]].concat();
        fs::write(&path, text).expect("the documentation can be written");
    } else {
        assert_eq!(
            &text[start..start + length],
            expected,
            "{file}; UPDATE_GOLDEN=1 rewrites it"
        );
    }
}
