//! Reads `config.yaml` (spec 3 §11) into the settings of [`SETTINGS`]: that of a content root, and
//! that of the operator, which is in [`read_config`]. Content may tune how skills are matched and
//! may narrow what is allowed; a limit that it raises is carried along, reported, and applies only
//! if the operator trusts content. If a narrowing setting cannot be read, the narrower value counts.

use std::sync::Arc;

use serde_json::Value;
use skillbundle_format::{SETTINGS, Setting, SettingKind, Settings, ValueType};
use skillbundle_search::suggest;

use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::frontmatter::keys::certainty;
use crate::frontmatter::{self, Document, Fields, Node, to_json};
use crate::report::{Location, Report};
use crate::source::{FileId, Tree};

/// Its path in a root.
pub(crate) const CONFIG: &str = "config.yaml";

/// The sections of some settings, in order.
fn sections(is_wanted: impl Fn(&Setting) -> bool) -> Vec<&'static str> {
    let settings = SETTINGS.iter().filter(|it| is_wanted(it));
    let mut sections: Vec<_> = settings.map(|it| it.section).collect();
    sections.dedup();
    sections
}

/// The configuration files of all roots, to be read: for each root its own, then that of the
/// content root around it.
pub(crate) fn files(tree: &Tree) -> Vec<FileId> {
    let roots = tree.roots.iter().enumerate();
    let mut files: Vec<_> = roots
        .filter_map(|(root, it)| {
            let entry = it.find(CONFIG)?;
            Some(FileId { root, entry })
        })
        .collect();
    files.sort_by_key(|id| (tree.roots[id.root].within.unwrap_or(id.root), id.root));
    let mut seen = Vec::new();
    files.retain(|id| {
        let real = &tree.entry(*id).real;
        let is_new = !seen.contains(real);
        seen.push(real.clone());
        is_new
    });
    files
}

/// The settings of the first configuration, or the defaults.
pub(crate) fn settings(tree: &Tree, out: &mut Vec<Diagnostic>) -> Settings {
    let mut first: Option<(FileId, Settings)> = None;
    for id in files(tree) {
        let shown = tree.shown(id);
        let bytes = tree.entry(id).bytes.as_deref();
        if bytes.is_some_and(|bytes| !is_ours(bytes)) {
            let message = "this file is not read: it has no known section";
            let diagnostic = Diagnostic::new(Code::ConfigIgnored, shown, message);
            out.push(diagnostic.severity(Severity::Info));
        } else if let Some((first, _)) = &first {
            let message = "this file is not read: an earlier root has one";
            let diagnostic = Diagnostic::new(Code::ConfigIgnored, shown, message);
            let diagnostic = diagnostic.related_in(tree.shown(*first), None, "this file is read");
            out.push(diagnostic.help("merge this file into the other one"));
        } else {
            first = Some((id, settings_of(&shown, bytes, out)));
        }
    }
    first.map(|(_, settings)| settings).unwrap_or_default()
}

/// An unreadable file might have turned scripts off.
fn settings_of(shown: &str, bytes: Option<&[u8]>, out: &mut Vec<Diagnostic>) -> Settings {
    let Some(bytes) = bytes else {
        return Settings {
            scripts_enabled: false,
            ..Settings::default()
        };
    };
    let (settings, diagnostics) = parse(shown, bytes);
    out.extend(diagnostics);
    settings
}

/// Whether a line begins with a section, even if the file is not valid YAML. A file
/// without any belongs to another program, which is common if a project is a root.
fn is_ours(bytes: &[u8]) -> bool {
    let sections = sections(Setting::is_of_content);
    let text = String::from_utf8_lossy(bytes);
    text.trim_start_matches('\u{feff}').lines().any(|line| {
        let key = line.trim_start_matches(['{', '"', '\'']);
        let section = sections
            .iter()
            .find_map(|section| key.trim_start().strip_prefix(section));
        // An indented key belongs to another one.
        section.is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
            && !key.starts_with(' ')
    })
}

/// Reads a `config.yaml`. `file` is its name in diagnostics. A value that cannot be
/// used leaves the default; a file that cannot be read in full turns scripts off,
/// since that may be what it said.
fn parse(file: &str, source: &[u8]) -> (Settings, Vec<Diagnostic>) {
    let mut settings = Settings::default();
    let (document, mut out) = frontmatter::parse_yaml(file, source);
    if let Some(document) = &document {
        let sections = sections(Setting::is_of_content);
        unknown(document, document.fields(), &sections, "", &mut out);
        for section in sections {
            read_section(document, section, &mut settings, &mut out);
        }
    }
    let is_error = |it: &Diagnostic| it.severity == Severity::Error;
    if document.is_none() || out.iter().any(is_error) {
        settings.scripts_enabled = false;
        if let Some(diagnostic) = out.iter_mut().find(|it| is_error(it)) {
            let help = diagnostic.help.take();
            let help = help.map_or_else(String::new, |help| format!("{help}; "));
            diagnostic.help = Some(format!("{help}until then, scripts are off"));
        }
    }
    (settings, out)
}

