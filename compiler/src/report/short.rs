//! One line per diagnostic, for editors and logs.

use std::fmt::Write;

use super::{Report, escape};
use crate::diagnostic::Diagnostic;

pub(super) fn render(report: &Report, it: &Diagnostic) -> String {
    let mut line = escape(&it.file);
    if let Some(at) = report.locate(&it.file, it.span) {
        let _ = write!(line, ":{}:{}", at.line, at.column);
    }
    let message = escape(&it.message);
    let _ = write!(line, ": {}[{}]: {message}", it.severity, it.code);
    if let Some(profiles) = it.profile_names() {
        let _ = write!(line, " (for {profiles})");
    }
    if let Some(help) = &it.help {
        let _ = write!(line, "; {}", escape(help));
    }
    line.push('\n');
    line
}
