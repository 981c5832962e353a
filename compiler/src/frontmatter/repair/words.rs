//! Faults in plain words: what is wrong, and what to do. No parser talk.

use super::super::events::{Cause, Fault, MAX_DEPTH};
use crate::diagnostic::Code;

/// Longest fix that is repeated in the help line.
const SHOWN: usize = 72;

/// What to say where a value only needs quotes.
pub(super) fn unquoted(text: &str, fault: &Fault, value: &str) -> (String, String) {
    let first = value.chars().next().unwrap_or_default();
    let message = match &fault.cause {
        Cause::Colon => "`: ` in an unquoted value reads as a second key".to_owned(),
        Cause::Start('-') => "a value that begins with `- ` reads as a list".to_owned(),
        Cause::Start(character) => {
            format!(
                "a value without quotes cannot begin with `{}`",
                character.escape_debug()
            )
        }
        Cause::Marked('*', _) => "a value that begins with `*` reads as a YAML alias".to_owned(),
        Cause::Marked('&', _) => "a value that begins with `&` reads as a YAML anchor".to_owned(),
        Cause::Marked(..) => "a value that begins with `!` reads as a YAML tag".to_owned(),
        Cause::Trailing if matches!(first, '"' | '\'') => {
            format!("text follows the closing `{first}` of this value")
        }
        Cause::Unclosed(open) => format!("this `{open}` is not closed before the next key"),
        Cause::Escape => {
            "a backslash in double quotes begins an escape, and YAML does not know this one"
                .to_owned()
        }
        Cause::BlockHeader => format!("text behind `{first}` must begin on the next line"),
        _ if matches!(first, '[' | '{') => format!("text follows the bracket that `{first}` opens"),
        _ => {
            let found = text[fault.at..].chars().next().unwrap_or_default();
            format!(
                "`{}` cannot stand here without quotes",
                found.escape_debug()
            )
        }
    };
    let quoted = super::quote(value);
    let help = if quoted.chars().count() <= SHOWN && !quoted.contains('\n') {
        format!("put the value in quotes: {quoted}")
    } else {
        "put the whole value in quotes".to_owned()
    };
    (message, help)
}

/// What to say where nothing could be mended: code, message, help.
pub(in crate::frontmatter) fn explain(text: &str, fault: &Fault) -> (Code, String, String) {
    let (code, message, help) = match &fault.cause {
        Cause::Refused(feature) => return refused(feature),
        Cause::Marked('*', _) => return refused("an alias (`*`)"),
        Cause::Marked('&', _) => return refused("an anchor (`&`)"),
        Cause::Marked(..) => return refused("a tag (`!`)"),
        Cause::Depth => (
            Code::TooDeep,
            format!("the frontmatter is nested deeper than {MAX_DEPTH} levels"),
            "keep deep data in a file of its own",
        ),
        Cause::Size => (
            Code::FrontmatterTooLarge,
            "the frontmatter holds more values than are read".to_owned(),
            "keep large data in a file of its own",
        ),
        Cause::SecondDocument => (
            Code::InvalidYaml,
            "a second YAML document begins here".to_owned(),
            "end the frontmatter with a line of exactly `---`, and take out `...` and `--- text`",
        ),
        Cause::SwallowedKey => (
            Code::InvalidYaml,
            "this key disappears into the text that begins above".to_owned(),
            "close the quote or bracket above, or indent the text that it belongs to",
        ),
        Cause::Unclosed(open) => (
            Code::InvalidYaml,
            format!("this `{open}` is not closed before the next key"),
            "close it, or put the whole value in quotes",
        ),
        Cause::Colon => (
            Code::InvalidYaml,
            "a key cannot stand here: the line continues the value above".to_owned(),
            "give the key the same indentation as its neighbours, or put the value in quotes",
        ),
        Cause::NoKey => (
            Code::InvalidYaml,
            "`key: value` is expected here, but this line has no key".to_owned(),
            "write it as `key: value`, or indent it so that it continues the value above",
        ),
        Cause::Tab => (
            Code::TabIndentation,
            "a tab stands where only blanks may".to_owned(),
            "indent with blanks",
        ),
        _ => (
            Code::InvalidYaml,
            format!("{} does not fit here", found(text, fault.at)),
            "check the indentation of this line against the lines above, and put text in quotes",
        ),
    };
    (code, message, help.to_owned())
}

fn refused(feature: &str) -> (Code, String, String) {
    (
        Code::YamlFeature,
        format!("{feature} is not allowed in frontmatter"),
        "write the value out where it is used; if it is meant as text, put it in quotes".to_owned(),
    )
}

/// The word at an offset, as a reader would point at it.
fn found(text: &str, at: usize) -> String {
    let word: String = text[at..]
        .chars()
        .take_while(|it| !it.is_whitespace())
        .take(24)
        .collect();
    if word.is_empty() {
        "the end of this line".to_owned()
    } else {
        format!("`{}`", word.escape_debug())
    }
}
