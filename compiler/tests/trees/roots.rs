//! Roots: missing, unreadable, not a directory; their labels and order.

use skillbundle_compiler::{Options, Root, compile};

use crate::kit::{self, CompileTree, Tree, skipped};

#[test]
fn a_missing_root_is_an_error_unless_it_is_optional() {
    let tree = Tree::new();
    tree.skill("here/a", "a", "A skill");
    let (skills, found) = tree.outcome(&["nowhere", "here"]);
    assert_eq!(
        (skills, found),
        (
            vec!["a".to_owned()],
            vec!["error root-missing nowhere".to_owned()]
        )
    );

    let options = Options {
        optional_roots: true,
        check: false,
    };
    let compiled = compile(&tree.roots(&["nowhere", "here"]), &options).expect("it is optional");
    assert_eq!(compiled.set.skills[0].root, 1);
    assert_eq!(tree.findings(&compiled), ["info root-missing nowhere"]);
}

#[test]
fn a_root_that_is_a_file_is_an_error() {
    let tree = kit::tree(&[("file", "x")]);
    let roots = tree.roots(&["file"]);
    let error = compile(&roots, &Options::default()).expect_err("a file is no root");
    assert!(error.to_string().contains("file"), "{error}");
    let options = Options {
        optional_roots: true,
        check: false,
    };
    let compiled = compile(&roots, &options).expect("it is optional");
    assert!(compiled.report.has_errors());
}

#[cfg(unix)]
#[test]
fn unreadable_files_and_directories_are_reported() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    let tree = Tree::new();
    tree.skill("r/good", "good", "A skill")
        .skill("r/locked", "locked", "A skill")
        .skill("r/half", "half", "A skill");
    for path in ["r/locked", "r/half/SKILL.md"] {
        set_permissions(tree.path(path), Permissions::from_mode(0o000)).expect("chmod");
    }
    if std::fs::read(tree.path("r/half/SKILL.md")).is_ok() {
        return skipped("this user may read everything");
    }
    let (skills, found) = tree.outcome(&["r"]);
    set_permissions(tree.path("r/locked"), Permissions::from_mode(0o755)).expect("chmod");
    assert_eq!(skills, ["good"]);
    assert_eq!(
        found,
        [
            "error unreadable r/half/SKILL.md",
            "warning unreadable r/locked"
        ]
    );
}

#[test]
fn roots_keep_their_labels_and_order() {
    let tree = Tree::new();
    tree.skill("one/a", "a", "A skill")
        .skill("two/b", "b", "A skill");
    let root = |dir: &str, label: &str, scope| Root {
        dir: tree.path(dir),
        label: label.to_owned(),
        scope,
        commit: None,
        max_files: None,
        declared: Vec::new(),
    };
    let roots = [
        root("two", "first", skillbundle_format::Scope::Global),
        root("one", "second", skillbundle_format::Scope::Project),
    ];
    let set = compile(&roots, &Options::default())
        .expect("both are there")
        .set;
    assert_eq!(
        set.roots
            .iter()
            .map(|it| it.label.as_str())
            .collect::<Vec<_>>(),
        ["first", "second"]
    );
    let skills: Vec<_> = set
        .skills
        .iter()
        .map(|it| (it.root, it.path.as_str()))
        .collect();
    assert_eq!(skills, [(0, "b"), (1, "a")]);
}
