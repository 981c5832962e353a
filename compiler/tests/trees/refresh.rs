//! Compiling again: what moved, and what survives half an edit.

use skillbundle_compiler::{Compiled, Options, compile, fingerprint, recompile};

use crate::kit::{CompileTree, Tree, page, paths, skill};

#[test]
fn a_root_that_appears_later_is_noticed() {
    let tree = Tree::new();
    let roots = tree.roots(&["late"]);
    let before = fingerprint(&roots).expect("a missing root is no failure");
    tree.skill("late/a", "a", "A skill");
    assert_ne!(fingerprint(&roots).expect("it is there"), before);
    assert_eq!(paths(&tree.compile(&["late"])), ["a"]);
}

#[test]
fn an_edit_of_equal_size_and_time_is_noticed() {
    let tree = Tree::new();
    let roots = tree.roots(&["r"]);
    tree.file("r/a/SKILL.md", skill("a", "aaaa"));
    let file = tree.path("r/a/SKILL.md");
    let time = std::fs::metadata(&file)
        .and_then(|it| it.modified())
        .expect("a time");
    let before = fingerprint(&roots).expect("it is there");
    tree.file("r/a/SKILL.md", skill("a", "bbbb"));
    let open = std::fs::File::options().append(true).open(&file);
    open.and_then(|it| it.set_modified(time))
        .expect("the time can be set back");
    assert_ne!(fingerprint(&roots).expect("it is there"), before);
}

#[test]
fn a_skill_keeps_its_last_good_version_while_its_file_does_not_load() {
    let good_page = page("word");
    let good = [
        ("r/a/SKILL.md", skill("a", "good")),
        ("r/a/x.txt", "x".to_owned()),
        ("r/p.md", good_page),
    ];
    // file, its new text, the skills' descriptions, whether it has failed
    let cases: &[(&str, &str, &[&str], bool)] = &[
        (
            "r/a/SKILL.md",
            "---\nname: a\ndescription: brok",
            &["good", "A page"],
            true,
        ),
        ("r/a/SKILL.md", "", &["good", "A page"], true),
        (
            "r/a/SKILL.md",
            "---\nname: a\n---\n",
            &["good", "A page"],
            true,
        ),
        (
            "r/a/SKILL.md",
            "---\nname: a\ndescription: better\n---\n",
            &["better", "A page"],
            false,
        ),
        (
            "r/p.md",
            "---\ndescription: A pa",
            &["good", "A page"],
            true,
        ),
        ("r/p.md", "", &["good", "A page"], true),
        // Without its keywords it is a page of another kind, by intent.
        (
            "r/p.md",
            "---\ndescription: A page\n---\nx\n",
            &["good"],
            false,
        ),
    ];
    for (file, text, expected, failed) in cases {
        let tree = Tree::new();
        for (path, text) in &good {
            tree.file(path, text);
        }
        let roots = tree.roots(&["r"]);
        let first = compile(&roots, &Options::default()).expect("the root is there");
        tree.file(file, text);
        let second = recompile(&roots, &Options::default(), &first.set).expect("the root is there");
        let third = recompile(&roots, &Options::default(), &second.set).expect("the root is there");
        for again in [&second, &third] {
            assert_eq!(descriptions(again), *expected, "{file} {text:?}");
            let names: Vec<_> = again
                .failed
                .iter()
                .map(|it| format!("r/{}", it.file_path))
                .collect();
            assert_eq!(
                names,
                if *failed {
                    vec![(*file).to_owned()]
                } else {
                    vec![]
                },
                "{text:?}"
            );
            let kept = again
                .report
                .diagnostics()
                .iter()
                .any(|it| it.code.as_str() == "last-good-kept");
            assert_eq!(kept, *failed, "{file} {text:?}");
        }
        assert_eq!(second.set.skills[0].files.len(), 1, "{file} {text:?}");
        if *failed {
            assert_eq!(
                format!("{:?}", second.set.skills),
                format!("{:?}", first.set.skills)
            );
        }
    }
}

fn descriptions(compiled: &Compiled) -> Vec<&str> {
    compiled
        .set
        .skills
        .iter()
        .map(|it| it.description.as_str())
        .collect()
}

#[test]
fn a_deleted_skill_is_not_kept() {
    let tree = Tree::new();
    tree.skill("r/a", "a", "A skill")
        .skill("r/b", "b", "A skill");
    let roots = tree.roots(&["r"]);
    let first = compile(&roots, &Options::default()).expect("the root is there");
    std::fs::remove_dir_all(tree.path("r/a")).expect("a directory");
    let second = recompile(&roots, &Options::default(), &first.set).expect("the root is there");
    assert_eq!(paths(&second), ["b"]);
}

#[test]
fn a_failed_skill_has_the_path_it_would_have() {
    let tree = Tree::new();
    tree.file("r/g/a/SKILL.md", "no frontmatter")
        .file("r/SKILL.md", "---\nname: x")
        .skill("r/ok", "ok", "A skill");
    let failed = tree.compile(&["r"]).failed;
    let failed: Vec<_> = failed
        .iter()
        .map(|it| (it.root, it.path.as_str(), it.file_path.as_str()))
        .collect();
    assert_eq!(failed, [(0, "", "SKILL.md"), (0, "g/a", "g/a/SKILL.md")]);
}
