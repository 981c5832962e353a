//! A content root's `config.yaml` (spec 3 §11.2) to [`Settings`]. Content may
//! tune how skills are matched and may narrow what is allowed; whatever would
//! widen it has no effect here and is the operator's to set. Where a narrowing
//! cannot be read, the narrower answer counts.

use skillbundle_format::Settings;

use crate::diagnostic::{Code, Diagnostic, Severity, near};
use crate::frontmatter::{self, Document, Fields};

/// What a key may do.
enum Rule {
    /// A number from 0 to 1.
    Fraction(fn(&mut Settings) -> &mut f64),
    /// A number from 0 up, or the default that depends on the skills.
    Positive(fn(&mut Settings) -> &mut Option<f64>),
    /// A whole number, at least 1.
    Count(fn(&mut Settings) -> &mut u32),
    /// A whole number from 1 up to the default.
    Lower(fn(&mut Settings) -> &mut u32),
    /// A number of bytes up to the default.
    LowerBytes(fn(&mut Settings) -> &mut u64),
    /// Can be turned off; on is the default.
    Switch(fn(&mut Settings) -> &mut bool),
    /// Can lose some of the default's members.
    Subset(fn(&mut Settings) -> &mut Vec<String>),
    /// Means nothing in content. Its default, as JSON, may stand there, since
    /// people copy the whole example.
    Operator(&'static str),
}

/// Spec 3 §11.2, key by key, and the keys that tune the rankers beside it.
const KEYS: &[(&str, &str, Rule)] = &[
    (
        "matching",
        "min_score",
        Rule::Fraction(|it| &mut it.min_score),
    ),
    (
        "matching",
        "max_results",
        Rule::Count(|it| &mut it.max_results),
    ),
    (
        "matching",
        "ambiguity_threshold",
        Rule::Fraction(|it| &mut it.ambiguity_threshold),
    ),
    (
        "matching",
        "min_confidence",
        Rule::Positive(|it| &mut it.min_confidence),
    ),
    (
        "matching",
        "min_margin",
        Rule::Fraction(|it| &mut it.min_margin),
    ),
    (
        "refresh",
        "enabled",
        Rule::Switch(|it| &mut it.refresh_enabled),
    ),
    (
        "refresh",
        "interval_minutes",
        Rule::Count(|it| &mut it.refresh_interval_minutes),
    ),
    (
        "scripts",
        "enabled",
        Rule::Switch(|it| &mut it.scripts_enabled),
    ),
    (
        "scripts",
        "timeout_seconds",
        Rule::Lower(|it| &mut it.script_timeout_seconds),
    ),
    (
        "scripts",
        "max_output_bytes",
        Rule::LowerBytes(|it| &mut it.script_max_output_bytes),
    ),
    (
        "scripts",
        "allowed_extensions",
        Rule::Subset(|it| &mut it.script_extensions),
    ),
    (
        "scripts",
        "runners",
        Rule::Operator(r#"{".sh":"bash",".ts":"npx tsx",".js":"node",".py":"python3"}"#),
    ),
    (
        "assets",
        "max_size_bytes",
        Rule::LowerBytes(|it| &mut it.asset_max_bytes),
    ),
    (
        "assets",
        "inline_text_max_bytes",
        Rule::LowerBytes(|it| &mut it.asset_inline_max_bytes),
    ),
    ("analytics", "enabled", Rule::Operator("false")),
    ("analytics", "endpoint", Rule::Operator("\"\"")),
];

/// Reads a `config.yaml`. `file` is its name in diagnostics. Whatever cannot
/// be used leaves the default; a file that cannot be read in full turns
/// scripts off, since that may be what it said.
pub(crate) fn parse(file: &str, source: &[u8]) -> (Settings, Vec<Diagnostic>) {
    let mut settings = Settings::default();
    let (document, mut out) = frontmatter::parse_yaml(file, source);
    if let Some(document) = &document {
        let fields = document.fields();
        unknown(document, fields, &sections(), "", &mut out);
        for section in sections() {
            read_section(document, section, &mut settings, &mut out);
        }
    }
    let unread = |it: &Diagnostic| it.severity == Severity::Error;
    if document.is_none() || out.iter().any(unread) {
        settings.scripts_enabled = false;
        if let Some(finding) = out.iter_mut().find(|it| unread(it)) {
            let help = finding
                .help
                .take()
                .map_or(String::new(), |help| format!("{help}; "));
            finding.help = Some(format!("{help}until then no script of this content runs"));
        }
    }
    (settings, out)
}

fn sections() -> Vec<&'static str> {
    let mut sections: Vec<_> = KEYS.iter().map(|(section, ..)| *section).collect();
    sections.dedup();
    sections
}

fn read_section(
    document: &Document,
    section: &str,
    settings: &mut Settings,
    out: &mut Vec<Diagnostic>,
) {
    let fields = document.fields();
    let Some(node) = fields.get(section).filter(|node| !node.is_null()) else {
        return;
    };
    let Some(fields) = document.fields_of(node) else {
        let message = format!(
            "`{section}` should hold keys, but this is {}",
            node.describe()
        );
        let severity = if section == "scripts" {
            Severity::Error
        } else {
            Severity::Warning
        };
        let finding = document
            .finding(Code::ConfigInvalidValue, message)
            .severity(severity);
        out.push(finding.at(document.span(&node.range)));
        return;
    };
    let rules: Vec<_> = KEYS.iter().filter(|(of, ..)| *of == section).collect();
    let known: Vec<_> = rules.iter().map(|(_, key, _)| *key).collect();
    unknown(document, fields, &known, section, out);
    for (_, key, rule) in rules {
        if fields.get(key).is_some_and(|node| !node.is_null()) {
            let reader = Reader {
                document,
                fields,
                section,
                key,
            };
            reader.apply(rule, settings, out);
        }
    }
}

/// Says which keys nothing reads, and what they were probably meant to be.
fn unknown(
    document: &Document,
    fields: Fields<'_>,
    known: &[&str],
    section: &str,
    out: &mut Vec<Diagnostic>,
) {
    for entry in fields
        .entries()
        .iter()
        .filter(|entry| !known.contains(&entry.key.text.as_str()))
    {
        let key = &entry.key.text;
        let within = if section.is_empty() {
            String::new()
        } else {
            format!(" in `{section}`")
        };
        let message = format!("nothing reads the key `{key}`{within}");
        let place = document.span(&entry.key.range);
        let finding = document.finding(Code::ConfigUnknownKey, message).at(place);
        out.push(match near(key, known.iter().copied()) {
            Some(meant) => finding
                .help(format!("did you mean `{meant}`?"))
                .fix(place, meant),
            None => finding.help(format!("known keys here: {}", known.join(", "))),
        });
    }
}

/// One key and what it says.
struct Reader<'a> {
    document: &'a Document,
    fields: Fields<'a>,
    section: &'a str,
    key: &'a str,
}

