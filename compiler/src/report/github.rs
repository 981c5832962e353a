//! Workflow commands of GitHub Actions: one line per diagnostic, which becomes an annotation of the
//! pull request. The runner obeys every line that begins with `::`, so no text may begin one.

use std::fmt::Write;
use std::path::Path;

use super::{Report, escape, uri};
use crate::diagnostic::{Diagnostic, Severity};

pub(super) fn render(report: &Report, directory: &Path) -> String {
    let mut lines = String::new();
    for it in report.diagnostics() {
        command(report, it, directory, &mut lines);
    }
    lines
}

fn command(report: &Report, it: &Diagnostic, directory: &Path, out: &mut String) {
    let name = match it.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let _ = write!(
        out,
        "::{name} file={}",
        property(&uri::path(&it.file, directory))
    );
    if let Some(at) = report.locate(&it.file, it.span) {
        let _ = write!(out, ",line={},endLine={}", at.line, at.end_line);
        // Columns of different lines are refused.
        if at.line == at.end_line {
            let _ = write!(out, ",col={},endColumn={}", at.column, at.end_column);
        }
    }
    let _ = write!(out, ",title={}::{}", it.code, data(&it.message));
    if let Some(profiles) = it.profile_names() {
        let _ = write!(out, " (for {profiles})");
    }
    if let Some(help) = &it.help {
        let _ = write!(out, "%0Ahelp: {}", data(help));
    }
    out.push('\n');
}

/// A command about a run that failed.
pub fn failure(message: &str, help: Option<&str>) -> String {
    let help = help.map(|help| format!("%0Ahelp: {}", data(help)));
    let help = help.unwrap_or_default();
    format!("::error title=skillbundle::{}{help}", data(message))
}

/// A line that is no command: it begins with none, and has none of the older form, which may stand
/// anywhere in a line.
pub fn text(line: &str) -> String {
    let line = escape(line).replace("##[", "# #[");
    if line.trim_start().starts_with("::") {
        format!(". {line}")
    } else {
        line
    }
}

/// The text of a command. Line ends and other control characters are shown, not sent.
fn data(text: &str) -> String {
    escape(text).replace('%', "%25")
}

/// A value of a command, which ends at a comma or colon.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
