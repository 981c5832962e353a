//! A log in SARIF 2.1.0, the format of code scanning (OASIS, "Static Analysis Results Interchange
//! Format"). Columns and character offsets count Unicode code points, byte offsets count from the
//! start of the file; a byte order mark is part of the bytes alone.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};
use skillbundle_format::{hex, sha256};

use super::{Report, Run, escape, uri};
use crate::diagnostic::{Code, Diagnostic, Edit, Fix, Severity, Span};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

/// What relative addresses are relative to, as code scanning calls it.
const ROOT: &str = "%SRCROOT%";

/// The name of the fingerprint, with the version of how it is made.
const FINGERPRINT: &str = "skillFinding/v1";

/// Bytes of text on either side of a place that its fingerprint is made of.
const CONTEXT: usize = 128;

/// Hexadecimal digits of a fingerprint.
const DIGITS: usize = 32;

/// Most results of a log: code scanning refuses one with more.
const MOST_RESULTS: usize = 25_000;

/// The log of a run. Of more findings than it takes, it has the most severe ones, and says so.
pub(super) fn log(report: &Report, run: Run<'_>) -> Value {
    let found = report.most_severe(MOST_RESULTS);
    let left_out = report.diagnostics().len() - found.len();
    let codes: BTreeSet<Code> = found.iter().map(|it| it.code).collect();
    let codes: Vec<Code> = codes.into_iter().collect();
    let mut writer = Writer {
        report,
        directory: run.directory,
        seen: HashMap::new(),
    };
    let results: Vec<Value> = (found.iter())
        .map(|it| writer.result(it, codes.binary_search(&it.code).unwrap_or(0)))
        .collect();
    let mut invocation = json!({ "executionSuccessful": true, "exitCode": run.exit_code });
    if left_out > 0 {
        let text = format!(
            "{left_out} findings are left out, since code scanning takes no more than {MOST_RESULTS}"
        );
        let notification = json!({ "level": "warning", "message": { "text": text } });
        invocation["toolExecutionNotifications"] = json!([notification]);
    }
    if let Some(reason) = run.exit_reason {
        invocation["exitCodeDescription"] = reason.into();
    }
    document(run.version, &codes, &invocation, &results)
}

/// A log in SARIF 2.1.0 of a run that failed with this exit code.
pub fn failure(version: &str, exit_code: u8, message: &str, help: Option<&str>) -> Value {
    let message = match help {
        Some(help) => format!("{message}\nhelp: {help}"),
        None => message.to_owned(),
    };
    let notification = json!({ "level": "error", "message": { "text": message } });
    let invocation = json!({
        "executionSuccessful": false,
        "exitCode": exit_code,
        "toolExecutionNotifications": [notification],
    });
    document(version, &[], &invocation, &[])
}

fn document(version: &str, codes: &[Code], invocation: &Value, results: &[Value]) -> Value {
    let root = json!({ "description": { "text": "The directory that the check ran in." } });
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "skillbundle",
                "semanticVersion": version,
                "rules": codes.iter().map(|code| rule(*code)).collect::<Value>(),
            } },
            "invocations": [invocation],
            "originalUriBaseIds": { ROOT: root },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn rule(code: Code) -> Value {
    let (guide, meaning) = (code.guide(), code.meaning());
    let text = format!("{meaning}\n\n{}\n\nSource: {}", guide.why, guide.source);
    let more = format!("skillbundle explain {code}");
    let markdown = format!("{text}\n\n`{more}` shows examples.");
    let text = format!("{text}\n\n{more} shows examples.");
    json!({
        "id": code.as_str(),
        "shortDescription": { "text": meaning },
        "fullDescription": { "text": format!("{meaning} {}", guide.why) },
        "help": { "text": text, "markdown": markdown },
        "defaultConfiguration": { "level": level(code.severity()) },
    })
}

struct Writer<'a> {
    report: &'a Report,
    directory: &'a Path,
    /// How often each fingerprint occurred.
    seen: HashMap<String, usize>,
}

