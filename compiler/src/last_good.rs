//! Keeps the last good version of a skill whose file still exists but no longer
//! loads. A skill that was deleted, or is intentionally no skill any more, goes.

use std::collections::{BTreeSet, HashMap};

use skillbundle_format::{Dialect, SkillEntry, SkillSet};

use crate::diagnostic::{Code, Diagnostic};
use crate::discover::Discovery;
use crate::draft::Drafts;
use crate::paths::stem;
use crate::reuse::{kept, skills_by_file};
use crate::source::Tree;
use crate::{Failed, Root, frontmatter};

/// Adds drafts for the skills of `previous` that failed now.
pub(crate) fn keep(
    tree: &Tree,
    roots: &[Root],
    discovered: &[Discovery],
    drafts: &mut Drafts,
    previous: &SkillSet,
    out: &mut Vec<Diagnostic>,
) {
    if previous.skills.is_empty() {
        return;
    }
    let good = skills_by_file(roots, previous);
    drafts
        .failed
        .extend(unfinished_pages(tree, discovered, drafts, &good));
    for failed in &drafts.failed {
        if let Some(skill) = good.get(&(failed.root as usize, failed.file_path.as_str())) {
            let shown = tree.roots[failed.root as usize].shown(&failed.file_path);
            let path = &skill.path;
            let message = format!("the last good version of `{path}` is still served");
            out.push(
                Diagnostic::new(Code::LastGoodKept, shown.as_str(), message)
                    .help("fix the other problems of this file"),
            );
            drafts.skills.push(kept(skill, failed.root, shown));
        }
    }
}

type Good<'a> = HashMap<(usize, &'a str), &'a SkillEntry>;

/// Pages that were skills by their keywords and now have no complete frontmatter:
/// half written rather than changed on purpose.
fn unfinished_pages(
    tree: &Tree,
    discovered: &[Discovery],
    drafts: &Drafts,
    good: &Good<'_>,
) -> Vec<Failed> {
    let loaded = drafts
        .skills
        .iter()
        .map(|it| (it.entry.root, it.entry.file_path.as_str()));
    let failed = drafts
        .failed
        .iter()
        .map(|it| (it.root, it.file_path.as_str()));
    let known: BTreeSet<(u32, &str)> = loaded.chain(failed).collect();
    let mut unfinished = Vec::new();
    for &id in discovered.iter().flat_map(|root| &root.pages) {
        let path = tree.entry(id).path.as_str();
        let root = u32::try_from(id.root).unwrap_or(u32::MAX);
        let was_page = good
            .get(&(id.root, path))
            .is_some_and(|it| it.dialect == Dialect::Tree);
        let Some(bytes) = tree.entry(id).bytes.as_ref().filter(|_| was_page) else {
            continue;
        };
        let (document, _) = frontmatter::parse(path, bytes);
        let is_whole = document.is_some_and(|it| it.has_frontmatter());
        if !is_whole && !known.contains(&(root, path)) {
            let (file_path, path) = (path.to_owned(), stem(path).to_owned());
            unfinished.push(Failed {
                root,
                file_path,
                path,
            });
        }
    }
    unfinished
}
