//! Real skills: every `SKILL.md` is served or reported. Ignored without a corpus.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use skillbundle_compiler::{Options, Root, Severity, compile};
use skillbundle_format::{Bundle, Publication, SkillSet, Unpublished, publications};
use skillbundle_testkit::{material, test_with};

/// Every file called `SKILL.md`, found independently of the compiler.
fn skill_files(directory: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(directory).expect("the corpus can be read") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            skill_files(&path, found);
        } else if path
            .file_name()
            .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"))
        {
            found.insert(path);
        }
    }
}

/// Checks the MCP skills extension: other YAML parsers must read every file of it,
/// and all digests must be right.
#[expect(clippy::print_stdout, reason = "people read the counts")]
fn check_extension(set: &SkillSet) {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for outcome in publications(set) {
        let reason = match outcome {
            Publication::Published { .. } => "published",
            Publication::Unpublished(Unpublished::Name) => "name",
            Publication::Unpublished(Unpublished::Description) => "description",
            Publication::Unpublished(Unpublished::Recovered) => "not YAML",
            Publication::Unpublished(Unpublished::ByteOrderMark) => "byte order mark",
            Publication::Unpublished(Unpublished::File(_)) => "file name",
            Publication::Unpublished(Unpublished::Taken(_)) => "URI taken",
            Publication::Unpublished(Unpublished::Overlaps(_)) => "overlap",
        };
        *reasons.entry(reason).or_default() += 1;
    }
    let bytes = skillbundle_format::write(set).expect("a set can be written");
    let bundle = Bundle::from_bytes(&bytes).expect("written bytes open");
    bundle.verify().expect("written bytes are sound");
    let published = bundle.catalog().and_then(|it| it.published());
    let published = published.expect("a listing");
    for skill in published.skills() {
        let skill = skill.expect("a skill");
        let text = skill.skill.text().expect("text");
        let yaml = text.split("---").nth(1).unwrap_or_default();
        let read: Result<serde_yaml::Value, _> = serde_yaml::from_str(yaml);
        let name = read.map(|it| it["name"].as_str() == Some(&*skill.name));
        assert!(name.is_ok_and(|it| it), "other parsers read {}", skill.uri);
    }
    let sections = bundle.sections();
    let size = |name| {
        sections
            .iter()
            .find(|it| it.name == name)
            .map_or(0, |it| it.len)
    };
    let files = published.uris_starting_with("").expect("URIs").count();
    println!(
        "  extension: {reasons:?}, {files} files, {} bytes of {}",
        size("PUBLISHED") + size("SUMS"),
        bytes.len()
    );
}

#[test_with(corpus)]
#[expect(clippy::print_stdout, reason = "people read the counts")]
fn every_real_skill_is_served_or_reported() {
    let trees = fs::read_dir(material("corpus")).expect("the corpus can be read");
    let mut trees: Vec<PathBuf> = trees.map(|it| it.expect("an entry").path()).collect();
    trees.retain(|it| it.is_dir());
    trees.sort();
    for tree in trees {
        let mut expected = BTreeSet::new();
        skill_files(&tree, &mut expected);
        let compiled =
            compile(&[Root::project(&tree)], &Options::default()).expect("the tree can be read");
        let served: BTreeSet<PathBuf> = compiled
            .set
            .skills
            .iter()
            .map(|it| tree.join(&it.file_path))
            .collect();
        let report = &compiled.report;
        for file in expected.difference(&served) {
            let named = report
                .diagnostics()
                .iter()
                .any(|it| file.starts_with(&it.file));
            assert!(named, "{} is neither served nor reported", file.display());
        }
        println!(
            "{}: {} of {} served, {} files, {} errors, {} warnings, {} infos",
            tree.file_name().unwrap_or_default().display(),
            served.len(),
            expected.len(),
            compiled
                .set
                .skills
                .iter()
                .map(|it| it.files.len())
                .sum::<usize>(),
            report.count(Severity::Error),
            report.count(Severity::Warning),
            report.count(Severity::Info),
        );
        // Real skills load, even if their authors have something to fix.
        assert!(
            served.len() * 100 >= expected.len() * 95,
            "{}",
            report.render_plain()
        );
        check_extension(&compiled.set);
        let again =
            compile(&[Root::project(&tree)], &Options::default()).expect("the tree can be read");
        let bytes = |it| skillbundle_format::write(it).expect("a set can be written");
        assert_eq!(
            bytes(&compiled.set),
            bytes(&again.set),
            "{}",
            tree.display()
        );
    }
}
