//! The table of frontmatter keys: which keys have a meaning, in which dialect or for
//! whom, and the shape of their values. Recovery, the checks for unknown keys and
//! wrong shapes, and the tables in the skills that document them follow from it.

use std::borrow::Cow;

use skillbundle_search::{suggest, typos};

use super::node::{Entry, NodeKind};
use super::{Document, Fields};
use crate::diagnostic::Severity::Error;
use crate::diagnostic::{Applicability, Code, Diagnostic, Span};
use crate::profile::Profile;

// Keys that the compiler itself reads.
const ALLOWED_TOOLS: &str = "allowed-tools";
pub(crate) const ARGS: &str = "args";
pub(crate) const ASSETS: &str = "assets";
pub(crate) const COMPATIBILITY: &str = "compatibility";
pub(crate) const CONTRACT: &str = "contract";
pub(crate) const DEFAULT: &str = "default";
pub(crate) const DESCRIPTION: &str = "description";
pub(crate) const EXECUTION: &str = "execution";
pub(crate) const FILE: &str = "file";
pub(crate) const INHERIT: &str = "inherit";
pub(crate) const KEYWORDS: &str = "keywords";
pub(crate) const METADATA: &str = "metadata";
pub(crate) const NAME: &str = "name";
pub(crate) const PRIORITY: &str = "priority";
pub(crate) const REQUIRED: &str = "required";
pub(crate) const SCRIPTS: &str = "scripts";
pub(crate) const TRIGGERS: &str = "triggers";
pub(crate) const TYPE: &str = "type";

/// One key.
struct Key {
    name: &'static str,
    shape: Shape,
    /// The value if the key is absent, as the documentation writes it.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the documentation"))]
    default: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "for the documentation"))]
    meaning: &'static str,
}

/// What a key's value should be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Text,
    Tools,
    Boolean,
    /// As described. The code that uses the key reports what is wrong with it.
    Custom(&'static str),
}

use Shape::{Boolean, Custom, Text, Tools};

const fn key(
    name: &'static str,
    shape: Shape,
    default: &'static str,
    meaning: &'static str,
) -> Key {
    Key {
        name,
        shape,
        default,
        meaning,
    }
}

const TEXT: Shape = Custom("text");
const NOT_EMPTY: Shape = Custom("text, not empty");

/// Keys of the Agent Skills specification, for the folder dialect.
#[rustfmt::skip]
const FOLDER: &[Key] = &[
    key(NAME, NOT_EMPTY, "required", "what people and agents call the skill; a lookup ignores case and outer spaces"),
    key(DESCRIPTION, NOT_EMPTY, "required", "what it does and when to use it; shown in every listing"),
    key("license", Text, "none", "a short licence name, or the name of a bundled licence file"),
    key(COMPATIBILITY, Text, "none", "up to 500 characters: which host, system packages or network the skill needs"),
    key(METADATA, Custom("map of text"), "none", "your own keys, such as `version: \"1.2\"`"),
    key(ALLOWED_TOOLS, Tools, "none", "tools the skill expects, separated by spaces; a request to the host, never a grant by the server"),
];

/// Keys of the tree dialect (spec 3 §4).
#[rustfmt::skip]
const TREE: &[Key] = &[
    key(KEYWORDS, Custom("list of text, not empty"), "required", "what `get_skill` matches a request against"),
    key(DESCRIPTION, NOT_EMPTY, "required", "one line for listings and for ambiguous answers"),
    key(NAME, TEXT, "the path", "a name to look the skill up by, beside its path"),
    key(INHERIT, Custom("boolean"), "`true`", "`false` leaves out the ancestors' text and files"),
    key(PRIORITY, Custom("number"), "`0`", "adds a thousandth of itself to the score"),
    key(ASSETS, Custom("list of files"), "empty", "files to serve"),
    key(SCRIPTS, Custom("list of files"), "empty", "files to run"),
];

