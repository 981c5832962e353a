//! Findings as text for people: with the line they point at (`render/human.rs`)
//! or one line each. Nothing a file says reaches a terminal unescaped.

mod human;

use std::fmt::Write;

use crate::diagnostic::{Diagnostic, Report, Severity};

impl Report {
    /// The findings as a person reads them: message, place, the line itself
    /// with the spot marked, what to do. `color` adds terminal colours.
    pub fn render_human(&self, color: bool) -> String {
        human::render(self, color)
    }

    /// The findings as `file:line:column: severity[code]: message; help`, one
    /// line each.
    pub fn render_plain(&self) -> String {
        self.diagnostics().iter().map(plain).collect()
    }

    /// The report without findings that matter less than `least`.
    #[must_use]
    pub fn at_least(mut self, least: Severity) -> Self {
        self.retain(|finding| finding.severity <= least);
        self
    }
}

fn plain(finding: &Diagnostic) -> String {
    let mut line = escape(&finding.file);
    if let Some(span) = &finding.span {
        let _ = write!(line, ":{}:{}", span.line, span.column);
    }
    let message = escape(&finding.message);
    let _ = write!(line, ": {}[{}]: {message}", finding.severity, finding.code);
    if let Some(help) = &finding.help {
        let _ = write!(line, "; {}", escape(help));
    }
    line.push('\n');
    line
}

/// A text with everything spelled out that a terminal would obey or hide.
fn escape(text: &str) -> String {
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
/// joiners U+200C and U+200D pass: words and emoji are written with them.
fn is_safe(character: char) -> bool {
    !character.is_control()
        && !matches!(character,
            '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;
