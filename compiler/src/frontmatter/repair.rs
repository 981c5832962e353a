//! Mends what real frontmatter gets wrong, line by line, so that the rest can
//! be read: values that need quotes, tabs, a blank missing behind a colon,
//! text that should be indented. Pure: from a fault to one edit.
//!
//! The rule above all: a key must never disappear into a text, since it may
//! declare a limit. Where an edit could do that, there is no edit.

mod lines;
mod words;

use std::fmt::Write;
use std::ops::Range;

use super::events::{Cause, Fault};
use crate::diagnostic::Code;
use lines::Line;

pub(super) use lines::{begins_key, known_key_within, next_value};
pub(super) use words::explain;

/// An edit that mends a fault, and what to say about it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repair {
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) help: String,
    /// Where the fault is.
    pub(super) at: Range<usize>,
    /// What to replace, in bytes of the file.
    pub(super) place: Range<usize>,
    /// What to put there.
    pub(super) replacement: String,
}

/// The edit that mends a fault in `text[part]`, if one does. `done` are the
/// places of earlier edits, which are not mended twice.
pub(super) fn find(
    text: &str,
    part: &Range<usize>,
    fault: &Fault,
    done: &[Range<usize>],
) -> Option<Repair> {
    match &fault.cause {
        Cause::Refused(_)
        | Cause::SecondDocument
        | Cause::Depth
        | Cause::Size
        | Cause::SwallowedKey => None,
        Cause::Marked(sign, name) if is_used(text, part, *sign, name) => None,
        Cause::Tab => untab(text, part, fault.at, done),
        Cause::NoKey => complete_line(text, part, fault.at),
        Cause::Colon if on_key(text, part, fault.at) => complete_line_above(text, part, fault.at),
        _ => quote_item(text, part, fault).or_else(|| quote_value(text, part, fault)),
    }
}

/// Whether an alias and an anchor of this name meet, so that YAML is meant.
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
            let blank_or = |it: Option<char>, signs: &str| {
                it.is_none_or(|it| it.is_whitespace() || signs.contains(it))
            };
            blank_or(before, "[{,") && blank_or(after, "]},")
        })
}

/// Puts the value at the fault into quotes, with all its lines.
fn quote_value(text: &str, part: &Range<usize>, fault: &Fault) -> Option<Repair> {
    let value = lines::value_at(text, part, fault.bracket.unwrap_or(fault.at))?;
    let place = value.place.clone();
    let inside = place.contains(&fault.at) && !matches!(fault.cause, Cause::Unclosed(_));
    let shown = if inside { fault.at } else { place.start };
    let (message, help) = words::unquoted(text, fault, &value.text);
    let replacement = quote(&value.text);
    Some(Repair {
        code: Code::UnquotedValue,
        message,
        help,
        at: char_at(text, shown),
        place,
        replacement,
    })
}

/// Puts one item of a bracketed list into quotes.
fn quote_item(text: &str, part: &Range<usize>, fault: &Fault) -> Option<Repair> {
    fault.bracket?;
    let (Cause::Start(_) | Cause::Marked(..)) = fault.cause else {
        return None;
    };
    let rest = &text[fault.at..part.end];
    let item = rest[..rest.find([',', ']', '}', '\n'])?].trim_end();
    if item.is_empty() || item.contains(": ") {
        return None;
    }
    let (message, help) = words::unquoted(text, fault, item);
    let place = fault.at..fault.at + item.len();
    let replacement = quote(item);
    let at = char_at(text, fault.at);
    Some(Repair {
        code: Code::UnquotedValue,
        message,
        help,
        at,
        place,
        replacement,
    })
}

/// Puts blanks in place of the tabs that a line begins with.
fn untab(text: &str, part: &Range<usize>, at: usize, done: &[Range<usize>]) -> Option<Repair> {
    let line = Line::all(text, part)
        .skip_while(|line| line.end < at)
        .filter(|line| line.indent(text).contains('\t'))
        .find(|line| !done.iter().any(|place| place.start == line.start))?;
    let indent = line.indent(text);
    let place = line.start..line.start + indent.len();
    let above = Line::above(text, part, &line)?;
    let replacement = " ".repeat(above.width_below(text, indent));
    let number = text[..line.start].matches('\n').count() + 1;
    Some(Repair {
        code: Code::TabIndentation,
        message: format!("a tab is used for indentation on line {number}"),
        help: format!("indent with blanks, {} here", replacement.len()),
        at: place.clone(),
        place,
        replacement,
    })
}

/// Mends a line that is no `key: value`.
fn complete_line(text: &str, part: &Range<usize>, at: usize) -> Option<Repair> {
    let line = Line::all(text, part).find(|line| line.range().contains(&at))?;
    let content = line.content(text);
    if let Some(colon) = lines::tight_colon(content) {
        let place = line.content_start(text) + colon + 1;
        return Some(Repair {
            code: Code::MissingSpace,
            message: format!("`{}` has no blank behind its colon", &content[..=colon]),
            help: format!("write `{} …`", &content[..=colon]),
            at: char_at(text, place - 1),
            place: place..place,
            replacement: " ".to_owned(),
        });
    }
    if lines::begins_with_limit(content) {
        return None;
    }
    let above = Line::above(text, part, &line)?;
    let adjoins = above.end + 1 == line.start;
    if !adjoins || !above.has_open_text(text) || content.starts_with(['-', '[', '{', '?', '|', '>'])
    {
        return None;
    }
    Some(Repair {
        code: Code::UnindentedText,
        message: "this line is neither `key: value` nor indented like a part of the value above"
            .into(),
        help: "indent it by two blanks so that it continues the value above".into(),
        at: line.content_start(text)..line.content_start(text) + content.len(),
        place: line.start..line.start,
        replacement: "  ".to_owned(),
    })
}

/// The same for the line above, when it took a key with it.
fn complete_line_above(text: &str, part: &Range<usize>, at: usize) -> Option<Repair> {
    let line = Line::all(text, part).find(|line| line.range().contains(&at))?;
    let above = Line::above(text, part, &line)?;
    complete_line(text, part, above.content_start(text))
}

/// Whether the colon at `at` is the one behind its line's key, so that the
/// fault lies further up.
fn on_key(text: &str, part: &Range<usize>, at: usize) -> bool {
    Line::all(text, part)
        .find(|line| line.range().contains(&at))
        .and_then(|line| line.entry(text))
        .is_some_and(|entry| {
            entry.key.as_ref().is_some_and(|key| key.end == at) && entry.column == 0
        })
}

fn char_at(text: &str, at: usize) -> Range<usize> {
    at..at + text[at..].chars().next().map_or(0, char::len_utf8)
}

/// A text as one YAML scalar in quotes, in the form that needs no escapes if
/// there is one.
pub(super) fn quote(text: &str) -> String {
    let plain = |it: char| !super::characters::is_control(it) && it != '\n' && it != '\u{85}';
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
            // What is not printable lies below U+10000.
            _ => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
        }
    }
    quoted.push('"');
    quoted
}
