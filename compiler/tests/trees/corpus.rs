//! Real skills: every `SKILL.md` is served or named, and the counts are shown.
//! The trees are looked for where `SKILLBUNDLE_CORPUS` says, else beside the
//! repository.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use skillbundle_compiler::{Options, Root, Severity, compile};

use crate::kit::skipped;

fn corpus() -> PathBuf {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus");
    env::var_os("SKILLBUNDLE_CORPUS").map_or_else(|| PathBuf::from(beside), PathBuf::from)
}

/// Every file called `SKILL.md`, found by other means than the compiler's.
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

#[expect(clippy::print_stdout, reason = "the counts are what one looks at")]
#[test]
fn every_real_skill_is_served_or_named() {
    let Ok(trees) = fs::read_dir(corpus()) else {
        return skipped("there is no corpus here; SKILLBUNDLE_CORPUS names one");
    };
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
            assert!(named, "{} is neither served nor named", file.display());
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
        // Real skills load; what is wrong with them is for their authors.
        assert!(
            served.len() * 100 >= expected.len() * 95,
            "{}",
            report.render_plain()
        );
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
