//! Names and URIs of the extension: valid names, URIs of files, and the conversion of a URI back to
//! readable text.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::hosts::NAME_CHARS;
use crate::names::ADDRESS;

/// The file that makes a directory a skill, in the spelling of the extension.
pub(crate) const SKILL_MD: &str = "SKILL.md";

/// The characters that a segment of a URI may contain unescaped: RFC 3986's `pchar`, without `$`
/// and `'`, which Claude Code rejects in a directory.
const PLAIN: &[u8] = b"-._~!()*+,;=:@&";

/// Replaces a directory name that has no character valid in an authority.
const NAMELESS: &str = "skills";

/// Whether a name consists of words of lower-case letters and digits with single hyphens between
/// them, and has at most [`NAME_CHARS`], after NFKC normalisation. Letters of any script count, as
/// for the reference validator of the Agent Skills specification.
pub(crate) fn is_valid_name(name: &str) -> bool {
    let name: String = name.nfkc().collect();
    let is_word = |word: &str| !word.is_empty() && word.chars().all(is_name_letter);
    name.chars().count() <= NAME_CHARS && name.split('-').all(is_word)
}

/// A letter or digit that is its own lower case. Combining marks are neither, as for Python's
/// `isalnum`, by which the reference validator judges.
fn is_name_letter(letter: char) -> bool {
    letter.is_alphanumeric() && !is_combining_mark(letter) && letter.to_lowercase().eq([letter])
}

/// Converts any text to a valid name: letters are lower-cased, Latin ones lose their accents, and
/// each run of other characters becomes one `-`.
pub fn slug(text: &str) -> String {
    let name = shortened(&dashed(text, |_| false), NAME_CHARS);
    if name.is_empty() {
        "skill".to_owned()
    } else {
        name
    }
}

/// The name with the suffix for the `number`th skill of that name.
pub fn numbered(name: &str, number: usize) -> String {
    let suffix = format!("-{number}");
    shortened(name, NAME_CHARS - suffix.len()) + &suffix
}

fn shortened(name: &str, most: usize) -> String {
    let name: String = name.chars().take(most).collect();
    name.trim_end_matches('-').to_owned()
}

/// A name as a segment of a URI.
pub(crate) fn segment(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    push_segment(&mut segment, name);
    segment
}

/// A directory as the first segment, which a URI parser treats as a host: lower case, and nothing
/// that needs escaping but letters.
pub(crate) fn authority(directory: &str) -> String {
    let name = dashed(directory, |it| matches!(it, '.' | '_' | '~'));
    if name.is_empty() {
        NAMELESS.to_owned()
    } else {
        segment(&name)
    }
}

