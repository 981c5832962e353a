//! Rules about where files are and how large they are, for trees that a Markdown case cannot describe.

use std::fs;

use skillbundle_compiler::{CheckOptions, Profiles, Root, Severity, check};

use crate::kit::{Tree, skill};

/// The findings of a root as `severity code file:line`, for these profiles.
fn findings(tree: &Tree, profiles: &[&str]) -> Vec<String> {
    let profiles = Profiles::of(profiles).expect("known profiles");
    let roots = [Root::project(tree.path("r"))];
    let checked = check(&roots, &CheckOptions::new(profiles)).expect("the root can be read");
    let base = tree.path("r").display().to_string();
    let found = checked.report.diagnostics().iter();
    found
        .map(|it| {
            let file = it.file.strip_prefix(&base).unwrap_or(&it.file);
            format!(
                "{} {} {}",
                it.severity,
                it.code,
                file.trim_start_matches('/')
            )
        })
        .collect()
}

/// A skill whose description and body have these many characters and lines.
fn sized(name: &str, description: usize, lines: usize, width: usize) -> String {
    let body = format!("{}\n", "x".repeat(width)).repeat(lines);
    let description = "d".repeat(description);
    format!("---\nname: {name}\ndescription: {description}\n---\n{body}")
}

#[test]
fn a_long_text_is_reported_beyond_what_the_specification_advises() {
    for (lines, width, is_long) in [
        (496, 1, false),
        (497, 1, true),
        (100, 199, false),
        (100, 201, true),
    ] {
        let tree = Tree::new();
        tree.file("r/a/SKILL.md", sized("a", 20, lines, width));
        for (profile, severity) in [
            ("spec", Severity::Warning),
            ("claude", Severity::Warning),
            ("codex", Severity::Info),
        ] {
            let expected = is_long.then(|| format!("{severity} long-text a/SKILL.md"));
            let expected: Vec<String> = expected.into_iter().collect();
            assert_eq!(findings(&tree, &[profile]), expected, "{lines} of {width}");
        }
    }
}

#[test]
fn many_skills_and_their_descriptions_are_reported_for_the_whole_set() {
    for (count, description, expected) in [
        (100, 70, &[][..]),
        (101, 70, &["warning many-skills "]),
        (20, 400, &["warning long-listing "]),
        (20, 390, &[]),
    ] {
        let tree = Tree::new();
        for number in 0..count {
            let name = format!("a{number}");
            tree.file(
                &format!("r/{name}/SKILL.md"),
                sized(&name, description, 1, 1),
            );
        }
        assert_eq!(findings(&tree, &["claude"]), expected, "{count}");
    }
}

#[test]
fn an_empty_submodule_is_reported() {
    let tree = Tree::new();
    tree.file("r/a/SKILL.md", skill("a", "Does a. Use it for a."));
    let modules = "[submodule \"full\"]\n\tpath = full\n[submodule \"v\"]\n\tpath = vendor/v\n";
    tree.file("r/.gitmodules", modules);
    tree.file("r/full/b/SKILL.md", skill("b", "Does b. Use it for b."));
    fs::create_dir_all(tree.path("r/vendor/v")).expect("a directory can be made");
    assert_eq!(
        findings(&tree, &["claude"]),
        ["warning empty-submodule vendor/v"]
    );
}

#[test]
fn what_git_leaves_in_place_of_a_file_is_reported() {
    let tree = Tree::new();
    tree.file("r/skills/a/SKILL.md", skill("a", "Does a. Use it for a."));
    tree.file("r/skills/a/scripts/run.sh", "../../shared/run.sh");
    tree.file("r/skills/a/scripts/path.txt", "../../shared/run.sh\n");
    tree.file("r/skills/a/scripts/word", "shared");
    tree.file("r/skills/shared/run.sh", "echo\n");
    tree.file("r/skills/inside", "a");
    tree.file("r/skills/outside", "../../elsewhere/skills/outside");
    tree.file("r/skills/LICENSE", "MIT");
    tree.file("r/skills/b/SKILL.md", "../a/SKILL.md");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 3\n";
    tree.file("r/skills/a/assets/one.bin", pointer);
    tree.file("r/skills/a/assets/two.bin", pointer);
    assert_eq!(
        findings(&tree, &["codex"]),
        [
            "warning lfs-pointer skills/a/assets/one.bin",
            "warning link-as-text skills/a/scripts/run.sh",
            "error link-as-text skills/b/SKILL.md",
            "error link-as-text skills/inside",
            "error link-as-text skills/outside",
        ]
    );
}

#[test]
fn skills_that_hosts_do_not_search_for_are_counted() {
    let tree = Tree::new();
    let places = [
        "skills/a",
        "skills/a/inner",
        "skills/team/b",
        "skills/team/c",
        "skills/1/2/3/4/5/6/d",
        "plugins/p/skills/e",
        "other/f/g/h",
    ];
    for place in places {
        let name = place.rsplit('/').next().unwrap_or_default();
        tree.file(
            &format!("r/{place}/SKILL.md"),
            skill(name, "Does it. Use it now."),
        );
    }
    assert_eq!(
        findings(&tree, &["gemini"]),
        [
            "info deep-skill ",
            "warning deep-skill ",
            "warning nested-skill skills/a/inner/SKILL.md",
        ]
    );
}

