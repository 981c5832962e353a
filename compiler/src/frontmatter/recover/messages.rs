//! YAML errors in plain words: what is wrong, and what to type.

use super::super::yaml::{MAX_DEPTH, MAX_NODES, YamlError, YamlErrorKind};
use super::repair::quote;
use crate::diagnostic::Code;

/// Longest fix, in characters, that the help line repeats.
const SHOWN: usize = 72;

/// Message and help for a value that only needs quotes.
pub(super) fn unquoted(text: &str, error: &YamlError, value: &str) -> (String, String) {
    let first = value.chars().next().unwrap_or_default();
    let message = match &error.kind {
        YamlErrorKind::Colon => {
            "unquoted value contains `: `, which YAML reads as a second key".to_owned()
        }
        YamlErrorKind::Start('-') => {
            "unquoted value begins with `- `, which YAML reads as a list".to_owned()
        }
        YamlErrorKind::Start(character) => {
            format!(
                "unquoted value cannot begin with `{}`",
                character.escape_debug()
            )
        }
        YamlErrorKind::Marked('*', _) => {
            "unquoted value begins with `*`, which YAML reads as an alias".to_owned()
        }
        YamlErrorKind::Marked('&', _) => {
            "unquoted value begins with `&`, which YAML reads as an anchor".to_owned()
        }
        YamlErrorKind::Marked(..) => {
            "unquoted value begins with `!`, which YAML reads as a tag".to_owned()
        }
        YamlErrorKind::Trailing if matches!(first, '"' | '\'') => {
            format!("text follows the closing `{first}` of this value")
        }
        YamlErrorKind::Unclosed(open) => format!("this `{open}` is not closed before the next key"),
        YamlErrorKind::Escape => "unknown escape sequence in double quotes".to_owned(),
        YamlErrorKind::BlockHeader => {
            format!("the text after `{first}` must begin on the next line")
        }
        _ if matches!(first, '[' | '{') => {
            format!("text follows the closing bracket of this `{first}`")
        }
        _ => {
            let found = text[error.at..].chars().next().unwrap_or_default();
            format!(
                "unquoted value cannot contain `{}` here",
                found.escape_debug()
            )
        }
    };
    let quoted = quote(value);
    let help = if quoted.chars().count() <= SHOWN && !quoted.contains('\n') {
        format!("put the value in quotes: {quoted}")
    } else {
        "put the whole value in quotes".to_owned()
    };
    (message, help)
}

/// Code, message and help for an error that could not be repaired.
pub(super) fn explain(text: &str, error: &YamlError) -> (Code, String, String) {
    let (code, message, help) = match &error.kind {
        YamlErrorKind::Refused(feature) => return refused(feature),
        YamlErrorKind::Marked('*', _) => return refused("an alias (`*`)"),
        YamlErrorKind::Marked('&', _) => return refused("an anchor (`&`)"),
        YamlErrorKind::Marked(..) => return refused("a tag (`!`)"),
        YamlErrorKind::Depth => (
            Code::TooDeep,
            format!("the frontmatter is nested deeper than {MAX_DEPTH} levels"),
            "move the data to a separate file",
        ),
        YamlErrorKind::Size => (
            Code::FrontmatterTooLarge,
            format!("the frontmatter has more than {MAX_NODES} values"),
            "move the data to a separate file",
        ),
        YamlErrorKind::SecondDocument => (
            Code::InvalidYaml,
            "a second YAML document begins here".to_owned(),
            "end the frontmatter with a line of exactly `---` and remove `...` or `--- text`",
        ),
        YamlErrorKind::SwallowedKey => (
            Code::InvalidYaml,
            "this key becomes part of the text that begins above".to_owned(),
            "close the quote or bracket above, or indent this line if it is text",
        ),
        YamlErrorKind::Unclosed(open) => (
            Code::InvalidYaml,
            format!("this `{open}` is not closed before the next key"),
            "close it, or put the whole value in quotes",
        ),
        YamlErrorKind::Colon => (
            Code::InvalidYaml,
            "this line continues the value above, so it cannot have a key".to_owned(),
            "indent the key like its neighbours, or put the value above in quotes",
        ),
        YamlErrorKind::NoKey => (
            Code::InvalidYaml,
            "this line should be `key: value`, but has no key".to_owned(),
            "write `key: value`, or indent the line if it continues the value above",
        ),
        YamlErrorKind::Tab => (
            Code::TabIndentation,
            "a tab is used for indentation".to_owned(),
            "indent with spaces",
        ),
        _ => (
            Code::InvalidYaml,
            format!("unexpected {}", found(text, error.at)),
            "indent this line like its neighbours, and put text in quotes",
        ),
    };
    (code, message, help.to_owned())
}

fn refused(feature: &str) -> (Code, String, String) {
    (
        Code::YamlFeature,
        format!("{feature} is not allowed in frontmatter"),
        "write the value where it is used; if it is meant as text, put it in quotes".to_owned(),
    )
}

/// The word at an offset, in backticks.
fn found(text: &str, at: usize) -> String {
    let word: String = text[at..]
        .chars()
        .take_while(|it| !it.is_whitespace())
        .take(24)
        .collect();
    if word.is_empty() {
        "end of line".to_owned()
    } else {
        format!("`{}`", word.escape_debug())
    }
}
