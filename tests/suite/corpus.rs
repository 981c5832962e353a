//! Real skills, if a corpus is there: every skill compiles or has a diagnostic,
//! compiling twice gives the same bytes, and a scripted client gets every text and
//! every file back byte for byte from the shipped binary.

mod client;
mod disk;

use std::fs;
use std::path::{Path, PathBuf};

use skillbundle_compiler::{Compiled, Root, Severity};

use crate::project::{Project, bytes_of, compile_roots, material, open, say, test_with};
use client::Count;

/// Trees of skills, one folder each.
fn trees() -> Vec<PathBuf> {
    let corpus = corpus();
    let mut trees: Vec<PathBuf> = fs::read_dir(&corpus)
        .expect("the corpus can be read")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    trees.sort();
    assert!(!trees.is_empty(), "{} holds no tree", corpus.display());
    trees
}

fn corpus() -> PathBuf {
    fs::canonicalize(material("corpus")).expect("the corpus is there")
}

#[test_with(corpus)]
fn each_tree_is_served_byte_for_byte() {
    let mut all = Count::default();
    for tree in &trees() {
        let name = tree
            .file_name()
            .expect("a tree has a name")
            .display()
            .to_string();
        all += prove(&name, std::slice::from_ref(tree));
    }
    say(&format!("corpus, tree by tree: {all}"));
}

#[test_with(corpus)]
fn all_trees_at_once_are_served_byte_for_byte() {
    prove("all roots at once", &trees());
}

#[test_with(corpus)]
fn the_whole_corpus_as_one_root_is_served_byte_for_byte() {
    prove("one root", &[corpus()]);
}

/// Compiles the folders twice, accounts for every skill file on disk, then loads
/// everything from the shipped binary.
fn prove(name: &str, folders: &[PathBuf]) -> Count {
    let roots: Vec<Root> = folders.iter().map(Root::project).collect();
    let compiled = compile_roots(&roots);
    let bytes = bytes_of(&compiled);
    assert!(
        bytes == bytes_of(&compile_roots(&roots)),
        "{name}: compiled twice, the bytes differ"
    );
    let project = Project::new();
    project.file("corpus.skb", &bytes);
    let bundle = open(&bytes);
    bundle.verify().unwrap_or_else(|e| panic!("{name}: {e}"));
    let catalog = bundle.catalog().expect("a catalog");
    let not_served = account(name, folders, &compiled);
    let mut session = project.serve(&["--bundle", "corpus.skb"]);
    let mut count = client::ask_everything(&mut session, catalog, folders);
    let ended = session.finish();
    assert_eq!(ended.code, Some(0), "{name}: {}", ended.stderr);
    count.not_served = not_served;
    count.bundle_bytes = bytes.len();
    let findings = |severity| compiled.report.count(severity);
    say(&format!(
        "corpus, {name}: {count}; {} errors, {} warnings, {} notes",
        findings(Severity::Error),
        findings(Severity::Warning),
        findings(Severity::Info)
    ));
    count
}

/// Every skill file that an independent walk finds is served or has a diagnostic.
/// Returns the number of those that are not served.
fn account(name: &str, folders: &[PathBuf], compiled: &Compiled) -> usize {
    let mut served: Vec<PathBuf> = compiled
        .set
        .skills
        .iter()
        .map(|skill| folders[skill.root as usize].join(&skill.file_path))
        .collect();
    served.sort();
    let named: Vec<&Path> = compiled
        .report
        .diagnostics()
        .iter()
        .map(|d| Path::new(d.file.as_str()))
        .collect();
    let mut found = Vec::new();
    for folder in folders {
        disk::skill_files(folder, &mut found);
    }
    assert!(!found.is_empty(), "{name}: no skill file on disk");
    let mut only_named = 0;
    for file in &found {
        if served.binary_search(file).is_err() {
            let has_diagnostic = named.iter().any(|n| file == n || file.parent() == Some(n));
            assert!(
                has_diagnostic,
                "{name}: {} is neither served nor has a diagnostic",
                file.display()
            );
            only_named += 1;
        }
    }
    assert_eq!(
        served.len() + only_named,
        found.len(),
        "{name}: something is served that is no skill file on disk"
    );
    only_named
}
