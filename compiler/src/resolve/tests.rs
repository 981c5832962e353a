//! Order, taken paths, taken names and parents, on drafts made by hand.

use skillbundle_format::SkillEntry;

use super::*;
use crate::draft::Content;

fn draft(root: u32, path: &str, dialect: Dialect, name: &str) -> Draft {
    let file_path = match (dialect, path) {
        (Dialect::Tree, path) => format!("{path}.md"),
        (Dialect::Folder, "") => "SKILL.md".to_owned(),
        (Dialect::Folder, path) => format!("{path}/SKILL.md"),
    };
    let entry = SkillEntry {
        path: if path.is_empty() {
            name.to_owned()
        } else {
            path.to_owned()
        },
        name: name.to_owned(),
        description: "d".to_owned(),
        dialect,
        root,
        file_path: file_path.clone(),
        priority: 0.0,
        inherit: true,
        parent: None,
        keywords: Vec::new(),
        frontmatter_json: "{}".to_owned(),
        source: format!("{root} {file_path}").into_bytes().into(),
        mended: false,
        text_start: 0,
        body: 0..0,
        files: Vec::new(),
    };
    let shown = format!("{root}:{file_path}");
    Draft::new(entry, shown, None, Content::Kept(Vec::new()))
}

fn page(root: u32, path: &str) -> Draft {
    draft(root, path, Dialect::Tree, path)
}

fn folder(root: u32, path: &str, name: &str) -> Draft {
    draft(root, path, Dialect::Folder, name)
}

