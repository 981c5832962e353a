//! Rules about single fields of the frontmatter: the exact limits of the Agent Skills specification and
//! of hosts, and values that hosts read differently. None of them changes how the skill is served here.

use unicode_normalization::UnicodeNormalization;

use crate::diagnostic::{Applicability, Code, Diagnostic, Severity, Span};
use crate::dialect::MarkdownFile;
use crate::frontmatter::{
    Entry, Fields, Node, NodeKind, Style, keys, loses_digits, plain_or_quoted, quote,
};
use crate::profile::Profile;

/// Most characters of a name: the specification; Codex skips the skill, VS Code cuts the name.
const NAME: usize = skillbundle_format::hosts::NAME_CHARS;

/// Most characters of a description, and what happens beyond them.
const DESCRIPTION: &[(usize, &[Profile], &str)] = &[
    (
        1024,
        &[Profile::Spec, Profile::Gh, Profile::Codex, Profile::VsCode],
        "Codex skips the skill and VS Code cuts the text",
    ),
    (
        1536,
        &[Profile::Claude],
        "Claude Code cuts the text in its listing",
    ),
];

/// Most characters of `compatibility` in the specification.
const COMPATIBILITY: usize = 500;

/// What `gh skill install` adds to the metadata of a copy.
const PROVENANCE: &str = "github-";

/// Checks the fields of a `SKILL.md` in a directory of this name.
pub(crate) fn check(
    source: &MarkdownFile<'_>,
    fields: &Fields<'_>,
    folder: &str,
    out: &mut Vec<Diagnostic>,
) {
    let checker = Checker { source, fields };
    if let Some((text, span)) = checker.text(keys::NAME) {
        out.extend(checker.name(text.trim(), span, folder));
    }
    if let Some((text, span)) = checker.text(keys::DESCRIPTION) {
        out.extend(checker.description(text, span));
    }
    if let Some((text, span)) = checker.text(keys::COMPATIBILITY) {
        out.extend(checker.compatibility(text, span));
    }
    if let Some(node) = fields.get(keys::METADATA) {
        checker.metadata(node, out);
    }
    out.extend(checker.keys());
    for entry in fields.entries() {
        // Of keys that are text the reader itself reports every number.
        if !keys::is_known(&entry.key.text) {
            out.extend(checker.digits(&entry.key.text, &entry.value));
        }
    }
}

struct Checker<'a> {
    source: &'a MarkdownFile<'a>,
    fields: &'a Fields<'a>,
}