fn read_section(
    document: &Document,
    section: &str,
    settings: &mut Settings,
    out: &mut Vec<Diagnostic>,
) {
    let Some(fields) = section_fields(document, section, out) else {
        return;
    };
    let of_section = SETTINGS.iter().filter(|it| it.section == section);
    for setting in of_section {
        if fields.get(setting.key).is_some_and(|node| !node.is_null()) {
            let value = SettingValue {
                document,
                fields,
                setting,
            };
            value.apply(settings, out);
        }
    }
}

/// The fields of a section, if it has any. Reports unknown keys.
fn section_fields<'a>(
    document: &'a Document,
    section: &str,
    out: &mut Vec<Diagnostic>,
) -> Option<Fields<'a>> {
    let node = document.fields().get(section);
    let node = node.filter(|node| !node.is_null())?;
    let Some(fields) = document.fields_of(node) else {
        let found = node.describe();
        let message = format!("`{section}` should be a set of keys, but is {found}");
        let severity = match section {
            "scripts" => Severity::Error,
            _ => Severity::Warning,
        };
        let diagnostic = document.diagnostic(Code::ConfigInvalidValue, message);
        out.push(diagnostic.severity(severity).at(Span::from(&node.range)));
        return None;
    };
    let of_section = SETTINGS.iter().filter(|it| it.section == section);
    let known: Vec<_> = of_section.map(|it| it.key).collect();
    unknown(document, fields, &known, section, out);
    Some(fields)
}

/// Reports unknown keys, with the key that was probably meant.
fn unknown(
    document: &Document,
    fields: Fields<'_>,
    known: &[&str],
    section: &str,
    out: &mut Vec<Diagnostic>,
) {
    for entry in fields.entries() {
        let key = entry.key.text.as_str();
        if known.contains(&key) {
            continue;
        }
        let within = match section {
            "" => String::new(),
            section => format!(" in `{section}`"),
        };
        let message = format!("unknown key `{key}`{within}");
        let span = Span::from(&entry.key.range);
        let diagnostic = document
            .diagnostic(Code::ConfigUnknownKey, message)
            .at(span);
        out.push(match suggest(key, known.iter().copied()) {
            Some(meant) => diagnostic
                .help(format!("did you mean `{meant}`?"))
                .fixed_by(
                    certainty(key, meant, known.iter().copied()),
                    [(span, meant.to_owned())],
                ),
            None => diagnostic.help(format!("known keys here: {}", known.join(", "))),
        });
    }
}

/// The value of one setting in a file.
struct SettingValue<'a> {
    document: &'a Document,
    fields: Fields<'a>,
    setting: &'a Setting,
}

