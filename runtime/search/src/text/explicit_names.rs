//! Names that a request spells out: `/name`, `/plugin:name`, `` `name` ``, `name skill`, and
//! words with a hyphen, which are names more often than not. Whether a skill is
//! called so, others look up.

/// What may surround a name without belonging to it.
const AROUND: &[char] = &[
    '.', ',', ';', ':', '!', '?', '(', ')', '[', ']', '"', '\'', '“', '”', '*', '`',
];

/// Gives each piece of the request that may be a name to `emit`, in order.
pub fn explicit_names<'a>(request: &'a str, mut emit: impl FnMut(&'a str)) {
    let mut parts = request.split('`');
    parts.next();
    // Every second part lies between two marks; the last one may lack its end.
    while let (Some(inside), Some(_)) = (parts.next(), parts.next()) {
        emit(inside);
    }
    let mut before = "";
    for word in request.split_whitespace() {
        let word = bare(word);
        if let Some(command) = word.strip_prefix('/') {
            emit(command);
            // `/plugin:name`, as hosts list the skills of a plug-in.
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

/// A word without what surrounds it: mostly nothing, which its ends tell.
fn bare(word: &str) -> &str {
    match word.as_bytes() {
        [first, .., last] if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() => word,
        _ => word.trim_matches(AROUND),
    }
}

/// The word that a name may stand before.
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