impl Checker<'_> {
    /// A scalar and its place.
    fn text(&self, key: &str) -> Option<(&str, Span)> {
        match &self.fields.get(key)?.kind {
            NodeKind::Scalar { text, .. } if !text.trim().is_empty() => {
                Some((text, self.fields.value_span(key)?))
            }
            _ => None,
        }
    }

    fn report(&self, code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        self.source.document.diagnostic(code, message).at(span)
    }

    fn name(&self, name: &str, span: Span, folder: &str) -> Vec<Diagnostic> {
        let mut out = Vec::new();
        let length = name.chars().count();
        if length > NAME {
            let message = format!("the name has {length} characters, and {NAME} are allowed");
            let help = "give the skill, and its folder, a shorter name";
            out.push(self.report(Code::NameTooLong, span, message).help(help));
        }
        let name: String = name.nfkc().collect();
        let Some(what) = wrong_with_name(&name) else {
            if !name.is_ascii() {
                let message = "some hosts take only the letters a to z in a name";
                out.push(self.report(Code::NameNotAscii, span, message));
            }
            return out;
        };
        let better = hyphenated(&name);
        let help = if better.is_empty() {
            "write small letters, digits and single hyphens".to_owned()
        } else if better == folder {
            format!("write `name: {better}`")
        } else {
            format!("write `name: {better}`, and call the folder `{better}` too")
        };
        let fixed = if wrong_with_name(folder).is_none() {
            folder
        } else {
            &better
        };
        let diagnostic = self.report(Code::NameCharacters, span, what).help(help);
        let diagnostic = if fixed.is_empty() {
            diagnostic
        } else {
            let edit = (span, plain_or_quoted(fixed));
            diagnostic.fixed_by(Applicability::Unsafe, [edit])
        };
        out.push(diagnostic);
        out
    }

    fn description(&self, text: &str, span: Span) -> Vec<Diagnostic> {
        let mut out = Vec::new();
        let length = text.trim().chars().count();
        let exceeded = DESCRIPTION.iter().filter(|(most, ..)| length > *most);
        let exceeded: Vec<_> = exceeded.collect();
        if let Some((most, ..)) = exceeded.first() {
            let effects: Vec<&str> = exceeded.iter().map(|it| it.2).collect();
            let message =
                format!("the description has {length} characters, and {most} are allowed");
            let help = format!("shorten it; otherwise {}", effects.join(", "));
            let elsewhere: Vec<_> = exceeded
                .iter()
                .flat_map(|(_, profiles, _)| profiles.iter())
                .map(|profile| (*profile, Severity::Error))
                .collect();
            out.push(
                self.report(Code::DescriptionTooLong, span, message)
                    .help(help)
                    .elsewhere(elsewhere),
            );
        }
        if let Some(tag) = tag(text) {
            let message = format!("the description has the tag `{tag}`");
            let help = "write it without `<` and `>`; hosts cut tags or refuse them, since a description stands in the system prompt";
            out.push(self.report(Code::DescriptionTag, span, message).help(help));
        }
        out
    }

    fn compatibility(&self, text: &str, span: Span) -> Option<Diagnostic> {
        let length = text.trim().chars().count();
        (length > COMPATIBILITY).then(|| {
            let message =
                format!("`compatibility` has {length} characters, and {COMPATIBILITY} are allowed");
            let help = "name the environment in a sentence, and move the rest to the body";
            self.report(Code::CompatibilityTooLong, span, message)
                .help(help)
        })
    }

    /// The specification wants a flat map of texts; some hosts drop skills with anything else.
    fn metadata(&self, node: &Node, out: &mut Vec<Diagnostic>) {
        let Some(entries) = node.entries() else {
            if !node.is_null() {
                let message = format!("`metadata` is {}, not a map", node.describe());
                let span = Span::from(&node.range);
                let help = "write keys with text below it, such as `author: \"Ada\"`";
                out.push(self.report(Code::MetadataShape, span, message).help(help));
            }
            return;
        };
        let is_other = |entry: &&Entry| match &entry.value.kind {
            NodeKind::Scalar { text, style } => {
                *style == Style::Plain && crate::frontmatter::misread_as(text).is_some()
            }
            _ => true,
        };
        let others: Vec<&Entry> = entries.iter().filter(is_other).collect();
        if let Some((first, more)) = others.split_first() {
            let what = match &first.value.kind {
                NodeKind::Scalar { text, .. } => {
                    crate::frontmatter::misread_as(text).unwrap_or("no text")
                }
                _ => first.value.describe(),
            };
            let more = match more.len() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let message = format!("`{}` in `metadata` is {what}{more}", first.key.text);
            let help = "the specification has a map of text to text; put the value in quotes, or make it one line of text";
            let span = Span::from(&first.key.range);
            let diagnostic = self.report(Code::MetadataShape, span, message).help(help);
            let quoted: Vec<_> = others.iter().filter_map(|it| quoted(&it.value)).collect();
            out.push(if quoted.is_empty() {
                diagnostic
            } else {
                diagnostic.fixed_by(Applicability::Safe, quoted)
            });
        }
        for entry in entries {
            out.extend(self.digits(&entry.key.text, &entry.value));
        }
        let added = entries
            .iter()
            .find(|it| it.key.text.starts_with(PROVENANCE));
        if let Some(entry) = added {
            let message = format!(
                "`{}` was written by `gh skill install` into a copy",
                entry.key.text
            );
            let help = "remove it at the source; the installer writes it anew into each copy";
            let span = Span::from(&entry.key.range);
            out.push(self.report(Code::ProvenanceKey, span, message).help(help));
        }
    }

    /// All keys that are not in the specification: files tend to have many.
    fn keys(&self) -> Option<Diagnostic> {
        let others = self.fields.entries().iter();
        let others: Vec<_> = others
            .filter(|it| !keys::is_of_specification(&it.key.text))
            .collect();
        let (first, more) = others.split_first()?;
        let what = match more {
            [] => format!("`{}` is not a key", first.key.text),
            more => format!("`{}` and {} more are not keys", first.key.text, more.len()),
        };
        let message = format!("{what} of the specification");
        let help = "keep it if it is for one host; put your own keys below `metadata`";
        let span = Span::from(&first.key.range);
        Some(self.report(Code::UnsupportedKey, span, message).help(help))
    }

    /// `version: 1.10` is the number 1.1 for every other reader.
    fn digits(&self, key: &str, value: &Node) -> Option<Diagnostic> {
        let NodeKind::Scalar {
            text,
            style: Style::Plain,
        } = &value.kind
        else {
            return None;
        };
        let read = loses_digits(text)?;
        let message = format!("`{key}: {text}` is read as the number {read}");
        let span = Span::from(&value.range);
        let quoted = format!("\"{text}\"");
        let diagnostic = self.report(Code::NumberLosesDigits, span, message);
        Some(
            diagnostic
                .help(format!("put it in quotes: {quoted}"))
                .fix(span, quoted),
        )
    }
}

