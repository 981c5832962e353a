//! The files of folder skills, and references to them.

use crate::kit::{Tree, files, skill};

#[test]
fn every_file_is_bundled_but_junk() {
    let tree = Tree::new();
    tree.skill("r/kit", "kit");
    let kept = [
        ".env.example",
        ".hidden/x",
        "data/ü.bin",
        "references/deep/er/page.md",
        "scripts/main.sh",
        "scripts/selftest",
    ];
    let junk = [
        ".DS_Store",
        "._x",
        "Thumbs.db",
        "a.pyc",
        "x~",
        ".gitignore",
        "__pycache__/m.py",
        "node_modules/p/i.js",
        ".git/config",
    ];
    for path in kept.iter().chain(&junk) {
        tree.file(&format!("r/kit/{path}"), path);
    }
    let compiled = tree.compile(&["r"]);
    assert_eq!(files(&compiled, "kit"), kept);
    for file in &compiled.set.skills[0].files {
        assert_eq!(file.bytes.as_deref(), Some(file.path.as_bytes()));
    }
}

#[cfg(unix)]
#[test]
fn the_executable_bit_is_kept_and_no_other() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    for (mode, executable) in [
        (0o644, false),
        (0o600, false),
        (0o755, true),
        (0o700, true),
        (0o444, false),
    ] {
        let tree = Tree::new();
        tree.skill("r/a", "a").file("r/a/x", "x");
        set_permissions(tree.path("r/a/x"), Permissions::from_mode(mode)).expect("chmod");
        assert_eq!(
            tree.compile(&["r"]).set.skills[0].files[0].executable,
            executable,
            "{mode:o}"
        );
    }
}

#[test]
fn declarations_say_more_about_files_of_a_folder_skill() {
    let text = "---\nname: a\ndescription: d\nassets:\n  - file: x.txt\n    type: template\n  - gone.txt\nscripts:\n  - file: run.sh\n    execution: server\n---\nbody\n";
    let tree = Tree::with(&[
        ("r/a/SKILL.md", text),
        ("r/a/x.txt", "x"),
        ("r/a/run.sh", "r"),
        ("r/a/y.txt", "y"),
    ]);
    let compiled = tree.compile(&["r"]);
    let files: Vec<_> = compiled.set.skills[0]
        .files
        .iter()
        .map(|it| {
            (
                it.path.as_str(),
                format!("{:?}", it.role),
                it.kind.as_str(),
                it.bytes.is_some(),
            )
        })
        .collect();
    let row = |path, role: &str, kind, there| (path, role.to_owned(), kind, there);
    assert_eq!(
        files,
        [
            row("gone.txt", "Asset", "other", false),
            row("run.sh", "Script", "other", true),
            row("x.txt", "Asset", "template", true),
            row("y.txt", "File", "other", true),
        ]
    );
    assert_eq!(
        tree.findings(&compiled),
        ["warning missing-asset r/a/SKILL.md"]
    );
}

#[test]
fn references_are_checked_and_examples_are_not() {
    // body, what is said: code, line, column
    type Case = (&'static str, &'static [(&'static str, usize, usize)]);
    let cases: &[Case] = &[
        ("Read [api](references/api.md).", &[]),
        (
            "Read [api](references/gone.md).",
            &[("broken-reference", 5, 12)],
        ),
        ("日本 [語](gone.md)", &[("broken-reference", 5, 8)]),
        (
            "Read [api](References/API.md).",
            &[("broken-reference", 5, 12)],
        ),
        (
            "Read [x](../../shared/x.md).",
            &[("reference-leaves-skill", 5, 10)],
        ),
        (
            "Read [x](../b/x.md) and [y](../b/y.md).",
            &[("reference-leaves-skill", 5, 10)],
        ),
        (
            "See `../b/x.md` and `../c`.",
            &[("reference-leaves-skill", 5, 6)],
        ),
        ("Run `scripts/run.sh --fast`.", &[]),
        (
            "Run `scripts/gone.sh --fast`.",
            &[("broken-reference", 5, 6)],
        ),
        (
            "Details live in `references/gone.md`.",
            &[("broken-reference", 5, 18)],
        ),
        ("| Streaming | `references/streaming.md` |", &[]),
        ("See `assets/none.txt`: there is no such directory.", &[]),
        (
            "See [site](https://example.com/x.md), [part](#part), [mail](mailto:a@b.c).",
            &[],
        ),
        (
            "See [x](<name>.md), [y]({name}.md), [z](url), `scripts/<name>.py`.",
            &[],
        ),
        ("```\n[x](gone.md) and `scripts/gone.sh`\n```", &[]),
        (
            "```\nout/\n└── made.md\n```\nIt links [made](made.md).",
            &[],
        ),
        ("See [ignore](.gitignore).", &[]),
        (
            "[x](gone.md) [again](gone.md)",
            &[("broken-reference", 5, 5)],
        ),
        ("[outer](../SKILL.md)", &[("reference-leaves-skill", 5, 9)]),
    ];
    for (body, expected) in cases {
        let tree = Tree::new();
        tree.file(
            "r/a/SKILL.md",
            format!("---\nname: a\ndescription: d\n---\n{body}\n"),
        )
        .file("r/a/references/api.md", "api")
        .file("r/a/scripts/run.sh", "run")
        .file("r/a/.gitignore", "x")
        .skill("r/b", "b")
        .file("r/b/x.md", "x");
        let compiled = tree.compile(&["r"]);
        let found: Vec<_> = compiled
            .report
            .diagnostics()
            .iter()
            .map(|it| {
                (
                    it.code.as_str(),
                    it.span.map_or(0, |it| it.line),
                    it.span.map_or(0, |it| it.column),
                )
            })
            .collect();
        assert_eq!(found, *expected, "{body}");
    }
}

#[test]
fn a_skill_in_a_skill_may_refer_to_the_outer_one() {
    let tree = Tree::new();
    tree.skill("r/a", "a").file("r/a/shared.md", "s");
    tree.file(
        "r/a/b/SKILL.md",
        "---\nname: b\ndescription: d\n---\nSee [s](../shared.md).\n",
    );
    assert_eq!(tree.outcome(&["r"]).1, [""; 0]);
}

#[test]
fn what_is_served_and_perhaps_was_not_meant_to_be_is_named() {
    let tree = Tree::new();
    tree.skill("r/a", "a")
        .file("r/a/.env", "TOKEN=x")
        .file("r/a/.env.example", "TOKEN=");
    assert_eq!(tree.outcome(&["r"]).1, ["warning secret-file r/a/.env"]);
}

#[test]
fn a_skill_too_large_for_other_hosts_is_named_at_the_edge() {
    for (count, bytes, said) in [
        (511, 0, false),
        (512, 0, true),
        (1, (16 << 20) - 200, false),
        (1, 16 << 20, true),
    ] {
        let tree = Tree::new();
        tree.file("r/a/SKILL.md", skill("a", "d"));
        for file in 0..count {
            tree.file(&format!("r/a/{file}"), vec![b'x'; bytes]);
        }
        let expected: &[&str] = if said {
            &["warning skill-too-large r/a/SKILL.md"]
        } else {
            &[]
        };
        assert_eq!(
            tree.outcome(&["r"]).1,
            expected,
            "{count} files of {bytes} bytes"
        );
    }
}