#[test]
fn a_skill_that_is_a_pointer_or_an_unresolved_merge_says_so() {
    let skill = skill("a", "Does a. Use it for a.");
    let pointer = "version https://git-lfs.github.com/spec/v1\r\noid sha256:12\r\nsize 3\r\n";
    let whole = format!("<<<<<<< HEAD\n{skill}=======\n{skill}>>>>>>> main\n");
    let inner = "---\nname: a\n<<<<<<< HEAD\ndescription: One.\n=======\ndescription: Two.\n>>>>>>> main\n---\nBody\n";
    let body = format!("{skill}<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> main\n");
    let shown = format!("{skill}```\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> main\n```\n");
    for (text, expected) in [
        (pointer, &["error lfs-pointer a/SKILL.md"][..]),
        (&whole, &["error merge-conflict a/SKILL.md"]),
        (inner, &["error merge-conflict a/SKILL.md"]),
        (&body, &["warning merge-conflict a/SKILL.md"]),
        (&shown, &[]),
    ] {
        let tree = Tree::new();
        tree.file("r/a/SKILL.md", text);
        assert_eq!(findings(&tree, &["portable"]), expected, "{text}");
    }
}

#[test]
fn limits_of_one_host_are_errors_for_it() {
    for (profile, expected) in [
        ("claude", "error skill-too-large a/SKILL.md"),
        ("codex", "warning skill-too-large a/SKILL.md"),
    ] {
        let tree = Tree::new();
        tree.file("r/a/SKILL.md", skill("a", "Does a. Use it for a."));
        for number in 0..512 {
            tree.file(&format!("r/a/assets/{number}"), "x");
        }
        assert_eq!(findings(&tree, &[profile]), [expected]);
    }
}

#[test]
fn a_letter_of_chinese_is_about_one_token() {
    let tree = Tree::new();
    let text = skill("a", "Does a. Use it for a.");
    tree.file("r/a/SKILL.md", format!("{text}{}\n", "中".repeat(5001)));
    tree.file(
        "r/b/SKILL.md",
        text.replace(": a\n", ": b\n") + &"é".repeat(19_000),
    );
    assert_eq!(findings(&tree, &["spec"]), ["warning long-text a/SKILL.md"]);
}

#[test]
fn references_that_lead_nowhere_are_found_however_they_are_written() {
    for (body, expected) in [
        ("[a](references/my%20fil.md)", Some("references/my file.md")),
        ("[a](<references/no file.md>)", Some("my file.md")),
        ("![a][b]\n\n[b]: <assets/no pic.png>", None),
        ("[a](references/a(b).md)", None),
        (
            "[a](references\\guide.md)",
            Some("write `references/guide.md`"),
        ),
        (
            "[a](/references/guide.md)",
            Some("write `references/guide.md`"),
        ),
        (
            "[a](References/GUIDE.md)",
            Some("`references/guide.md`; case matters"),
        ),
        ("[a](references/none)", None),
        ("[a](scripts/run)", None),
        ("[a](assets/none)", None),
        ("[a](docs/)", None),
        ("See <img src=\"assets/no.png\"> here.", None),
        ("<a href='references/no.md'>it</a>", None),
        ("First `python scripts/no.py --all`.", None),
        ("| a |\n|---|\n| `bash scripts/no.sh` |", None),
    ] {
        let tree = Tree::new();
        tree.file(
            "r/a/SKILL.md",
            skill("a", "Does a. Use it for a.") + body + "\n",
        );
        tree.file("r/a/references/guide.md", "x\n");
        tree.file("r/a/references/my file.md", "x\n");
        tree.file("r/a/scripts/run.py", "print()\n");
        let options = CheckOptions::new(Profiles::own());
        let checked = check(&[Root::project(tree.path("r"))], &options);
        let report = checked.expect("the root can be read").report;
        let found: Vec<_> = report.diagnostics().iter().collect();
        let [found] = found[..] else {
            panic!("{body}: {found:?}")
        };
        assert_eq!(found.code.as_str(), "broken-reference", "{body}");
        let help = found.help.as_deref().unwrap_or_default();
        let expected = expected.unwrap_or("add the file or fix the path");
        assert!(help.contains(expected), "{body}: {help}");
    }
}

#[test]
fn pages_that_the_text_links_to_are_read_for_references() {
    for (body, path, is_read) in [
        ("See [it](guide.md#part).", "guide.md", true),
        ("See it.", "guide.md", false),
        ("See [it](templates/page.md).", "templates/page.md", false),
        ("See it.", "references/guide.md", true),
    ] {
        let tree = Tree::new();
        tree.file(
            "r/a/SKILL.md",
            skill("a", "Does a. Use it for a.") + body + "\n",
        );
        tree.file(&format!("r/a/{path}"), "[x](none.md)\n");
        let expected = is_read.then(|| format!("warning broken-reference a/{path}"));
        assert_eq!(
            findings(&tree, &["skillbundle"]),
            Vec::from_iter(expected),
            "{body}"
        );
    }
}

