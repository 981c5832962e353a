//! Finds parts of a description that are treated specially: phrases in quotation marks, which are
//! mostly examples of requests, and negative clauses, which say what the skill is not for.

/// A clause that begins with one of these is negative.
const NEGATIVE_STARTS: &[&str] = &[
    "avoid",
    "do not",
    "don't",
    "instead of",
    "never",
    "not for",
    "should not",
    "skip",
];

/// A clause that contains one of these is negative.
const NEGATIVE_INSIDE: &[&str] = &[
    "do not trigger",
    "do not use",
    "don't use",
    "not for",
    "not to be used",
];

/// Pairs of opening and closing quotation marks.
const QUOTES: &[(char, char)] = &[
    ('"', '"'),
    ('“', '”'),
    ('`', '`'),
    ('\'', '\''),
    ('«', '»'),
    ('「', '」'),
];

/// The maximum length of a quotation, in characters. In a longer one, the opening mark is probably
/// a stray one.
const LONGEST_QUOTE: usize = 80;

/// The clauses of a text: split at line ends, at dashes between spaces, and after punctuation that
/// is followed by white space and ends a sentence.
pub(crate) fn clauses(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n')
        .flat_map(|line| line.split(" — "))
        .flat_map(sentences)
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut chars = rest.char_indices().peekable();
        while let Some((_, c)) = chars.next() {
            if let Some((after, next)) = chars.peek()
                && matches!(c, '.' | '!' | '?' | ';')
                && next.is_whitespace()
            {
                let (sentence, tail) = rest.split_at(*after);
                rest = tail;
                return Some(sentence);
            }
        }
        Some(std::mem::take(&mut rest))
    })
}

/// Whether a clause is negative: it says what the skill is not for.
pub(crate) fn is_negative(clause: &str) -> bool {
    let clause = clause.trim().to_lowercase().replace('’', "'");
    let begins = |start: &&str| {
        clause
            .strip_prefix(start)
            .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    NEGATIVE_STARTS.iter().any(begins)
        || NEGATIVE_INSIDE.iter().any(|phrase| holds(&clause, phrase))
}

/// Whether the text contains the phrase as whole words.
fn holds(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        !text[..at].ends_with(char::is_alphanumeric)
            && !text[at + phrase.len()..].starts_with(char::is_alphanumeric)
    })
}

/// The phrases in quotation marks, without the marks.
pub(crate) fn quoted(text: &str) -> Vec<&str> {
    let mut phrases = Vec::new();
    let mut rest = text;
    let mut before = '\0';
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        // An apostrophe inside a word does not open a quotation.
        let opens = c != '\'' || !before.is_alphanumeric();
        before = c;
        let mark = QUOTES.iter().filter(|(mark, _)| opens && *mark == c);
        let found = mark.map(|(_, close)| (close, phrase(rest, *close))).next();
        if let Some((close, Some(phrase))) = found {
            phrases.push(phrase);
            rest = &rest[phrase.len() + close.len_utf8()..];
        }
    }
    phrases
}

/// The text up to the closing mark, if the mark is near and on the same line.
fn phrase(text: &str, close: char) -> Option<&str> {
    let mut chars = text.char_indices().take(LONGEST_QUOTE + 1);
    let end = chars.find_map(|(at, c)| match c {
        '\n' => Some(None),
        c if c == close => {
            let inside_word = close == '\'' && text[at + 1..].starts_with(char::is_alphanumeric);
            (!inside_word).then_some(Some(at))
        }
        _ => None,
    })??;
    (text[..end].chars().count() >= 2).then_some(&text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_end_with_sentences_lines_and_dashes() {
        let text = "Fill forms, v1.2 too. Merge files! Or split — by page;\nnot e.g. images";
        let found: Vec<_> = clauses(text).map(str::trim).collect();
        assert_eq!(
            found,
            [
                "Fill forms, v1.2 too.",
                "Merge files!",
                "Or split",
                "by page;",
                "not e.g.",
                "images"
            ]
        );
        assert_eq!(clauses("").count(), 0);
    }

    #[test]
    fn negative_clauses_are_told_from_others() {
        for clause in [
            "Do not use for images",
            " NOT for spreadsheets.",
            "Don’t use it in CI",
            "This is not for beginners",
            "Never for production",
            "Skip when offline",
        ] {
            assert!(is_negative(clause), "{clause}");
        }
        for clause in [
            "Use for images",
            "Nevertheless it works",
            "Skipping tests is fine",
            "what is not formatted",
            "Avoidance of traps",
        ] {
            assert!(!is_negative(clause), "{clause}");
        }
    }

    #[test]
    fn phrases_are_quoted_in_many_ways() {
        let cases: &[(&str, &[&str])] = &[
            (
                "Use when asked to \"merge files\" or “split them”",
                &["merge files", "split them"],
            ),
            (
                "`git rebase`, 'fix the build' and users' files",
                &["git rebase", "fix the build"],
            ),
            ("don't say 'don't panic'", &["don't panic"]),
            ("a \"x\" b", &[]),
            ("open \" only", &[]),
            ("\"over\ntwo lines\"", &[]),
            ("「合并文件」 «fusionner»", &["合并文件", "fusionner"]),
        ];
        for (text, expected) in cases {
            assert_eq!(quoted(text), *expected, "{text:?}");
        }
        assert!(quoted(&format!("\"{}\"", "é".repeat(81))).is_empty());
        assert_eq!(quoted(&format!("\"{}\"", "é".repeat(80))).len(), 1);
    }
}
