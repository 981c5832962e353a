//! Splits the text of an `allowed-tools` field into tool names.

/// Splits at commas and blanks that stand outside parentheses. A parenthesis
/// that is never closed takes the rest of the text.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut depth = 0_usize;
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (character == ',' || character.is_whitespace()) {
            if !name.is_empty() {
                names.push(std::mem::take(&mut name));
            }
        } else {
            name.push(character);
        }
    }
    let last = name.trim();
    if !last.is_empty() {
        names.push(last.to_owned());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn blanks_within_parentheses_belong_to_the_name() {
        for (text, expected) in [
            ("", &[][..]),
            ("Read", &["Read"]),
            ("Read Grep", &["Read", "Grep"]),
            ("Read, Grep,Glob", &["Read", "Grep", "Glob"]),
            ("Bash(git *) Read", &["Bash(git *)", "Read"]),
            ("Bash(npm run a, b), Read", &["Bash(npm run a, b)", "Read"]),
            ("Bash(a (b c)) Read", &["Bash(a (b c))", "Read"]),
            ("Bash(git *, Read", &["Bash(git *, Read"]),
            ("a) b", &["a)", "b"]),
            (" ,, Read\n\tGrep ", &["Read", "Grep"]),
            ("mcp__db__*", &["mcp__db__*"]),
        ] {
            assert_eq!(split(text), expected, "{text:?}");
        }
    }
}