fn dashed(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut name = String::new();
    for letter in text.nfkd().flat_map(char::to_lowercase) {
        if is_combining_mark(letter) {
            // What is an accent on a Latin letter makes another letter in other scripts.
            if name.ends_with(|it: char| !it.is_ascii()) {
                name.push(letter);
            }
        } else if letter.is_alphanumeric() || is_kept(letter) {
            name.push(letter);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let is_part = |it: &char| *it == '-' || is_kept(*it) || is_name_letter(*it);
    let name: String = name.nfc().filter(is_part).collect();
    name.trim_end_matches('-').to_owned()
}

/// A segment after the first, with every disallowed byte escaped.
pub(crate) fn push_segment(uri: &mut String, segment: &str) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in segment.bytes() {
        if byte.is_ascii_alphanumeric() || PLAIN.contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push('%');
            uri.push(char::from(DIGITS[usize::from(byte >> 4)]));
            uri.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

/// The URI of a directory, from its path below `skill://`.
pub(crate) fn address(path: &str) -> String {
    format!("{ADDRESS}{path}")
}

/// The URI of a file of a skill. Returns `None` if a segment is empty or refers to a directory
/// (`.`, `..`), in any escaped form.
pub(crate) fn file_uri(directory_uri: &str, path: &str) -> Option<String> {
    let mut uri = directory_uri.to_owned();
    for segment in path.split('/') {
        if matches!(segment, "" | "." | "..") {
            return None;
        }
        uri.push('/');
        push_segment(&mut uri, segment);
    }
    Some(uri)
}

/// The last segment of a URI, unescaped for display.
pub(crate) fn last_name(uri: &str) -> Cow<'_, str> {
    unescaped(uri.rsplit('/').next().unwrap_or(uri))
}

/// The text of a part of a URI.
pub(crate) fn unescaped(part: &str) -> Cow<'_, str> {
    if !part.contains('%') {
        return Cow::Borrowed(part);
    }
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let escaped = (*byte == b'%').then(|| hex_byte(after)).flatten();
        bytes.push(escaped.unwrap_or(*byte));
        rest = if escaped.is_some() {
            &after[2..]
        } else {
            after
        };
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

/// The name in the URI of a skill's `SKILL.md`: the segment before the last.
pub(crate) fn name_of(uri: &str) -> Cow<'_, str> {
    last_name(uri.rsplit_once('/').map_or(uri, |(directory, _)| directory))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_follow_the_agent_skills_specification() {
        let longest = "a".repeat(64);
        let han = "数".repeat(64);
        for name in [
            "a",
            "pdf-forms",
            "3d",
            "a-1-b",
            "é",
            "cafe\u{301}",
            "мой-навык",
            "数据分析",
            "οδος",
            "ß",
            "ﬁx",
            &han,
            &longest,
        ] {
            assert!(is_valid_name(name), "{name}");
        }
        let too_long = ["a".repeat(65), "数".repeat(65)];
        for name in [
            "",
            "A",
            "a_b",
            "a b",
            "-a",
            "a-",
            "a--b",
            "É",
            "Мой",
            "𝐀",
            "a.b",
            "a/b",
            "x\u{fe0f}",
            "🎉",
            "数据 分析",
            &too_long[0],
            &too_long[1],
        ] {
            assert!(!is_valid_name(name), "{name}");
        }
    }

    #[test]
    fn every_text_becomes_a_valid_name() {
        let long = format!("{}_{}", "a".repeat(63), "b".repeat(9));
        for (text, expected) in [
            ("Auth", "auth"),
            ("code_review", "code-review"),
            ("--a  b__c--", "a-b-c"),
            ("Café Ümlaut", "cafe-umlaut"),
            ("v1.2", "v1-2"),
            ("Redacteur Français", "redacteur-francais"),
            ("日本 語", "日本-語"),
            ("Мой НАВЫК", "мой-навык"),
            ("ΟΔΟΣ", "οδοσ"),
            ("한국어", "한국어"),
            ("हिन्दी", "हनद"),
            ("🎉\u{fe0f}", "skill"),
            ("", "skill"),
            (&long, &"a".repeat(63)),
        ] {
            assert_eq!(slug(text), expected, "{text}");
            assert!(is_valid_name(&slug(text)), "{text}");
            assert!(is_valid_name(&numbered(&slug(text), 1234)), "{text}");
        }
        assert_eq!(numbered("auth", 2), "auth-2");
    }

    proptest! {
        #[test]
        fn any_text_becomes_a_valid_name(text in "\\PC*", number in 2..100_usize) {
            prop_assert!(is_valid_name(&slug(&text)), "{:?}", slug(&text));
            prop_assert!(is_valid_name(&numbered(&slug(&text), number)));
        }
    }

    #[test]
    fn a_first_directory_is_a_host_in_small_letters() {
        for (directory, expected) in [
            ("Team A", "team-a"),
            (".claude", ".claude"),
            ("a_b", "a_b"),
            ("$\"<x>\u{7}", "x"),
            ("日本", "%E6%97%A5%E6%9C%AC"),
            ("🎉", "skills"),
        ] {
            assert_eq!(authority(directory), expected, "{directory}");
        }
    }

    #[test]
    fn a_file_is_escaped_and_read_back() {
        for (path, expected) in [
            ("a/b.md", Some("skill://x/a/b.md")),
            ("My File (1).md", Some("skill://x/My%20File%20(1).md")),
            (
                "a$'\"<>?#%\\.txt",
                Some("skill://x/a%24%27%22%3C%3E%3F%23%25%5C.txt"),
            ),
            ("ü", Some("skill://x/%C3%BC")),
            ("...", Some("skill://x/...")),
            ("a/../b", None),
            ("./b", None),
            ("a//b", None),
        ] {
            let uri = file_uri("skill://x", path);
            assert_eq!(uri.as_deref(), expected, "{path}");
            if let Some(uri) = uri {
                assert_eq!(last_name(&uri), path.rsplit('/').next().unwrap_or(path));
            }
        }
        assert_eq!(last_name("skill://x/50%"), "50%");
    }
}