#[test]
fn what_is_no_reference_to_a_file_of_the_skill_is_left_alone() {
    for body in [
        "[a](references/my%20file.md) [b](<references/my file.md>)",
        "[a](/features/analytics) [b](/docs/x.md) [c](//example.com/x.md)",
        "[a](C:\\Users\\x.md) [b](file:///etc/hosts) `~/x.md`",
        "[a](references/) [b](scripts) [c](./) [d](https://x.io/)",
        "[a](references/filename) [b](wiki/page) [c](references/YYYY-MM-DD.md)",
        "<!-- <img src=\"assets/no.png\"> -->\n\n```html\n<img src=\"a/b.png\">\n```",
        "<img src=\"chart.png\"> <a href=\"/report\"> <a href=\"https://x.io/a.md\">",
        "`python app/none.py` `bash -c x/y.sh` `node dist/index.js`",
        "`references\\none.md` `x/y` `python scripts/run.py`",
    ] {
        let tree = Tree::new();
        tree.file(
            "r/a/SKILL.md",
            skill("a", "Does a. Use it for a.") + body + "\n",
        );
        tree.file("r/a/references/my file.md", "x\n");
        tree.file("r/a/scripts/run.py", "print()\n");
        assert_eq!(findings(&tree, &["skillbundle"]), [""; 0], "{body}");
    }
}

#[test]
fn what_was_meant_as_a_skill_file_is_named() {
    let text = skill("b", "Does b. Use it for b.");
    for (path, expected) in [
        ("b/SKILL.txt", Some("error skill-file-name")),
        ("b/SKILL", Some("error skill-file-name")),
        ("b/Skill.markdown", Some("error skill-file-name")),
        ("b/SKILL.md.txt", Some("error skill-file-name")),
        ("b/SKILL.md.md", Some("error skill-file-name")),
        ("b/SKILL.md ", Some("error skill-file-name")),
        ("b/SKILLS.md", Some("warning unread-page")),
        ("b/b.md", Some("warning unread-page")),
        ("b.md", Some("warning unread-page")),
        ("a/SKILL.txt", None),
        ("docs/skill", None),
    ] {
        let tree = Tree::new();
        tree.file("r/a/SKILL.md", skill("a", "Does a. Use it for a."));
        tree.file(&format!("r/{path}"), &text);
        let found = findings(&tree, &["claude"]);
        let expected = expected.map(|it| format!("{it} {path}"));
        assert_eq!(found, Vec::from_iter(expected), "{path}");
    }
    let tree = Tree::new();
    tree.file("r/a/SKILL.md", skill("a", "Does a. Use it for a."));
    tree.file("r/b/SKILL.md/x.txt", "x");
    assert_eq!(
        findings(&tree, &["claude"]),
        ["error skill-file-name b/SKILL.md"]
    );
}

#[cfg(unix)]
#[test]
fn a_page_that_a_link_makes_a_skill_is_read() {
    let tree = Tree::new();
    tree.file("r/real.md", skill("a", "Does a. Use it for a."));
    tree.file("r/b/SKILL.md", skill("b", "Does b. Use it for b."));
    fs::create_dir_all(tree.path("r/a")).expect("a directory can be made");
    tree.link("r/a/SKILL.md", "../real.md");
    assert_eq!(
        findings(&tree, &["claude"]),
        ["info linked-skill-file a/SKILL.md"]
    );
}

#[cfg(unix)]
#[test]
fn a_skill_file_that_is_a_link_is_not_found_by_every_host() {
    let tree = Tree::new();
    tree.file("r/shared/a.txt", skill("a", "Does a. Use it for a."));
    tree.file("r/real/b/SKILL.md", skill("b", "Does b. Use it for b."));
    fs::create_dir_all(tree.path("r/a")).expect("a directory can be made");
    tree.link("r/a/SKILL.md", "../shared/a.txt");
    tree.link("r/b", "real/b");
    let found = findings(&tree, &["codex"]);
    let about: Vec<_> = found.iter().filter(|it| it.starts_with("error")).collect();
    assert_eq!(about, ["error linked-skill-file a/SKILL.md"]);
}

#[test]
fn a_root_without_skills_names_the_page_that_was_meant_as_one() {
    let tree = Tree::new();
    tree.file("r/pdf.md", skill("pdf", "Fills forms. Use it for forms."));
    let checked = check(
        &[Root::project(tree.path("r"))],
        &CheckOptions::new(Profiles::own()),
    );
    let report = checked.expect("the root can be read").report;
    let [found] = report.diagnostics() else {
        panic!("{:?}", report.diagnostics())
    };
    let help = found.help.as_deref().unwrap_or_default();
    assert!(help.contains("`pdf/SKILL.md`"), "{help}");
    assert_eq!(found.related.len(), 1);
}