impl Reader<'_> {
    fn apply(&self, rule: &Rule, settings: &mut Settings, out: &mut Vec<Diagnostic>) {
        match rule {
            Rule::Fraction(slot) => {
                if let Some(value) = self.fields.number(self.key, out) {
                    if (0.0..=1.0).contains(&value) {
                        *slot(settings) = value;
                    } else {
                        out.push(self.out_of_range("a number from 0 to 1"));
                    }
                }
            }
            Rule::Positive(slot) => {
                if let Some(value) = self.fields.number(self.key, out) {
                    if value.is_finite() && value >= 0.0 {
                        *slot(settings) = Some(value);
                    } else {
                        out.push(self.out_of_range("a number from 0 up"));
                    }
                }
            }
            Rule::Count(slot) => {
                if let Some(value) = self.whole(1, out) {
                    match u32::try_from(value) {
                        Ok(value) => *slot(settings) = value,
                        Err(_) => out.push(self.out_of_range("a smaller number")),
                    }
                }
            }
            Rule::Lower(slot) => {
                if let Some(value) = self.lowered(1, u64::from(*slot(settings)), out) {
                    *slot(settings) = u32::try_from(value).unwrap_or(*slot(settings));
                }
            }
            Rule::LowerBytes(slot) => {
                if let Some(value) = self.lowered(0, *slot(settings), out) {
                    *slot(settings) = value;
                }
            }
            Rule::Switch(slot) => {
                *slot(settings) = self.fields.bool(self.key, out).unwrap_or(false);
            }
            Rule::Subset(slot) => self.subset(slot(settings), out),
            Rule::Operator(default) => self.operator(default, out),
        }
    }

    /// A whole number of at least `least`.
    fn whole(&self, least: u64, out: &mut Vec<Diagnostic>) -> Option<u64> {
        let value = self.fields.number(self.key, out)?;
        // Within this range doubles are exact.
        if value.fract() != 0.0 || !(0.0..=9e15).contains(&value) {
            out.push(self.out_of_range(&format!("a whole number of at least {least}")));
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        let value = value as u64;
        if value < least {
            out.push(self.out_of_range(&format!("a whole number of at least {least}")));
            return None;
        }
        Some(value)
    }

    /// A whole number that lowers a limit.
    fn lowered(&self, least: u64, limit: u64, out: &mut Vec<Diagnostic>) -> Option<u64> {
        let value = self.whole(least, out)?;
        if value > limit {
            out.push(self.needs_operator(&format!("raise `{}` above {limit}", self.name())));
            return None;
        }
        Some(value)
    }

    fn subset(&self, allowed: &mut Vec<String>, out: &mut Vec<Diagnostic>) {
        let Some(wanted) = self.fields.list(self.key, out) else {
            allowed.clear();
            return;
        };
        for extra in wanted.iter().filter(|it| !allowed.contains(it)) {
            out.push(self.needs_operator(&format!("allow scripts that end in `{extra}`")));
        }
        allowed.retain(|it| wanted.contains(it));
    }

    fn operator(&self, default: &str, out: &mut Vec<Diagnostic>) {
        let parse = |json: &str| serde_json::from_str::<serde_json::Value>(json).ok();
        let written = self.fields.get(self.key).map(frontmatter::to_json);
        if written.and_then(|json| parse(&json)) != parse(default) {
            out.push(self.needs_operator(&format!("set `{}`", self.name())));
        }
    }

    fn name(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    fn needs_operator(&self, what: &str) -> Diagnostic {
        self.document
            .finding(Code::ConfigNeedsOperator, format!("content cannot {what}; this has no effect"))
            .at(self.fields.key_span(self.key))
            .help("whoever runs the server can, by an option, the environment or their own configuration")
    }

    fn out_of_range(&self, wanted: &str) -> Diagnostic {
        self.document
            .finding(
                Code::ConfigInvalidValue,
                format!("`{}` should be {wanted}", self.name()),
            )
            .at(self.fields.value_span(self.key))
            .help("the default is kept")
    }
}

#[cfg(test)]
mod tests;
