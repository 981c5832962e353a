//! Repairs common mistakes in real frontmatter, line by line: values that need
//! quotes, tabs, a missing space after a colon, text that should be indented. From
//! one error to one edit, without side effects. Mistakes that real files have not are
//! explained and can be fixed, but the file does not load until they are.
//!
//! A key must never disappear into a text, since it may declare a limit: an edit
//! that could do that is not made.

use std::fmt::Write;
use std::ops::Range;

use super::super::characters::is_control;
use super::super::yaml::{YamlError, YamlErrorKind};
use super::lines::{self, LineSpan};
use super::messages;
use crate::diagnostic::Code;

/// An edit that repairs an error, and how to report it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repair {
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) help: String,
    /// What to point at.
    pub(super) at: Range<usize>,
    /// What to replace, in bytes of the file.
    pub(super) range: Range<usize>,
    /// The new text.
    pub(super) replacement: String,
    /// Whether the file loads with it; otherwise it is only the fix of an error.
    pub(super) loads: bool,
}

/// The edit that repairs an error in `text[part]`, if there is one. `done` has the
/// ranges of earlier edits, which are not repaired twice.
pub(super) fn find(
    text: &str,
    part: &Range<usize>,
    error: &YamlError,
    done: &[Range<usize>],
) -> Option<Repair> {
    match &error.kind {
        YamlErrorKind::Refused(_)
        | YamlErrorKind::SecondDocument
        | YamlErrorKind::Depth
        | YamlErrorKind::Size
        | YamlErrorKind::SwallowedKey => None,
        YamlErrorKind::Marked(sign, name) if is_used(text, part, *sign, name) => None,
        YamlErrorKind::Tab => untab(text, part, error.at, done),
        YamlErrorKind::NoKey => complete_line(text, part, error.at),
        YamlErrorKind::Colon if on_key(text, part, error.at) => {
            complete_line_above(text, part, error.at)
        }
        _ => quote_item(text, part, error).or_else(|| quote_value(text, part, error)),
    }
}

/// Whether both an alias and an anchor of this name exist, so that YAML is meant.
fn is_used(text: &str, part: &Range<usize>, sign: char, name: &str) -> bool {
    let yaml = &text[part.clone()];
    let other = match sign {
        '*' => format!("&{name}"),
        '&' => format!("*{name}"),
        _ => return false,
    };
    let is_name = name
        .chars()
        .all(|it| it.is_alphanumeric() || matches!(it, '-' | '_' | '.'));
    is_name
        && !name.is_empty()
        && yaml.match_indices(&other).any(|(at, _)| {
            let before = yaml[..at].chars().next_back();
            let after = yaml[at + other.len()..].chars().next();
            let space_or = |it: Option<char>, signs: &str| {
                it.is_none_or(|it| it.is_whitespace() || signs.contains(it))
            };
            space_or(before, "[{,") && space_or(after, "]},")
        })
}

/// Quotes the value at the error, with all its lines. Rescues none of the 597 skills of the public corpus
/// and 64 of a collection of 11,824; it is in three public reports.
fn quote_value(text: &str, part: &Range<usize>, error: &YamlError) -> Option<Repair> {
    let value = lines::value_at(text, part, error.bracket.unwrap_or(error.at))?;
    let range = value.range.clone();
    let inside = range.contains(&error.at) && !matches!(error.kind, YamlErrorKind::Unclosed(_));
    let shown = if inside { error.at } else { range.start };
    let (message, help) = messages::unquoted(text, error, &value.text);
    let replacement = quote(&value.text);
    Some(Repair {
        code: Code::UnquotedValue,
        message,
        help,
        at: char_at(text, shown),
        range,
        replacement,
        loads: true,
    })
}

/// Quotes one item of a bracketed list, so that the list does not become a text.
fn quote_item(text: &str, part: &Range<usize>, error: &YamlError) -> Option<Repair> {
    error.bracket?;
    let (YamlErrorKind::Start(_) | YamlErrorKind::Marked(..)) = error.kind else {
        return None;
    };
    let rest = &text[error.at..part.end];
    let item = rest[..rest.find([',', ']', '}', '\n'])?].trim_end();
    if item.is_empty() || item.contains(": ") {
        return None;
    }
    let (message, help) = messages::unquoted(text, error, item);
    let range = error.at..error.at + item.len();
    let replacement = quote(item);
    let at = char_at(text, error.at);
    Some(Repair {
        code: Code::UnquotedValue,
        message,
        help,
        at,
        range,
        replacement,
        loads: false,
    })
}

