//! Finds names that a request spells out: `/name`, `/plugin:name`, `` `name` ``, `name skill`, and
//! words with a hyphen, which are usually names. Callers check whether a skill has such a name.

/// Characters that may surround a name without being part of it.
const AROUND: &[char] = &[
    '.', ',', ';', ':', '!', '?', '(', ')', '[', ']', '"', '\'', '“', '”', '*', '`',
];

/// Passes each part of the request that may be a name to `emit`, in order.
pub fn explicit_names<'a>(request: &'a str, mut emit: impl FnMut(&'a str)) {
    let mut parts = request.split('`');
    parts.next();
    // Every second part is between two backticks; the last one may lack its closing backtick.
    while let (Some(inside), Some(_)) = (parts.next(), parts.next()) {
        emit(inside);
    }
    let mut before = "";
    for word in request.split_whitespace() {
        let word = bare(word);
        if let Some(command) = word.strip_prefix('/') {
            emit(command);
            // `/plugin:name`, the form in which hosts list the skills of a plug-in.
            if let Some((_, name)) = command.rsplit_once(':') {
                emit(name);
            }
        } else if word.contains('-') && word.trim_matches('-').contains('-') {
            emit(word);
        } else if is_skill(word) && !before.is_empty() {
            emit(before);
        }
        before = word;
    }
}

/// A word without the characters around it. Usually there are none; checking its two ends is a fast
/// path.
fn bare(word: &str) -> &str {
    match word.as_bytes() {
        [first, .., last] if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() => word,
        _ => word.trim_matches(AROUND),
    }
}

/// Whether this is the word `skill`, which marks the word before it as a name.
fn is_skill(word: &str) -> bool {
    word.eq_ignore_ascii_case("skill")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_are_spelled_out() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("make me a table", &[]),
            ("/pdf fill this", &["pdf"]),
            ("please run (/team:pdf), now", &["team:pdf", "pdf"]),
            ("use `Code Review` and `pdf`", &["Code Review", "pdf"]),
            ("an `open end", &[]),
            ("use the pdf skill", &["pdf"]),
            ("the Skill", &["the"]),
            ("skill", &[]),
            ("do a code-review.", &["code-review"]),
            ("a - b -- c", &[]),
            ("see src/a.rs or /etc/hosts", &["etc/hosts"]),
        ];
        for (request, expected) in cases {
            let mut found = Vec::new();
            explicit_names(request, |name| found.push(name));
            assert_eq!(found, *expected, "{request:?}");
        }
    }
}
