//! The generated `SKILL.md` of a tree page: a valid name, the page's description and the text of
//! its chain. Generated at compile time, so that it has a fixed digest.

use crate::content;
use crate::model::SkillSet;

/// The page's text as a file, and its frontmatter as JSON.
pub(crate) struct Generated {
    pub(crate) text: String,
    pub(crate) frontmatter: String,
}

/// Writes the file for a page. YAML and JSON use the same quoted strings, so that they cannot
/// differ.
pub(crate) fn generate(set: &SkillSet, id: usize, name: &str) -> Generated {
    let (name, description) = (quoted(name), quoted(&set.skills[id].description));
    let content = content::resolved(set, id);
    let end = if content.is_empty() { "" } else { "\n" };
    Generated {
        text: format!("---\nname: {name}\ndescription: {description}\n---\n{end}{content}{end}"),
        frontmatter: format!(r#"{{"name":{name},"description":{description}}}"#),
    }
}

/// The text in double quotes, valid in both YAML and JSON. Escapes characters that YAML does not
/// consider printable, or that some parsers treat as a line end.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => quoted.extend(format!("\\u{:04x}", u32::from(letter)).chars()),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_is_json_of_the_same_text() {
        for text in [
            "",
            "plain: # not a comment",
            "a \"quoted\" \\ word",
            "two\nlines\r\n\tand a tab",
            "\0\u{7f}\u{85}\u{9f}\u{2028}\u{feff}\u{ffff}",
            "é 日本 🦀",
        ] {
            let quoted = quoted(text);
            let read: String = serde_json::from_str(&quoted).expect("JSON");
            assert_eq!(read, text);
            assert!(!quoted.contains(char::is_control), "{quoted}");
        }
    }
}