/// Keys that the compiler passes on: of Claude Code and other programs, of `skillbundle eval`; and
/// contracts, which both dialects can have.
#[rustfmt::skip]
const OTHER: &[Key] = &[
    key("agent", Text, "none", "Claude Code: the kind of agent that runs the skill"),
    key("argument-hint", Text, "none", "Claude Code: shown when a user types the skill's name"),
    key("arguments", Custom("list"), "none", "Claude Code: names of the arguments"),
    key(CONTRACT, Custom("set of keys"), "none", "makes the skill one that `invoke_skill` runs, with checked input and output"),
    key("context", Text, "none", "Claude Code: `fork` runs the skill in an agent of its own"),
    key("default-enabled", Boolean, "`true`", "Claude Code: whether the skill is on at first; if not, it is for people only"),
    key("disable-model-invocation", Boolean, "`false`", "only people can start the skill: it is a prompt, and in no list, route or search of a model"),
    key("disallowed-tools", Tools, "none", "Claude Code: tools the skill must not use"),
    key("display-name", Text, "none", "Claude Code: the name that users see"),
    key("effort", Text, "none", "Claude Code: how much the model should think"),
    key("hooks", Custom("map"), "none", "Claude Code: commands to run on events"),
    key("model", Text, "none", "Claude Code: the model that runs the skill"),
    key("paths", Custom("text or list"), "none", "Claude Code: files that the skill is about"),
    key("permissions", Custom("any"), "none", "other programs: what the skill may do"),
    key("shell", Text, "none", "Claude Code: the shell for its commands"),
    key("tools", Custom("text or list"), "none", "other programs: tools that the skill uses"),
    key(TRIGGERS, Custom("list of text"), "none", "requests that `skillbundle eval` replays: they should find this skill"),
    key("user-invocable", Boolean, "`true`", "whether people can start the skill as a prompt"),
    key("version", Text, "none", "the skill's version"),
    key("when_to_use", Text, "none", "Claude Code: more text about when to use the skill"),
];

/// Keys of an entry of `assets`.
#[cfg(test)]
#[rustfmt::skip]
const ASSET: &[Key] = &[
    key(FILE, TEXT, "required", "path inside the resource folder, such as `assets/logo.png`"),
    key(DESCRIPTION, TEXT, "empty", "what it is for"),
    key(TYPE, TEXT, "`other`", "a word of your choice: `template`, `image`, `config`, ..."),
];

/// Keys of an entry of `scripts`.
#[cfg(test)]
#[rustfmt::skip]
const SCRIPT: &[Key] = &[
    key(FILE, TEXT, "required", "path inside the resource folder, such as `scripts/check.sh`"),
    key(DESCRIPTION, TEXT, "empty", "what it does and what it prints"),
    key(EXECUTION, TEXT, "`claude`", "`claude`: the agent fetches it with `get_asset` and runs it; `server`: `run_script` runs it where the server runs. `get_asset` returns both kinds"),
    key(ARGS, Custom("list"), "empty", "its arguments"),
];

/// Keys of an entry of `args`.
#[cfg(test)]
#[rustfmt::skip]
const ARGUMENT: &[Key] = &[
    key(NAME, TEXT, "required", "the argument's name, of ASCII letters, digits, `-` and `_`; the script finds `target-dir` in the variable `SKILL_ARG_TARGET_DIR`"),
    key(DESCRIPTION, TEXT, "empty", "what it means"),
    key(REQUIRED, Custom("boolean"), "`true`", "whether the script needs it; with a `default` it can always be left out"),
    key(DEFAULT, Custom("text, number or boolean"), "none", "its value if it is left out, as it is written: `1.10` stays `1.10`"),
];

/// From this length on, a word with one letter more or less is a typing mistake;
/// shorter ones such as `mode` and `model` are both words.
const MIN_TYPO: usize = 6;

fn all() -> impl Iterator<Item = &'static Key> {
    FOLDER.iter().chain(TREE).chain(OTHER)
}

/// Whether a key is one of the Agent Skills specification.
pub(crate) fn is_of_specification(key: &str) -> bool {
    FOLDER.iter().any(|known| known.name == key)
}

/// Whether a key has a meaning, as written or with `_` for `-`. In capitals it has
/// none, since it is far more often the beginning of a sentence.
pub(crate) fn is_known(key: &str) -> bool {
    all().any(|known| known.name == key || known.name == key.replace('_', "-"))
}

/// Whether a line begins with a key that makes a file a skill.
pub(super) fn begins_skill_key(line: &str) -> bool {
    let quotes = ['"', '\''];
    let line = line.strip_prefix(quotes).unwrap_or(line);
    [NAME, DESCRIPTION, KEYWORDS].iter().any(|key| {
        let rest = line.strip_prefix(key);
        let rest = rest.map(|rest| rest.strip_prefix(quotes).unwrap_or(rest));
        rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
    })
}

/// The key that is missing and was probably meant by another one: `keyword` for `keywords`.
pub(crate) fn mistyped<'a>(fields: &Fields<'a>, key: &str) -> Option<&'a Entry> {
    let entries = fields.entries().iter();
    let mut others = entries.filter(|it| !is_known(&it.key.text));
    others.find(|it| suggest(&it.key.text, [key]).is_some())
}

