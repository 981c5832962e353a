//! The rustc-like rendering: one block per diagnostic, drawn by annotate-snippets.
//! It gets single lines, escaped and cut, so that neither their length nor their
//! content can break the layout.

use std::ops::Range;

use annotate_snippets::renderer::{DEFAULT_LINE_NUM_STYLE, Style};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet, Title};

use super::{Location, Report, escape, escape_into};
use crate::diagnostic::{Diagnostic, Severity, Span};

/// Characters of a long line shown before and after the start of the marked range.
const SHOWN_BEFORE: usize = 60;
const SHOWN_AFTER: usize = 80;

pub(super) fn render(report: &Report, color: bool) -> String {
    let renderer = Human { report, color };
    report
        .diagnostics()
        .iter()
        .map(|diagnostic| renderer.diagnostic(diagnostic))
        .collect()
}

struct Human<'a> {
    report: &'a Report,
    color: bool,
}

impl Human<'_> {
    fn diagnostic(&self, it: &Diagnostic) -> String {
        let level = match it.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Info => Level::INFO,
        };
        let title = level
            .primary_title(escape(&it.message))
            .id(it.code.as_str());
        let (file, help) = (&it.file, it.help.as_deref());
        let profiles = it.profile_names();
        let notes = (help, profiles.as_deref());
        let mut text = self.block(title, file, it.span, AnnotationKind::Primary, notes);
        for related in &it.related {
            let title = Level::NOTE.secondary_title(escape(&related.message));
            let file = related.file.as_deref().unwrap_or(file);
            text += &self.block(
                title,
                file,
                related.span,
                AnnotationKind::Context,
                (None, None),
            );
        }
        text.push('\n');
        text
    }

    /// A title, the position, the line there with the range marked, the help, and for whom it is so bad.
    fn block(
        &self,
        title: Title<'_>,
        file: &str,
        span: Option<Span>,
        kind: AnnotationKind,
        (help, profiles): (Option<&str>, Option<&str>),
    ) -> String {
        let mut group = Group::with_title(title);
        let location = self.report.locate(file, span);
        if let (Some(span), Some(at), Some(source)) = (span, location, self.report.source(file)) {
            let (line, marked) = excerpt(source, span, at);
            let snippet = Snippet::source(line).line_start(at.line);
            group = group.element(snippet.annotation(kind.span(marked)));
        }
        if let Some(help) = help {
            group = group.element(Level::HELP.message(escape(help)));
        }
        if let Some(profiles) = profiles {
            group = group.element(Level::NOTE.message(format!("for {profiles}")));
        }
        let renderer = if self.color {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let drawn = renderer.hyperlink(false).render(&[group]);
        let (title, rest) = drawn.split_once('\n').unwrap_or((&drawn, ""));
        let rest = if rest.is_empty() {
            String::new()
        } else {
            format!("{rest}\n")
        };
        format!("{title}\n{}\n{rest}", self.position(file, location))
    }

    /// The line `--> file:line:column`. The renderer would count columns in the
    /// escaped line, so it is drawn here.
    fn position(&self, file: &str, location: Option<Location>) -> String {
        let file = escape(file);
        let style = if self.color {
            DEFAULT_LINE_NUM_STYLE
        } else {
            Style::new()
        };
        let arrow = format!("{}-->{}", style.render(), style.render_reset());
        match location {
            Some(at) => {
                let width = at.line.to_string().len();
                format!("{:width$}{arrow} {file}:{}:{}", "", at.line, at.column)
            }
            None => format!(" {arrow} {file}"),
        }
    }
}

/// The first line of a span, escaped and cut, and the range to mark in it. A
/// span of several lines is marked up to the end of its first line.
fn excerpt(source: &[u8], span: Span, location: Location) -> (String, Range<usize>) {
    let at = span.start.min(source.len());
    let begin = at - (location.byte_column - 1);
    let end = source[at..]
        .iter()
        .position(|&byte| byte == b'\n')
        .map_or(source.len(), |length| at + length);
    let end = if source[at..end].ends_with(b"\r") {
        end - 1
    } else {
        end
    };
    let marked_end = span.end.clamp(at, end);

    let before = String::from_utf8_lossy(&source[begin..at]);
    let mut line = String::new();
    if before.chars().count() > SHOWN_BEFORE {
        line.push('…');
    }
    let skipped = before.chars().count().saturating_sub(SHOWN_BEFORE);
    push_escaped(before.chars().skip(skipped), usize::MAX, &mut line);
    let start = line.len();
    let marked = String::from_utf8_lossy(&source[at..marked_end]);
    let left = push_escaped(marked.chars(), SHOWN_AFTER, &mut line);
    let stop = line.len();
    if left > 0 {
        push_escaped(
            String::from_utf8_lossy(&source[marked_end..end]).chars(),
            left,
            &mut line,
        );
    }
    (line, start..stop)
}

/// Appends at most `room` characters, escaped, and an ellipsis for the rest.
/// Returns the room that is left.
fn push_escaped(
    characters: impl Iterator<Item = char>,
    mut room: usize,
    line: &mut String,
) -> usize {
    for character in characters {
        if room == 0 {
            line.push('…');
            return 0;
        }
        room -= 1;
        if character == '\t' {
            line.push(character);
        } else {
            escape_into(character, line);
        }
    }
    room
}
