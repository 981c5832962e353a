//! What the skills extension of the protocol gets of a tree, and what is said
//! about the rest.

use skillbundle_compiler::Compiled;
use skillbundle_format::{Bundle, write};

use crate::kit::{Tree, page, skill};

fn bundle(compiled: &Compiled) -> Bundle {
    let bytes = write(&compiled.set).expect("a set can be written");
    Bundle::from_bytes(&bytes).expect("written bytes open")
}

/// The URIs of the published skills, in the order of the listing.
fn listed(compiled: &Compiled) -> Vec<String> {
    let bundle = bundle(compiled);
    bundle.verify().expect("whole");
    let published = bundle.catalog().and_then(|it| it.published());
    let skills = published.expect("intact").skills();
    skills
        .map(|it| it.expect("intact").uri.to_owned())
        .collect()
}

#[test]
fn ordinary_trees_are_published_whole_and_nothing_is_said() {
    let tree = Tree::new();
    tree.skill("r/team/pdf", "pdf")
        .skill("r/team/pdf/forms", "forms")
        .file("r/pages/_root.md", page("root"))
        .file("r/pages/Code_Review.md", page("review"));
    let compiled = tree.compile(&["r"]);
    assert_eq!(tree.findings(&compiled), [""; 0]);
    assert_eq!(
        listed(&compiled),
        [
            "skill://pages/code-review/SKILL.md",
            "skill://pages/root/SKILL.md",
            "skill://team/pdf/SKILL.md",
            "skill://team/pdf/forms/SKILL.md"
        ]
    );
}

/// Frontmatter, and what is said about publishing the skill.
const FRONTMATTER: &[(&str, &[&str])] = &[
    ("name: kit\ndescription: d", &[]),
    ("description: d\nname: kit\nlicense: MIT", &[]),
    ("name: \"kit\"\ndescription: >\n  folded\n  text", &[]),
    ("name: Kit\ndescription: d", &["warning"]),
    ("name: 42\ndescription: d", &["warning"]),
    ("name: kit\ndescription: 42", &["warning"]),
    // Read as it was meant, which no YAML reader does.
    ("name: kit\ndescription: a: b", &["info"]),
    ("name: kit\nname: kit\ndescription: d", &["info"]),
    ("name: kit\ndescription: a\u{7}b", &["info"]),
];

#[test]
fn a_folder_skill_is_published_if_hosts_read_it_as_we_do() {
    for (frontmatter, severities) in FRONTMATTER {
        let text = format!("---\n{frontmatter}\n---\nbody\n");
        let tree = Tree::with(&[("r/kit/SKILL.md", &text)]);
        let compiled = tree.compile(&["r"]);
        let said: Vec<_> = compiled
            .report
            .diagnostics()
            .iter()
            .filter(|it| it.code.as_str() == "not-published")
            .map(|it| it.severity.as_str())
            .collect();
        assert_eq!(&said, severities, "{frontmatter}");
        assert_eq!(compiled.set.skills.len(), 1, "the tools serve it");
        assert_eq!(listed(&compiled).len(), usize::from(said.is_empty()));
    }
}

#[test]
fn a_skill_without_a_place_of_its_own_names_the_one_in_its_way() {
    let tree = Tree::new();
    // Two folders of one name are told apart by their paths, two URIs are not.
    tree.skill("r/a", "same")
        .file("r/b/SKILL.md", skill("same", "Another one"));
    let compiled = tree.compile(&["r"]);
    let finding = compiled
        .report
        .diagnostics()
        .iter()
        .find(|it| it.code.as_str() == "not-published")
        .expect("named");
    assert!(finding.file.ends_with("b/SKILL.md"), "{}", finding.file);
    assert_eq!(finding.severity.as_str(), "warning");
    let related = finding.related[0].file.as_deref().expect("a file");
    assert!(related.ends_with("a/SKILL.md"), "{related}");
    assert_eq!(listed(&compiled), ["skill://same/SKILL.md"]);

    let tree = Tree::new();
    tree.skill("r/kit", "kit").skill("r/kit/folder", "other");
    assert_eq!(listed(&tree.compile(&["r"])), ["skill://kit/SKILL.md"]);
    assert_eq!(
        tree.outcome(&["r"]).1,
        [
            "warning name-mismatch r/kit/folder/SKILL.md",
            "warning not-published r/kit/folder/SKILL.md"
        ]
    );
}

#[test]
fn a_file_in_another_case_is_published_as_skill_md() {
    let tree = Tree::with(&[
        ("r/kit/SKILL.md", &skill("kit", "d")),
        ("r/kit/sub/skill.md", &skill("sub", "d")),
    ]);
    assert_eq!(
        listed(&tree.compile(&["r"])),
        ["skill://kit/SKILL.md", "skill://kit/sub/SKILL.md"]
    );
}

#[test]
fn a_text_larger_than_hosts_take_is_named() {
    for (bytes, said) in [(900_000, false), (1_000_000, true)] {
        let body = "x".repeat(bytes);
        let root = format!("{}{body}", page("root"));
        let tree = Tree::with(&[
            ("r/kit/SKILL.md", &format!("{}{body}", skill("kit", "d"))),
            ("r/pages/_index.md", &root),
            ("r/pages/leaf.md", &page("leaf")),
        ]);
        let all = [
            "warning skill-too-large r/kit/SKILL.md",
            "warning skill-too-large r/pages/_index.md",
            "warning skill-too-large r/pages/leaf.md",
        ];
        let compiled = tree.compile(&["r"]);
        let expected = if said { &all[..] } else { &[] };
        assert_eq!(tree.findings(&compiled), expected, "{bytes} bytes");
        assert_eq!(listed(&compiled).len(), 3);
    }
}

/// Two other readers of YAML find in a page's generated file what its entry
/// says: hosts compare the two.
#[test]
fn generated_frontmatter_is_read_as_its_entry_says() {
    let tree = Tree::new();
    tree.file("r/_root.md", page("root"));
    let mut compiled = tree.compile(&["r"]);
    let descriptions = [
        "plain",
        "- not: a list # nor a comment",
        "'single' \"double\" \\ back",
        "line\nline\r\n\ttab  two blanks ",
        "\u{7}\u{7f}\u{85}\u{9f}\u{a0}\u{2028}\u{2029}\u{feff}x",
        "é 日本 🦀 \u{e000}",
        "---",
        "null",
    ];
    for description in descriptions {
        compiled.set.skills[0].description = description.to_owned();
        let bundle = bundle(&compiled);
        let published = bundle.catalog().and_then(|it| it.published());
        let published = published.expect("intact");
        let skill = published.skill(0).expect("listed");
        let bytes = skill.resource().and_then(|it| it.bytes()).expect("intact");
        let text = std::str::from_utf8(&bytes).expect("UTF-8");
        let yaml = text
            .strip_prefix("---\n")
            .and_then(|it| it.split_once("\n---\n"))
            .expect("frontmatter")
            .0;
        let entry = published.entry(skill.uri).expect("intact").expect("listed");
        let entry: serde_json::Value = serde_json::from_str(entry).expect("JSON");
        let readers: [serde_json::Value; 2] = [
            serde_yaml::from_str(yaml).expect("YAML"),
            serde_saphyr::from_str(yaml).expect("YAML"),
        ];
        for read in readers {
            assert_eq!(read, entry["frontmatter"], "{description:?}");
        }
        assert_eq!(entry["frontmatter"]["description"], description);
    }
}
