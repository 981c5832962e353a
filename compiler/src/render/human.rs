//! The rustc-like rendering: one block per finding, drawn by annotate-snippets.
//! It is given single lines that are escaped already, so that neither their
//! length nor what is in them can disturb the page.

use std::ops::Range;

use annotate_snippets::renderer::{DEFAULT_LINE_NUM_STYLE, Style};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet, Title};

use super::{escape, escape_into};
use crate::diagnostic::{Diagnostic, Report, Severity, Span};

/// Characters shown of a long line, before and behind the marked spot.
const SHOWN_BEFORE: usize = 60;
const SHOWN_BEHIND: usize = 80;

pub(super) fn render(report: &Report, color: bool) -> String {
    let page = Page { report, color };
    report
        .diagnostics()
        .iter()
        .map(|finding| page.finding(finding))
        .collect()
}

struct Page<'a> {
    report: &'a Report,
    color: bool,
}

impl Page<'_> {
    fn finding(&self, finding: &Diagnostic) -> String {
        let level = match finding.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Info => Level::INFO,
        };
        let title = level
            .primary_title(escape(&finding.message))
            .id(finding.code.as_str());
        let (file, help) = (&finding.file, finding.help.as_deref());
        let mut text = self.block(
            title,
            file,
            finding.span.as_ref(),
            AnnotationKind::Primary,
            help,
        );
        for related in &finding.related {
            let title = Level::NOTE.secondary_title(escape(&related.message));
            let file = related.file.as_deref().unwrap_or(file);
            text += &self.block(
                title,
                file,
                related.span.as_ref(),
                AnnotationKind::Context,
                None,
            );
        }
        text.push('\n');
        text
    }

    /// A title, the place it is about, the line there, and what to do.
    fn block(
        &self,
        title: Title<'_>,
        file: &str,
        span: Option<&Span>,
        kind: AnnotationKind,
        help: Option<&str>,
    ) -> String {
        let mut group = Group::with_title(title);
        if let (Some(span), Some(source)) = (span, self.report.source(file)) {
            let (line, marked) = excerpt(source, span);
            let snippet = Snippet::source(line).line_start(span.line);
            group = group.element(snippet.annotation(kind.span(marked)));
        }
        if let Some(help) = help {
            group = group.element(Level::HELP.message(escape(help)));
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
        format!("{title}\n{}\n{rest}", self.place(file, span))
    }

    /// The line that names the place. The renderer would count its columns in
    /// the escaped line, so this one is drawn here.
    fn place(&self, file: &str, span: Option<&Span>) -> String {
        let file = escape(file);
        let style = if self.color {
            DEFAULT_LINE_NUM_STYLE
        } else {
            Style::new()
        };
        let arrow = format!("{}-->{}", style.render(), style.render_reset());
        match span {
            Some(span) => {
                let width = span.line.to_string().len();
                format!("{:width$}{arrow} {file}:{}:{}", "", span.line, span.column)
            }
            None => format!(" {arrow} {file}"),
        }
    }
}

/// The line that a span begins in, escaped and cut to what a page can show,
/// and the marked stretch in it. A span of several lines is marked to the end
/// of its first.
fn excerpt(source: &[u8], span: &Span) -> (String, Range<usize>) {
    let at = span.start.min(source.len());
    let begin = source[..at]
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |newline| newline + 1);
    let begin = begin + (at - begin).saturating_sub(span.byte_column - 1);
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
    let left = push_escaped(marked.chars(), SHOWN_BEHIND, &mut line);
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

/// Appends at most `room` characters and an ellipsis for the rest; answers
/// with the room that is left.
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
