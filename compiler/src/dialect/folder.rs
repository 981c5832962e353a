//! The folder dialect (specs 1, 2, 4): a directory with a `SKILL.md` that has a name
//! and a description. Every file below it belongs to the skill.

use std::borrow::Cow;

use skillbundle_format::{Dialect, SkillEntry};
use unicode_normalization::UnicodeNormalization;

use super::{MarkdownFile, add_missing, common, missing, text};
use crate::assets;
use crate::diagnostic::{Applicability, Code, Diagnostic, Severity, Span};
use crate::draft::{Draft, FileOrigin};
use crate::frontmatter::{Fields, NodeKind, keys, misread_as, plain_or_quoted};
use crate::paths::file_name;
use crate::profile::{ByProfile, Profile};
use crate::rules::checkout;
use crate::rules::fields::{self, wrong_with_name};

/// Reads a `SKILL.md`. Without a name or a description it is not a skill.
pub(crate) fn read(
    source: &MarkdownFile<'_>,
    directory: &str,
    out: &mut Vec<Diagnostic>,
) -> Option<Draft> {
    let document = source.document;
    let fields = document.fields();
    if !document.has_frontmatter() {
        if let Some(target) = checkout::link_target(source.root, &source.entry.path, source.bytes) {
            out.push(checkout::skill_as_text(source.shown, target));
            return None;
        }
        if checkout::is_pointer(source.bytes) {
            out.push(checkout::skill_as_pointer(source.shown));
            return None;
        }
        let name = folder_name(source, directory);
        let help =
            format!("begin the file with the lines `---`, `name: {name}`, `description: …`, `---`");
        out.push(document.without_frontmatter(source.bytes, "skill", help));
        return None;
    }
    let name = required(source, &fields, keys::NAME, out);
    let description = required(source, &fields, keys::DESCRIPTION, out);
    let (name, description) = (one_line(&name?), description?);
    let name_span = fields.value_span(keys::NAME);
    if matches!(
        fields.get(keys::NAME).map(|it| &it.kind),
        Some(NodeKind::Scalar { .. })
    ) {
        compare_names(source, directory, &name, name_span, out);
    }
    if source.check {
        out.extend(linked_file(source, directory));
        fields::check(source, &fields, &folder_name(source, directory), out);
    }
    let declared = assets::declarations(source.document, out);
    let path = if directory.is_empty() {
        path_of_name(&name)
    } else {
        directory.to_owned()
    };
    let entry = SkillEntry {
        path,
        name,
        description,
        dialect: Dialect::Folder,
        keywords: fields.list(keys::KEYWORDS, out).unwrap_or_default(),
        ..common(source, &fields, out)
    };
    let content = FileOrigin::Directory(directory.to_owned(), declared);
    let draft = Draft::new(entry, source.shown.to_owned(), name_span, content);
    Some(draft.with_contract(source.document, out))
}

/// Reports a `SKILL.md` that is a link itself, not in a folder that is one.
fn linked_file(source: &MarkdownFile<'_>, directory: &str) -> Option<Diagnostic> {
    let folder = source
        .root
        .find(directory)
        .and_then(|at| source.root.get(at));
    let folder = folder.map_or(&source.root.real, |it| &it.real);
    let entry = source.entry;
    let is_link = entry.by_link && entry.real != folder.join(file_name(&entry.path));
    is_link.then(|| {
        let message = "this file is a link, and Codex does not follow links to files";
        Diagnostic::new(Code::LinkedSkillFile, source.shown, message)
            .help("link the whole folder instead, or put a copy here")
    })
}

/// A text that must not be missing or blank.
fn required(
    source: &MarkdownFile<'_>,
    fields: &Fields<'_>,
    key: &str,
    out: &mut Vec<Diagnostic>,
) -> Option<String> {
    let before = out.len();
    let text = text(fields, key, out);
    if text.is_none() {
        add_missing(missing(source, fields, key), out);
        return None;
    }
    // Served with its source text here, but hosts drop the skill or fail on it.
    let not_text = |it: &&mut Diagnostic| it.code == Code::NotText;
    for diagnostic in out[before..].iter_mut().filter(not_text) {
        match fields.get(key).map(|it| &it.kind) {
            Some(NodeKind::Scalar { text, .. }) if is_no_string(text) => {
                diagnostic.elsewhere = Cow::Borrowed(&[(Profile::OpenCode, Severity::Error)]);
            }
            Some(NodeKind::Scalar { .. }) => {}
            _ => diagnostic.severity = Severity::Error,
        }
    }
    text
}

