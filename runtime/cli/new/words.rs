//! The name and the description of a new skill: what hosts accept, and what to type instead.

use anyhow::Result;
use skillbundle_format::{MAX_CONTRACT_DESCRIPTION, hosts::NAME_CHARS, is_contract_name, slug};
use skillbundle_search::text::tokenize;

use super::draft::Kind;
use crate::cli::display::{cut, is_control, one_line};
use crate::cli::output::with_help;

/// The rule of the Agent Skills specification, for messages.
const NAME_RULE: &str = "1 to 64 lower-case letters, digits and single hyphens";

/// Characters of a description in the Agent Skills specification.
const DESCRIPTION_CHARS: usize = 1024;

/// A name that fits.
const EXAMPLE: &str = "pdf-forms";

/// The only lawful name that a page cannot have, since case does not count.
const RESERVED_PAGE: &str = "skill";

/// Columns of a name that an error quotes.
const QUOTED_COLUMNS: usize = 32;

/// Most keywords that are taken from a description.
const FEW: usize = 4;

/// What a YAML parser does not read as text, though it has letters alone.
const YAML_WORDS: [&str; 9] = ["false", "n", "no", "null", "off", "on", "true", "y", "yes"];

/// Fails unless every host takes this name.
///
/// # Errors
///
/// It does not fit the rule, or that of contracts.
pub(super) fn check_name(name: &str, kind: Kind) -> Result<()> {
    if name.is_empty() {
        return Err(with_help(
            "the name of the skill is empty",
            &format!("it has {NAME_RULE}; try `{EXAMPLE}`"),
        ));
    }
    let is_lawful = name.len() <= NAME_CHARS
        && name.split('-').all(|word| {
            let is_name_letter = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
            !word.is_empty() && word.bytes().all(is_name_letter)
        });
    let quoted = one_line(name);
    let quoted = cut(&quoted, QUOTED_COLUMNS);
    if !is_lawful {
        let folder = if name.contains(['/', '\\']) {
            "; --dir names the folder"
        } else {
            ""
        };
        let example = suggestion(name).unwrap_or_else(|| EXAMPLE.to_owned());
        return Err(with_help(
            &format!("`{quoted}` is not a name that every host takes"),
            &format!("it has {NAME_RULE}; try `{example}`{folder}"),
        ));
    }
    if kind.is_page && name == RESERVED_PAGE {
        return Err(with_help(
            "a page of this name would be read as a SKILL.md",
            "choose another name, or leave out --tree and --contract",
        ));
    }
    if kind.has_contract && !is_contract_name(&contract_name(name)) {
        return Err(with_help(
            &format!("`{quoted}` cannot be the name of a contract"),
            &format!(
                "that begins with a letter; try `skill-{}`",
                cut(name, NAME_CHARS - "skill-".len())
            ),
        ));
    }
    Ok(())
}

/// A name that fits the rule and resembles what was typed, if there is one.
fn suggestion(typed: &str) -> Option<String> {
    if !typed.chars().any(char::is_alphanumeric) {
        return None;
    }
    let is_kept = |it: &char| it.is_ascii_alphanumeric() || *it == '-';
    let plain: String = slug(typed).chars().filter(is_kept).collect();
    let words = plain.split('-').filter(|word| !word.is_empty());
    let plain = words.collect::<Vec<_>>().join("-");
    (!plain.is_empty()).then_some(plain)
}

/// The description without outer space.
///
/// # Errors
///
/// A host would refuse it, or cut it.
pub(super) fn check_description(typed: &str, has_contract: bool) -> Result<&str> {
    let description = typed.trim();
    let refuse = |what: &str, help: &str| {
        let message = format!("the description {what}");
        Err(with_help(&message, help))
    };
    let most = if has_contract {
        MAX_CONTRACT_DESCRIPTION
    } else {
        DESCRIPTION_CHARS
    };
    let length = description.chars().count();
    if length == 0 {
        return refuse("is empty", "say what the skill does and when to use it");
    }
    if length > most {
        let what = format!("has {length} characters, more than {most}");
        return refuse(
            &what,
            "shorten it; the rest belongs into the text of the skill",
        );
    }
    if description.contains(is_control) {
        return refuse(
            "has a line break or another control character",
            "write it in one line, with letters that can be seen",
        );
    }
    if description.contains(['<', '>']) {
        return refuse(
            "has `<` or `>`, which some hosts refuse",
            "leave them out: write NAME instead of <NAME>",
        );
    }
    Ok(description)
}

/// The name under which the skill is invoked: contracts have underscores.
pub(super) fn contract_name(name: &str) -> String {
    name.replace('-', "_")
}

