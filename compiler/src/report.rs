//! All diagnostics of one run, and how people and programs read them: one file
//! per output format. Text from a file reaches a terminal only escaped.

mod credentials;
mod github;
mod human;
mod json;
mod location;
mod markdown;
mod sarif;
mod short;
mod uri;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::diagnostic::{Diagnostic, Severity, Span};
use crate::profile::Profile;

use credentials::Credentials;
pub use github::{failure as github_failure, text as github_text};
use location::LineIndex;
pub use location::Location;
pub use sarif::failure as sarif_failure;

/// All diagnostics of one run, sorted, with the text of the files they point into.
#[derive(Debug, Clone, Default)]
pub struct Report {
    diagnostics: Vec<Diagnostic>,
    suppressed: Vec<(Diagnostic, Suppression)>,
    /// What is quoted. Credentials in it are masked, so that no form of the report repeats them.
    sources: BTreeMap<String, Arc<SourceText>>,
}

/// The text of a file, indexed when it is first pointed into.
#[derive(Debug)]
struct SourceText {
    bytes: Arc<[u8]>,
    lines: OnceLock<LineIndex>,
}

impl SourceText {
    fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(&self.bytes))
    }

    fn locate(&self, span: Span) -> Location {
        self.lines().locate(&self.bytes, span)
    }

    /// The line that contains an offset, without its line end.
    fn line_around(&self, at: usize) -> Range<usize> {
        self.lines().line_around(&self.bytes, at)
    }
}

/// The run that a log is about.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The version of the program.
    pub version: &'a str,
    /// The working directory: files below it are named relative to it.
    pub directory: &'a Path,
    /// With what it ends.
    pub exit_code: u8,
    /// Why, if that is not 0.
    pub exit_reason: Option<&'a str>,
}

/// Why a finding does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suppression {
    /// A comment allows it, for this reason.
    Comment(Arc<str>),
    /// It is in the baseline.
    Baseline,
    /// Neither its file nor its skill has changed.
    Unchanged,
}

impl Report {
    /// Sorts the diagnostics. `source` is called once for each file that one of
    /// them points into; if it returns `None`, the file is named but not quoted.
    pub(crate) fn new(
        mut diagnostics: Vec<Diagnostic>,
        mut source: impl FnMut(&str) -> Option<Arc<[u8]>>,
    ) -> Self {
        diagnostics.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
        diagnostics.dedup();
        let mut quoted: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
        for diagnostic in &diagnostics {
            let own = diagnostic.span.map(|_| &diagnostic.file);
            let related = diagnostic.related.iter().filter(|it| it.span.is_some());
            let files = related.map(|it| it.file.as_ref().unwrap_or(&diagnostic.file));
            for file in files.chain(own) {
                if !quoted.contains_key(file)
                    && let Some(bytes) = source(file)
                {
                    quoted.insert(file.clone(), bytes);
                }
            }
        }
        let mut credentials = Credentials::default();
        for (file, bytes) in &mut quoted {
            credentials.mask(file, bytes);
        }
        for diagnostic in &mut diagnostics {
            credentials.redact(diagnostic);
        }
        let sources = quoted.into_iter().map(|(file, bytes)| {
            let lines = OnceLock::new();
            (file, Arc::new(SourceText { bytes, lines }))
        });
        Self {
            diagnostics,
            suppressed: Vec::new(),
            sources: sources.collect(),
        }
    }

    /// The diagnostics of both, sorted.
    #[must_use]
    pub fn merged(mut self, other: Self) -> Self {
        self.sources.extend(other.sources);
        self.diagnostics.extend(other.diagnostics);
        self.suppressed.extend(other.suppressed);
        self.diagnostics
            .sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
        self.diagnostics.dedup();
        self
    }

