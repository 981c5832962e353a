//! Reports skills that the MCP skills extension cannot serve, and skills larger than
//! hosts accept. Which skills it can serve is decided by the format crate, which
//! writes the listing.

use std::collections::HashMap;

use skillbundle_format::hosts::{NAME_CHARS, SKILL_BYTES, SKILL_FILES, SKILL_MD_BYTES, URI_BYTES};
use skillbundle_format::{
    Dialect, Publication, SkillEntry, SkillSet, Unpublished, numbered, publications, slug,
};
use skillbundle_search::text::fold;

use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::draft::Draft;

/// Where diagnostics about a skill point.
pub(crate) struct Position {
    shown: String,
    name: Option<Span>,
}

impl Position {
    pub(crate) fn of(draft: &Draft) -> Self {
        Self {
            shown: draft.shown.clone(),
            name: draft.name_span,
        }
    }
}

/// Reports skills that are left out or too large. `positions` has one item for each
/// skill of the set.
pub(crate) fn check(set: &SkillSet, positions: &[Position], out: &mut Vec<Diagnostic>) {
    let outcomes = publications(set);
    let mut advice = Advice::new(set);
    for ((skill, position), outcome) in set.skills.iter().zip(positions).zip(outcomes) {
        match outcome {
            Publication::Published {
                files,
                bytes,
                skill_md_bytes,
                ..
            } => {
                out.extend(large_skill(skill, position, files, bytes));
                out.extend(large_text(skill, position, skill_md_bytes));
            }
            Publication::Unpublished(reason) => {
                let size = |it: &skillbundle_format::FileEntry| {
                    it.bytes.as_ref().map_or(0, |bytes| bytes.len())
                };
                let bytes = skill.files.iter().map(size).sum::<usize>() + skill.source.len();
                out.extend(large_skill(
                    skill,
                    position,
                    skill.files.len() + 1,
                    bytes as u64,
                ));
                let diagnostic = left_out(skill, position, &reason, positions, &mut advice);
                // If it is a copy, nothing is lost.
                let is_copy = matches!(&reason, Unpublished::Taken(other)
                    if set.skills[*other].source == skill.source);
                // The name of a skill with a contract follows another specification.
                let is_typed = skill.contract.is_some();
                out.push(if is_copy || is_typed {
                    diagnostic.severity(Severity::Info)
                } else {
                    diagnostic
                });
            }
        }
    }
}

/// Names to suggest: each once, and none that a skill has.
#[derive(Default)]
struct Advice {
    /// The number of skills with each name, and of suggestions.
    taken: HashMap<String, usize>,
}

impl Advice {
    fn new(set: &SkillSet) -> Self {
        let mut advice = Self::default();
        for skill in &set.skills {
            *advice.taken.entry(fold(&skill.name)).or_default() += 1;
        }
        advice
    }

    fn name(&mut self, skill: &SkillEntry) -> String {
        let (own, name) = (fold(&skill.name), slug(&skill.name));
        let more = (2..).map(|number| numbered(&name, number));
        for name in std::iter::once(name.clone()).chain(more) {
            let key = fold(&name);
            // Its own name may be this one in capitals.
            let allowed = usize::from(key == own);
            let taken = self.taken.entry(key).or_default();
            if *taken <= allowed {
                *taken += 1;
                return name;
            }
        }
        name
    }
}

fn large_skill(
    skill: &SkillEntry,
    position: &Position,
    files: usize,
    bytes: u64,
) -> Option<Diagnostic> {
    if files <= SKILL_FILES && bytes <= SKILL_BYTES as u64 {
        return None;
    }
    let inherited = match skill.dialect {
        Dialect::Tree => ", inherited ones included",
        Dialect::Folder => "",
    };
    let (size, limit) = (bytes >> 20, SKILL_BYTES >> 20);
    let message = format!("this skill has {files} files and {size} MiB{inherited}");
    let diagnostic = Diagnostic::new(Code::SkillTooLarge, position.shown.as_str(), message);
    Some(diagnostic.help(format!(
        "split the skill: common hosts load at most {SKILL_FILES} files and {limit} MiB"
    )))
}

fn large_text(skill: &SkillEntry, position: &Position, bytes: u64) -> Option<Diagnostic> {
    if bytes <= SKILL_MD_BYTES as u64 {
        return None;
    }
    let (what, help) = match skill.dialect {
        Dialect::Folder => (
            "this `SKILL.md`",
            "move what is not always needed to other files",
        ),
        Dialect::Tree => (
            "this page, inherited text included,",
            "shorten the pages above it, or write `inherit: false`",
        ),
    };
    let message = format!("{what} has {bytes} bytes, hosts load {SKILL_MD_BYTES}");
    let diagnostic = Diagnostic::new(Code::SkillTooLarge, position.shown.as_str(), message);
    Some(diagnostic.help(help))
}

fn left_out(
    skill: &SkillEntry,
    position: &Position,
    reason: &Unpublished,
    positions: &[Position],
    advice: &mut Advice,
) -> Diagnostic {
    let report = |why: &str, span: Option<Span>| {
        let message = format!("not in the MCP skills extension: {why}");
        Diagnostic::new(Code::NotPublished, position.shown.as_str(), message).at(span)
    };
    match reason {
        Unpublished::Name => {
            let name = advice.name(skill);
            report("it does not allow this name", position.name).help(format!(
                "write `name: {name}`; it allows {NAME_CHARS} lower-case letters, digits, single hyphens"
            ))
        }
        Unpublished::Description => {
            report("the description is not text", None).help("put the description in quotes")
        }
        // The recovered mistake has a diagnostic of its own.
        Unpublished::Recovered => report("hosts read this frontmatter differently", None)
            .help("fix the other problems of this file")
            .severity(Severity::Info),
        Unpublished::ByteOrderMark => report("the file begins with a byte order mark", None)
            .help("save it as UTF-8 without a byte order mark"),
        Unpublished::File(path) => report(&format!("the URI of `{path}` is too long"), None).help(
            format!("rename the file or move the skill; a URI has at most {URI_BYTES} bytes"),
        ),
        Unpublished::Taken(other) => report("another skill has its URI", position.name)
            .related_in(&positions[*other].shown, None, "this skill has the URI")
            .help("give one of the two another name"),
        Unpublished::Overlaps(other) => {
            report("its folder overlaps another skill's", position.name)
                .related_in(&positions[*other].shown, None, "this skill is published")
                .help("name each skill like its folder, or move one of the two")
        }
    }
}
