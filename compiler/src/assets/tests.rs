//! Declarations in frontmatter, one by one.

use skillbundle_format::{Execution, Role};

use super::*;
use crate::frontmatter;

/// What is declared, and the codes of the findings with their lines.
fn read(yaml: &str) -> (Vec<Declaration>, Vec<(&'static str, usize)>) {
    let text = format!("---\n{yaml}---\nbody\n");
    let (document, findings) = frontmatter::parse("page.md", text.as_bytes());
    assert_eq!(findings, [], "{yaml}");
    let mut out = Vec::new();
    let all = declarations(&document.expect("the example is sound"), &mut out);
    let found = out
        .iter()
        .map(|it| (it.code.as_str(), it.span.map_or(0, |it| it.line)))
        .collect();
    (all, found)
}

#[test]
fn a_declaration_has_the_defaults_of_the_specification() {
    let (all, found) =
        read("assets:\n  - file: a.txt\nscripts:\n  - file: s.sh\n    args:\n      - name: x\n");
    assert_eq!(found, []);
    let [script, asset] = all.as_slice() else {
        panic!("{all:?}")
    };
    assert_eq!((asset.path.as_str(), asset.role), ("a.txt", Role::Asset));
    assert_eq!(
        (asset.kind.as_str(), asset.description.as_str()),
        ("other", "")
    );
    assert_eq!((script.path.as_str(), script.role), ("s.sh", Role::Script));
    assert_eq!(script.execution, Execution::Claude);
    assert_eq!(
        (script.args[0].name.as_str(), script.args[0].required),
        ("x", true)
    );
}

#[test]
fn what_is_written_counts() {
    let (all, found) = read(concat!(
        "assets:\n  - file: ./img//a.png\n    type: image\n    description: A picture\n",
        "scripts:\n  - file: s.ts\n    execution: server\n    args:\n",
        "      - name: target\n        description: Where to\n        required: false\n      - dry\n",
    ));
    assert_eq!(found, []);
    assert_eq!(
        (all[1].path.as_str(), all[1].kind.as_str()),
        ("img/a.png", "image")
    );
    assert_eq!(all[1].description, "A picture");
    assert_eq!(all[0].execution, Execution::Server);
    let args: Vec<_> = all[0]
        .args
        .iter()
        .map(|it| (it.name.as_str(), it.description.as_str(), it.required))
        .collect();
    assert_eq!(args, [("target", "Where to", false), ("dry", "", true)]);
}

#[test]
fn what_is_wrong_is_left_out_and_named() {
    // frontmatter, paths that are left, findings with their lines
    type Case = (
        &'static str,
        &'static [&'static str],
        &'static [(&'static str, usize)],
    );
    let cases: &[Case] = &[
        ("title: x\n", &[], &[]),
        ("assets:\n", &[], &[]),
        ("assets: []\n", &[], &[]),
        ("assets: [a.txt, b.txt]\n", &["a.txt", "b.txt"], &[]),
        ("assets:\n  file: a.txt\n", &["a.txt"], &[]),
        ("assets: a.txt\n", &[], &[("asset-shape", 2)]),
        ("assets:\n  a: b\n", &[], &[("asset-shape", 3)]),
        ("assets:\n  - description: d\n", &[], &[("asset-shape", 3)]),
        (
            "assets:\n  - [a.txt]\n  - b.txt\n",
            &["b.txt"],
            &[("asset-shape", 3)],
        ),
        (
            "assets:\n  - file: ../b/creds.json\n",
            &[],
            &[("asset-escapes-skill", 3)],
        ),
        (
            "assets:\n  - /etc/passwd\n  - a.txt\n",
            &["a.txt"],
            &[("asset-escapes-skill", 3)],
        ),
        (
            "scripts:\n  - file: 'a\\..\\b.sh'\n",
            &[],
            &[("asset-escapes-skill", 3)],
        ),
        (
            "scripts:\n  - file: \"a\\0b\"\n",
            &[],
            &[("asset-escapes-skill", 3)],
        ),
        (
            "assets: [a.txt, ./a.txt]\n",
            &["a.txt"],
            &[("duplicate-asset", 2)],
        ),
        (
            "assets: [a.sh]\nscripts: [a.sh]\n",
            &["a.sh"],
            &[("duplicate-asset", 2)],
        ),
        (
            "scripts:\n  - file: a.sh\n    execution: root\n",
            &["a.sh"],
            &[("unknown-execution", 4)],
        ),
        (
            "scripts:\n  - file: a.sh\n    args: x\n",
            &["a.sh"],
            &[("asset-shape", 4)],
        ),
        (
            "scripts:\n  - file: a.sh\n    args:\n      - required: true\n",
            &["a.sh"],
            &[("asset-shape", 5)],
        ),
    ];
    for (yaml, paths, expected) in cases {
        let (all, found) = read(yaml);
        assert_eq!(
            all.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(),
            *paths,
            "{yaml}"
        );
        assert_eq!(found, *expected, "{yaml}");
    }
}

#[test]
fn a_file_that_is_asset_and_script_stays_a_script() {
    let (all, _) = read("assets: [a.sh]\nscripts:\n  - file: a.sh\n    execution: server\n");
    assert_eq!(
        (all[0].role, all[0].execution),
        (Role::Script, Execution::Server)
    );
}