/// Whether js-yaml reads an unquoted word as something else than a text. It knows no `yes` and `no`.
fn is_no_string(word: &str) -> bool {
    let is_boolean = || matches!(&*word.to_lowercase(), "true" | "false");
    misread_as(word).is_some_and(|it| it != "a boolean" || is_boolean())
}

/// The name without outer spaces, on one line.
fn one_line(name: &str) -> String {
    match name.trim() {
        name if name.chars().any(char::is_control) => name
            .split(|it: char| it.is_control() || it == ' ')
            .filter(|it| !it.is_empty())
            .collect::<Vec<_>>()
            .join(" "),
        name => name.to_owned(),
    }
}

/// The path of a root that is itself a skill: its name in lower case, with `-` for
/// everything but letters, digits and `_`. The directory's name would not do, since
/// it differs from clone to clone.
fn path_of_name(name: &str) -> String {
    let mut path = String::new();
    for letter in name.to_lowercase().chars() {
        let in_word = path.ends_with(|it: char| it.is_alphanumeric() || it == '_');
        if letter.is_alphanumeric() || letter == '_' || (letter == '.' && in_word) {
            path.push(letter);
        } else if in_word {
            path.push('-');
        }
    }
    let path = path.trim_end_matches(['-', '.']);
    if path.is_empty() {
        "skill".to_owned()
    } else {
        path.to_owned()
    }
}

/// The name of the skill's directory; for a root, its name on this machine.
fn folder_name(source: &MarkdownFile<'_>, directory: &str) -> String {
    if !directory.is_empty() {
        return file_name(directory).to_owned();
    }
    let real = source.entry.real.parent().and_then(|it| it.file_name());
    real.map_or_else(
        || "my-skill".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// For whom letters in full and in half width differ.
const FORMS: &ByProfile = &[(Profile::VsCode, Severity::Error)];

/// Compares name and folder as the reference validator does, in NFKC: a composed and a decomposed `é`
/// are equal, and so are letters in full and in half width.
fn compare_names(
    source: &MarkdownFile<'_>,
    directory: &str,
    name: &str,
    span: Option<Span>,
    out: &mut Vec<Diagnostic>,
) {
    let folder = folder_name(source, directory);
    if name.nfc().eq(folder.nfc()) {
        return;
    }
    if name.nfkc().eq(folder.nfkc()) {
        let message = "the name and the folder are written with different forms of letters";
        let diagnostic = Diagnostic::new(Code::NameMismatch, source.shown, message).at(span);
        let diagnostic = diagnostic.severity(Severity::Info).elsewhere(FORMS);
        let help = format!("write `name: {}`", folder.nfkc());
        out.push(diagnostic.help(help));
        return;
    }
    let message = format!("the name is `{name}`, but the folder is `{folder}`");
    let diagnostic = Diagnostic::new(Code::NameMismatch, source.shown, message).at(span);
    let is_lawful = wrong_with_name(&folder).is_none();
    let diagnostic = diagnostic.help(if is_lawful || wrong_with_name(name).is_some() {
        format!("write `name: {folder}` or rename the folder; some hosts require equal names")
    } else {
        format!("call the folder `{name}`; some hosts require equal names")
    });
    // The name of a root's directory depends on who cloned it.
    out.push(match span {
        _ if directory.is_empty() => diagnostic.severity(Severity::Info),
        // A folder without a lawful name is no better than the name.
        Some(span) if is_lawful => {
            let edit = (span, plain_or_quoted(&folder));
            diagnostic.fixed_by(Applicability::Unsafe, [edit])
        }
        _ => diagnostic,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_root_is_safe() {
        let cases = [
            ("in", "in"),
            ("Tool Kit", "tool-kit"),
            ("../../etc/passwd", "etc-passwd"),
            ("a/b\\c", "a-b-c"),
            ("日本 語", "日本-語"),
            ("a. b", "a.b"),
            ("...", "skill"),
            ("--", "skill"),
            ("v1.2_x", "v1.2_x"),
        ];
        for (name, path) in cases {
            assert_eq!(path_of_name(name), path, "{name}");
        }
    }

    #[test]
    fn a_name_has_one_line() {
        for (name, expected) in [(" a  b ", "a  b"), ("a\n b\t", "a b"), ("\u{7}x", "x")] {
            assert_eq!(one_line(name), expected);
        }
    }
}
