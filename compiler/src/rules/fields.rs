//! Rules about single fields of the frontmatter: the exact limits of the Agent Skills specification and
//! of hosts, and values that hosts read differently. None of them changes how the skill is served here.

mod claude;
mod description;
mod fences;

use unicode_normalization::UnicodeNormalization;

use crate::diagnostic::{Applicability, Code, Diagnostic, Severity, Span};
use crate::dialect::MarkdownFile;
use crate::frontmatter::{
    Entry, Fields, Node, NodeKind, Style, keys, loses_digits, misread_as, plain_or_quoted, quote,
};
use crate::profile::Profile;

/// Most characters of a name: the specification; Codex skips the skill, VS Code cuts the name.
const NAME: usize = skillbundle_format::hosts::NAME_CHARS;

/// What Gemini CLI replaces by `-` in a name.
const REPLACED: [char; 9] = [':', '\\', '/', '<', '>', '*', '?', '"', '|'];

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
    out.extend(checker.empty());
    out.extend(checker.keys());
    checker.values(out);
    out.extend(checker.invocation());
    out.extend(checker.digits());
    out.extend(checker.fences());
    out.extend(checker.separators());
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

    /// Where a part of a value is, if it is written in the file as it is read.
    fn within(&self, value: Span, part: &str) -> Span {
        let source = self.source.document.source(&value.range());
        let at = source.find(part).map(|at| value.start + at);
        at.map_or(value, |at| Span::from(at..at + part.len()))
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
        let (help, fixed) = if wrong_with_name(folder).is_none() {
            (
                format!("write `name: {folder}`, as the folder is called"),
                folder,
            )
        } else if better.is_empty() {
            let help = "write small letters, digits and single hyphens";
            (help.to_owned(), "")
        } else {
            let help = format!("write `name: {better}`, and call the folder `{better}` too");
            (help, better.as_str())
        };
        let diagnostic = self.report(Code::NameCharacters, span, what).help(help);
        let diagnostic = if name.contains(REPLACED) {
            let elsewhere = Code::NameCharacters.elsewhere().iter().copied();
            let gemini = (Profile::Gemini, Severity::Warning);
            diagnostic.elsewhere(elsewhere.chain([gemini]).collect::<Vec<_>>())
        } else {
            diagnostic
        };
        let diagnostic = if fixed.is_empty() {
            diagnostic
        } else {
            let edit = (span, plain_or_quoted(fixed));
            diagnostic.fixed_by(Applicability::Unsafe, [edit])
        };
        out.push(diagnostic);
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
        let others = entries.iter();
        let others = others.filter_map(|it| Some((it, self.no_text(it)?)));
        let others: Vec<(&Entry, String)> = others.collect();
        if let Some(((first, what), more)) = others.split_first() {
            let more = match more.len() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let message = format!("{what}{more}");
            let help = "the specification has a map of text to text; put the value in quotes, or make it one line of text";
            let span = Span::from(&first.key.range);
            let diagnostic = self.report(Code::MetadataShape, span, message).help(help);
            let quoted = others.iter().flat_map(|(it, _)| self.quoted(it));
            let quoted: Vec<_> = quoted.collect();
            out.push(if quoted.is_empty() {
                diagnostic
            } else {
                diagnostic.fixed_by(Applicability::Safe, quoted)
            });
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

    /// What is wrong with an entry of the metadata, if its key or value is no text.
    fn no_text(&self, entry: &Entry) -> Option<String> {
        let key = &entry.key.text;
        let is_plain = self.source.document.source(&entry.key.range) == key;
        if let Some(what) = misread_as(key).filter(|_| is_plain) {
            return Some(format!("the key `{key}` in `metadata` is {what}"));
        }
        let is = format!("`{key}` in `metadata` is");
        let NodeKind::Scalar { text, style } = &entry.value.kind else {
            return Some(format!("{is} {}", entry.value.describe()));
        };
        let what = misread_as(text).filter(|_| *style == Style::Plain)?;
        Some(match loses_digits(text) {
            Some(read) => format!("{is} {what}, which others write `{read}`"),
            None => format!("{is} {what}"),
        })
    }

    /// The edits that make texts of a key and a value in one line.
    fn quoted(&self, entry: &Entry) -> Vec<(Span, String)> {
        let key = &entry.key.text;
        let is_plain = self.source.document.source(&entry.key.range) == key;
        let key = misread_as(key)
            .filter(|_| is_plain)
            .map(|_| (&entry.key.range, key));
        let value = match &entry.value.kind {
            NodeKind::Scalar { text, style } if *style == Style::Plain => misread_as(text)
                .filter(|_| !text.contains('\n'))
                .map(|_| (&entry.value.range, text)),
            _ => None,
        };
        let edits = key.into_iter().chain(value);
        edits
            .map(|(range, text)| (Span::from(range), quote(text)))
            .collect()
    }

    /// `version: 1.10` is the number 1.1 for every other reader. One finding for all keys; of those that
    /// are text the reader itself reports every number.
    fn digits(&self) -> Option<Diagnostic> {
        let entries = self.fields.entries().iter();
        let others = entries.filter(|it| !keys::is_known(&it.key.text));
        let mut lost = others.filter_map(|it| match &it.value.kind {
            NodeKind::Scalar { text, style } if *style == Style::Plain => {
                Some((it, text, loses_digits(text)?))
            }
            _ => None,
        });
        let (first, text, read) = lost.next()?;
        let edit = |it: &Entry, text: &str| (Span::from(&it.value.range), format!("\"{text}\""));
        let mut edits = vec![edit(first, text)];
        edits.extend(lost.map(|(it, text, _)| edit(it, text)));
        let more = match edits.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let key = &first.key.text;
        let message = format!("`{key}: {text}` is read as the number {read}{more}");
        let diagnostic = self.report(Code::NumberLosesDigits, edits[0].0, message);
        let diagnostic = diagnostic.help(format!("put it in quotes: {}", edits[0].1));
        Some(diagnostic.fixed_by(Applicability::Safe, edits))
    }

    /// A separator of lines in a text without quotes, after which libyaml expects a key.
    fn separators(&self) -> Option<Diagnostic> {
        let mut entries = self.fields.entries().iter();
        let (at, character) = entries.find_map(|it| match &it.value.kind {
            NodeKind::Scalar { style, .. } if *style == Style::Plain => {
                let source = self.source.document.source(&it.value.range);
                let mut found = source.char_indices();
                let found = found.find(|it| matches!(it.1, '\u{85}' | '\u{2028}' | '\u{2029}'))?;
                Some((it.value.range.start + found.0, found.1))
            }
            _ => None,
        })?;
        let span = Span::from(at..at + character.len_utf8());
        let code = u32::from(character);
        let message = format!("U+{code:04X} ends a line for Codex, which refuses the frontmatter");
        let diagnostic = self.report(Code::InvisibleCharacter, span, message);
        let diagnostic = diagnostic.elsewhere(&[(Profile::Codex, Severity::Error)][..]);
        Some(
            diagnostic
                .help("write a space instead")
                .fixed_by(Applicability::Unsafe, [(span, " ".to_owned())]),
        )
    }

    /// The specification has 1 to 500 characters of `compatibility`.
    fn empty(&self) -> Option<Diagnostic> {
        let value = self.fields.get(keys::COMPATIBILITY)?;
        let is_empty = match &value.kind {
            NodeKind::Null => true,
            NodeKind::Scalar { text, .. } => text.trim().is_empty(),
            _ => false,
        };
        let span = self.fields.key_span(keys::COMPATIBILITY)?;
        is_empty.then(|| {
            let message = "`compatibility` is empty";
            let help = "remove the key, or name the environment that the skill needs";
            self.report(Code::EmptyValue, span, message).help(help)
        })
    }
}

/// Phrases in a row.
fn listed(phrases: &[&str]) -> String {
    match phrases {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        phrases => phrases.concat(),
    }
}

/// The beginning of a text that a message quotes.
fn shortened(text: &str) -> String {
    const MOST: usize = 30;
    let mut short: String = text.chars().take(MOST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
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
}
