//! Names against folders, names against names, roots against roots.

use crate::kit::{Tree, skill};

#[test]
fn a_name_that_is_not_the_folders_is_said_and_loads() {
    // folder, name, whether it is said
    let cases = [
        ("pdf", "pdf", false),
        ("pdf", "pdf-tools", true),
        ("pdf", "PDF", true),
        ("caf\u{e9}", "cafe\u{301}", false),
        ("cafe\u{301}", "caf\u{e9}", false),
        ("技能", "技能", false),
        ("My Skill", "My Skill", false),
    ];
    for (folder, name, said) in cases {
        let tree = Tree::new();
        tree.skill(&format!("r/{folder}"), name);
        let (skills, mut found) = tree.outcome(&["r"]);
        assert_eq!(skills, [folder], "{folder} {name}");
        // Of which names the extension takes, `published.rs` speaks.
        found.retain(|it| !it.contains("not-published"));
        let expected = said.then(|| format!("warning name-mismatch r/{folder}/SKILL.md"));
        assert_eq!(
            found,
            expected.into_iter().collect::<Vec<_>>(),
            "{folder} {name}"
        );
    }
}

#[test]
fn only_the_clash_is_affected() {
    let tree = Tree::new();
    tree.skill("r/xlsx", "xlsx-official")
        .skill("r/xlsx-official", "xlsx-official")
        .skill("r/pdf", "pdf");
    let (skills, found) = tree.outcome(&["r"]);
    assert_eq!(skills, ["pdf", "xlsx", "xlsx-official"]);
    // Both texts are equal, so whichever is found by the name is the right one.
    assert_eq!(
        found,
        [
            "info duplicate-name r/xlsx-official/SKILL.md",
            "info not-published r/xlsx-official/SKILL.md",
            "warning name-mismatch r/xlsx/SKILL.md"
        ]
    );
}

#[test]
fn the_earlier_root_wins_and_the_later_one_is_named() {
    let tree = Tree::new();
    tree.file("user/pdf/SKILL.md", skill("pdf", "Of the user"))
        .skill("project/pdf", "pdf")
        .skill("user/docx", "docx");
    let compiled = tree.compile(&["project", "user"]);
    let skills: Vec<_> = compiled
        .set
        .skills
        .iter()
        .map(|it| (it.path.as_str(), it.description.as_str()))
        .collect();
    assert_eq!(skills, [("pdf", "A skill"), ("docx", "A skill")]);
    let shadowed = &compiled.report.diagnostics()[0];
    assert_eq!(shadowed.code.as_str(), "skill-shadowed");
    assert!(
        shadowed.related[0]
            .file
            .as_ref()
            .is_some_and(|it| it.ends_with("project/pdf/SKILL.md"))
    );
}

#[test]
fn a_duplicate_name_points_at_the_name_and_at_the_other_skill() {
    let tree = Tree::new();
    tree.skill("r/a", "Polymarket")
        .file("r/b/SKILL.md", skill("polymarket", "Another"));
    let compiled = tree.compile(&["r"]);
    let found = compiled
        .report
        .diagnostics()
        .iter()
        .find(|it| it.code.as_str() == "duplicate-name");
    let found = found.expect("it is said");
    assert_eq!(found.span.map(|it| (it.line, it.column)), Some((2, 7)));
    assert!(
        found.message.contains("`a`") && found.message.contains("`b`"),
        "{}",
        found.message
    );
    assert!(
        found.related[0]
            .file
            .as_ref()
            .is_some_and(|it| it.ends_with("r/a/SKILL.md"))
    );
}