/// Reports values of a shape that not every host accepts, and keys that are
/// probably mistyped. Neither changes how the skill loads.
pub(super) fn check(document: &Document, out: &mut Vec<Diagnostic>) {
    let fields = document.fields();
    for entry in fields.entries() {
        let key = entry.key.text.as_str();
        let before = out.len();
        match all().find(|known| known.name == key).map(|it| it.shape) {
            Some(Custom(_)) => {}
            Some(Text) => drop(fields.text(key, out)),
            Some(Tools) => drop(fields.tool_list(key, out)),
            Some(Boolean) => drop(fields.bool(key, out)),
            None => {
                let meant = meant(key).filter(|meant| !fields.has(meant));
                let mistyped = meant.map(|meant| unknown(document, entry, meant));
                out.extend(wrong_indent(document, entry).or(mistyped));
            }
        }
        let is_text = matches!(entry.value.kind, NodeKind::Scalar { .. } | NodeKind::Null);
        if is_of_specification(key) && !is_text {
            // Validators want a text.
            let is_strict =
                |it: &&mut Diagnostic| matches!(it.code, Code::NotText | Code::ToolListShape);
            for diagnostic in out[before..].iter_mut().filter(is_strict) {
                diagnostic.elsewhere = Cow::Borrowed(if key == ALLOWED_TOOLS {
                    &[(Profile::Spec, Error), (Profile::Gh, Error)]
                } else {
                    &[(Profile::Spec, Error)]
                });
            }
        }
    }
}

/// Reports a key after spaces that indent nothing: those that YAML does not know belong to the key.
fn wrong_indent(document: &Document, entry: &Entry) -> Option<Diagnostic> {
    let key = &entry.key.text;
    let shown = key.trim_start();
    let first = key
        .chars()
        .next()
        .filter(|it| it.is_whitespace() && !it.is_ascii())?;
    let start = entry.key.range.start;
    let indent = Span::from(start..start + key.len() - shown.len());
    let message = format!(
        "the key `{shown}` is not indented: U+{:04X} before it is no space for YAML",
        u32::from(first)
    );
    let spaces = " ".repeat(key.chars().count() - shown.chars().count());
    let diagnostic = document.diagnostic(Code::UnknownKey, message).at(indent);
    let diagnostic = diagnostic.help("indent it with spaces");
    Some(diagnostic.fixed_by(Applicability::Unsafe, [(indent, spaces)]))
}

fn unknown(document: &Document, entry: &Entry, meant: &str) -> Diagnostic {
    let key = &entry.key.text;
    let span = Span::from(&entry.key.range);
    document
        .diagnostic(Code::UnknownKey, format!("unknown key `{key}`"))
        .at(span)
        .help(format!("did you mean `{meant}`?"))
        .fixed_by(
            certainty(key, meant, all().map(|known| known.name)),
            [(span, meant.to_owned())],
        )
}

/// Whether a mistyped word can only be the one that it was probably meant to be: one mistake, and no
/// other word is close.
pub(crate) fn certainty<'a>(
    typed: &str,
    meant: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Applicability {
    let is_close = |word: &&str| typos(typed, word).is_some();
    let close = known.into_iter().filter(is_close).count();
    if close == 1 && typos(typed, meant) <= Some(1) {
        Applicability::Safe
    } else {
        Applicability::Unsafe
    }
}

/// The key that an unknown one was probably meant to be.
fn meant(key: &str) -> Option<&'static str> {
    let known = all().map(|known| known.name);
    suggest(key, known).filter(|meant| meant.len() >= MIN_TYPO || typos(key, meant) == Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, Row};

    #[test]
    fn the_documented_keys_are_those_of_the_table() {
        let frontmatter = "writing-skills/references/frontmatter.md";
        let tree = "tree-dialect/references/keys.md";
        for (file, before, keys) in [
            (frontmatter, "# Frontmatter, field by field", FOLDER),
            (frontmatter, "## Keys of hosts and tools", OTHER),
            (tree, "# Keys of the tree dialect", TREE),
            (tree, "Each entry of `assets`:", ASSET),
            (tree, "Each entry of `scripts`:", SCRIPT),
            (tree, "Each entry of `args`:", ARGUMENT),
        ] {
            let rows: Vec<Row> = keys.iter().map(row).collect();
            testing::check(file, before, &["key", "type", "default", "meaning"], &rows);
        }
    }

    fn row(key: &Key) -> Row {
        let shape = match key.shape {
            Text => "text",
            Tools => "names, separated by spaces",
            Boolean => "boolean",
            Custom(shape) => shape,
        };
        let name = format!("`{}`", key.name);
        [&name, shape, key.default, key.meaning]
            .map(str::to_owned)
            .into()
    }
}
