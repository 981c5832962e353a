//! Declared files: found whatever they are called, and as carefully as any other.

use std::fs;
use std::os::unix::fs::symlink;

use skillbundle_compiler::{
    Compiled, Options, Previous, Root, fingerprints, recompile, walked_paths,
};

use crate::kit::{CompileTree, Tree, paths};

/// The text of a skill that declares these assets.
fn declaring(name: &str, assets: &[&str]) -> String {
    let assets = assets.iter().map(|it| format!("  - file: '{it}'\n"));
    let assets: String = assets.collect();
    format!("---\nname: {name}\ndescription: A skill\nassets:\n{assets}---\n# Body\n")
}

/// The text of a page that declares these assets.
fn page(assets: &[&str]) -> String {
    declaring("p", assets).replace("name: p", "keywords: [word]")
}

/// The files of the only skill with their texts; `-` for those without.
fn files(compiled: &Compiled) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let files = compiled.set.skills.iter().flat_map(|it| &it.files);
    files
        .map(|it| {
            format!(
                "{} {}",
                it.path,
                it.bytes.as_deref().map_or("-".into(), text)
            )
        })
        .collect()
}

fn again(roots: &[Root], before: &Compiled) -> (Vec<Root>, Compiled) {
    let roots: Vec<_> = (roots.iter().cloned().zip(before.declared.clone()))
        .map(|(root, declared)| Root { declared, ..root })
        .collect();
    let previous = Previous {
        set: before.set.clone(),
        states: before.states.clone(),
    };
    let compiled = recompile(&roots, &Options::default(), &previous, &|| None);
    (roots, compiled.expect("readable").expect("nothing is torn"))
}

#[test]
fn a_declared_file_is_found_whatever_it_is_called() {
    let names = [
        ".#lock",
        ".env.example",
        ".gitignore",
        ".venv/pip.conf",
        "Thumbs.db",
        "a/node_modules/y.js",
        "c~",
        "old.skb",
        "target/x/y.json",
    ];
    for (file, home, text) in [
        ("r/a/SKILL.md", "r/a", declaring("a", &names)),
        ("r/a.md", "r/a", page(&names)),
        ("r/target.md", "r/target", page(&names)),
    ] {
        let tree = Tree::new();
        tree.file(file, text);
        for name in names {
            tree.file(&format!("{home}/{name}"), name)
                .file(&format!("{home}/node_modules/undeclared"), "x")
                .file(&format!("{home}/undeclared~"), "x");
        }
        let compiled = tree.compile(&["r"]);
        let expected = names.map(|it| format!("{it} {it}"));
        assert_eq!(files(&compiled), expected, "{file}");
        let found = tree.findings(&compiled);
        assert!(
            found
                .iter()
                .all(|it| it.starts_with("info ignored-directory")
                    || it.starts_with("info unsupported-key")),
            "{found:?}"
        );
    }
}

#[test]
fn a_declared_file_that_is_hidden_is_read_as_carefully_as_any_other() {
    let tree = Tree::new();
    let names = [
        ".env",
        ".git/config",
        ".git",
        ".gitkeep",
        "c~",
        "d~",
        "target/in",
        "target/out",
        "venv/x",
    ];
    tree.file("r/a/SKILL.md", declaring("a", &names))
        .file("r/a/.env", "KEY=1")
        .file("r/a/.git/config", "secret")
        .file("r/a/target/real", "real")
        .file("outside", "secret")
        .file("elsewhere/x", "secret");
    fs::create_dir(tree.path("r/a/d~")).expect("a directory");
    for (link, target) in [
        ("r/a/c~", "../../outside"),
        ("r/a/target/in", "real"),
        ("r/a/target/out", "../../../outside"),
        ("r/a/venv", "../../elsewhere"),
    ] {
        symlink(target, tree.path(link)).expect("a link");
    }
    let compiled = tree.compile(&["r"]);
    let served: Vec<_> = files(&compiled)
        .into_iter()
        .filter(|it| !it.ends_with(" -"))
        .collect();
    assert_eq!(served, [".env KEY=1"]);
    let found = tree.findings(&compiled);
    for expected in [
        "warning secret-file r/a/.env",
        "error link-escapes r/a/c~",
        "error link-escapes r/a/target/in",
        "error link-escapes r/a/target/out",
        "warning missing-asset r/a/SKILL.md",
    ] {
        assert!(
            found.iter().any(|it| it == expected),
            "no {expected}: {found:#?}"
        );
    }
    let text = compiled.report.render_plain();
    for expected in [
        "`a/.git/config` is of version control",
        "`a/d~` is a directory",
        "`a/.gitkeep` does not exist",
    ] {
        assert!(text.contains(expected), "no {expected}: {text}");
    }
}