/// Resolves, and shows files in order and codes.
fn outcome(drafts: Vec<Draft>) -> (Vec<String>, Vec<(&'static str, String)>) {
    let mut out = Vec::new();
    let drafts = resolve(drafts, &mut out);
    let found = out
        .into_iter()
        .map(|it| (it.code.as_str(), it.file))
        .collect();
    (drafts.into_iter().map(|it| it.shown).collect(), found)
}

#[test]
fn parents_are_those_of_the_specification() {
    let cases = [
        ("_root", None),
        ("ui/_index", Some("_root")),
        ("ui/react/_index", Some("ui/_index")),
        ("ui/react/auth", Some("ui/react/_index")),
        ("no-inherit", Some("_root")),
        ("_index", Some("_root")),
        ("a/_root", Some("a/_index")),
    ];
    for (path, expected) in cases {
        assert_eq!(parent_path(path).as_deref(), expected, "{path}");
    }
}

#[test]
fn parents_that_are_missing_are_passed_over() {
    // pages as root and path, then: page, its parent
    type Page = (u32, &'static str);
    let cases: &[(&[Page], Page, Option<Page>)] = &[
        (
            &[
                (0, "_root"),
                (0, "ui/_index"),
                (0, "ui/a/_index"),
                (0, "ui/a/b"),
            ],
            (0, "ui/a/b"),
            Some((0, "ui/a/_index")),
        ),
        (
            &[(0, "_root"), (0, "ui/_index"), (0, "ui/a/b")],
            (0, "ui/a/b"),
            Some((0, "ui/_index")),
        ),
        (
            &[(0, "_root"), (0, "ui/a/b")],
            (0, "ui/a/b"),
            Some((0, "_root")),
        ),
        (
            &[(0, "ui/_index"), (0, "ui/a/b/c/_index")],
            (0, "ui/a/b/c/_index"),
            Some((0, "ui/_index")),
        ),
        (&[(0, "ui/a/b")], (0, "ui/a/b"), None),
        (&[(0, "_root")], (0, "_root"), None),
        // Another root's pages are no parents, unless they took the path of one.
        (&[(0, "_root"), (1, "a")], (1, "a"), None),
        (
            &[(0, "_root"), (1, "_root"), (1, "a")],
            (1, "a"),
            Some((0, "_root")),
        ),
        (
            &[(0, "ui/_index"), (1, "_root"), (1, "ui/a")],
            (1, "ui/a"),
            Some((1, "_root")),
        ),
    ];
    for (pages, child, expected) in cases {
        let drafts = pages
            .iter()
            .rev()
            .map(|(root, path)| page(*root, path))
            .collect();
        let drafts = resolve(drafts, &mut Vec::new());
        let key = |it: &Draft| (it.entry.root, it.entry.path.clone());
        let found = drafts
            .iter()
            .find(|it| key(it) == (child.0, child.1.to_owned()));
        let parent = found
            .and_then(|it| it.entry.parent)
            .map(|it| key(&drafts[it as usize]));
        assert_eq!(
            parent,
            expected.map(|(root, path)| (root, path.to_owned())),
            "{pages:?}"
        );
    }
}

#[test]
fn skills_stand_in_order_of_roots_dot_folders_and_paths() {
    let drafts = vec![
        folder(1, "a", "one"),
        folder(0, ".claude/skills/a", "two"),
        folder(0, "b", "three"),
        folder(0, "Z", "four"),
        page(0, "a/b"),
        folder(0, "a-b", "five"),
    ];
    let expected = [
        "0:Z/SKILL.md",
        "0:a-b/SKILL.md",
        "0:a/b.md",
        "0:b/SKILL.md",
        "0:.claude/skills/a/SKILL.md",
        "1:a/SKILL.md",
    ];
    assert_eq!(outcome(drafts).0, expected);
}

#[test]
fn a_path_belongs_to_one_skill() {
    let cases = [
        // A folder wins over a page of the same root.
        (
            vec![page(0, "pdf"), folder(0, "pdf", "pdf")],
            "0:pdf/SKILL.md",
            ("duplicate-path", "0:pdf.md"),
        ),
        // A folder wins over the root that has its name.
        (
            vec![folder(0, "", "pdf"), folder(0, "pdf", "other")],
            "0:pdf/SKILL.md",
            ("duplicate-path", "0:SKILL.md"),
        ),
        // The earlier root wins, whatever the dialects.
        (
            vec![folder(1, "pdf", "pdf"), page(0, "pdf")],
            "0:pdf.md",
            ("skill-shadowed", "1:pdf/SKILL.md"),
        ),
    ];
    for (drafts, winner, (code, loser)) in cases {
        assert_eq!(
            outcome(drafts),
            (vec![winner.to_owned()], vec![(code, loser.to_owned())])
        );
    }
}

#[test]
fn a_name_goes_to_the_first_and_the_others_stay() {
    // first name, second name, whether they clash
    let cases = [
        ("pdf", "pdf", true),
        ("Polymarket", "polymarket", true),
        (" pdf ", "PDF", true),
        ("ÜBER", "über", true),
        ("caf\u{e9}", "cafe\u{301}", true),
        ("ﬁle", "file", true),
        ("pdf", "pdf2", false),
        ("Git", "Gіt", false),
    ];
    for (first, second, clash) in cases {
        let drafts = vec![folder(0, "b", second), folder(0, "a", first)];
        let (skills, found) = outcome(drafts);
        assert_eq!(skills, ["0:a/SKILL.md", "0:b/SKILL.md"]);
        let expected = if clash {
            vec![("duplicate-name", "0:b/SKILL.md".to_owned())]
        } else {
            Vec::new()
        };
        assert_eq!(found, expected, "{first:?} {second:?}");
    }
}

#[test]
fn what_is_the_same_text_is_only_worth_knowing() {
    let severities = |same: bool, drafts: [Draft; 2]| {
        let [mut a, b] = drafts;
        if same {
            a.entry.source = std::sync::Arc::clone(&b.entry.source);
        }
        let mut out = Vec::new();
        resolve(vec![a, b], &mut out);
        out.iter().map(|it| it.severity).collect::<Vec<_>>()
    };
    let shadowed = || [folder(1, "a", "a"), folder(0, "a", "a")];
    let doubled = || [folder(0, "a", "n"), folder(0, "b", "n")];
    assert_eq!(severities(true, shadowed()), [Severity::Info]);
    assert_eq!(severities(false, shadowed()), [Severity::Warning]);
    assert_eq!(severities(true, doubled()), [Severity::Info]);
    assert_eq!(severities(false, doubled()), [Severity::Warning]);
}
