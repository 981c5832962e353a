//! Which targets of references are relative paths, and what they are once decoded.

use super::scan::{self, Notation};
use crate::paths::file_name;

/// The path of a reference, with `/` for a backslash; `None` for a URL, an anchor, a placeholder and
/// everything else that is not a relative path.
pub(super) fn path_of(target: &str, notation: Notation) -> Option<String> {
    // Most words in backticks and labels have none of what a path has, if only in its encoded form.
    if !target.contains(['/', '\\', '.', '%']) {
        return None;
    }
    let is_code = notation.is_code();
    let cut = target.find(['#', '?']).map_or(target, |at| &target[..at]);
    let cut = if is_code {
        cut.split(':').next().unwrap_or_default()
    } else {
        cut
    };
    let path = decoded(cut)?;
    let path = if is_code {
        path
    } else {
        path.replace('\\', "/")
    };
    let path = path.strip_prefix("./").unwrap_or(&path);
    // A folder of that name is meant by a link that ends in `/`.
    let path = path.trim_end_matches('/');
    let first = path.split('/').next().unwrap_or_default();
    // The home of the author is no place that others have.
    let tail = path.strip_prefix("~/").filter(|_| !is_code).unwrap_or(path);
    let is_of_path = |it: char| scan::is_of_name(it) || (!is_code && scan::is_of_link(it));
    let is_path = path.contains('/') || path.contains('.') || is_folder(cut, notation);
    (!path.is_empty()
        && tail.chars().all(is_of_path)
        && is_path
        && !is_placeholder(path)
        && !has_scheme(cut)
        && !is_host(first))
    .then(|| path.to_owned())
}

/// Whether a link says that it leads to a folder: it ends in `/`.
pub(super) fn is_folder(target: &str, notation: Notation) -> bool {
    notation == Notation::Link && target.ends_with('/')
}

/// Whether a path stands for others: `path/to/file.md`, `notes/YYYY-MM-DD.md`.
fn is_placeholder(path: &str) -> bool {
    const MARKS: &[&str] = &["...", "NNN", "XXX", "YYYY"];
    const NAMES: &[&str] = &["file", "file_path", "filename", "name", "path"];
    MARKS.iter().any(|it| path.contains(it))
        || path.to_lowercase().contains("path/to/")
        || NAMES.contains(&file_name(path))
}

/// `https:`, `mailto:`, `skill:`.
fn has_scheme(target: &str) -> bool {
    let Some((scheme, _)) = target.split_once(':') else {
        return false;
    };
    scheme.starts_with(|it: char| it.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || "+.-".contains(it))
}

/// `example.com`, as people write it without its scheme.
fn is_host(name: &str) -> bool {
    const TOP: &[&str] = &[
        "ai", "app", "co", "com", "dev", "edu", "gov", "io", "net", "org",
    ];
    name.starts_with("www.")
        || name
            .rsplit_once('.')
            .is_some_and(|(_, top)| TOP.contains(&top))
}

/// Decodes `%20` and the like; `None` if the result is not UTF-8.
fn decoded(target: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(target.len());
    let mut rest = target.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .filter(|_| first == b'%')
            .and_then(|it| str::from_utf8(it).ok());
        if let Some(byte) = digits.and_then(|it| u8::from_str_radix(it, 16).ok()) {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}
