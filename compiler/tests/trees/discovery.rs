//! Which files become skills, and what is said of those that do not.

use skillbundle_compiler::{Options, Root, compile};

use crate::kit::{Tree, page, skill, skipped};

type Case<'a> = (
    &'a str,
    Vec<(&'a str, String)>,
    &'a [&'a str],
    &'a [&'a str],
);

#[test]
fn every_candidate_is_served_or_named() {
    let s = |name: &str| skill(name, "A skill");
    // what it shows, files below the root, skills, findings
    let cases: Vec<Case<'_>> = vec![
        ("one level", vec![("a/SKILL.md", s("a"))], &["a"], &[]),
        (
            "groups of any depth",
            vec![("g/h/deep/SKILL.md", s("deep")), ("top/SKILL.md", s("top"))],
            &["g/h/deep", "top"],
            &[],
        ),
        (
            "a spelling of its own",
            vec![("lower/skill.md", s("lower"))],
            &["lower"],
            &["warning skill-file-name r/lower/skill.md"],
        ),
        (
            "two spellings",
            vec![("both/SKILL.md", s("both")), ("both/skill.md", s("wrong"))],
            &["both"],
            &["warning skill-file-name r/both/skill.md"],
        ),
        (
            "dependencies",
            vec![
                ("node_modules/evil/SKILL.md", s("evil")),
                ("ok/SKILL.md", s("ok")),
            ],
            &["ok"],
            &["info ignored-directory r/node_modules"],
        ),
        (
            "a skill called like build output",
            vec![("target/SKILL.md", s("target"))],
            &[],
            &["warning ignored-directory r/target", "warning no-skills r"],
        ),
        (
            "dot folders",
            vec![
                (".cursor/skills/a/SKILL.md", s("a")),
                (".cursor/skills/b/SKILL.md", s("b")),
                (".trash/a/SKILL.md", s("a")),
                ("a/SKILL.md", s("a")),
            ],
            &["a"],
            &[
                "warning hidden-skill r/.cursor",
                "info ignored-directory r/.trash",
            ],
        ),
        (
            "hosts' homes, last in order",
            vec![
                (".claude/skills/a/SKILL.md", s("a")),
                ("z/SKILL.md", s("z")),
            ],
            &["z", ".claude/skills/a"],
            &[],
        ),
        (
            "a skill in a skill",
            vec![("a/SKILL.md", s("a")), ("a/b/SKILL.md", s("b"))],
            &["a", "a/b"],
            &[],
        ),
        (
            "an empty root",
            vec![("readme.txt", String::new())],
            &[],
            &["warning no-skills r"],
        ),
        (
            "no frontmatter",
            vec![("a/SKILL.md", "# A\n".to_owned()), ("b/SKILL.md", s("b"))],
            &["b"],
            &["error missing-frontmatter r/a/SKILL.md"],
        ),
        (
            "neither name nor description",
            vec![("a/SKILL.md", "---\ntitle: x\n---\nx\n".to_owned())],
            &[],
            &[
                "error missing-description r/a/SKILL.md",
                "error missing-name r/a/SKILL.md",
            ],
        ),
        (
            "a blank name",
            vec![(
                "a/SKILL.md",
                "---\nname: ' '\ndescription: d\n---\nx\n".to_owned(),
            )],
            &[],
            &["error missing-name r/a/SKILL.md"],
        ),
        (
            "markdown that is about something else",
            vec![
                ("a/SKILL.md", s("a")),
                ("README.md", "# R\n".to_owned()),
                ("docs/x.md", "---\nbroken: [\n---\n".to_owned()),
            ],
            &["a"],
            &[],
        ),
        (
            "pages below a skill",
            vec![
                ("a/SKILL.md", s("a")),
                ("a/_index.md", page("x")),
                ("a/p.md", page("y")),
            ],
            &["a"],
            &[],
        ),
    ];
    for (what, files, skills, expected) in cases {
        let tree = Tree::new();
        for (path, text) in files {
            tree.file(&format!("r/{path}"), text);
        }
        let (served, mut found) = tree.outcome(&["r"]);
        assert_eq!(served, skills, "{what}");
        let mut expected: Vec<String> = expected.iter().map(|&it| it.to_owned()).collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn a_root_may_be_hidden_or_a_skill_itself() {
    let tree = Tree::new();
    tree.skill("home/.agents/skills/live", "live")
        .file("tool/scripts/a.sh", "echo a\n")
        .skill("tool", "Tool Kit");
    let (skills, found) = tree.outcome(&["home/.agents/skills", "tool"]);
    assert_eq!(skills, ["live", "tool-kit"]);
    assert_eq!(
        found,
        [
            "info name-mismatch tool/SKILL.md",
            "warning not-published tool/SKILL.md"
        ]
    );
    let compiled = tree.compile(&["tool"]);
    assert_eq!(crate::kit::files(&compiled, "tool-kit"), ["scripts/a.sh"]);
}

#[cfg(unix)]
#[test]
fn linked_roots_and_folders_are_followed_and_served_once() {
    let tree = Tree::new();
    tree.skill("store/linked", "linked")
        .link("skills/linked", "../store/linked");
    tree.skill("pool/alpha", "alpha").link("by-link", "pool");
    tree.skill("twice/real", "real").link("twice/again", "real");
    assert_eq!(
        tree.outcome(&["skills"]),
        (vec!["linked".to_owned()], vec![])
    );
    assert_eq!(
        tree.outcome(&["by-link"]),
        (vec!["alpha".to_owned()], vec![])
    );
    let (skills, found) = tree.outcome(&["twice"]);
    assert_eq!(skills, ["real"]);
    assert_eq!(found, ["info linked-skill twice/again/SKILL.md"]);
}

#[test]
fn a_missing_root_is_an_error_unless_it_is_optional() {
    let tree = Tree::new();
    tree.skill("here/a", "a");
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
    };
    let compiled = compile(&tree.roots(&["nowhere", "here"]), &options).expect("it is optional");
    assert_eq!(compiled.set.skills[0].root, 1);
    assert_eq!(tree.findings(&compiled), ["info root-missing nowhere"]);
}

