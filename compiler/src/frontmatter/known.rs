//! The keys that specs and hosts give a meaning, and the shape each wants.
//! Values of another shape load as they are; the author hears of it here.

use super::Document;
use crate::diagnostic::{Code, Diagnostic, near};

/// What a key's value should be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Whoever reads the key says what is wrong with it.
    Own,
    Text,
    Tools,
    Boolean,
}

/// By name. Sources: agentskills.io, Claude Code, specs 3 and 5.
const KEYS: &[(&str, Shape)] = &[
    ("agent", Shape::Text),
    ("allowed-tools", Shape::Tools),
    ("argument-hint", Shape::Text),
    ("arguments", Shape::Own),
    ("assets", Shape::Own),
    ("compatibility", Shape::Text),
    ("context", Shape::Text),
    ("default-enabled", Shape::Boolean),
    ("description", Shape::Own),
    ("disable-model-invocation", Shape::Boolean),
    ("disallowed-tools", Shape::Tools),
    ("display-name", Shape::Text),
    ("effort", Shape::Text),
    ("hooks", Shape::Own),
    ("inherit", Shape::Own),
    ("input_schema", Shape::Own),
    ("keywords", Shape::Own),
    ("license", Shape::Text),
    ("metadata", Shape::Own),
    ("model", Shape::Text),
    ("name", Shape::Own),
    ("output_schema", Shape::Own),
    ("paths", Shape::Own),
    ("permissions", Shape::Own),
    ("priority", Shape::Own),
    ("scripts", Shape::Own),
    ("shell", Shape::Text),
    ("timeout", Shape::Own),
    ("tools", Shape::Own),
    ("user-invocable", Shape::Boolean),
    ("version", Shape::Text),
    ("when_to_use", Shape::Text),
];

/// From this length on a word with a letter more or less is a typing error;
/// shorter ones such as `mode` and `model` are both words.
const MIN_TYPO: usize = 6;

/// Whether a key has a meaning, as written or with `_` for `-`. In capitals it
/// has none, and is far more often the beginning of a sentence.
pub(super) fn is_known(key: &str) -> bool {
    KEYS.iter()
        .any(|(known, _)| *known == key || *known == key.replace('_', "-"))
}

/// Says which values have a shape that not every host takes, and which keys
/// are probably mistyped.
pub(super) fn check(document: &Document, out: &mut Vec<Diagnostic>) {
    let fields = document.fields();
    for entry in fields.entries() {
        let key = entry.key.text.as_str();
        match KEYS
            .iter()
            .find(|(known, _)| *known == key)
            .map(|(_, shape)| shape)
        {
            Some(Shape::Own) => {}
            Some(Shape::Text) => drop(fields.text(key, out)),
            Some(Shape::Tools) => drop(fields.tool_list(key, out)),
            Some(Shape::Boolean) => {
                fields.bool(key, out);
            }
            None => out.extend(meant(key).filter(|meant| !fields.has(meant)).map(|meant| {
                let place = document.span(&entry.key.range);
                document
                    .finding(Code::UnknownKey, format!("nothing reads the key `{key}`"))
                    .at(place)
                    .help(format!("did you mean `{meant}`?"))
                    .fix(place, meant)
            })),
        }
    }
}

/// The key that an unknown one was probably meant to be.
fn meant(key: &str) -> Option<&'static str> {
    let known = KEYS.iter().map(|(known, _)| *known);
    near(key, known).filter(|meant| meant.len() >= MIN_TYPO || same(meant, key))
}

fn same(known: &str, key: &str) -> bool {
    let dash = |byte: u8| {
        if byte == b'_' {
            b'-'
        } else {
            byte.to_ascii_lowercase()
        }
    };
    known.bytes().map(dash).eq(key.bytes().map(dash))
}
