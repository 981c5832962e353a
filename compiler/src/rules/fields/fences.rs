//! The fences of the frontmatter, which hosts find in different ways.

use super::{Checker, listed};
use crate::diagnostic::{Applicability, Code, Diagnostic, Severity, Span};
use crate::frontmatter::{NodeKind, Style};
use crate::profile::Profile;

impl Checker<'_> {
    /// Fences that some hosts find elsewhere, or not at all.
    pub(super) fn fences(&self) -> Option<Diagnostic> {
        let document = self.source.document;
        let top = document.top();
        let text = document.source(&(0..document.body.start));
        let yaml = text.get(top.end..)?;
        let last = yaml.trim_end().rfind("---").map(|at| top.end + at)?;
        if let Some(at) = text[top.end..last].find("---").map(|at| top.end + at) {
            return Some(self.inner_fence(text, at));
        }
        let spaces = |fence: usize| {
            let line = text[fence..].lines().next().unwrap_or_default();
            let at = fence + line.trim_end_matches([' ', '\t']).len();
            (at < fence + line.len()).then_some(at..fence + line.len())
        };
        let start = top.start;
        let found: Vec<_> = [start, last].into_iter().filter_map(spaces).collect();
        let first = found.first()?;
        let what = if first.start < last {
            "does not find the frontmatter"
        } else {
            "loses the text below it"
        };
        let message = format!("spaces follow the fence `---`, so Gemini CLI {what}");
        let edits = found.iter().map(|it| (Span::from(it), String::new()));
        Some(
            self.report(Code::FragileFence, Span::from(first), message)
                .help("remove the spaces")
                .elsewhere(&[(Profile::Gemini, Severity::Error)][..])
                .fixed_by(Applicability::Safe, edits),
        )
    }

    /// `---` between the fences.
    fn inner_fence(&self, text: &str, at: usize) -> Diagnostic {
        let start = text[..at].rfind('\n').map_or(0, |it| it + 1);
        let line = text[start..].lines().next().unwrap_or_default().trim();
        let mut hosts = vec!["goose", "skills-ref"];
        let mut profiles = vec![Profile::Goose, Profile::Spec];
        if line == "---" {
            hosts.insert(0, "Codex");
            profiles.push(Profile::Codex);
        }
        if line.bytes().all(|it| it == b'-') && self.is_in_quotes(at) {
            hosts.insert(0, "Claude Code");
            profiles.push(Profile::Claude);
        }
        let message = format!("{} end the frontmatter at this `---`", listed(&hosts));
        let errors = profiles.into_iter().map(|it| (it, Severity::Error));
        self.report(Code::FragileFence, Span::from(at..at + 3), message)
            .help("write a dash `–` or a comma instead; what follows is lost there")
            .elsewhere(errors.collect::<Vec<_>>())
    }

    /// Whether a place is in a value in quotes.
    fn is_in_quotes(&self, at: usize) -> bool {
        let mut entries = self.fields.entries().iter();
        entries.any(|it| {
            let is_quoted = matches!(
                it.value.kind,
                NodeKind::Scalar {
                    style: Style::Quoted,
                    ..
                }
            );
            is_quoted && it.value.range.contains(&at)
        })
    }
}
