//! open(write(set)) gives back the set, getter by getter.

use proptest::prelude::*;
use skillbundle_format::{Bundle, Catalog, FileEntry, Skill, SkillEntry, SkillSet, write};

use super::random::skill_set;

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read(set in skill_set(8)) {
        let bytes = write(&set).expect("a valid set can be written");
        let bundle = Bundle::from_bytes(&bytes).expect("written bytes open");
        bundle.verify().expect("written bytes are sound");
        prop_assert_eq!(bundle.byte_len(), bytes.len() as u64);
        let catalog = bundle.catalog().expect("a catalog");
        check_set(&set, catalog);
        for (id, entry) in set.skills.iter().enumerate() {
            let skill = catalog.skill(u32::try_from(id).expect("a few")).expect("a skill");
            check_skill(&set, entry, skill);
        }
    }

    #[test]
    fn the_same_set_gives_the_same_bytes(set in skill_set(8)) {
        prop_assert_eq!(write(&set).expect("writes"), write(&set.clone()).expect("writes"));
    }
}

fn check_set(set: &SkillSet, catalog: Catalog<'_>) {
    assert_eq!(catalog.len(), set.skills.len());
    assert_eq!(catalog.is_empty(), set.skills.is_empty());
    assert_eq!(catalog.content_settings().expect("settings"), set.settings);
    let roots = catalog.roots().expect("roots");
    assert_eq!(roots.len(), set.roots.len());
    for (root, entry) in roots.iter().zip(&set.roots) {
        assert_eq!(
            (root.label, root.scope, root.commit),
            (entry.label.as_str(), entry.scope, entry.commit.as_deref())
        );
    }
    let paths: Vec<_> = catalog
        .skills()
        .map(|s| s.expect("a skill").path.to_owned())
        .collect();
    let wanted: Vec<_> = set.skills.iter().map(|s| s.path.clone()).collect();
    assert_eq!(paths, wanted, "listing order is the order of the set");
    assert!(
        catalog
            .skill(u32::try_from(set.skills.len()).expect("a few"))
            .is_err()
    );
    assert!(
        catalog
            .by_path("no/such/path")
            .expect("an answer")
            .is_none()
    );
}

fn check_skill(set: &SkillSet, entry: &SkillEntry, skill: Skill<'_>) {
    assert_eq!(skill.path, entry.path);
    assert_eq!(skill.name, entry.name);
    assert_eq!(skill.description, entry.description);
    assert_eq!(
        skill.summary,
        entry
            .description
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    );
    assert_eq!(skill.dialect, entry.dialect);
    assert_eq!(skill.root, entry.root);
    let root = &set.roots[entry.root as usize];
    assert_eq!(
        (skill.root_label, skill.scope),
        (root.label.as_str(), root.scope)
    );
    assert_eq!(skill.file_path, entry.file_path);
    assert_eq!(skill.priority.to_bits(), entry.priority.to_bits());
    assert_eq!(skill.inherit, entry.inherit);
    assert_eq!(skill.keywords().expect("keywords"), entry.keywords);
    assert_eq!(
        skill.frontmatter_json().expect("frontmatter"),
        entry.frontmatter_json
    );
    assert_eq!(*skill.source().expect("source"), *entry.source);
    assert_eq!(
        skill.text().expect("text").as_bytes(),
        &entry.source[entry.text_start..]
    );
    assert_eq!(
        skill.body().expect("body").as_bytes(),
        &entry.source[entry.body.clone()]
    );
    assert_eq!(
        skill.install_name(),
        entry.path.rsplit('/').next().expect("a segment")
    );
    let parent = entry.parent.map(|p| set.skills[p as usize].path.clone());
    assert_eq!(
        skill.parent().expect("parent").map(|p| p.path.to_owned()),
        parent
    );
    let chain: Vec<_> = skill
        .chain()
        .expect("chain")
        .iter()
        .map(|s| s.path.to_owned())
        .collect();
    assert_eq!(chain, chain_of(set, entry));
    let files = skill.files().expect("files");
    assert_eq!(files.len(), entry.files.len());
    for (file, entry) in files.iter().zip(&entry.files) {
        check_file(file, entry);
        let again = skill
            .file(&entry.path)
            .expect("an answer")
            .expect("its own file");
        assert_eq!(again.path, entry.path);
    }
    check_inherited(set, entry, skill);
}

fn check_file(file: &skillbundle_format::File<'_>, entry: &FileEntry) {
    assert_eq!(file.path, entry.path);
    assert_eq!(file.role, entry.role);
    assert_eq!(file.kind, entry.kind);
    assert_eq!(file.description, entry.description);
    assert_eq!(file.execution, entry.execution);
    assert_eq!(file.executable, entry.executable);
    let size = entry.bytes.as_ref().map(|b| b.len() as u64);
    assert_eq!(file.size, size.or(entry.unread));
    assert_eq!(file.is_unread(), entry.unread.is_some());
    assert_eq!(
        file.bytes().expect("bytes").as_deref(),
        entry.bytes.as_deref()
    );
    assert_eq!(file.digest().is_some(), entry.bytes.is_some());
    let text = entry
        .bytes
        .as_ref()
        .is_none_or(|b| std::str::from_utf8(b).is_ok() && !b.contains(&0));
    if entry.bytes.is_some() {
        assert_eq!(file.is_text, text, "{}", entry.path);
    }
    let args = file.args().expect("args");
    assert_eq!(args.len(), entry.args.len());
    for (arg, entry) in args.iter().zip(&entry.args) {
        assert_eq!(
            (arg.name, arg.description, arg.required, arg.default),
            (
                entry.name.as_str(),
                entry.description.as_str(),
                entry.required,
                entry.default.as_deref(),
            )
        );
    }
}

/// Root first, itself last; just itself where it does not inherit.
fn chain_of(set: &SkillSet, entry: &SkillEntry) -> Vec<String> {
    let mut chain = vec![entry.path.clone()];
    let mut at = entry;
    while let (true, Some(parent)) = (entry.inherit, at.parent) {
        at = &set.skills[parent as usize];
        chain.insert(0, at.path.clone());
    }
    chain
}

/// Files of the chain, nearest first; a file of the same path hides those above it.
fn check_inherited(set: &SkillSet, entry: &SkillEntry, skill: Skill<'_>) {
    let mut seen: Vec<&str> = entry.files.iter().map(|f| f.path.as_str()).collect();
    let mut wanted: Vec<(String, String)> = Vec::new();
    let chain = chain_of(set, entry);
    for path in chain.iter().rev().skip(1) {
        let ancestor = set
            .skills
            .iter()
            .find(|s| s.path == *path)
            .expect("an ancestor");
        for file in &ancestor.files {
            if !seen.contains(&file.path.as_str()) {
                seen.push(&file.path);
                wanted.push((file.path.clone(), path.clone()));
            }
        }
    }
    let mut found: Vec<(String, String)> = skill
        .inherited_files()
        .expect("inherited files")
        .iter()
        .map(|(file, from)| (file.path.to_owned(), from.path.to_owned()))
        .collect();
    for (path, from) in &wanted {
        let (file, source) = skill
            .find_file(path)
            .expect("an answer")
            .expect("a file of the chain");
        assert_eq!(
            (file.path, source.map(|s| s.path)),
            (path.as_str(), Some(from.as_str()))
        );
    }
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
}