impl SettingValue<'_> {
    fn apply(&self, settings: &mut Settings, out: &mut Vec<Diagnostic>) {
        let key = self.setting.key;
        match &self.setting.kind {
            SettingKind::Fraction(slot) => {
                let value = self.fields.number(key, out);
                let in_range = |value: &f64| (0.0..=1.0).contains(value);
                self.store(slot(settings), value, in_range, "a number from 0 to 1", out);
            }
            SettingKind::Positive(slot) => {
                let value = self.fields.number(key, out).map(Some);
                let in_range = |it: &Option<f64>| it.is_some_and(|it| it.is_finite() && it >= 0.0);
                self.store(slot(settings), value, in_range, "a number from 0 up", out);
            }
            SettingKind::Count(slot) => {
                if let Some(value) = self.whole(1, out) {
                    match u32::try_from(value) {
                        Ok(value) => *slot(settings) = value,
                        Err(_) => out.push(self.invalid("a smaller number")),
                    }
                }
            }
            SettingKind::Lower(slot) => {
                if let Some(value) = self.lowered(1, u64::from(*slot(settings)), out) {
                    *slot(settings) = u32::try_from(value).unwrap_or(u32::MAX);
                }
            }
            SettingKind::LowerBytes(slot) => {
                if let Some(value) = self.lowered(0, *slot(settings), out) {
                    *slot(settings) = value;
                }
            }
            SettingKind::Switch(slot) => {
                *slot(settings) = self.fields.bool(key, out).unwrap_or(false);
            }
            SettingKind::Subset(slot) => self.subset(slot(settings), out),
            SettingKind::Names(slot) => {
                *slot(settings) = self.fields.list(key, out).unwrap_or_default();
            }
            SettingKind::Operator(..) | SettingKind::Program(..) => self.operator(out),
        }
    }

    fn store<T>(
        &self,
        slot: &mut T,
        value: Option<T>,
        in_range: impl FnOnce(&T) -> bool,
        wanted: &str,
        out: &mut Vec<Diagnostic>,
    ) {
        match value {
            Some(value) if in_range(&value) => *slot = value,
            Some(_) => out.push(self.invalid(wanted)),
            None => {}
        }
    }

    /// A whole number of at least `least`.
    fn whole(&self, least: u64, out: &mut Vec<Diagnostic>) -> Option<u64> {
        let value = self.fields.number(self.setting.key, out)?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "`least` is 0 or 1; doubles are exact up to the upper bound"
        )]
        let in_range = value.fract() == 0.0 && (least as f64..=9e15).contains(&value);
        if !in_range {
            out.push(self.invalid(&format!("a whole number of at least {least}")));
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        Some(value as u64)
    }

    /// A whole number that lowers a limit.
    fn lowered(&self, least: u64, limit: u64, out: &mut Vec<Diagnostic>) -> Option<u64> {
        let value = self.whole(least, out)?;
        if value > limit {
            out.push(
                self.needs_operator(&format!("raise `{}` above {limit}", self.setting.name())),
            );
        }
        Some(value)
    }

    fn subset(&self, allowed: &mut Vec<String>, out: &mut Vec<Diagnostic>) {
        let Some(wanted) = self.fields.list(self.setting.key, out) else {
            allowed.clear();
            return;
        };
        for extra in wanted.iter().filter(|it| !allowed.contains(it)) {
            out.push(self.needs_operator(&format!("allow scripts ending in `{extra}`")));
        }
        *allowed = wanted;
    }

    fn operator(&self, out: &mut Vec<Diagnostic>) {
        let written = self.fields.get(self.setting.key).map(json_of);
        if written != Some(self.setting.default_value()) {
            out.push(self.needs_operator(&format!("set `{}`", self.setting.name())));
        }
    }

    fn needs_operator(&self, what: &str) -> Diagnostic {
        let message = format!("content cannot {what}; this has no effect");
        self.document
            .diagnostic(Code::ConfigNeedsOperator, message)
            .at(self.fields.key_span(self.setting.key))
            .help("remove it; the operator can set it (`skillbundle config show`)")
    }

    fn invalid(&self, wanted: &str) -> Diagnostic {
        let message = format!("`{}` should be {wanted}", self.setting.name());
        self.document
            .diagnostic(Code::ConfigInvalidValue, message)
            .at(self.fields.value_span(self.setting.key))
            .help("fix the value; until then, the default is used")
    }
}

/// A value that the operator's configuration file sets.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigValue {
    /// The setting.
    pub setting: &'static Setting,
    /// Its value, of the type that the table gives it.
    pub value: Value,
    /// The line that sets it, from 1.
    pub line: usize,
}

/// Reads the operator's configuration file, in which every setting of [`SETTINGS`] may occur. An
/// unknown key, a wrong type and everything else that is reported is an error. `file` is its name
/// in the report.
pub fn read_config(file: &str, source: &[u8]) -> (Vec<ConfigValue>, Report) {
    let mut values = Vec::new();
    let (document, mut out) = frontmatter::parse_yaml(file, source);
    if let Some(document) = &document {
        let sections = sections(|_| true);
        unknown(document, document.fields(), &sections, "", &mut out);
        for section in sections {
            values.extend(operator_section(document, section, source, &mut out));
        }
    }
    for diagnostic in &mut out {
        if diagnostic.severity != Severity::Info {
            diagnostic.severity = Severity::Error;
        }
    }
    let report = Report::new(out, |_| Some(Arc::from(source)));
    (values, report)
}

fn operator_section(
    document: &Document,
    section: &str,
    source: &[u8],
    out: &mut Vec<Diagnostic>,
) -> Vec<ConfigValue> {
    let mut values = Vec::new();
    let Some(fields) = section_fields(document, section, out) else {
        return values;
    };
    for setting in SETTINGS.iter().filter(|it| it.section == section) {
        let Some(node) = fields.get(setting.key).filter(|node| !node.is_null()) else {
            continue;
        };
        let value = json_of(node);
        let (name, value_type) = (setting.name(), setting.value_type());
        let invalid = |message: String| {
            let span = Span::from(&node.range);
            document
                .diagnostic(Code::ConfigInvalidValue, message)
                .at(span)
        };
        if value_type == ValueType::Secret {
            let message = format!("`{name}` is a secret, which a file must not hold");
            out.push(invalid(message).help(format!("set the variable {}", setting.variable)));
        } else if value_type.accepts(&value) {
            let line = Location::of(source, Span::from(&node.range)).line;
            values.push(ConfigValue {
                setting,
                value,
                line,
            });
        } else {
            let wanted = value_type.describe();
            let found = match &value {
                Value::Array(_) | Value::Object(_) => node.describe().to_owned(),
                value => format!("`{value}`"),
            };
            out.push(invalid(format!(
                "`{name}` should be {wanted}, but is {found}"
            )));
        }
    }
    values
}

/// A value as JSON.
fn json_of(node: &Node) -> Value {
    serde_json::from_str(&to_json(node)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
