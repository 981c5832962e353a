//! Rules about where skills lie: hosts search less deep than this program.

use std::collections::BTreeSet;

use skillbundle_format::Dialect;

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::draft::Draft;
use crate::paths::{ancestors, directory, file_name};
use crate::profile::{ByProfile, Profile};
use crate::source::{Tree, TreeRoot};

/// The folder below which hosts look for skills.
const SKILLS: &str = "skills";

/// How many levels below it hosts look, and which ones. Sources: the loaders of the hosts as the
/// profiles name them. Only a warning for them, since another folder may be the one that is installed.
const LEVELS: &[(usize, &str, &ByProfile)] = &[
    (
        1,
        "Claude Code, Gemini CLI and goose do",
        &[
            (Profile::Claude, Severity::Warning),
            (Profile::Gemini, Severity::Warning),
            (Profile::Goose, Severity::Warning),
        ],
    ),
    (6, "Codex does", &[(Profile::Codex, Severity::Warning)]),
];

/// Reports a skill inside of another one. `homes` are the directories of all skills of its root.
pub(super) fn check(draft: &Draft, homes: &BTreeSet<&str>, out: &mut Vec<Diagnostic>) {
    let Some(outer) = outer(draft, homes) else {
        return;
    };
    let outer = if outer.is_empty() { "the root" } else { outer };
    let message = format!("this skill is inside of the skill in `{outer}`");
    let help = "Claude Code, Gemini CLI and goose do not find it; move it beside the outer skill";
    let diagnostic = Diagnostic::new(Code::NestedSkill, draft.shown.as_str(), message);
    out.push(diagnostic.help(help));
}

/// The directory of the innermost skill around this one.
fn outer<'a>(draft: &'a Draft, homes: &BTreeSet<&str>) -> Option<&'a str> {
    if draft.entry.dialect != Dialect::Folder || draft.directory().is_empty() {
        return None;
    }
    ancestors(draft.directory()).find(|it| homes.contains(it))
}

/// Reports for each root how many skills are deeper than hosts look.
pub(super) fn check_all(
    tree: &Tree,
    drafts: &[Draft],
    homes: &[BTreeSet<&str>],
    out: &mut Vec<Diagnostic>,
) {
    for (index, root) in tree.roots.iter().enumerate() {
        let own = drafts.iter().filter(|it| {
            it.entry.root as usize == index
                && it.entry.dialect == Dialect::Folder
                && outer(it, &homes[index]).is_none()
        });
        let depths = own.filter_map(|it| Some((levels(root, it.directory())?, it)));
        let depths: Vec<_> = depths.collect();
        for (most, hosts, elsewhere) in LEVELS {
            let deep = depths.iter().filter(|(depth, _)| depth > most);
            let deep: Vec<&Draft> = deep.map(|it| it.1).collect();
            let found = too_deep(root, *most, hosts, &deep);
            out.extend(found.map(|it| it.elsewhere(*elsewhere)));
        }
    }
}

/// How many levels below a folder of skills a directory is; `None` if there is no such folder above.
fn levels(root: &TreeRoot, path: &str) -> Option<usize> {
    let mut above = ancestors(path).enumerate();
    let found = above.find(|(_, it)| {
        let is_root = it.is_empty() && root.real.ends_with(SKILLS);
        is_root || file_name(it) == SKILLS
    });
    Some(found?.0 + 1)
}

fn too_deep(root: &TreeRoot, most: usize, hosts: &str, deep: &[&Draft]) -> Option<Diagnostic> {
    let first = deep.first()?;
    let (count, levels) = (deep.len(), if most == 1 { "level" } else { "levels" });
    let skills = if count == 1 { "skill is" } else { "skills are" };
    let message = format!("{count} {skills} more than {most} {levels} below `{SKILLS}`");
    let place = root.shown(directory(directory(first.directory())));
    let diagnostic = Diagnostic::new(Code::DeepSkill, root.shown(""), message);
    let help = format!("{hosts} not look there; install the folders below `{place}` one by one");
    Some(
        diagnostic
            .related_in(first.shown.as_str(), None, "the first of them")
            .help(help),
    )
}