/// Replaces the tabs at the start of a line by spaces. Rescues none of the public corpus; it is in a public
/// report.
fn untab(text: &str, part: &Range<usize>, at: usize, done: &[Range<usize>]) -> Option<Repair> {
    let line = LineSpan::all(text, part)
        .skip_while(|line| line.end < at)
        .filter(|line| line.indent(text).contains('\t'))
        .find(|line| !done.iter().any(|range| range.start == line.start))?;
    let indent = line.indent(text);
    let range = line.start..line.start + indent.len();
    let above = LineSpan::above(text, part, &line)?;
    let replacement = " ".repeat(above.width_below(text, indent));
    Some(Repair {
        code: Code::TabIndentation,
        message: "this line is indented with a tab".to_owned(),
        help: format!("indent it with {} spaces", replacement.len()),
        at: range.clone(),
        range,
        replacement,
        loads: true,
    })
}

/// The fix of a line that is not `key: value`.
fn complete_line(text: &str, part: &Range<usize>, at: usize) -> Option<Repair> {
    let line = LineSpan::all(text, part).find(|line| line.range().contains(&at))?;
    let content = line.content(text);
    if let Some(colon) = lines::wrong_colon(content) {
        return Some(space_after_key(
            text,
            line.content_start(text),
            content,
            colon,
        ));
    }
    if lines::begins_with_limit(content) {
        return None;
    }
    let above = LineSpan::above(text, part, &line)?;
    let adjoins = above.end + 1 == line.start;
    if !adjoins || !above.has_open_text(text) || content.starts_with(['-', '[', '{', '?', '|', '>'])
    {
        return None;
    }
    Some(Repair {
        code: Code::UnindentedText,
        message: "this line is not `key: value` and is not indented".into(),
        help: "indent it by two spaces if it continues the value above".into(),
        at: line.content_start(text)..line.content_start(text) + content.len(),
        range: line.start..line.start,
        replacement: "  ".to_owned(),
        loads: false,
    })
}

/// The fix of `name:value`, of a wide colon, and of a space after the colon that is none for YAML.
/// `colon` is where they are in the content of the line, which begins at `start`.
fn space_after_key(text: &str, start: usize, content: &str, colon: Range<usize>) -> Repair {
    let key = &content[..colon.start];
    let range = start + colon.start..start + colon.end;
    let message = match &content[colon] {
        ":" => format!("missing space after `{key}:`"),
        other => format!(
            "`{}` after `{key}` is no colon and space",
            other.escape_unicode()
        ),
    };
    Repair {
        code: Code::MissingSpace,
        message,
        help: format!("write `{key}: …`"),
        at: char_at(text, range.start),
        range,
        replacement: ": ".to_owned(),
        loads: false,
    }
}

/// The same for the line above, if that one swallowed a key.
fn complete_line_above(text: &str, part: &Range<usize>, at: usize) -> Option<Repair> {
    let line = LineSpan::all(text, part).find(|line| line.range().contains(&at))?;
    let above = LineSpan::above(text, part, &line)?;
    complete_line(text, part, above.content_start(text))
}

/// Whether the colon at `at` ends the key of its line, so that the error is
/// further up.
fn on_key(text: &str, part: &Range<usize>, at: usize) -> bool {
    LineSpan::all(text, part)
        .find(|line| line.range().contains(&at))
        .and_then(|line| line.entry(text))
        .is_some_and(|entry| {
            entry.key.as_ref().is_some_and(|key| key.end == at) && entry.column == 0
        })
}

fn char_at(text: &str, at: usize) -> Range<usize> {
    at..at + text[at..].chars().next().map_or(0, char::len_utf8)
}

/// A text as a quoted YAML scalar, without escapes if possible.
pub(crate) fn quote(text: &str) -> String {
    let plain = |it: char| !is_control(it) && it != '\n' && it != '\u{85}';
    if text.chars().all(plain) {
        if !text.contains(['"', '\\']) {
            return format!("\"{text}\"");
        }
        if !text.contains('\'') {
            return format!("'{text}'");
        }
    }
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            _ if plain(character) => quoted.push(character),
            // Unprintable characters are below U+10000.
            _ => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
        }
    }
    quoted.push('"');
    quoted
}
