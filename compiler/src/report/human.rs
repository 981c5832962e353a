//! The rustc-like rendering: one block per diagnostic, drawn by annotate-snippets.
//! It gets single lines, escaped and cut, so that neither their length nor their
//! content can break the layout.

use std::ops::Range;

use annotate_snippets::renderer::{DEFAULT_LINE_NUM_STYLE, Style};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet, Title};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Location, Report, SourceText, escape, escape_into, is_safe};
use crate::diagnostic::{Diagnostic, Severity, Span};

/// Characters of a long line shown before and after the start of the marked range.
const SHOWN_BEFORE: usize = 60;
const SHOWN_AFTER: usize = 80;

/// A terminal is never taken to be narrower: the layout needs some columns.
const LEAST_COLUMNS: usize = 40;

/// Without `columns`, lines of messages are not broken.
pub(super) fn render(report: &Report, color: bool, columns: Option<usize>) -> String {
    let columns = columns.map(|it| it.max(LEAST_COLUMNS));
    let renderer = Human {
        report,
        color,
        columns,
    };
    report
        .diagnostics()
        .iter()
        .map(|diagnostic| renderer.diagnostic(diagnostic))
        .collect()
}

struct Human<'a> {
    report: &'a Report,
    color: bool,
    columns: Option<usize>,
}

