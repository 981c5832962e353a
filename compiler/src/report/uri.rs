//! The name of a file in a log that others read: relative to the directory that the program ran in,
//! if the file is below it.

use std::fmt::Write;
use std::path::Path;

/// The file, which is named as the user typed it: relative and without `.` and `..` if it is below
/// `directory`, otherwise absolute.
pub(super) fn path(file: &str, directory: &Path) -> String {
    let directory = directory.to_string_lossy();
    let full = if file.starts_with('/') {
        file.to_owned()
    } else {
        format!("{directory}/{file}")
    };
    let (full, directory) = (resolved(&full), resolved(&directory));
    let below = full.strip_prefix(&*directory);
    match below.and_then(|it| it.strip_prefix('/')) {
        Some(path) => path.to_owned(),
        None => full,
    }
}

/// The same as a URI: relative, or of the scheme `file`.
pub(super) fn uri(file: &str, directory: &Path) -> String {
    let path = path(file, directory);
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    let mut uri = scheme.to_owned();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri
}

/// An absolute path without `.` and `..`.
fn resolved(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.iter().flat_map(|part| ["/", part]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_the_directory_are_relative() {
        for (file, expected) in [
            ("a/SKILL.md", "a/SKILL.md"),
            ("./a/../b c.md", "b%20c.md"),
            ("/work/here/x:y%,é.md", "x%3Ay%25%2C%C3%A9.md"),
            ("../a\nb", "file:///work/a%0Ab"),
            ("/work/hereafter/a", "file:///work/hereafter/a"),
            ("../../../../a", "file:///a"),
            ("a#b?c", "a%23b%3Fc"),
        ] {
            assert_eq!(uri(file, Path::new("/work/here")), expected, "{file}");
        }
        assert_eq!(path("a b", Path::new("/")), "a b");
    }
}