impl Writer<'_> {
    fn result(&mut self, it: &Diagnostic, rule: usize) -> Value {
        let mut text = it.message.clone();
        if let Some(profiles) = it.profile_names() {
            let _ = write!(text, " (for {profiles})");
        }
        if let Some(help) = &it.help {
            let _ = write!(text, "; {help}");
        }
        let mut result = json!({
            "ruleId": it.code.as_str(),
            "ruleIndex": rule,
            "level": level(it.severity),
            "message": message(&text),
            "locations": [{ "physicalLocation": self.place(&it.file, it.span) }],
            "partialFingerprints": { FINGERPRINT: self.fingerprint(it) },
        });
        if !it.related.is_empty() {
            let related = it.related.iter().enumerate().map(|(id, other)| {
                let file = other.file.as_deref().unwrap_or(&it.file);
                json!({
                    "id": id,
                    "physicalLocation": self.place(file, other.span),
                    "message": message(&other.message),
                })
            });
            result["relatedLocations"] = related.collect();
        }
        if !it.profiles.is_empty() {
            let profiles = it.profiles.iter().map(|it| it.as_str());
            result["properties"] = json!({ "profiles": profiles.collect::<Value>() });
        }
        let fix = it.fix.as_ref();
        if let Some(fix) = fix.and_then(|fix| self.fix(it, fix)) {
            result["fixes"] = json!([fix]);
        }
        result
    }

    fn place(&self, file: &str, span: Option<Span>) -> Value {
        let mut place = json!({ "artifactLocation": self.artifact(file) });
        if let Some(region) = span.and_then(|span| self.region(file, span)) {
            place["region"] = region;
        }
        place
    }

    fn artifact(&self, file: &str) -> Value {
        let uri = uri::uri(file, self.directory);
        if uri.starts_with("file://") {
            json!({ "uri": uri })
        } else {
            json!({ "uri": uri, "uriBaseId": ROOT })
        }
    }

    fn region(&self, file: &str, span: Span) -> Option<Value> {
        let at = self.report.locate(file, Some(span))?;
        Some(json!({
            "startLine": at.line,
            "startColumn": at.column,
            "endLine": at.end_line,
            "endColumn": at.end_column,
            "charOffset": at.character,
            "charLength": at.end_character - at.character,
            "byteOffset": span.start,
            "byteLength": span.end - span.start,
        }))
    }

    fn fix(&self, it: &Diagnostic, fix: &Fix) -> Option<Value> {
        let replacements = fix
            .edits
            .iter()
            .map(|edit| self.replacement(&it.file, edit));
        let replacements: Vec<Value> = replacements.collect::<Option<_>>()?;
        let description = it.help.as_deref().unwrap_or(&it.message);
        Some(json!({
            "description": message(description),
            "artifactChanges": [{
                "artifactLocation": self.artifact(&it.file),
                "replacements": replacements,
            }],
            "properties": { "applicability": fix.applicability.as_str() },
        }))
    }

    fn replacement(&self, file: &str, edit: &Edit) -> Option<Value> {
        let mut region = self.region(file, edit.span)?;
        let is_mark = region["charLength"] == 0 && edit.span.start < edit.span.end;
        if is_mark {
            // A byte order mark has no characters: only bytes can name it.
            let Span { start, end } = edit.span;
            region = json!({ "byteOffset": start, "byteLength": end - start });
        }
        let mut replacement = json!({ "deletedRegion": region });
        if !edit.replacement.is_empty() {
            replacement["insertedContent"] = json!({ "text": edit.replacement });
        }
        Some(replacement)
    }

    /// What stays when the finding moves: its rule and file, the text around it in its line, and how
    /// many equal ones come before it.
    fn fingerprint(&mut self, it: &Diagnostic) -> String {
        let context = it.span.and_then(|span| self.context(&it.file, span));
        let context = context.unwrap_or_else(|| it.message.clone());
        let digest = sha256(
            format!(
                "{}\n{}\n{context}",
                it.code,
                uri::path(&it.file, self.directory)
            )
            .as_bytes(),
        );
        let digest = hex(&digest)[..DIGITS].to_owned();
        let count = self.seen.entry(digest.clone()).or_default();
        *count += 1;
        format!("{digest}:{count}")
    }

    /// The text of the line around a place, without spaces at the edges.
    fn context(&self, file: &str, span: Span) -> Option<String> {
        let source = self.report.source(file)?;
        let start = span.start.min(source.bytes.len());
        let line = source.line_around(start);
        let from = line.start.max(start.saturating_sub(CONTEXT));
        let to = line.end.min(start + CONTEXT);
        let text = source.bytes.get(from..to).unwrap_or_default();
        Some(String::from_utf8_lossy(text).trim().to_owned())
    }
}

/// A message. Brackets before a parenthesis would be a link, and text of a file must not become one.
fn message(text: &str) -> Value {
    let text = escape(text);
    let text = if text.contains("](") {
        text.replace('[', "\\[").replace(']', "\\]")
    } else {
        text
    };
    json!({ "text": text })
}