impl Human<'_> {
    fn diagnostic(&self, it: &Diagnostic) -> String {
        let level = match it.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Info => Level::INFO,
        };
        let label = it.severity.as_str().len() + it.code.as_str().len() + "[]: ".len();
        let (title, more) = self.title(&it.message, label);
        let title = level.primary_title(title).id(it.code.as_str());
        let (file, help) = (&it.file, it.help.as_deref());
        let profiles = it.profile_names();
        let notes = (help, profiles.as_deref());
        let kind = AnnotationKind::Primary;
        let mut text = self.block(title, &more, (file, it.span), kind, notes);
        for related in &it.related {
            let (title, more) = self.title(&related.message, "note: ".len());
            let title = Level::NOTE.secondary_title(title);
            let place = (related.file.as_deref().unwrap_or(file), related.span);
            text += &self.block(title, &more, place, AnnotationKind::Context, (None, None));
        }
        text.push('\n');
        text
    }

    /// A message in the lines that fit after a label of this width: the first one, and the rest with
    /// line ends.
    fn title(&self, message: &str, label: usize) -> (String, String) {
        let message = escape(message);
        let Some(columns) = self.columns else {
            return (message, String::new());
        };
        let mut lines = wrap(&message, columns.saturating_sub(label), columns - 2).into_iter();
        let first = lines.next().unwrap_or_default();
        let mut more = String::new();
        for line in lines {
            more += "  ";
            more += &line;
            more.push('\n');
        }
        (first, more)
    }

    /// A title with its further lines, the position, the line there with the range marked, the help, and
    /// for whom it is so bad.
    fn block(
        &self,
        title: Title<'_>,
        more: &str,
        (file, span): (&str, Option<Span>),
        kind: AnnotationKind,
        (help, profiles): (Option<&str>, Option<&str>),
    ) -> String {
        let mut group = Group::with_title(title);
        let source = self.report.source(file);
        let located = source
            .zip(span)
            .map(|(text, span)| (text, span, text.locate(span)));
        let location = located.map(|it| it.2);
        if let Some((text, span, at)) = located {
            let (line, marked) = excerpt(text, span, at, self.shown(at.line));
            let snippet = Snippet::source(line).line_start(at.line);
            group = group.element(snippet.annotation(kind.span(marked)));
        }
        // Below a line number, the note begins after `= help: `.
        let indent = location.map_or(0, |it| it.line.to_string().len()) + " = help: ".len();
        if let Some(help) = help {
            group = group.element(Level::HELP.message(self.note(help, indent)));
        }
        if let Some(profiles) = profiles {
            let profiles = self.note(&format!("for {profiles}"), indent);
            group = group.element(Level::NOTE.message(profiles));
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
        let position = self.position(file, location);
        format!("{title}\n{more}{position}\n{rest}")
    }

    /// A help or note in lines that fit after this indentation.
    fn note(&self, text: &str, indent: usize) -> String {
        let text = escape(text);
        match self.columns {
            None => text,
            Some(columns) => {
                let room = columns.saturating_sub(indent);
                wrap(&text, room, room).join("\n")
            }
        }
    }

    /// How many columns of a line are shown before and after the start of the marked range.
    fn shown(&self, line: usize) -> (usize, usize) {
        let Some(columns) = self.columns else {
            return (SHOWN_BEFORE, SHOWN_AFTER);
        };
        // The number of the line and ` | `, and an ellipsis on either side.
        let room = columns.saturating_sub(line.to_string().len() + " | ".len() + 2);
        let before = (room * SHOWN_BEFORE / (SHOWN_BEFORE + SHOWN_AFTER)).min(SHOWN_BEFORE);
        (before, (room - before).min(SHOWN_AFTER))
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

/// The most bytes of a character.
const CHARACTER: usize = 4;

/// The first line of a span, escaped and cut to these columns before and after its start, and the range
/// to mark in it. A span of several lines is marked up to the end of its first line. A line is not read
/// further than it is shown, since a file may be one line with many findings.
fn excerpt(
    source: &SourceText,
    span: Span,
    location: Location,
    (before, after): (usize, usize),
) -> (String, Range<usize>) {
    let bytes = &source.bytes;
    let at = span.start.min(bytes.len());
    let begin = at - (location.byte_column - 1);
    let end = source.line_around(at).end.max(at);
    let marked_end = span.end.clamp(at, end);

    let window = begin.max(at.saturating_sub((before + 1) * CHARACTER));
    let text = String::from_utf8_lossy(&bytes[window..at]);
    let mut room = before;
    let fits = |it: &char| match room.checked_sub(width(*it)) {
        Some(left) => {
            room = left;
            true
        }
        None => false,
    };
    let shown: Vec<char> = text.chars().rev().take_while(fits).collect();
    let mut line = String::new();
    if window > begin || shown.len() < text.chars().count() {
        line.push('…');
    }
    push_escaped(shown.into_iter().rev(), usize::MAX, &mut line);
    let start = line.len();
    let cut = |from: usize, to: usize| &bytes[from..to.min(from + (after + 1) * CHARACTER)];
    let marked = String::from_utf8_lossy(cut(at, marked_end));
    let left = push_escaped(marked.chars(), after, &mut line);
    let stop = line.len();
    if left > 0 {
        let rest = String::from_utf8_lossy(cut(marked_end, end));
        push_escaped(rest.chars(), left, &mut line);
    }
    (line, start..stop)
}

/// Appends characters for at most `room` columns, escaped, and an ellipsis for the rest.
/// Returns the room that is left.
fn push_escaped(
    characters: impl Iterator<Item = char>,
    mut room: usize,
    line: &mut String,
) -> usize {
    for character in characters {
        let Some(left) = room.checked_sub(width(character)) else {
            line.push('…');
            return 0;
        };
        room = left;
        if character == '\t' {
            line.push(character);
        } else {
            escape_into(character, line);
        }
    }
    room
}

/// Columns of a character as it is drawn.
fn width(character: char) -> usize {
    match character {
        // The renderer draws four spaces.
        '\t' => 4,
        character if !is_safe(character) => character.escape_default().count(),
        character => character.width().unwrap_or(0),
    }
}

/// Breaks a text at spaces into lines of at most these columns. A longer word gets a line of its own.
fn wrap(text: &str, first: usize, others: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut room = first;
    for word in text.split(' ') {
        let columns = word.width();
        let line = lines.last_mut().filter(|line| !line.is_empty());
        match line {
            Some(line) if columns < room => {
                line.push(' ');
                line.push_str(word);
                room -= columns + 1;
            }
            Some(_) => {
                lines.push(word.to_owned());
                room = others.saturating_sub(columns);
            }
            None => {
                lines.pop();
                lines.push(word.to_owned());
                room = first.saturating_sub(columns);
            }
        }
    }
    lines
}
