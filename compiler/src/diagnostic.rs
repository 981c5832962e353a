//! What the compiler reports: code, position, message, help and fix as plain
//! data. `rules.rs` lists the codes, `report.rs` turns diagnostics into text.
//!
//! The severity tells the author how bad it is and alone decides whether a check
//! fails. Whether the skill is served is a separate question: every pass keeps
//! what is still sound, so a duplicate key is an error *and* the skill is served.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use crate::profile::{ByProfile, Profile};
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
    /// The profiles in which it is another one.
    pub elsewhere: Cow<'static, ByProfile>,
    /// The profiles that decided the severity; empty if it is the same in all.
    pub profiles: Vec<Profile>,
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
    /// What fixes it.
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

/// Edits of the diagnostic's file that solve the problem together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// The edits, in the order of their places, which do not overlap.
    pub edits: Vec<Edit>,
    /// Whether they may be applied without asking.
    pub applicability: Applicability,
}

/// An edit of a file: replace `span` by `replacement`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What to remove.
    pub span: Span,
    /// What to insert there.
    pub replacement: String,
}

/// How sure a fix is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Applicability {
    /// Nothing but what was reported changes its meaning.
    Safe,
    /// It is probably what was meant; somebody should look at it.
    Unsafe,
}

impl Applicability {
    /// The word used in every output: `safe` or `unsafe`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Unsafe => "unsafe",
        }
    }
}

impl Diagnostic {
    /// A diagnostic about a whole file, with the code's default severity.
    pub fn new(code: Code, file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            elsewhere: Cow::Borrowed(code.elsewhere()),
            profiles: Vec::new(),
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

    /// Adds an edit that fixes it and may be applied without asking.
    #[must_use]
    pub fn fix(self, span: Span, replacement: impl Into<String>) -> Self {
        self.fixed_by(Applicability::Safe, [(span, replacement.into())])
    }

    /// Adds edits that fix it.
    #[must_use]
    pub fn fixed_by(
        mut self,
        applicability: Applicability,
        edits: impl IntoIterator<Item = (Span, String)>,
    ) -> Self {
        let edits = edits.into_iter();
        let edits = edits.map(|(span, replacement)| Edit { span, replacement });
        self.fix = Some(Fix {
            edits: edits.collect(),
            applicability,
        });
        self
    }

    /// Replaces the code's default severity, in every profile.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self.elsewhere = Cow::Borrowed(&[]);
        self
    }

    /// Replaces the severities of the code that differ from the default.
    #[must_use]
    pub fn elsewhere(mut self, elsewhere: impl Into<Cow<'static, ByProfile>>) -> Self {
        self.elsewhere = elsewhere.into();
        self
    }

    /// The names of the profiles that decided the severity, for people.
    pub fn profile_names(&self) -> Option<String> {
        let names: Vec<&str> = self.profiles.iter().map(|it| it.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// The order of a report: file, position, code.
    pub(crate) fn sort_key(&self) -> impl Ord + '_ {
        (&self.file, self.span, self.code.as_str(), &self.message)
    }
}

/// A byte range in a file. A report computes lines and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte, counted from the start of the file.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The byte range.
    pub const fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

impl From<&Range<usize>> for Span {
    fn from(range: &Range<usize>) -> Self {
        Self {
            start: range.start,
            end: range.end,
        }
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self::from(&range)
    }
}
