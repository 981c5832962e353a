//! Finds the fences of the frontmatter. A fence is a line of exactly `---` at column
//! 1, with any line ending; trailing spaces are allowed. `----`, `---notes` and an
//! indented `---` are not fences.

use std::ops::Range;

use crate::diagnostic::{Code, Diagnostic, Span};

/// Limit of frontmatter in bytes. The largest of 601 real ones has 1,195.
pub(super) const MAX_YAML_BYTES: usize = 64 * 1024;

const BOM: char = '\u{feff}';

/// The parts of a file, as byte offsets.
pub(super) struct Parts {
    /// After a byte order mark.
    pub(super) text_start: usize,
    /// Between the fences; `None` if the first line is not a fence.
    pub(super) yaml: Option<Range<usize>>,
    /// First byte of the body.
    pub(super) body: usize,
}

/// Splits a file. Returns `None` if the frontmatter has no closing fence.
pub(super) fn split(file: &str, text: &str, out: &mut Vec<Diagnostic>) -> Option<Parts> {
    let text_start = text_start(text);
    if text_start > 0 {
        out.push(
            Diagnostic::new(
                Code::ByteOrderMark,
                file,
                "the file begins with a byte order mark",
            )
            .at(Span::from(0..text_start))
            .help("save it as UTF-8 without a byte order mark")
            .fix(Span::from(0..text_start), ""),
        );
    }
    let opening = line_at(text, text_start);
    if !is_fence(&text[opening.clone()]) {
        return Some(Parts {
            text_start,
            yaml: None,
            body: text_start,
        });
    }
    let Some(closing) = find_fence(text, opening.end) else {
        out.push(unclosed(file, text, &opening));
        return None;
    };
    let yaml = opening.end..closing.start;
    if closing.end == text.len() || text[closing.end..].trim().is_empty() {
        out.push(
            Diagnostic::new(Code::EmptyBody, file, "nothing follows the frontmatter")
                .at(Span::from(trimmed(text, &closing)))
                .help("write the instructions below the closing `---`"),
        );
    }
    Some(Parts {
        text_start,
        yaml: Some(yaml),
        body: closing.end,
    })
}

/// Start of the text, after at most one byte order mark.
pub(super) fn text_start(text: &str) -> usize {
    if text.starts_with(BOM) {
        BOM.len_utf8()
    } else {
        0
    }
}

/// The line that begins at `start`, including its line ending.
fn line_at(text: &str, start: usize) -> Range<usize> {
    let end = text[start..]
        .find('\n')
        .map_or(text.len(), |newline| start + newline + 1);
    start..end
}

fn is_fence(line: &str) -> bool {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    line.trim_end_matches([' ', '\t']) == "---"
}

fn find_fence(text: &str, mut start: usize) -> Option<Range<usize>> {
    while start < text.len() {
        let line = line_at(text, start);
        if is_fence(&text[line.clone()]) {
            return Some(line);
        }
        start = line.end;
    }
    None
}

/// The fence without its line ending.
fn trimmed(text: &str, line: &Range<usize>) -> Range<usize> {
    line.start..line.start + text[line.clone()].trim_end().len()
}

/// Reports frontmatter without a closing fence, and the line that was probably meant
/// to be one.
fn unclosed(file: &str, text: &str, opening: &Range<usize>) -> Diagnostic {
    let diagnostic = Diagnostic::new(
        Code::UnclosedFrontmatter,
        file,
        "the frontmatter has no closing `---`",
    )
    .at(Span::from(trimmed(text, opening)))
    .help("add a line of exactly `---` at the end of the frontmatter");
    let mut start = opening.end;
    while start < text.len() {
        let line = line_at(text, start);
        let content = text[line.clone()].trim();
        if content.starts_with("---") || content == "..." {
            let span = Span::from(trimmed(text, &line));
            return diagnostic.related(span, "this line is not a fence");
        }
        start = line.end;
    }
    diagnostic
}
