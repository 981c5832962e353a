//! What the skills extension of the protocol can serve, and what hosts take:
//! one finding for each skill that is left out, or larger than they like.
//! The rule itself lives in the format crate, which writes by it.

use skillbundle_format::{
    Dialect, LeftOut, Publication, SkillEntry, SkillSet, lawful_name, publications,
};

use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::dialect::Draft;

/// Most files, and most bytes, of one skill that common hosts load.
const PORTABLE_FILES: usize = 512;
const PORTABLE_BYTES: u64 = 16 << 20;

/// The longest `SKILL.md` that Claude Code takes.
const PORTABLE_TEXT: u64 = 1_000_000;

/// Where findings about a skill point.
pub(crate) struct Place {
    shown: String,
    name: Option<Span>,
}

impl Place {
    pub(crate) fn of(draft: &Draft) -> Self {
        Self {
            shown: draft.shown.clone(),
            name: draft.name_span,
        }
    }
}

/// Says what is left out and what is too large. `places` are those of the
/// set's skills.
pub(crate) fn check(set: &SkillSet, places: &[Place], out: &mut Vec<Diagnostic>) {
    let outcomes = publications(set);
    for ((skill, place), outcome) in set.skills.iter().zip(places).zip(outcomes) {
        match outcome {
            Publication::Published {
                files,
                bytes,
                skill_md_bytes,
                ..
            } => {
                out.extend(large_skill(skill, place, files, bytes));
                out.extend(large_text(skill, place, skill_md_bytes));
            }
            Publication::LeftOut(reason) => {
                let size = |it: &skillbundle_format::FileEntry| {
                    it.bytes.as_ref().map_or(0, |bytes| bytes.len())
                };
                let bytes = skill.files.iter().map(size).sum::<usize>() + skill.source.len();
                out.extend(large_skill(
                    skill,
                    place,
                    skill.files.len() + 1,
                    bytes as u64,
                ));
                let finding = left_out(skill, place, &reason, places);
                // Of a copy, nothing is missed.
                let is_copy = matches!(&reason, LeftOut::Taken(other)
                    if set.skills[*other].source == skill.source);
                let severity = if is_copy {
                    Severity::Info
                } else {
                    finding.severity
                };
                out.push(finding.severity(severity));
            }
        }
    }
}

/// Hosts that load skills refuse, or cut, what is larger.
fn large_skill(skill: &SkillEntry, place: &Place, files: usize, bytes: u64) -> Option<Diagnostic> {
    if files <= PORTABLE_FILES && bytes <= PORTABLE_BYTES {
        return None;
    }
    let inherited = match skill.dialect {
        Dialect::Tree => ", with those it inherits",
        Dialect::Folder => "",
    };
    let message = format!(
        "`{}` has {files} files with {} MiB{inherited}, and common hosts load at most {PORTABLE_FILES} files with {} MiB",
        skill.name,
        bytes >> 20,
        PORTABLE_BYTES >> 20
    );
    let finding = Diagnostic::new(Code::SkillTooLarge, place.shown.as_str(), message);
    Some(finding.help("split the skill, or move what it can do without elsewhere"))
}

fn large_text(skill: &SkillEntry, place: &Place, bytes: u64) -> Option<Diagnostic> {
    if bytes <= PORTABLE_TEXT {
        return None;
    }
    let (whose, help) = match skill.dialect {
        Dialect::Folder => (
            "the `SKILL.md`",
            "move what is not needed at once to files beside it",
        ),
        Dialect::Tree => (
            "this page, with what it inherits,",
            "shorten the pages above it, or write `inherit: false`",
        ),
    };
    let message = format!(
        "{whose} has {bytes} bytes, and common hosts load at most {PORTABLE_TEXT} of a `SKILL.md`"
    );
    let finding = Diagnostic::new(Code::SkillTooLarge, place.shown.as_str(), message);
    Some(finding.help(help))
}

fn left_out(skill: &SkillEntry, place: &Place, reason: &LeftOut, places: &[Place]) -> Diagnostic {
    let finding = |why: &str, span: Option<Span>| {
        let message = format!("this skill is not in the skills extension of MCP: {why}");
        Diagnostic::new(Code::NotPublished, place.shown.as_str(), message).at(span)
    };
    match reason {
        LeftOut::Name => finding(
            "its name must be text of small letters, digits and single hyphens, 64 at most",
            place.name,
        )
        .help(format!(
            "name it `{}`; the tools serve it under any name",
            lawful_name(&skill.name)
        )),
        LeftOut::Description => {
            finding("its description must be text", None).help("put the description into quotes")
        }
        // What had to be mended has a finding of its own.
        LeftOut::Mended => finding(
            "hosts compare the frontmatter with their own reading, and theirs would differ",
            None,
        )
        .help("mend what the other findings of this file name")
        .severity(Severity::Info),
        LeftOut::ByteOrderMark => finding(
            "hosts want the file to begin with `---`, and it begins with a byte order mark",
            None,
        )
        .help("save it as UTF-8 without a byte order mark"),
        LeftOut::File(path) => finding(
            &format!("`{path}` cannot have a URI of its own, of at most 2,048 bytes"),
            None,
        )
        .help("rename it, or move the skill to a shorter path"),
        LeftOut::Taken(other) => finding("another skill comes first under its URI", place.name)
            .related_in(&places[*other].shown, None, "has the URI")
            .help("give one of the two another name"),
        LeftOut::Overlaps(other) => finding(
            "its directory overlaps with that of another skill, which has other files there",
            place.name,
        )
        .related_in(&places[*other].shown, None, "is published")
        .help("name each skill like its folder, or move one of the two"),
    }
}