#[test]
fn changes_of_hidden_files_are_seen_only_while_they_are_declared() {
    type Change = fn(&Tree);
    let changes: [(&str, &str, Change); 6] = [
        ("an edit", "c~ new, target/d/x -", |tree| {
            tree.file("r/a/c~", "new");
        }),
        ("one that appears", "c~ new, target/d/x here", |tree| {
            tree.file("r/a/target/d/x", "here");
        }),
        ("one that goes", "target/d/x here, c~ -", |tree| {
            fs::remove_file(tree.path("r/a/c~")).expect("it was there");
        }),
        ("an edit below", "target/d/x next, c~ -", |tree| {
            tree.file("r/a/target/d/x", "next");
        }),
        ("a declaration less", "c~ -", |tree| {
            tree.file("r/a/SKILL.md", declaring("a", &["c~"]));
        }),
        ("another edit", "c~ back", |tree| {
            tree.file("r/a/c~", "back");
        }),
    ];
    let tree = Tree::new();
    tree.file("r/a/SKILL.md", declaring("a", &["c~", "target/d/x"]))
        .file("r/a/c~", "old");
    let sorted = |compiled: &Compiled| {
        let mut files = files(compiled);
        files.sort_by_key(|it| it.ends_with(" -"));
        files.join(", ")
    };
    let first = tree.compile(&["r"]);
    let (mut roots, mut compiled) = again(&tree.roots(&["r"]), &first);
    for (name, expected, change) in changes {
        assert_eq!(
            fingerprints(&roots).expect("readable"),
            compiled.fingerprints
        );
        change(&tree);
        let moved = fingerprints(&roots).expect("readable") != compiled.fingerprints;
        assert!(moved, "{name}");
        (roots, compiled) = again(&roots, &compiled);
        assert_eq!(sorted(&compiled), expected, "{name}");
        // As if it had never been compiled before.
        let bundle = |set| skillbundle_format::write(set).expect("consistent");
        assert_eq!(
            bundle(&compiled.set),
            bundle(&tree.compile(&["r"]).set),
            "{name}"
        );
        (roots, _) = again(&roots, &compiled);
    }
    tree.file("r/a/target/d/x", "undeclared")
        .file("r/a/other~", "x");
    assert_eq!(
        fingerprints(&roots).expect("readable"),
        compiled.fingerprints
    );
}

#[test]
fn hidden_files_are_watched_where_they_are_or_may_appear() {
    let tree = Tree::new();
    tree.file("r/a/SKILL.md", declaring("a", &["target/d/x"]))
        .file("r/venv/y", "");
    let (roots, _) = again(&tree.roots(&["r"]), &tree.compile(&["r"]));
    let walked = walked_paths(&roots);
    let real = |path: &str| {
        fs::canonicalize(tree.dir())
            .expect("it is there")
            .join(path)
    };
    assert_eq!(
        walked.files,
        [real("r/a/target/d/x"), real("r/venv/SKILL.md")]
    );
    for path in ["r/a/target", "r/a/target/d"] {
        assert!(walked.entries.contains(&real(path)), "{walked:?}");
        assert!(!walked.directories.contains(&real(path)), "{walked:?}");
    }
}

#[test]
fn a_skill_may_be_called_like_a_working_directory_but_not_like_dependencies() {
    let tree = Tree::new();
    for name in ["target", "venv", "node_modules", ".venv", "__pycache__"] {
        tree.skill(&format!("r/{name}"), name, "A skill")
            .file(&format!("r/{name}/more.txt"), "x");
    }
    tree.skill("r/rust/target/debug/build", "copy", "Build output")
        .skill("r/nested/target/target", "deep", "A skill");
    let compiled = tree.compile(&["r"]);
    assert_eq!(paths(&compiled), ["target", "venv"]);
    assert_eq!(files(&compiled), ["more.txt x", "more.txt x"]);
    let before = fingerprints(&tree.roots(&["r"])).expect("readable");
    tree.skill("r/rust/target", "rust", "A skill now");
    assert_ne!(fingerprints(&tree.roots(&["r"])).expect("readable"), before);
    let found = paths(&tree.compile(&["r"]));
    assert_eq!(
        found,
        ["rust/target", "rust/target/debug/build", "target", "venv"]
    );
}

/// A sparse file, so that reading it would cost memory and the test costs none.
#[test]
fn a_file_that_is_too_large_keeps_its_size_and_fails_nothing() {
    for (file, text) in [
        ("r/a/SKILL.md", declaring("a", &["assets/big.bin", "gone"])),
        ("r/a.md", page(&["assets/big.bin", "gone"])),
    ] {
        let tree = Tree::new();
        tree.file(file, text).file("r/a/assets/big.bin", "");
        let size = 70 << 20;
        let big = fs::File::options()
            .write(true)
            .open(tree.path("r/a/assets/big.bin"));
        big.and_then(|it| it.set_len(size)).expect("a sparse file");
        let compiled = tree.compile(&["r"]);
        let known = compiled.set.skills[0]
            .files
            .iter()
            .map(|it| (&*it.path, it.unread));
        assert_eq!(
            known.collect::<Vec<_>>(),
            [("assets/big.bin", Some(size)), ("gone", None)]
        );
        let found = tree.findings(&compiled);
        assert!(!compiled.report.has_errors(), "{found:?}");
        assert!(
            found.contains(&"warning file-too-large r/a/assets/big.bin".to_owned()),
            "{found:?}"
        );
    }
}
