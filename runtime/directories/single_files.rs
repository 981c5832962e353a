//! Single skill files as roots: the directory around one is compiled, and of the result only that
//! skill, the pages that it inherits from, and the findings about them are kept.

use std::collections::HashSet;

use skillbundle_compiler::{Failed, Report, Root};
use skillbundle_format::SkillSet;

/// How findings name the files of a root: with this in front.
pub(super) fn prefix(root: &Root) -> String {
    match root.dir.to_string_lossy().trim_end_matches('/') {
        "." => String::new(),
        dir => format!("{dir}/"),
    }
}

/// Keeps, of each root that stands for one file, that skill and the pages that
/// it inherits from, and the findings about them.
pub(super) fn select(
    (set, report, failed): (&mut SkillSet, &mut Report, &mut Vec<Failed>),
    roots: &[Root],
    only: &[Option<String>],
) {
    let all = std::mem::take(&mut set.skills);
    let mut kept: Vec<bool> = all
        .iter()
        .map(|skill| match &only[skill.root as usize] {
            Some(file) => skill.file_path == *file,
            None => true,
        })
        .collect();
    for index in 0..all.len() {
        let mut parent = all[index].parent.filter(|_| kept[index]);
        while let Some(index) = parent.filter(|index| !kept[*index as usize]) {
            kept[index as usize] = true;
            parent = all[index as usize].parent;
        }
    }
    let wanted: HashSet<String> = all
        .iter()
        .zip(&kept)
        .filter(|(_, kept)| **kept)
        .map(|(skill, _)| (skill.root as usize, skill.file_path.clone()))
        .chain(
            (0..)
                .zip(only)
                .filter_map(|(root, file)| Some((root, file.clone()?))),
        )
        .map(|(root, file)| prefix(&roots[root]) + &file)
        .collect();
    failed.retain(|failed| {
        let only = &only[failed.root as usize];
        only.as_ref().is_none_or(|file| failed.file_path == *file)
    });
    let is_whole = |file: &str| {
        let mut roots = roots.iter().zip(only);
        roots.any(|(root, only)| only.is_none() && file.starts_with(&prefix(root)))
    };
    report.retain(|finding| wanted.contains(&finding.file) || is_whole(&finding.file));
    // The new index of each skill that stays.
    let mut next = 0;
    let index: Vec<Option<u32>> = kept
        .iter()
        .map(|kept| {
            next += u32::from(*kept);
            kept.then(|| next - 1)
        })
        .collect();
    set.skills = all
        .into_iter()
        .zip(kept)
        .filter_map(|(skill, kept)| kept.then_some(skill))
        .map(|mut skill| {
            skill.parent = skill.parent.and_then(|parent| index[parent as usize]);
            skill
        })
        .collect();
}
