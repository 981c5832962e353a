//! What the compiler has to say about its input: codes, positions, messages
//! and fixes as plain data. It prints nothing; `render.rs` turns it into text.
//!
//! A severity speaks to the author, and alone decides whether a check fails.
//! Whether a skill is served is another question: every pass hands on what is
//! still sound, so a duplicate key is an error *and* the skill stays served.

mod code;
mod near;
mod position;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

pub use code::Code;
pub(crate) use near::near;
pub use position::Span;

/// How much a finding matters to the author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Wrong: a check fails. The skill is left out where it is not sound any more.
    Error,
    /// Served, but should be mended.
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

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which kind of finding this is.
    pub code: Code,
    /// The code's default unless [`Diagnostic::severity`] changed it.
    pub severity: Severity,
    /// The file as the user would type it.
    pub file: String,
    /// Where in the file; nothing where the file as a whole is meant.
    pub span: Option<Span>,
    /// What was expected and what was found, in one sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Other places that belong to the finding.
    pub related: Vec<Related>,
    /// An edit that mends it, safe to apply without asking.
    pub fix: Option<Fix>,
}

/// Another place that belongs to a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Its file; nothing where it is the finding's own file.
    pub file: Option<String>,
    /// Where in that file; nothing where the file as a whole is meant.
    pub span: Option<Span>,
    /// What is there, such as `first given here`.
    pub message: String,
}

/// An edit of the finding's file: put `replacement` in place of `span`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What to take out.
    pub span: Span,
    /// What to put there.
    pub replacement: String,
}

impl Diagnostic {
    /// A finding about a whole file, in the code's default severity.
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

    /// Says where.
    #[must_use]
    pub fn at(mut self, span: impl Into<Option<Span>>) -> Self {
        self.span = span.into();
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Names another place in the same file.
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

    /// Names another file, or a place in it.
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

    /// Adds an edit that mends it.
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

    /// The finding as one JSON object. Lines and columns count from 1; a
    /// `column` counts characters, a `byte_column` counts bytes.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("code".into(), self.code.as_str().into());
        object.insert("severity".into(), self.severity.as_str().into());
        object.insert("file".into(), self.file.as_str().into());
        insert_span(&mut object, self.span.as_ref());
        object.insert("message".into(), self.message.as_str().into());
        if let Some(help) = &self.help {
            object.insert("help".into(), help.as_str().into());
        }
        if !self.related.is_empty() {
            let related = self.related.iter().map(|it| it.to_json(&self.file));
            object.insert("related".into(), related.collect());
        }
        if let Some(fix) = &self.fix {
            let mut edit = Map::new();
            insert_span(&mut edit, Some(&fix.span));
            edit.insert("replacement".into(), fix.replacement.as_str().into());
            object.insert("fix".into(), edit.into());
        }
        object.into()
    }

    /// File first, then place, then code: the order people read in.
    fn sort_key(&self) -> impl Ord + '_ {
        let place = self.span.map(|span| (span.start, span.end));
        (&self.file, place, self.code.as_str(), &self.message)
    }
}

impl Related {
    fn to_json(&self, own_file: &str) -> Value {
        let file = self.file.as_deref().unwrap_or(own_file);
        let mut object = Map::new();
        object.insert("file".into(), file.into());
        insert_span(&mut object, self.span.as_ref());
        object.insert("message".into(), self.message.as_str().into());
        object.into()
    }
}

fn insert_span(object: &mut Map<String, Value>, span: Option<&Span>) {
    let Some(span) = span else { return };
    for (key, value) in [
        ("line", span.line),
        ("column", span.column),
        ("byte_column", span.byte_column),
        ("end_line", span.end_line),
        ("end_column", span.end_column),
        ("end_byte_column", span.end_byte_column),
        ("start", span.start),
        ("end", span.end),
    ] {
        object.insert(key.into(), json!(value));
    }
}

/// All findings of one run, in reading order, with the text they point into.
#[derive(Debug, Clone, Default)]
pub struct Report {
    diagnostics: Vec<Diagnostic>,
    sources: BTreeMap<String, Arc<[u8]>>,
}

impl Report {
    /// Sorts the findings and asks `source` once for the bytes of each file
    /// that one of them points into. A file it does not know is named only.
    pub fn new(
        mut diagnostics: Vec<Diagnostic>,
        mut source: impl FnMut(&str) -> Option<Arc<[u8]>>,
    ) -> Self {
        diagnostics.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
        diagnostics.dedup();
        let mut sources = BTreeMap::new();
        for diagnostic in &diagnostics {
            let own = diagnostic.span.map(|_| &diagnostic.file);
            let related = diagnostic.related.iter().filter(|it| it.span.is_some());
            let files = related.map(|it| it.file.as_ref().unwrap_or(&diagnostic.file));
            for file in files.chain(own) {
                if !sources.contains_key(file)
                    && let Some(bytes) = source(file)
                {
                    sources.insert(file.clone(), bytes);
                }
            }
        }
        Self {
            diagnostics,
            sources,
        }
    }

    /// The findings, sorted by file, place and code.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// How many findings have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics
            .iter()
            .filter(|it| it.severity == severity)
            .count()
    }

    /// Whether a check of this input fails.
    pub fn has_errors(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|it| it.severity == Severity::Error)
    }

    /// The findings as a JSON array, one object each.
    pub fn to_json(&self) -> Value {
        self.diagnostics.iter().map(Diagnostic::to_json).collect()
    }

    /// Drops the findings that are not wanted.
    pub fn retain(&mut self, wanted: impl FnMut(&Diagnostic) -> bool) {
        self.diagnostics.retain(wanted);
    }

    /// The bytes of a file that a finding points into.
    pub(crate) fn source(&self, file: &str) -> Option<&[u8]> {
        self.sources.get(file).map(AsRef::as_ref)
    }
}
