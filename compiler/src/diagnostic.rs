//! What the compiler reports: code, position, message, help and fix as plain
//! data. `rules.rs` lists the codes, `report.rs` turns diagnostics into text.
//!
//! The severity tells the author how bad it is and alone decides whether a check
//! fails. Whether the skill is served is a separate question: every pass keeps
//! what is still sound, so a duplicate key is an error *and* the skill is served.

use std::fmt;
use std::ops::Range;

pub use crate::rules::Code;

/// How much a diagnostic matters to the author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Wrong: a check fails. The skill is left out if it is no longer sound.
    Error,
    /// Served, but should be fixed.
    Warning,
    /// Worth knowing; shown on request.
    Info,
}

impl Severity {
    /// The word used in every output: `error`, `warning` or `info`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One problem, or fact worth knowing, in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule that it comes from.
    pub code: Code,
    /// The code's default unless [`Diagnostic::severity`] changed it.
    pub severity: Severity,
    /// The file, as the user would type it.
    pub file: String,
    /// Where in the file; `None` if it is about the whole file.
    pub span: Option<Span>,
    /// What is wrong, in one line without a full stop.
    pub message: String,
    /// What to do about it, or what to type.
    pub help: Option<String>,
    /// Other places that it is about.
    pub related: Vec<Related>,
    /// An edit that fixes it, safe to apply without asking.
    pub fix: Option<Fix>,
}

/// Another place that a diagnostic is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Its file; `None` for the diagnostic's own file.
    pub file: Option<String>,
    /// Where in that file; `None` if it is about the whole file.
    pub span: Option<Span>,
    /// What is there, such as `first given here`.
    pub message: String,
}

/// An edit of the diagnostic's file: replace `span` by `replacement`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What to remove.
    pub span: Span,
    /// What to insert there.
    pub replacement: String,
}

impl Diagnostic {
    /// A diagnostic about a whole file, with the code's default severity.
    pub fn new(code: Code, file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            file: file.into(),
            span: None,
            message: message.into(),
            help: None,
            related: Vec::new(),
            fix: None,
        }
    }

    /// Sets the position.
    #[must_use]
    pub fn at(mut self, span: impl Into<Option<Span>>) -> Self {
        self.span = span.into();
        self
    }

    /// Sets the help text.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds another place in the same file.
    #[must_use]
    pub fn related(mut self, span: Span, message: impl Into<String>) -> Self {
        let message = message.into();
        self.related.push(Related {
            file: None,
            span: Some(span),
            message,
        });
        self
    }

    /// Adds another file, or a place in it.
    #[must_use]
    pub fn related_in(
        mut self,
        file: impl Into<String>,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
    ) -> Self {
        let (file, span, message) = (Some(file.into()), span.into(), message.into());
        self.related.push(Related {
            file,
            span,
            message,
        });
        self
    }

    /// Adds an edit that fixes it.
    #[must_use]
    pub fn fix(mut self, span: Span, replacement: impl Into<String>) -> Self {
        self.fix = Some(Fix {
            span,
            replacement: replacement.into(),
        });
        self
    }

    /// Replaces the code's default severity.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The order of a report: file, position, code.
    pub(crate) fn sort_key(&self) -> impl Ord + '_ {
        let position = self.span.map(|span| (span.start, span.end));
        (&self.file, position, self.code.as_str(), &self.message)
    }
}

/// A range in a file, for people (line, column) and machines (bytes). Lines and
/// columns count from 1; `end` is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte, counted from the start of the file.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Line of `start`.
    pub line: usize,
    /// Column of `start`, in characters.
    pub column: usize,
    /// Column of `start`, in bytes.
    pub byte_column: usize,
    /// Line of `end`.
    pub end_line: usize,
    /// Column of `end`, in characters.
    pub end_column: usize,
    /// Column of `end`, in bytes.
    pub end_byte_column: usize,
}

/// A leading byte order mark has no column, since editors do not show it.
const BOM: &[u8] = b"\xEF\xBB\xBF";

impl Span {
    /// Computes lines and columns of a byte range, which is clamped to the file.
    /// An invalid UTF-8 sequence counts as one character.
    pub fn locate(source: &[u8], range: Range<usize>) -> Self {
        let end = range.end.min(source.len());
        let start = range.start.min(end);
        let (line, line_start) = line_of(source, start);
        let (end_line, end_line_start) = line_of(source, end);
        Self {
            start,
            end,
            line,
            column: characters(&source[line_start..start]) + 1,
            byte_column: start - line_start + 1,
            end_line,
            end_column: characters(&source[end_line_start..end]) + 1,
            end_byte_column: end - end_line_start + 1,
        }
    }

    /// The byte range.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }
}

/// The number of the line that contains `at`, and where its text begins.
#[expect(
    clippy::naive_bytecount,
    reason = "the compiler vectorizes this; a crate is not worth it"
)]
fn line_of(source: &[u8], at: usize) -> (usize, usize) {
    let before = &source[..at];
    let number = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |newline| newline + 1);
    let bom = if start == 0 && before.starts_with(BOM) {
        BOM.len()
    } else {
        0
    };
    (number, start + bom)
}

fn characters(bytes: &[u8]) -> usize {
    bytes
        .utf8_chunks()
        .map(|chunk| chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty()))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_bytes() {
        // source, byte range, (line, column, byte column, end line, end column)
        type Place = (usize, usize, usize, usize, usize);
        let cases: &[(&[u8], Range<usize>, Place)] = &[
            (b"", 0..0, (1, 1, 1, 1, 1)),
            (b"ab\ncd", 3..5, (2, 1, 1, 2, 3)),
            (b"ab\r\ncd", 4..5, (2, 1, 1, 2, 2)),
            ("日本: x".as_bytes(), 6..7, (1, 3, 7, 1, 4)),
            ("\u{feff}---\nq".as_bytes(), 3..6, (1, 1, 1, 1, 4)),
            (b"a\xFF\xFEb", 3..4, (1, 4, 4, 1, 5)),
            (b"ab", 1..99, (1, 2, 2, 1, 3)),
            (b"ab", 7..9, (1, 3, 3, 1, 3)),
        ];
        for (source, range, expected) in cases {
            let span = Span::locate(source, range.clone());
            let found = (
                span.line,
                span.column,
                span.byte_column,
                span.end_line,
                span.end_column,
            );
            assert_eq!(
                found,
                *expected,
                "{range:?} of {:?}",
                String::from_utf8_lossy(source)
            );
        }
    }
}
