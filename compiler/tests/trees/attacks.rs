//! Hostile trees, from end to end: nothing from outside is in the set.

#![cfg(unix)]

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use skillbundle_compiler::Compiled;

use crate::kit::{CompileTree, Tree, paths, skill, skipped};

const CANARY: &str = "not for serving";

/// Whether the canary is anywhere in the skills or the findings.
fn leaks(compiled: &Compiled) -> bool {
    let canary = CANARY.as_bytes();
    let holds = |bytes: &[u8]| bytes.windows(canary.len()).any(|it| it == canary);
    let in_skill = |it: &skillbundle_format::SkillEntry| {
        holds(&it.source)
            || it
                .files
                .iter()
                .any(|file| file.bytes.as_deref().is_some_and(holds))
    };
    compiled.set.skills.iter().any(in_skill) || compiled.report.render_human(false).contains(CANARY)
}

#[test]
fn links_out_of_the_tree_serve_nothing_and_are_reported() {
    // link, target, whether the skill `leaky` is served
    let cases = [
        ("r/leaky/notes.txt", "../../outside/secret.txt", true),
        ("r/leaky/deep/dir", "../../../outside", true),
        ("r/leaky/abs.txt", "/etc/hostname", true),
        ("r/other/SKILL.md", "../../outside/secret.txt", true),
        ("r/other/SKILL.md", "/etc/hostname", true),
        ("r/dir", "../outside", true),
        ("r/leaky/chain.txt", "chain2.txt", true),
    ];
    for (link, target, served) in cases {
        let tree = Tree::new();
        tree.file("outside/secret.txt", CANARY)
            .skill("r/leaky", "leaky", "A skill")
            .link(link, target);
        tree.link("r/leaky/chain2.txt", "../../outside/secret.txt");
        let compiled = tree.compile(&["r"]);
        assert!(!leaks(&compiled), "{link} -> {target}");
        assert_eq!(paths(&compiled) == ["leaky"], served, "{link} -> {target}");
        let shown = tree.path(link).display().to_string();
        let found = compiled
            .report
            .diagnostics()
            .iter()
            .find(|it| it.file == shown);
        let found = found.unwrap_or_else(|| panic!("{link} is named"));
        assert_eq!(
            (found.code.as_str(), found.severity.as_str()),
            ("link-escapes", "error"),
            "{link}"
        );
        assert!(found.message.contains(target), "{}", found.message);
    }
}

#[test]
fn a_skill_file_that_is_not_a_file_is_reported() {
    let tree = Tree::new();
    tree.skill("r/good", "good", "A skill");
    for dir in ["r/pipe", "r/dir/SKILL.md"] {
        fs::create_dir_all(tree.path(dir)).expect("a directory");
    }
    let made = Command::new("mkfifo")
        .arg(tree.path("r/pipe/SKILL.md"))
        .status()
        .expect("mkfifo runs");
    assert!(made.success());
    let sparse = fs::File::create(tree.path("r/sparse.md")).and_then(|it| it.set_len(10 << 30));
    sparse.expect("a sparse file");
    fs::create_dir_all(tree.path("r/huge")).expect("a directory");
    let huge = fs::File::create(tree.path("r/huge/SKILL.md")).and_then(|it| it.set_len(10 << 30));
    huge.expect("a sparse file");
    let (skills, found) = tree.outcome(&["r"]);
    assert_eq!(skills, ["good"]);
    assert_eq!(
        found,
        [
            "warning skill-file-name r/dir/SKILL.md",
            "error file-too-large r/huge/SKILL.md",
            "error not-a-file r/pipe/SKILL.md",
            "info file-too-large r/sparse.md",
        ]
    );
}

#[test]
fn unusable_names_only_affect_their_own_file() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let tree = Tree::new();
    tree.skill("r/a", "a", "A skill")
        .file("r/a/back\\slash.txt", "x")
        .file("r/a/fine.txt", "x")
        .file("r/notes\\x.txt", "x");
    let odd = tree.path("r/a").join(OsStr::from_bytes(b"caf\xE9.txt"));
    if fs::write(odd, "x").is_err() {
        return skipped("this file system refuses such names");
    }
    let long = "x".repeat(255);
    tree.file(&format!("r/a/{long}"), "x");
    let compiled = tree.compile(&["r"]);
    let files = &compiled.set.skills[0].files;
    let files: Vec<&str> = files.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(files, ["fine.txt", &long]);
    assert_eq!(
        tree.findings(&compiled),
        [
            "error unusable-name r/a/back\\slash.txt",
            "error unusable-name r/a/caf\\xe9.txt",
            &format!("warning windows-name r/a/{long}"),
            "info unusable-name r/notes\\x.txt",
        ]
    );
}

#[test]
fn a_name_never_becomes_a_path() {
    for name in [
        "../../etc/passwd",
        "/etc/passwd",
        "a/../../b",
        "C:\\x",
        "..",
        "\\\\host\\share",
    ] {
        let tree = Tree::new();
        tree.file("r/SKILL.md", skill(&format!("'{name}'"), "d"))
            .file("r/in/a/SKILL.md", skill(&format!("'{name}'"), "e"));
        for skill in tree.compile(&["r"]).set.skills {
            assert_eq!(skill.name, name);
            let parts: Vec<_> = skill.path.split('/').collect();
            assert!(
                !parts.contains(&"..") && !parts.contains(&"") && !skill.path.contains('\\'),
                "{}",
                skill.path
            );
        }
    }
}

#[test]
fn a_thousand_levels_end_at_the_limit() {
    let tree = Tree::new();
    tree.skill("r/a", "a", "A skill")
        .skill(&format!("r/{}", ["d"; 15].join("/")), "d", "A skill");
    let deep = tree.path("r/a").join(["d"; 1_000].join("/"));
    fs::create_dir_all(deep).expect("directories");
    let (skills, found) = tree.outcome(&["r"]);
    assert_eq!(skills, ["a".to_owned(), ["d"; 15].join("/")]);
    assert_eq!(
        found,
        [format!(
            "warning directory-too-deep r/a/{}",
            ["d"; 15].join("/")
        )]
    );
}

#[test]
fn swapping_a_file_for_a_link_while_compiling_leaks_nothing() {
    let tree = Tree::new();
    tree.file("outside/x.txt", CANARY)
        .file("outside/skill.txt", CANARY);
    tree.skill("r/a", "a", "A skill").file("r/a/x.txt", "mine");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (folder, outside) = (tree.path("r/a"), tree.path("outside"));
            let (file, kept) = (tree.path("r/a/x.txt"), tree.path("kept"));
            while !done.load(Ordering::Relaxed) {
                // A step that fails is made good by the next round.
                let _ = fs::rename(&file, &kept);
                let _ = std::os::unix::fs::symlink(outside.join("x.txt"), &file);
                let _ = fs::remove_file(&file);
                let _ = fs::rename(&kept, &file);
                let _ = fs::rename(&folder, &kept);
                let _ = std::os::unix::fs::symlink(&outside, &folder);
                let _ = fs::remove_file(&folder);
                let _ = fs::rename(&kept, &folder);
            }
        });
        let leaked = (0..200).any(|_| leaks(&tree.compile(&["r"])));
        done.store(true, Ordering::Relaxed);
        assert!(!leaked, "the canary was served");
    });
}