    /// The diagnostics, sorted by file, position and code.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The number of diagnostics of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        let of_severity = |it: &&Diagnostic| it.severity == severity;
        self.diagnostics.iter().filter(of_severity).count()
    }

    /// Whether a check of this input fails.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// The report without diagnostics that matter less than `least`.
    #[must_use]
    pub fn at_least(mut self, least: Severity) -> Self {
        self.diagnostics.retain(|it| it.severity <= least);
        self
    }

    /// The report with other severities; without the diagnostics that get none.
    #[must_use]
    pub(crate) fn judged(
        mut self,
        judge: impl Fn(&Diagnostic) -> Option<(Severity, Vec<Profile>)>,
    ) -> Self {
        let apply = |it: &mut Diagnostic| match judge(it) {
            Some((severity, profiles)) => {
                it.severity = severity;
                it.profiles = profiles;
                true
            }
            None => false,
        };
        self.diagnostics.retain_mut(apply);
        self.suppressed.retain_mut(|(it, _)| apply(it));
        self
    }

    /// Takes out the diagnostics that do not count, if `why` says so.
    pub fn suppress(&mut self, mut why: impl FnMut(&Self, &Diagnostic) -> Option<Suppression>) {
        let all = std::mem::take(&mut self.diagnostics);
        for it in all {
            match why(self, &it) {
                Some(reason) => self.suppressed.push((it, reason)),
                None => self.diagnostics.push(it),
            }
        }
    }

    /// The diagnostics that do not count.
    pub fn suppressed(&self) -> &[(Diagnostic, Suppression)] {
        &self.suppressed
    }

    /// The first line that a diagnostic points to, and what is marked of it.
    pub fn marked<'a>(&'a self, it: &Diagnostic) -> Option<(&'a [u8], &'a [u8])> {
        let (source, span) = (self.source(&it.file)?, it.span?);
        let at = span.start.min(source.bytes.len());
        let line = source.line_around(at);
        let marked = at..span.end.clamp(at, line.end.max(at));
        Some((&source.bytes[line], &source.bytes[marked]))
    }

    /// At most so many diagnostics, the most severe ones, in the order of the report.
    fn most_severe(&self, most: usize) -> Vec<&Diagnostic> {
        let all = &self.diagnostics;
        let mut chosen: Vec<usize> = (0..all.len()).collect();
        chosen.sort_by_key(|index| all[*index].severity);
        chosen.truncate(most);
        chosen.sort_unstable();
        chosen.into_iter().map(|index| &all[index]).collect()
    }

    /// The report in order of severity, then as before.
    #[must_use]
    pub fn errors_first(mut self) -> Self {
        self.diagnostics.sort_by_key(|it| it.severity);
        self
    }

    /// Drops the diagnostics that are not wanted.
    pub fn retain(&mut self, mut wanted: impl FnMut(&Diagnostic) -> bool) {
        self.diagnostics.retain(&mut wanted);
        self.suppressed.retain(|(it, _)| wanted(it));
    }

    /// For people: message, position, the line itself with the spot marked, and
    /// what to do. `color` adds terminal colours.
    pub fn render_human(&self, color: bool) -> String {
        human::render(self, color, None)
    }

    /// The same for a terminal with this number of columns.
    pub fn render_terminal(&self, color: bool, columns: usize) -> String {
        human::render(self, color, Some(columns))
    }

    /// One line each: `file:line:column: severity[code]: message; help`.
    pub fn render_plain(&self) -> String {
        let render = |it| short::render(self, it);
        self.diagnostics.iter().map(render).collect()
    }

    /// One workflow command of GitHub Actions each, which becomes an annotation.
    pub fn render_github(&self, directory: &Path) -> String {
        github::render(self, directory)
    }

    /// For a comment on a pull request: Markdown of GitHub, in which no text of a file is more than
    /// text. Of many findings the first ones. `outcome` is how the check ended, `summary` a line about
    /// everything in words of the program, and `notes` are further lines.
    pub fn render_markdown(&self, outcome: &str, summary: &str, notes: &[String]) -> String {
        let heading = markdown::heading(outcome, summary, notes);
        heading + &markdown::render(self)
    }

    /// For programs: a JSON array with one object per diagnostic.
    pub fn to_json(&self) -> Value {
        let render = |it| json::render(self, it);
        self.diagnostics.iter().map(render).collect()
    }

    /// A log in SARIF 2.1.0.
    pub fn to_sarif(&self, run: Run<'_>) -> Value {
        sarif::log(self, run)
    }

    /// Lines and columns of a span in a file, if a diagnostic points into that file.
    pub fn locate(&self, file: &str, span: Option<Span>) -> Option<Location> {
        Some(self.source(file)?.locate(span?))
    }

    /// The text of a file that a diagnostic points into.
    fn source(&self, file: &str) -> Option<&SourceText> {
        self.sources.get(file).map(AsRef::as_ref)
    }
}

/// Escapes every character that a terminal would obey or hide.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        escape_into(character, &mut escaped);
    }
    escaped
}

fn escape_into(character: char, out: &mut String) {
    if is_safe(character) {
        out.push(character);
    } else {
        out.extend(character.escape_default());
    }
}

/// Whether a terminal shows the character and does nothing else with it. The
/// joiners U+200C and U+200D pass, since words and emoji need them.
fn is_safe(character: char) -> bool {
    !character.is_control()
        && !matches!(character,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;