#[test]
fn a_root_that_is_a_file_cannot_be_compiled() {
    let tree = Tree::with(&[("file", "x")]);
    let roots = tree.roots(&["file"]);
    let error = compile(&roots, &Options::default()).expect_err("a file is no root");
    assert!(error.to_string().contains("file"), "{error}");
    let options = Options {
        optional_roots: true,
    };
    let compiled = compile(&roots, &options).expect("it is optional");
    assert!(compiled.report.has_errors());
}

#[cfg(unix)]
#[test]
fn what_may_not_be_read_is_named_with_the_systems_words() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    let tree = Tree::new();
    tree.skill("r/good", "good")
        .skill("r/locked", "locked")
        .skill("r/half", "half");
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
fn the_first_configuration_counts() {
    let config = "matching:\n  min_score: 0.5\n";
    let tree = Tree::with(&[
        ("a/config.yaml", "title: a site\n"),
        ("b/config.yaml", config),
        ("c/config.yaml", config),
    ]);
    for root in ["a", "b", "c"] {
        tree.skill(&format!("{root}/{root}"), root);
    }
    let compiled = tree.compile(&["a", "b", "c"]);
    assert!((compiled.set.settings.min_score - 0.5).abs() < f64::EPSILON);
    let found = tree.findings(&compiled);
    assert_eq!(
        found,
        [
            "info config-ignored a/config.yaml",
            "warning config-ignored c/config.yaml"
        ]
    );
}

#[test]
fn roots_keep_their_labels_and_order() {
    let tree = Tree::new();
    tree.skill("one/a", "a").skill("two/b", "b");
    let root = |dir: &str, label: &str, scope| Root {
        dir: tree.path(dir),
        label: label.to_owned(),
        scope,
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
