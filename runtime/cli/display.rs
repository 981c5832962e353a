//! Text and numbers as a terminal shows them: control characters escaped,
//! widths counted in columns, long cells cut, digits grouped.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// One line for a table cell or a TSV field: runs of white space become one
/// space, control characters become escapes.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    escape(&words.join(" "), &[]).into_owned()
}

/// Text in one line of a report: every control character becomes an escape, and spaces stay.
#[cfg(feature = "compile")]
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    escape(text, &[])
}

/// Text for a terminal: line breaks and tabs stay, other control characters
/// become escapes.
pub(crate) fn many_lines(text: &str) -> Cow<'_, str> {
    escape(text, &['\n', '\t'])
}

/// How many terminal columns a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// The text cut to `width` columns, with an ellipsis if it was longer.
pub(crate) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let mut kept = String::new();
    let mut used = 0;
    for character in text.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        kept.push(character);
    }
    Cow::Owned(kept.trim_end().to_owned() + "…")
}

/// A number with grouped digits: `12,345`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 skill`, `2 skills`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

fn escape<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let control = |c: char| is_control(c) && !kept.contains(&c);
    if !text.contains(control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if control(character) {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// Whether a terminal interprets or hides the character instead of showing it:
/// control characters, bidirectional controls, tags. The joiners U+200C and
/// U+200D pass, since words and emoji need them.
pub(crate) fn is_control(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_escapes() {
        let cases = [
            ("plain", "plain"),
            ("two\n  lines\tand a tab", "two lines and a tab"),
            ("\u{1b}[31mred\u{1b}[0m", "\\u{1b}[31mred\\u{1b}[0m"),
            ("bell\u{7} and c1 \u{9b}2J", "bell\\u{7} and c1 \\u{9b}2J"),
            ("txt\u{202e}gpj", "txt\\u{202e}gpj"),
            (
                "fa\u{301}mily 👩\u{200d}👩 می\u{200c}خواهم",
                "fa\u{301}mily 👩\u{200d}👩 می\u{200c}خواهم",
            ),
        ];
        for (text, shown) in cases {
            assert_eq!(one_line(text), shown, "{text:?}");
        }
        assert_eq!(many_lines("a\n\tb\r\u{1b}c\n"), "a\n\tb\\u{d}\\u{1b}c\n");
    }

    #[test]
    fn cutting_counts_columns_and_never_exceeds_them() {
        let cases = [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("a bc", 3, "a…"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("x", 0, "…"),
        ];
        for (text, width, shown) in cases {
            assert_eq!(cut(text, width), shown, "{text:?} at {width}");
        }
    }

    #[test]
    fn digits_are_grouped() {
        for (number, shown) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), shown);
        }
        assert_eq!(counted(1, "skill"), "1 skill");
        assert_eq!(counted(0, "skill"), "0 skills");
    }
}
