//! The description: how long it may be, as each host counts, and what hosts take for tags in it.

use std::ops::Range;

use super::{Checker, listed, shortened};
use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::profile::Profile;

/// Most characters of a description, how they are counted, and what happens beyond them.
const DESCRIPTION: &[(usize, Count, &[Profile], &str)] = &[
    (
        1024,
        Count::Written,
        &[Profile::Spec],
        "validators refuse the skill",
    ),
    (
        1024,
        Count::Trimmed,
        &[Profile::Gh],
        "it cannot be published",
    ),
    (
        1024,
        Count::Collapsed,
        &[Profile::Codex],
        "Codex skips the skill",
    ),
    (
        1024,
        Count::WithoutTags,
        &[Profile::VsCode],
        "VS Code cuts the text",
    ),
    (
        1536,
        Count::Trimmed,
        &[Profile::Claude],
        "Claude Code cuts the text in its listing",
    ),
];

/// What a host counts of a text.
#[derive(Debug, Clone, Copy)]
enum Count {
    /// Every character.
    Written,
    /// Without white space at the ends.
    Trimmed,
    /// Each run of white space as one character, without those at the ends.
    Collapsed,
    /// Without tags; in units of UTF-16.
    WithoutTags,
}

impl Checker<'_> {
    pub(super) fn description(&self, text: &str, span: Span) -> Vec<Diagnostic> {
        let mut out = Vec::new();
        let lengths = DESCRIPTION.iter().map(|row| (row.1.of(text), row));
        let exceeded: Vec<_> = lengths.filter(|(length, row)| *length > row.0).collect();
        if let Some((length, (most, count, ..))) = exceeded.first() {
            let effects: Vec<&str> = exceeded.iter().map(|(_, row)| row.3).collect();
            let counted = match count {
                Count::WithoutTags => " as VS Code counts them",
                _ => "",
            };
            let message =
                format!("the description has {length} characters{counted}, and {most} are allowed");
            let help = format!("shorten it; otherwise {}", listed(&effects));
            let elsewhere: Vec<_> = exceeded
                .iter()
                .flat_map(|(_, row)| row.2.iter())
                .map(|profile| (*profile, Severity::Error))
                .collect();
            out.push(
                self.report(Code::DescriptionTooLong, span, message)
                    .help(help)
                    .elsewhere(elsewhere),
            );
        }
        if let Some(tag) = tag(text) {
            let span = self.within(span, tag);
            let message = format!("the description has the tag `{}`", shortened(tag));
            let help = "write it without `<` and `>`; hosts cut tags or refuse them, since a description stands in the system prompt";
            out.push(self.report(Code::DescriptionTag, span, message).help(help));
        } else if let Some(cut) = cut_as_tag(text) {
            let span = self.within(span, &text[cut.clone()]);
            let cut = shortened(&text[cut]);
            let message = format!("VS Code cuts `{cut}` out of the description, like a tag");
            let diagnostic = self.report(Code::DescriptionTag, span, message);
            let diagnostic = diagnostic.help("write it without `<` or without `>`");
            out.push(diagnostic.elsewhere(&[(Profile::VsCode, Severity::Error)][..]));
        }
        out
    }
}

impl Count {
    fn of(self, text: &str) -> usize {
        match self {
            Self::Written => text.chars().count(),
            Self::Trimmed => text.trim().chars().count(),
            Self::Collapsed => {
                let words = text.split_whitespace().map(|it| it.chars().count() + 1);
                words.sum::<usize>().saturating_sub(1)
            }
            Self::WithoutTags => {
                let mut units = 0;
                let mut rest = text.trim();
                while let Some(cut) = cut_as_tag(rest) {
                    units += rest[..cut.start].encode_utf16().count();
                    rest = &rest[cut.end..];
                }
                units + rest.encode_utf16().count()
            }
        }
    }
}

/// The first part of a text between `<` and `>`, with something in between: what VS Code takes for a tag.
fn cut_as_tag(text: &str) -> Option<Range<usize>> {
    let mut from = 0;
    loop {
        let open = from + text[from..].find('<')?;
        let close = open + text[open..].find('>')?;
        // `<>` is none, since a character has to be in between.
        if close > open + 1 {
            return Some(open..close + 1);
        }
        from = close + 1;
    }
}

/// The first thing in a text that looks like a tag of XML or HTML. The text is read once.
fn tag(text: &str) -> Option<&str> {
    let mut open = None;
    for (at, letter) in text.char_indices() {
        match (letter, open) {
            ('<', _) => {
                let name = &text[at + 1..];
                let name = name.strip_prefix('/').unwrap_or(name);
                let is_tag = name.starts_with(|it: char| it.is_ascii_alphabetic());
                // `<a <b>` has the tag `<b>`, or one that begins before it.
                open = open.or(is_tag.then_some(at));
            }
            ('>', Some(open)) => return Some(&text[open..=at]),
            ('\n', _) => open = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_like_a_tag_is_one() {
        for (text, expected) in [
            ("a <b> c", Some("<b>")),
            ("x </system> y", Some("</system>")),
            ("<a href=\"x\">", Some("<a href=\"x\">")),
            ("a < b and c > d", None),
            ("if n<3", None),
            ("-> <- <3 <>", None),
            ("<a\n>", None),
        ] {
            assert_eq!(tag(text), expected, "{text:?}");
        }
    }
}
