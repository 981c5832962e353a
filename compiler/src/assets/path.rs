//! Which declared paths can be a file of the skill at all.

/// Why a path is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    /// Nothing is left of it.
    Empty,
    /// It begins with `/`.
    Absolute,
    /// It goes up with `..`.
    Parent,
    /// It has a backslash: a separator, a share or a drive on Windows.
    Backslash,
    /// It begins with a drive letter.
    Drive,
    /// It has a NUL or another control character.
    Control,
}

impl Escape {
    /// The reason in an author's words, behind `the path`.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "names no file",
            Self::Absolute => "is absolute",
            Self::Parent => "goes up with `..`",
            Self::Backslash => "has a backslash; paths are written with `/`",
            Self::Drive => "names a drive",
            Self::Control => "has a control character",
        }
    }
}

/// A declared path as it is looked up: `./a//b` becomes `a/b`.
pub(super) fn normal(path: &str) -> Result<String, Escape> {
    let bytes = path.as_bytes();
    if path.contains(char::is_control) {
        return Err(Escape::Control);
    }
    if path.contains('\\') {
        return Err(Escape::Backslash);
    }
    if path.starts_with('/') {
        return Err(Escape::Absolute);
    }
    if matches!(bytes, [letter, b':', ..] if letter.is_ascii_alphabetic()) {
        return Err(Escape::Drive);
    }
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    if parts.contains(&"..") {
        return Err(Escape::Parent);
    }
    if parts.is_empty() {
        Err(Escape::Empty)
    } else {
        Ok(parts.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_skill_are_refused() {
        let cases = [
            ("a.txt", Ok("a.txt")),
            ("assets/a b/ü.txt", Ok("assets/a b/ü.txt")),
            ("./a//b/./c", Ok("a/b/c")),
            ("..a/b..", Ok("..a/b..")),
            ("...", Ok("...")),
            ("~/x", Ok("~/x")),
            ("%2e%2e/x", Ok("%2e%2e/x")),
            ("", Err(Escape::Empty)),
            (".", Err(Escape::Empty)),
            ("./", Err(Escape::Empty)),
            ("..", Err(Escape::Parent)),
            ("../b/creds.json", Err(Escape::Parent)),
            ("a/../../b", Err(Escape::Parent)),
            ("a/..", Err(Escape::Parent)),
            ("/etc/passwd", Err(Escape::Absolute)),
            ("//host/share", Err(Escape::Absolute)),
            ("\\\\host\\share", Err(Escape::Backslash)),
            ("a\\..\\..\\b", Err(Escape::Backslash)),
            ("C:\\x", Err(Escape::Backslash)),
            ("C:/x", Err(Escape::Drive)),
            ("c:x", Err(Escape::Drive)),
            ("a\0b", Err(Escape::Control)),
            ("a\nb", Err(Escape::Control)),
        ];
        for (path, expected) in cases {
            assert_eq!(
                normal(path).as_deref(),
                expected.as_ref().map(|it| &**it),
                "{path:?}"
            );
        }
    }
}