/// The edit that makes a text of a number, boolean or date in one line.
fn quoted(value: &Node) -> Option<(Span, String)> {
    match &value.kind {
        NodeKind::Scalar { text, .. } if !text.contains('\n') => {
            Some((Span::from(&value.range), quote(text)))
        }
        _ => None,
    }
}

/// What a name has that the specification does not allow.
pub(crate) fn wrong_with_name(name: &str) -> Option<String> {
    let is_wrong = |it: &char| !(it.is_alphanumeric() || *it == '-');
    let is_upper = |it: char| it.to_lowercase().next() != Some(it);
    if let Some(other) = name.chars().find(is_wrong) {
        let other = match other {
            ' ' => "a space".to_owned(),
            other => format!("`{}`", other.escape_default()),
        };
        return Some(format!("the name has {other}"));
    }
    if let Some(upper) = name.chars().find(|it| is_upper(*it)) {
        return Some(format!("the name has the capital `{upper}`"));
    }
    if name.starts_with('-') || name.ends_with('-') {
        return Some("the name has a hyphen at its edge".to_owned());
    }
    name.contains("--")
        .then(|| "the name has two hyphens in a row".to_owned())
}

/// A name as the specification allows it.
fn hyphenated(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower.split(|it: char| !it.is_alphanumeric());
    let words: Vec<&str> = words.filter(|it| !it.is_empty()).collect();
    words.join("-")
}

/// The first thing in a text that looks like a tag of XML or HTML.
fn tag(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        rest = &rest[open..];
        let name = rest[1..].strip_prefix('/').unwrap_or(&rest[1..]);
        let close = rest
            .find(['>', '\n'])
            .filter(|at| rest[*at..].starts_with('>'));
        if let Some(close) = close.filter(|_| name.starts_with(|it: char| it.is_ascii_alphabetic()))
        {
            return Some(&rest[..=close]);
        }
        rest = &rest[1..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_script_are_lawful() {
        for name in ["pdf", "pdf-forms", "a1", "技能", "мой-навык", "café"] {
            assert_eq!(wrong_with_name(name), None, "{name}");
        }
        for (name, better) in [
            ("PDF_Forms", "pdf-forms"),
            ("a b", "a-b"),
            ("-a", "a"),
            ("a--b", "a-b"),
            ("Ärger", "ärger"),
            ("a/b", "a-b"),
            ("___", ""),
        ] {
            assert!(wrong_with_name(name).is_some(), "{name}");
            assert_eq!(hyphenated(name), better);
        }
    }

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
