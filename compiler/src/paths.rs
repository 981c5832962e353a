//! Paths inside a root: `/`-separated, relative, UTF-8. Their parts, the file
//! names that have a meaning, and which written paths may name a file of a skill.

/// Whether the file is called `SKILL.md`, in any case.
pub(crate) fn is_skill_file(path: &str) -> bool {
    file_name(path).eq_ignore_ascii_case("SKILL.md")
}

/// Whether the file's name marks its directory as part of a tree.
pub(crate) fn is_marker(path: &str) -> bool {
    matches!(file_name(path), "_root.md" | "_index.md")
}

/// Whether the file's name ends in `.md`, in any case.
pub(crate) fn is_markdown(path: &str) -> bool {
    stem(path) != path
}

/// The path without its `.md`; unchanged if it has another extension.
pub(crate) fn stem(path: &str) -> &str {
    match path.rsplit_once('.') {
        Some((stem, extension)) if extension.eq_ignore_ascii_case("md") => stem,
        _ => path,
    }
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The directory that contains a path; the root is the empty path.
pub(crate) fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// The directories that contain a path, innermost first, the root last.
pub(crate) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(path);
    std::iter::from_fn(move || {
        let directory = directory(rest?);
        rest = (!directory.is_empty()).then_some(directory);
        Some(directory)
    })
}

/// Whether `path` is `directory` or below it.
pub(crate) fn is_within(path: &str, directory: &str) -> bool {
    directory.is_empty()
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A path below a directory; the root is the empty path.
pub(crate) fn join(directory: &str, path: &str) -> String {
    if directory.is_empty() {
        path.to_owned()
    } else {
        format!("{directory}/{path}")
    }
}

/// Resolves `path` against `base`; `None` if it leaves the root.
pub(crate) fn resolve(base: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Normalizes a path that a skill declares: `./a//b` becomes `a/b`. The error
/// completes the sentence "the path …". The path is never opened; it is looked
/// up among the files that were found.
pub(crate) fn normalize(path: &str) -> Result<String, &'static str> {
    if path.contains(char::is_control) {
        return Err("has a control character");
    }
    // On Windows a backslash is a separator, a share or a drive.
    if path.contains('\\') {
        return Err("has a backslash; write `/` between folders");
    }
    if path.starts_with('/') {
        return Err("is absolute");
    }
    if matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic()) {
        return Err("names a drive");
    }
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let parts: Vec<&str> = parts.collect();
    if parts.contains(&"..") {
        return Err("goes up with `..`");
    }
    if parts.is_empty() {
        return Err("names no file");
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_split_at_slashes() {
        for (path, name, parent) in [
            ("a/b/c.md", "c.md", "a/b"),
            ("c.md", "c.md", ""),
            ("", "", ""),
        ] {
            assert_eq!((file_name(path), directory(path)), (name, parent));
        }
        for (path, expected) in [
            ("a/b.md", "a/b"),
            ("a.MD", "a"),
            ("a.txt", "a.txt"),
            ("é.md", "é"),
            ("a.md/b", "a.md/b"),
        ] {
            assert_eq!(stem(path), expected);
        }
        assert_eq!(ancestors("a/b/c").collect::<Vec<_>>(), ["a/b", "a", ""]);
        assert_eq!(ancestors("a").collect::<Vec<_>>(), [""]);
    }

    #[test]
    fn resolving_never_leaves_the_root() {
        for (base, path, expected) in [
            ("a/b", "c.md", Some("a/b/c.md")),
            ("a/b", "../c.md", Some("a/c.md")),
            ("a/b", "./../../c.md", Some("c.md")),
            ("a/b", "../../../c.md", None),
            ("", "c.md", Some("c.md")),
            ("", "../c.md", None),
        ] {
            assert_eq!(resolve(base, path).as_deref(), expected, "{base} {path}");
        }
    }

    #[test]
    fn declared_paths_that_leave_the_skill_are_refused() {
        let (control, backslash, absolute) = ("control", "backslash", "absolute");
        for (path, expected) in [
            ("a.txt", Ok("a.txt")),
            ("assets/a b/ü.txt", Ok("assets/a b/ü.txt")),
            ("./a//b/./c", Ok("a/b/c")),
            ("..a/b..", Ok("..a/b..")),
            ("...", Ok("...")),
            ("~/x", Ok("~/x")),
            ("%2e%2e/x", Ok("%2e%2e/x")),
            ("", Err("no file")),
            (".", Err("no file")),
            ("./", Err("no file")),
            ("..", Err("`..`")),
            ("../b/creds.json", Err("`..`")),
            ("a/../../b", Err("`..`")),
            ("a/..", Err("`..`")),
            ("/etc/passwd", Err(absolute)),
            ("//host/share", Err(absolute)),
            ("\\\\host\\share", Err(backslash)),
            ("a\\..\\..\\b", Err(backslash)),
            ("C:\\x", Err(backslash)),
            ("C:/x", Err("drive")),
            ("c:x", Err("drive")),
            ("a\0b", Err(control)),
            ("a\nb", Err(control)),
        ] {
            match (normalize(path), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{path:?}"),
                (Err(found), Err(word)) => assert!(found.contains(word), "{path:?}: {found}"),
                (found, expected) => panic!("{path:?}: {found:?}, expected {expected:?}"),
            }
        }
    }
}
