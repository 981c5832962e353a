//! Compiling again: what moved, and what survives half an edit.

use skillbundle_compiler::{Compiled, Options, Previous, Root, compile, fingerprints, recompile};
use skillbundle_format::SkillEntry;

use crate::kit::{CompileTree, Tree, page, paths, skill};

fn again(roots: &[Root], previous: &Previous) -> Compiled {
    let compiled = recompile(roots, &Options::default(), previous, &|| None);
    compiled
        .expect("the roots are there")
        .expect("nothing is torn")
}

/// What a compilation leaves for the next one.
fn previous(compiled: &Compiled) -> Previous {
    Previous {
        set: compiled.set.clone(),
        states: compiled.states.clone(),
    }
}

#[test]
fn a_root_that_appears_later_is_noticed() {
    let tree = Tree::new();
    let roots = tree.roots(&["late"]);
    let before = fingerprints(&roots).expect("a missing root is no failure");
    tree.skill("late/a", "a", "A skill");
    assert_ne!(fingerprints(&roots).expect("it is there"), before);
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
    let before = fingerprints(&roots).expect("it is there");
    tree.file("r/a/SKILL.md", skill("a", "bbbb"));
    let open = std::fs::File::options().append(true).open(&file);
    open.and_then(|it| it.set_modified(time))
        .expect("the time can be set back");
    assert_ne!(fingerprints(&roots).expect("it is there"), before);
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
        let second = again(&roots, &previous(&first));
        let third = again(&roots, &previous(&second));
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

/// A file changes once everything is read. Where nobody watches, it is read again.
#[test]
fn what_changed_while_it_was_read_counts_as_the_watch_says() {
    type Case = (Option<&'static [&'static str]>, Option<&'static str>);
    let cases: [Case; 3] = [
        (None, Some("later")),
        (Some(&[]), Some("early")),
        (Some(&["r"]), None),
    ];
    for (answer, expected) in cases {
        let tree = Tree::new();
        tree.file("r/a/SKILL.md", skill("a", "early"));
        let unsettled = || {
            tree.file("r/a/SKILL.md", skill("a", "later"));
            Some(answer?.iter().map(|it| tree.path(it)).collect())
        };
        let compiled = recompile(
            &tree.roots(&["r"]),
            &Options::default(),
            &Previous::default(),
            &unsettled,
        );
        let compiled = compiled.expect("the root is there");
        let found = compiled.as_ref().map(|it| descriptions(it)[0]);
        assert_eq!(found, expected, "{answer:?}");
    }
}

/// Everything is edited, one skill is removed and one is new. What is said to be in the middle of a
/// change, and the descriptions and files of all skills then; none if nothing can be read.
#[test]
fn a_skill_whose_files_are_in_the_middle_of_a_change_stays_as_it_was() {
    let all = "new, new + x2, new, new, new page + x2";
    let cases: [(&[&str], &str); 13] = [
        (&[], all),
        (&["r/notes.txt"], all),
        (&["r/a/SKILL.md"], "old, new + x2, new, new, new page + x2"),
        (
            &["r/a/.SKILL.md.swp"],
            "old, new + x2, new, new, new page + x2",
        ),
        (&["r/a"], "old, new + x2, new, new, new page + x2"),
        (&["r/b/x"], "new, old + x1, new, new, new page + x2"),
        (&["r/gone"], "new, new + x2, old, new, new, new page + x2"),
        (&["r/later"], "new, new + x2, new, new page + x2"),
        (&["r/later/SKILL.md"], "new, new + x2, new, new page + x2"),
        (
            &["elsewhere/SKILL.md"],
            "new, new + x2, new, old, new page + x2",
        ),
        (&["r/page.md"], "new, new + x2, new, new, old page + x1"),
        (&["r/page/x"], "new, new + x2, new, new, old page + x1"),
        (&["r/a", "r"], ""),
    ];
    let page = |when: &str| {
        let assets = "assets:\n  - file: x\n    description: A file\n";
        format!("---\ndescription: {when} page\nkeywords: [word]\n{assets}---\nText\n")
    };
    for (unsettled, expected) in cases {
        let tree = Tree::new();
        let write = |when: &str, file: &str| {
            for (place, name) in [("r/a", "a"), ("r/b", "b"), ("elsewhere", "l")] {
                tree.file(&format!("{place}/SKILL.md"), skill(name, when));
            }
            tree.file("r/b/x", file).file("r/page/x", file);
            tree.file("r/page.md", page(when));
        };
        write("old", "x1");
        tree.file("r/gone/SKILL.md", skill("gone", "old"));
        tree.link("r/link", tree.path("elsewhere"));
        let roots = tree.roots(&["r"]);
        let first = compile(&roots, &Options::default()).expect("the root is there");
        write("new", "x2");
        std::fs::remove_dir_all(tree.path("r/gone")).expect("a directory");
        tree.file("r/later/SKILL.md", skill("later", "new"));
        let paths = || Some(unsettled.iter().map(|it| tree.path(it)).collect());
        let compiled = recompile(&roots, &Options::default(), &previous(&first), &paths);
        let compiled = compiled.expect("the root is there");
        let is_partial = compiled.as_ref().is_none_or(|it| it.is_partial);
        assert_eq!(is_partial, !unsettled.is_empty(), "{unsettled:?}");
        let shown = compiled.map(|it| {
            it.set
                .skills
                .iter()
                .map(shown)
                .collect::<Vec<_>>()
                .join(", ")
        });
        assert_eq!(shown.unwrap_or_default(), expected, "{unsettled:?}");
    }
}

/// Its description, and the contents of its files.
fn shown(skill: &SkillEntry) -> String {
    let files = skill.files.iter().filter_map(|it| it.bytes.as_deref());
    let files = files.map(|bytes| format!(" + {}", String::from_utf8_lossy(bytes)));
    skill.description.clone() + &files.collect::<String>()
}

#[test]
fn a_deleted_skill_is_not_kept() {
    let tree = Tree::new();
    tree.skill("r/a", "a", "A skill")
        .skill("r/b", "b", "A skill");
    let roots = tree.roots(&["r"]);
    let first = compile(&roots, &Options::default()).expect("the root is there");
    std::fs::remove_dir_all(tree.path("r/a")).expect("a directory");
    let second = again(&roots, &previous(&first));
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

/// A file, and its new text; `None` removes it.
type Change<'a> = (&'a str, Option<String>);

#[test]
fn compiling_only_what_changed_gives_the_same_as_compiling_everything() {
    let tree = Tree::new();
    let roots = tree.roots(&["r", "s"]);
    for (path, text) in [
        ("r/a/SKILL.md", skill("a", "first")),
        ("r/a/notes.txt", "notes".to_owned()),
        ("r/b/SKILL.md", skill("b", "second")),
        ("r/_root.md", page("root")),
        ("r/p.md", page("word")),
        ("r/p/data.txt", "data".to_owned()),
        ("r/plain.md", "No frontmatter.\n".to_owned()),
        ("s/c/SKILL.md", skill("c", "third")),
        ("s/page.md", page("other")),
        ("s/notes.md", "No skill.\n".to_owned()),
        ("s/broken/SKILL.md", "---\nname: [\n---\n".to_owned()),
    ] {
        tree.file(path, text);
    }
    let changes: &[Change<'_>] = &[
        ("r/a/SKILL.md", Some(skill("a", "changed"))),
        ("r/a/notes.txt", Some("more notes".to_owned())),
        ("r/b/new.sh", Some("#!/bin/sh\n".to_owned())),
        ("r/p/data.txt", None),
        ("r/p.md", Some(page("words"))),
        ("s/_root.md", Some(page("root"))),
        ("s/c/SKILL.md", Some(skill("a", "the name of another"))),
        ("r/a/SKILL.md", None),
        ("s/broken/SKILL.md", Some(skill("broken", "whole again"))),
        ("r/_root.md", None),
        (
            "r/config.yaml",
            Some("matching:\n  min_score: 0.5\n".to_owned()),
        ),
        ("s/page.md", Some("No keywords any more.\n".to_owned())),
        ("s/notes.md", Some(page("notes"))),
    ];
    let whole = |at: &str, compiled: &Compiled| {
        let bytes = skillbundle_format::write(&compiled.set).expect("consistent");
        (at.to_owned(), bytes, compiled.report.render_plain())
    };
    let mut last = compile(&roots, &Options::default()).expect("the roots are there");
    for (path, text) in changes {
        match text {
            Some(text) => drop(tree.file(path, text)),
            None => std::fs::remove_file(tree.path(path)).expect("it is there"),
        }
        // Without what is kept only because a later version is broken.
        let full = compile(&roots, &Options::default()).expect("the roots are there");
        let states = skillbundle_compiler::FileStates::from_bytes(&last.states.to_bytes());
        assert_eq!(states, last.states);
        let left = Previous {
            set: last.set,
            states,
        };
        last = again(&roots, &left);
        assert_eq!(whole(path, &last), whole(path, &full));
    }
}
