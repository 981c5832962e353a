//! One line per diagnostic, for editors and logs.

use std::fmt::Write;

use super::escape;
use crate::diagnostic::Diagnostic;

pub(super) fn render(it: &Diagnostic) -> String {
    let mut line = escape(&it.file);
    if let Some(span) = &it.span {
        let _ = write!(line, ":{}:{}", span.line, span.column);
    }
    let message = escape(&it.message);
    let _ = write!(line, ": {}[{}]: {message}", it.severity, it.code);
    if let Some(help) = &it.help {
        let _ = write!(line, "; {}", escape(help));
    }
    line.push('\n');
    line
}
