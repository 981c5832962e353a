//! Trees of pages: what is read, what is inherited, which files belong.

use crate::kit::{Tree, files, page};

#[test]
fn pages_get_paths_names_and_parents() {
    let tree = Tree::new();
    let text = page("word");
    for path in [
        "_root",
        "ui/_index",
        "ui/react/_index",
        "ui/react/auth",
        "ui/web/forms",
        "no-inherit",
    ] {
        tree.file(&format!("r/{path}.md"), &text);
    }
    let set = tree.compile(&["r"]).set;
    let parent = |it: &skillbundle_format::SkillEntry| {
        it.parent.map(|it| set.skills[it as usize].path.clone())
    };
    let found: Vec<_> = set
        .skills
        .iter()
        .map(|it| (it.path.as_str(), it.name.as_str(), parent(it)))
        .collect();
    let row = |path, parent: Option<&str>| (path, path, parent.map(str::to_owned));
    assert_eq!(
        found,
        [
            row("_root", None),
            row("no-inherit", Some("_root")),
            row("ui/_index", Some("_root")),
            row("ui/react/_index", Some("ui/_index")),
            row("ui/react/auth", Some("ui/react/_index")),
            row("ui/web/forms", Some("ui/_index")),
        ]
    );
}

#[test]
fn pages_that_are_no_skills_are_named_by_how_much_they_meant_to_be() {
    // name and text of a page beside `_root.md`, the finding
    let cases = [
        ("a.md", "---\ndescription: d\nkeywords: [k]\n---\nx\n", None),
        (
            "a.md",
            "---\ndescription: d\nkeywords: [1, true]\n---\nx\n",
            None,
        ),
        (
            "a.md",
            "---\ndescription: d\n---\nx\n",
            Some("warning missing-keywords r/a.md"),
        ),
        (
            "a.md",
            "---\ndescription: d\nkeywords: []\n---\nx\n",
            Some("error missing-keywords r/a.md"),
        ),
        (
            "a.md",
            "---\ndescription: d\nkeywords: one\n---\nx\n",
            Some("error missing-keywords r/a.md"),
        ),
        (
            "a.md",
            "---\nkeywords: [k]\n---\nx\n",
            Some("error missing-description r/a.md"),
        ),
        (
            "a.md",
            "---\ndescription: ''\nkeywords: [k]\n---\nx\n",
            Some("error missing-description r/a.md"),
        ),
        (
            "a.md",
            "# plain\n",
            Some("warning missing-frontmatter r/a.md"),
        ),
        (
            "README.md",
            "# plain\n",
            Some("info not-a-skill r/README.md"),
        ),
        (
            "CHANGELOG.md",
            "# plain\n",
            Some("info not-a-skill r/CHANGELOG.md"),
        ),
        (
            "README.fr.md",
            "# plain\n",
            Some("info not-a-skill r/README.fr.md"),
        ),
        (
            "ui/_index.md",
            "---\ndescription: d\n---\nx\n",
            Some("error missing-keywords r/ui/_index.md"),
        ),
        (".github/bug.md", "---\nabout: bugs\n---\nx\n", None),
        (
            "a.md",
            "---\nkeywords: [k]\ndescription: d\n",
            Some("error unclosed-frontmatter r/a.md"),
        ),
    ];
    for (name, text, expected) in cases {
        let tree = Tree::new();
        tree.file("r/_root.md", page("root"))
            .file(&format!("r/{name}"), text);
        let found = tree.outcome(&["r"]).1;
        let found: Vec<_> = found
            .iter()
            .filter(|it| !it.contains("not-text"))
            .map(String::as_str)
            .collect();
        assert_eq!(
            found,
            expected.into_iter().collect::<Vec<_>>(),
            "{name} {text}"
        );
    }
}

#[test]
fn only_an_explicit_false_ends_inheritance() {
    let cases = [
        ("true", true),
        ("false", false),
        ("False", false),
        ("no", true),
        ("'false'", true),
        ("0", true),
        ("", true),
    ];
    for (value, inherit) in cases {
        let tree = Tree::new();
        tree.file(
            "r/a.md",
            format!("---\ndescription: d\nkeywords: [k]\ninherit: {value}\n---\nx\n"),
        );
        assert_eq!(
            tree.compile(&["r"]).set.skills[0].inherit,
            inherit,
            "{value}"
        );
    }
}

#[test]
fn files_are_those_declared_in_the_directory_of_the_pages_name() {
    let text = "---\ndescription: d\nkeywords: [k]\nassets: [here.txt, gone.txt, ../out.txt, sub]\n---\nx\n";
    let tree = Tree::with(&[
        ("r/page.md", text),
        ("r/page/here.txt", "here"),
        ("r/page/sub/x.txt", "x"),
        ("r/page/undeclared.txt", "u"),
        ("r/out.txt", "out"),
    ]);
    let compiled = tree.compile(&["r"]);
    assert_eq!(files(&compiled, "page"), ["gone.txt", "here.txt", "sub"]);
    let there: Vec<_> = compiled.set.skills[0]
        .files
        .iter()
        .map(|it| it.bytes.is_some())
        .collect();
    assert_eq!(there, [false, true, false]);
    assert_eq!(
        tree.findings(&compiled),
        [
            "info undeclared-file r/page.md",
            "warning missing-asset r/page.md",
            "error asset-escapes-skill r/page.md",
            "warning missing-asset r/page.md",
        ]
    );
}

#[test]
fn without_its_directory_a_page_has_no_files() {
    let tree = Tree::with(&[(
        "r/page.md",
        "---\ndescription: d\nkeywords: [k]\nassets: [a, b]\n---\nx\n",
    )]);
    let compiled = tree.compile(&["r"]);
    assert_eq!(files(&compiled, "page"), [""; 0]);
    assert_eq!(
        tree.findings(&compiled),
        ["warning missing-asset r/page.md"]
    );
}

#[test]
fn pages_among_another_pages_files_are_no_skills() {
    let tree = Tree::new();
    tree.file(
        "r/auth.md",
        "---\ndescription: d\nkeywords: [k]\nassets: [declared.md]\n---\nx\n",
    )
    .file("r/auth/declared.md", page("a"))
    .file("r/auth/stray.md", page("b"))
    .file("r/auth/deep/stray.md", page("c"))
    .file("r/auth/plain.md", "# plain\n");
    let (skills, found) = tree.outcome(&["r"]);
    assert_eq!(skills, ["auth"]);
    assert_eq!(
        found,
        [
            "info undeclared-file r/auth.md",
            "warning skill-in-resources r/auth/deep/stray.md",
            "warning skill-in-resources r/auth/stray.md",
        ]
    );
}

#[test]
fn a_folder_skill_wins_over_a_page_of_its_path() {
    let tree = Tree::new();
    tree.skill("r/pdf", "pdf").file("r/pdf.md", page("pdf"));
    let (skills, found) = tree.outcome(&["r"]);
    assert_eq!(skills, ["pdf"]);
    assert_eq!(found, ["error duplicate-path r/pdf.md"]);
}
