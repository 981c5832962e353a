//! Rules about what a name looks like.

use unicode_security::MixedScript;

use crate::diagnostic::{Code, Diagnostic};
use crate::draft::Draft;

/// Reports a word of a name that mixes scripts, such as a Latin one with the Cyrillic letter а. Words of
/// different scripts are fine, and so are scripts that are written together, as in Japanese.
pub(super) fn check(draft: &Draft, out: &mut Vec<Diagnostic>) {
    let name = draft.entry.name.as_str();
    let mut words = name.split(|it: char| !it.is_alphanumeric());
    let Some(word) = words.find(|it| !it.is_single_script()) else {
        return;
    };
    let foreign = word.chars().find(|it| !it.is_ascii());
    let foreign = foreign.map_or(String::new(), |it| {
        format!(" `{it}` is U+{:04X}", u32::from(it))
    });
    let message = format!("`{word}` mixes letters of several scripts:{foreign}");
    let diagnostic = Diagnostic::new(Code::MixedScripts, draft.shown.as_str(), message);
    let help = "write each word in one script; letters that look alike are different letters";
    out.push(diagnostic.at(draft.name_span).help(help));
}