/// Words by which requests find a page: those of its name that a search does not leave out; if it has
/// none, those of its description.
pub(super) fn keywords(name: &str, description: &str) -> Vec<String> {
    let split = |text: &str| {
        let mut words: Vec<String> = Vec::new();
        for word in text.split(|it: char| !it.is_alphanumeric()) {
            let word = word.to_lowercase();
            let is_found = word.chars().count() > 1 && !tokenize(&word).is_empty();
            if is_found && !words.contains(&word) {
                words.push(word);
            }
        }
        words
    };
    let mut words = split(name);
    if words.is_empty() {
        words = split(description);
        words.truncate(FEW);
    }
    if words.is_empty() {
        words.push(name.to_owned());
    }
    words
}

/// `pdf-forms` as the heading `Pdf forms`.
pub(super) fn title(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut letters = words.chars();
    let first = letters.next().map(|it| it.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// A name as YAML text: in quotes if it would be a number, a date, a boolean or nothing.
pub(super) fn yaml_name(name: &str) -> String {
    let is_text = name.starts_with(|it: char| it.is_ascii_lowercase());
    if is_text && !YAML_WORDS.contains(&name) {
        name.to_owned()
    } else {
        yaml_text(name)
    }
}

/// A text without control characters in double quotes, as YAML and JSON have it.
pub(super) fn yaml_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A path as a word of a shell.
pub(super) fn shell_word(path: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "._/-+,:@%".contains(it);
    if !path.is_empty() && path.chars().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::describe;

    const FOLDER: Kind = Kind {
        is_page: false,
        has_contract: false,
        has_script: false,
    };

    const CONTRACT: Kind = Kind {
        is_page: true,
        has_contract: true,
        has_script: false,
    };

    /// What the error about a name says.
    fn said(name: &str, kind: Kind) -> String {
        let error = check_name(name, kind).expect_err("refused");
        let (message, help) = describe(&error);
        format!("{message} | {}", help.unwrap_or_default())
    }

    #[test]
    fn names_that_every_host_takes_are_accepted() {
        let longest = "a".repeat(NAME_CHARS);
        for name in [
            "a",
            "7",
            "pdf-forms",
            "2026-01-12",
            "null",
            "skill",
            &longest,
        ] {
            check_name(name, FOLDER).expect("lawful");
        }
    }

    #[test]
    fn another_name_is_suggested() {
        for (name, expected) in [
            ("PDF Forms", "try `pdf-forms`"),
            ("pdf_forms", "try `pdf-forms`"),
            ("--pdf--forms-", "try `pdf-forms`"),
            ("Détail", "try `detail`"),
            ("../x", "try `x`; --dir names the folder"),
            ("/etc", "try `etc`; --dir names the folder"),
            ("a/b", "try `a-b`; --dir names the folder"),
            ("a\\b", "try `a-b`; --dir names the folder"),
            ("a\0b\u{1b}[2J", "try `a-b-2j`"),
            ("", "try `pdf-forms`"),
            ("..", "try `pdf-forms`"),
            ("日本語", "try `pdf-forms`"),
        ] {
            let said = said(name, FOLDER);
            assert!(said.ends_with(&format!("; {expected}")), "{name}: {said}");
            assert!(!said.contains(char::is_control), "{name}: {said}");
        }
        let long = said(&"x".repeat(5000), FOLDER);
        assert!(
            long.ends_with(&format!("try `{}`", "x".repeat(NAME_CHARS))),
            "{long}"
        );
        assert!(long.len() < 250, "{long}");
        assert!(said("skill", CONTRACT).contains("read as a SKILL.md"));
        assert!(said("7z", CONTRACT).ends_with("try `skill-7z`"));
    }

    #[test]
    fn what_is_suggested_is_accepted() {
        for typed in ["A b", "x".repeat(70).as_str(), "é日-本 z", "ß", "a--", "Ⅷ"] {
            if let Some(name) = suggestion(typed) {
                check_name(&name, FOLDER).expect("lawful");
            }
        }
    }

    #[test]
    fn yaml_reads_names_as_text() {
        for (name, expected) in [
            ("pdf-forms", "pdf-forms"),
            ("true", "\"true\""),
            ("007", "\"007\""),
            ("1e3", "\"1e3\""),
            ("yes-or-no", "yes-or-no"),
        ] {
            assert_eq!(yaml_name(name), expected);
        }
        assert_eq!(yaml_text("a \"b\" \\ c: d"), "\"a \\\"b\\\" \\\\ c: d\"");
    }

    #[test]
    fn shells_read_paths_as_one_word() {
        for (path, expected) in [
            ("skills/a.md", "skills/a.md"),
            ("my skills/a", "'my skills/a'"),
            ("it's", "'it'\\''s'"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(shell_word(path), expected);
        }
    }
}
