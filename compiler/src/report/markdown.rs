//! A comment for a pull request: findings by file, in Markdown as GitHub reads it. Text of a file may
//! neither format nor mention nor link: it is code, unless it is plain words.

use std::fmt::Write;

use super::{Report, escape};
use crate::diagnostic::Diagnostic;

/// Findings that are shown. GitHub takes comments of 65,536 characters.
const MOST_FINDINGS: usize = 50;

/// Characters of a message or of a help text, and of a path.
const MOST_CHARACTERS: usize = 400;

/// What comes before the findings.
pub(super) fn heading(outcome: &str, summary: &str, notes: &[String]) -> String {
    let mut page = format!("### skillbundle check {}\n\n{summary}\n", text(outcome));
    for (at, note) in notes.iter().enumerate() {
        let gap = if at == 0 { "\n" } else { "" };
        let _ = writeln!(page, "{gap}- {}", text(note));
    }
    page
}

pub(super) fn render(report: &Report) -> String {
    let shown = report.most_severe(MOST_FINDINGS);
    let mut page = String::new();
    for group in shown.chunk_by(|a, b| a.file == b.file) {
        let _ = writeln!(page, "\n#### {}\n", code(&cut(&group[0].file)));
        for it in group {
            finding(report, it, &mut page);
        }
    }
    let more = report.diagnostics().len() - shown.len();
    if more > 0 {
        let _ = writeln!(page, "\nand {more} more");
    }
    page
}

fn finding(report: &Report, it: &Diagnostic, page: &mut String) {
    let _ = write!(page, "- **{}** `{}`", it.severity, it.code);
    if let Some(at) = report.locate(&it.file, it.span) {
        let _ = write!(page, " in line {}", at.line);
    }
    let _ = write!(page, ": {}", text(&it.message));
    if let Some(profiles) = it.profile_names() {
        let _ = write!(page, " (for {profiles})");
    }
    page.push('\n');
    if let Some(help) = &it.help {
        let _ = writeln!(page, "  - help: {}", text(help));
    }
}

/// A message: as it is if its words are plain outside of backticks, otherwise all of it is code. What
/// it quotes can have backticks too, so that the parts are no proof of who wrote them.
fn text(message: &str) -> String {
    let message = cut(message);
    let parts: Vec<&str> = message.split('`').collect();
    let words = parts.iter().step_by(2);
    if parts.len().is_multiple_of(2) || !words.clone().all(|part| is_plain(part)) {
        return code(&message);
    }
    let mut out = String::new();
    for (index, part) in parts.iter().enumerate() {
        match (index.is_multiple_of(2), part.is_empty()) {
            (true, _) => out.push_str(part),
            // Two backticks would open a longer span.
            (false, true) => return code(&message),
            (false, false) => out.push_str(&code(part)),
        }
    }
    out
}

/// Whether Markdown, and GitHub on top of it, reads these words as nothing but words: no mention, no
/// reference to an issue, no address, and no emoji, whose colons have no space after them.
fn is_plain(text: &str) -> bool {
    let is_allowed = |it: char| it.is_ascii_alphanumeric() || " ,.:;()'\"-…".contains(it);
    let is_word = |word: &str| {
        let word = word.strip_suffix(':').unwrap_or(word);
        let has = |accept: fn(&char) -> bool| word.chars().any(|it| accept(&it));
        let digits = has(char::is_ascii_digit);
        let letters = has(char::is_ascii_alphabetic);
        let inner = word.trim_matches(|it: char| !it.is_ascii_alphanumeric());
        // `GH-1` and a commit are links, and so is `www.x.y`; `1,024` is not.
        !word.contains(':') && (!letters || !(digits || inner.contains('.')))
    };
    text.chars().all(is_allowed) && text.split(' ').all(is_word)
}

/// A code span: one backtick more than any run in it, and spaces, of which a reader removes one on
/// either side.
fn code(text: &str) -> String {
    let runs = text.split(|it| it != '`').map(str::len);
    match runs.max().unwrap_or(0) {
        0 if !text.starts_with(' ') => format!("`{text}`"),
        longest => {
            let fence = "`".repeat(longest + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

fn cut(text: &str) -> String {
    let escaped = escape(text);
    match escaped.char_indices().nth(MOST_CHARACTERS) {
        Some((at, _)) => format!("{}…", &escaped[..at]),
        None => escaped,
    }
}
