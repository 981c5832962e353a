//! Finds the fences of the frontmatter. A fence is a line of exactly `---` at column
//! 1, with any line ending; trailing spaces are allowed. `----`, `---notes` and an
//! indented `---` are not fences. The first one should be the first line; blank lines
//! and comments above it are reported.

use std::ops::Range;

use super::keys;
use crate::diagnostic::{Applicability, Code, Diagnostic, Span};

/// Limit of frontmatter in bytes. The largest of 601 real ones has 1,195.
pub(super) const MAX_YAML_BYTES: usize = 64 * 1024;

const BOM: char = '\u{feff}';

/// The parts of a file, as byte offsets.
pub(super) struct Parts {
    /// After a byte order mark.
    pub(super) text_start: usize,
    /// The opening fence; the first line if there is none.
    pub(super) opening: Range<usize>,
    /// Between the fences; `None` if there are none.
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
    let first = line_at(text, text_start);
    let opening = if is_fence(&text[first.clone()]) {
        first
    } else if let Some(late) = late_opening(text, text_start) {
        out.push(report_late(file, text, text_start, &late));
        late.opening
    } else {
        return Some(Parts {
            text_start,
            opening: first,
            yaml: None,
            body: text_start,
        });
    };
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
        opening,
        yaml: Some(yaml),
        body: closing.end,
    })
}

/// An opening fence that is not the first line.
struct Late {
    opening: Range<usize>,
    closing: Range<usize>,
    /// What is above it.
    above: Above,
}

/// What is above a late fence, apart from blank lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    Nothing,
    /// HTML comments.
    Html,
    /// Lines that begin with `#`: comments for YAML, headings for Markdown.
    Hashes,
    Both,
}

/// Finds frontmatter below blank lines and comments: banners of generators, licence lines. Every
/// line is read once. The block between the fences must give a key that skills have, since the same
/// lines may be a heading and a rule. Rescues 0 of the 597 files of the public corpus; a public
/// report has three.
fn late_opening(text: &str, text_start: usize) -> Option<Late> {
    let mut above = Above::Nothing;
    let mut start = text_start;
    while start < text.len() {
        let line = line_at(text, start);
        let shown = text[line.clone()].trim();
        if is_fence(&text[line.clone()]) {
            let closing = find_fence(text, line.end)?;
            let yaml = &text[line.end..closing.start];
            return yaml.lines().any(keys::begins_skill_key).then_some(Late {
                opening: line,
                closing,
                above,
            });
        }
        start = line.end;
        if shown.starts_with("<!--") {
            above = above.with(Above::Html);
            let from = line.start + text[line].find("<!--")?;
            let end = from + text[from..].find("-->")? + "-->".len();
            start = line_at(text, end).end;
            if !text[end..start].trim().is_empty() {
                return None;
            }
        } else if shown.starts_with('#') {
            above = above.with(Above::Hashes);
        } else if !shown.is_empty() {
            return None;
        }
    }
    None
}

impl Above {
    fn with(self, other: Self) -> Self {
        match self {
            Self::Nothing => other,
            _ if self == other => self,
            _ => Self::Both,
        }
    }
}

/// Reports frontmatter that is not at the top. The fix moves what is above it: comments of HTML to the
/// body, those of YAML into the frontmatter.
fn report_late(file: &str, text: &str, text_start: usize, late: &Late) -> Diagnostic {
    let opening = &late.opening;
    let lines = text[text_start..opening.start].matches('\n').count();
    let message = format!(
        "the frontmatter begins in line {}, and most hosts look for it in line 1",
        lines + 1
    );
    let (help, to) = match late.above {
        Above::Nothing => ("remove the blank lines above it", None),
        Above::Html => (
            "move the comment below the frontmatter",
            Some(late.closing.end),
        ),
        Above::Hashes => ("move the comment into the frontmatter", Some(opening.end)),
        Above::Both => ("move the comments below the frontmatter", None),
    };
    let diagnostic = Diagnostic::new(Code::LateFrontmatter, file, message)
        .at(Span::from(trimmed(text, opening)))
        .help(help);
    let moved = text[text_start..opening.start].trim();
    let ends_line = |at: usize| text[..at].ends_with('\n');
    let removed = (Span::from(text_start..opening.start), String::new());
    match to {
        Some(to) if ends_line(to) => {
            let line_end = if text[opening.clone()].ends_with("\r\n") {
                "\r\n"
            } else {
                "\n"
            };
            let inserted = (Span::from(to..to), format!("{moved}{line_end}"));
            diagnostic.fixed_by(Applicability::Safe, [removed, inserted])
        }
        None if late.above == Above::Nothing => diagnostic.fixed_by(Applicability::Safe, [removed]),
        _ => diagnostic,
    }
}

/// The first fence with a skill's key below it, wherever it is: what was probably meant as
/// frontmatter in a file that has none.
pub(super) fn misplaced(text: &str) -> Option<Range<usize>> {
    let mut start = 0;
    while let Some(fence) = find_fence(text, start) {
        let below = text[fence.end..].lines().find(|it| !it.trim().is_empty());
        if below.is_some_and(keys::begins_skill_key) {
            return Some(fence);
        }
        start = fence.end;
    }
    None
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

/// A line without its line ending and the spaces before it.
pub(super) fn trimmed(text: &str, line: &Range<usize>) -> Range<usize> {
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
