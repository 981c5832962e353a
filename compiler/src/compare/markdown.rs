//! A comparison as Markdown, for a comment on a pull request. Everything that comes from files is in
//! code spans, in which nothing is a link, a mention or markup.

use std::fmt::Write;

use super::{ChangedSkill, Comparison, Effect, FileChange, HostChange, Origin, Rerouted};
use crate::report::escape;

/// Most lines of one list. A comment may have 65,536 characters.
const MOST: usize = 40;

/// Most characters of a text in a line.
const LONGEST: usize = 120;

impl Comparison {
    /// The comparison as a section of Markdown; `old` is what the old version is called.
    pub fn to_markdown(&self, old: &str) -> String {
        let mut out = format!("### Compared with {}\n\n", code(old));
        if self.is_empty() {
            out.push_str("No skill differs, and every request finds the same skill as before.\n");
            return out;
        }
        let (lost, found) = (self.count(Effect::Lost), self.count(Effect::Found));
        let _ = writeln!(
            out,
            "**Skills:** {} added, {} removed, {} changed. **Requests:** {lost} lost, {} moved, \
            {found} found, of {} in files and {} that skills make for themselves.",
            self.added.len(),
            self.removed.len(),
            self.changed.len(),
            self.count(Effect::Moved),
            self.request_count,
            self.own_request_count,
        );
        if self.settings_changed {
            out.push_str("\nThe settings in `config.yaml` differ.\n");
        }
        section(
            &mut out,
            "Requests that find another skill",
            self.rerouted.iter().map(request),
        );
        let sizes = |sign: &'static str, skills: &[super::SkillSize]| -> Vec<String> {
            let line = |it: &super::SkillSize| {
                let (path, summary) = (code(&it.path), code(&it.summary));
                let size = format!("{} bytes with {} files", it.bytes, it.files);
                format!("{sign} {path}: {summary} ({size})")
            };
            skills.iter().map(line).collect()
        };
        let skills = sizes("added", &self.added).into_iter();
        let skills = skills.chain(sizes("removed", &self.removed));
        section(
            &mut out,
            "Skills",
            skills.chain(self.changed.iter().map(changed)),
        );
        let names = |verb: &'static str, all: &[super::Collision]| -> Vec<String> {
            let line =
                |it: &super::Collision| format!("{} {verb} {}", code(&it.name), codes(&it.paths));
            all.iter().map(line).collect()
        };
        let collisions = names("is now the name of", &self.collisions).into_iter();
        let resolved = names("is no longer the name of all of", &self.resolved);
        section(&mut out, "Names", collisions.chain(resolved));
        let hosts = self.hosts.iter().filter(|it| it.old != it.new);
        section(
            &mut out,
            "Size",
            self.totals().into_iter().chain(hosts.map(host)),
        );
        out
    }

    /// What differs in size.
    fn totals(&self) -> Vec<String> {
        let (old, new) = (&self.old, &self.new);
        [
            ("skills", old.skills as u64, new.skills as u64),
            ("files", old.files as u64, new.files as u64),
            ("bytes of the bundle", old.bytes, new.bytes),
        ]
        .into_iter()
        .filter(|(_, old, new)| old != new)
        .map(|(what, old, new)| format!("{what}: {old} → {new}"))
        .collect()
    }
}

fn section(out: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n#### {title}\n");
    for line in lines.iter().take(MOST) {
        let _ = writeln!(out, "- {line}");
    }
    if let Some(more @ 1..) = lines.len().checked_sub(MOST) {
        let _ = writeln!(out, "- and {more} more");
    }
}

fn request(it: &Rerouted) -> String {
    let answer = |paths: &[String]| match paths {
        [] => "nothing".to_owned(),
        paths => codes(paths),
    };
    let place = match &it.origin {
        Origin::File { file, line, .. } => {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            format!("in {}", code(&format!("{file}{line}")))
        }
        Origin::OldFile => "in a file that is gone".to_owned(),
        Origin::Own(key) => format!("in the {key} of {}", answer(&it.expected)),
        Origin::OldOwn(key) => format!("formerly in the {key} of {}", answer(&it.expected)),
    };
    format!(
        "**{}** {} ({place}): {} → {}; {}",
        it.effect.as_str(),
        code(&it.request),
        answer(&it.old),
        answer(&it.new),
        code(&it.why)
    )
}

fn changed(it: &ChangedSkill) -> String {
    let mut parts = Vec::new();
    if let Some(old) = &it.old_path {
        parts.push(format!("moved from {}", code(old)));
    }
    if !it.fields.is_empty() {
        let fields: Vec<String> = it.fields.iter().map(|it| it.field.clone()).collect();
        parts.push(codes(&fields));
    }
    let file = |it: &FileChange| match (it.old, it.new) {
        (Some(old), Some(new)) => format!("{} {old} → {new} bytes", code(&it.path)),
        (None, Some(new)) => format!("new {} {new} bytes", code(&it.path)),
        (old, _) => format!("without {} {} bytes", code(&it.path), old.unwrap_or(0)),
    };
    parts.extend(it.files.iter().take(MOST).map(file));
    if let Some(more @ 1..) = it.files.len().checked_sub(MOST) {
        parts.push(format!("{more} more files"));
    }
    format!("changed {}: {}", code(&it.path), parts.join(", "))
}

fn host(it: &HostChange) -> String {
    let (old, new) = (&it.old, &it.new);
    let mut parts = vec![format!(
        "{} → {} bytes in context",
        old.context_bytes, new.context_bytes
    )];
    if old.named != new.named {
        parts.push(format!(
            "{} of {} → {} of {} skills named",
            old.named.1, old.named.0, new.named.1, new.named.0
        ));
    }
    if let (Some(was), Some(is)) = (old.listing_bytes, new.listing_bytes) {
        parts.push(format!("listing {was} → {is} bytes"));
    }
    let dropped: Vec<String> = (new.dropped.iter())
        .filter(|path| !old.dropped.contains(path))
        .take(MOST)
        .cloned()
        .collect();
    if !dropped.is_empty() {
        parts.push(format!("now without {}", codes(&dropped)));
    }
    format!("{}: {}", it.title, parts.join(", "))
}

fn codes(texts: &[String]) -> String {
    let codes: Vec<String> = texts.iter().map(|it| code(it)).collect();
    codes.join(", ")
}

/// A text of a file as a code span: on one line, cut, and in as many backticks as it needs.
fn code(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = escape(&words.join(" "));
    let mut shown: String = line.chars().take(LONGEST).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    let runs = shown.split(|it| it != '`').map(str::len);
    let marks = "`".repeat(runs.max().unwrap_or(0) + 1);
    let space = if marks.len() > 1 || shown.is_empty() {
        " "
    } else {
        ""
    };
    format!("{marks}{space}{shown}{space}{marks}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_leave_its_code_span() {
        for (text, expected) in [
            ("plain", "`plain`"),
            ("a\n# b\tc", "`a # b c`"),
            ("`a`", "`` `a` ``"),
            ("``` x", "```` ``` x ````"),
            ("", "`  `"),
            ("@org <b>\u{202e}", "`@org <b>\\u{202e}`"),
        ] {
            assert_eq!(code(text), expected, "{text:?}");
        }
        assert_eq!(code(&"x".repeat(200)).chars().count(), LONGEST + 3);
    }
}
