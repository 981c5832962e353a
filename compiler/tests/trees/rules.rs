//! The examples in the table of rules: the bad one is reported by its rule, the good one is not.

use std::collections::BTreeSet;

use skillbundle_compiler::{CheckOptions, Code, Profile, Profiles, Report, Root, check};

use crate::kit::Tree;

/// What precedes the path of a file in an example of several files.
const FILE: &str = ">>> ";

/// The file that an example without paths is.
const ONLY_FILE: &str = "example/SKILL.md";

/// The files of an example, as path and text; none if it is a description in parentheses.
fn files(example: &str) -> Vec<(&str, &str)> {
    if example.starts_with('(') {
        return Vec::new();
    }
    let Some(first) = example.strip_prefix(FILE) else {
        return vec![(ONLY_FILE, example)];
    };
    let separator = format!("\n{FILE}");
    let parts = first.split(separator.as_str());
    parts
        .map(|part| part.split_once('\n').expect("a text follows the path"))
        .collect()
}

/// The codes that a check for every profile reports about these files.
fn reported(files: &[(&str, &str)]) -> BTreeSet<Code> {
    let tree = Tree::new();
    for (path, text) in files {
        tree.file(path, text);
    }
    let names: Vec<&str> = Profile::ALL.iter().map(|it| it.as_str()).collect();
    let profiles = Profiles::of(&names).expect("every profile has a name");
    let checked = check(&[Root::project(tree.dir())], &CheckOptions::new(profiles));
    let checked = checked.expect("the tree can be read");
    let mut reports = vec![checked.report];
    if !checked.requests.is_empty(&checked.set) {
        let image = skillbundle_format::lay_out(&checked.set).expect("the set can be written");
        let bundle = image.to_bundle().expect("a fresh bundle is valid");
        let replayed = checked.requests.replay(&checked.set, &bundle);
        let replayed = replayed.expect("the bundle is whole");
        reports.extend([replayed.report, replayed.failed]);
    }
    let found = reports.iter().flat_map(Report::diagnostics);
    found.map(|it| it.code).collect()
}

#[test]
fn examples_of_rules_are_judged_by_their_rule() {
    let mut wrong = Vec::new();
    for code in Code::ALL {
        let guide = code.guide();
        let (bad, good) = (files(guide.bad), files(guide.good));
        if !bad.is_empty() {
            let found = reported(&bad);
            if !found.contains(code) {
                wrong.push(format!(
                    "{code} does not report its bad example, only {found:?}"
                ));
            }
        }
        if !good.is_empty() && reported(&good).contains(code) {
            wrong.push(format!("{code} reports its good example"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn examples_are_split_at_paths() {
    for (example, expected) in [
        ("text\n>>> x", vec![(ONLY_FILE, "text\n>>> x")]),
        ("(none)", vec![]),
        (
            ">>> a/SKILL.md\none\ntwo\n>>> a/b.txt\nthree",
            vec![("a/SKILL.md", "one\ntwo"), ("a/b.txt", "three")],
        ),
    ] {
        assert_eq!(files(example), expected, "{example}");
    }
}
