//! What is a reference, and what is known not to be one.

use super::scan::{Notation, candidates, scan};
use super::*;

#[test]
fn links_and_paths_in_backticks_are_found() {
    use Notation::{Code, Command, Html, Link};

    let cases: &[(&str, &[(Notation, &str)])] = &[
        ("no reference", &[]),
        ("[a](b.md)", &[(Link, "b.md")]),
        ("![a](img/b.png \"title\")", &[(Link, "img/b.png")]),
        ("[a](<with blank.md>)", &[(Link, "with blank.md")]),
        (
            "[a](b(1).md) [c](d.md)",
            &[(Link, "b(1).md"), (Link, "d.md")],
        ),
        ("[a][1]\n\n[1]: refs/b.md \"t\"", &[(Link, "refs/b.md")]),
        ("[^1]: a footnote.md", &[]),
        ("[a]()", &[]),
        ("\\[a](b.md) \\`x/y`", &[]),
        ("`scripts/run.sh --fast`", &[(Code, "scripts/run.sh")]),
        ("``a/b`c`` `no path`", &[(Code, "a/b`c")]),
        ("`[a](b/c.md)`", &[(Code, "[a](b/c.md)")]),
        ("[`a/b.py`](a/b.py)", &[(Code, "a/b.py"), (Link, "a/b.py")]),
        ("```\n[a](b.md)\n```\n[c](d.md)", &[(Link, "d.md")]),
        ("~~~~md\n```\n[a](b.md)\n~~~~\n[c](d.md)", &[(Link, "d.md")]),
        ("- ```\n  [a](b.md)\n  ```\n[c](d.md)", &[(Link, "d.md")]),
        ("> ```\n> [a](b.md)\n> ```\n", &[]),
        ("```inline``` [c](d.md)", &[(Link, "d.md")]),
        ("<!--\n[a](b.md)\n-->\n[c](d.md)", &[(Link, "d.md")]),
        ("x <!-- x --> [c](d.md)", &[(Link, "d.md")]),
        ("日本 [語](x/é.md)", &[(Link, "x/é.md")]),
        ("text\n\n    [a](b.md)\n\n[c](d.md)", &[(Link, "d.md")]),
        (
            "1. one\n\n       [a](b.md)\n\n   [c](d.md)",
            &[(Link, "d.md")],
        ),
        ("<!-- [a](b.md) --> [c](d.md)\n[e](f.md)", &[(Link, "f.md")]),
        ("<pre>\n[a](b.md)\n</pre>\n\n[c](d.md)", &[(Link, "d.md")]),
        ("<div>\n[a](b.md)\n\n[c](d.md)\n</div>", &[(Link, "d.md")]),
        ("[![a](b.png)](c.md)", &[(Link, "b.png"), (Link, "c.md")]),
        ("[a\n`b/c`]( d.md )", &[(Code, "b/c"), (Link, "d.md")]),
        (
            "> [a](b.md)\n> [c\n> d](e.md)",
            &[(Link, "b.md"), (Link, "e.md")],
        ),
        ("<a/b.md> <https://a/b>", &[]),
        (
            "[a] [b][c]\n\n[a]: <d.md>\n[c]: e.md",
            &[(Link, "d.md"), (Link, "e.md")],
        ),
        ("`unclosed [a](b.md)", &[(Link, "b.md")]),
        ("`python3 scripts/a.py --x`", &[(Command, "scripts/a.py")]),
        ("`bash -e scripts/a.sh` `python a.py`", &[]),
        (
            "`uv run --quiet scripts/a.py` `npx tsx a/b.ts` `python -u c/d.py x/y`",
            &[
                (Command, "scripts/a.py"),
                (Command, "a/b.ts"),
                (Command, "c/d.py"),
            ],
        ),
        ("`python -m a/b` `bash -c a/b` `npx a` `python`", &[]),
        (
            "<img alt=\"x\" src=\"a/b.png\"> <a href='c/d.md'>e</a>",
            &[(Html, "a/b.png"), (Html, "c/d.md")],
        ),
        (
            "<div>\n<img\n src=\"a/b.png\"/>\n</div>",
            &[(Html, "a/b.png")],
        ),
        ("<!-- <img src=\"a/b.png\"> -->\n", &[]),
        ("<!--\n<img src=\"a/b.png\">\n-->\n", &[]),
        (
            "`<img src=\"a/b.png\">` <abbr href=\"c/d\"> data-src=\"e/f\"",
            &[],
        ),
    ];
    for (text, expected) in cases {
        let found = scan(text).expect("few steps").references;
        let seen: Vec<_> = found.iter().map(|it| (it.notation, it.target)).collect();
        assert_eq!(seen, *expected, "{text:?}");
        for it in found {
            assert_eq!(&text[it.at..it.at + it.target.len()], it.target, "{text:?}");
            let is_path = path_of(it.target, it.notation).is_some();
            let is_candidate = candidates(text).any(|other| other == it);
            assert!(is_candidate || !is_path, "{text:?}: {it:?}");
        }
    }
}

#[test]
fn only_relative_paths_are_paths() {
    let cases = [
        ("references/a.md", Some("references/a.md")),
        ("./a.md#part", Some("a.md")),
        ("a.md?raw=1", Some("a.md")),
        ("../b/a.md", Some("../b/a.md")),
        ("docs/", Some("docs")),
        ("/", None),
        ("./", None),
        ("docs/api/", Some("docs/api")),
        ("a%20b.md", Some("a b.md")),
        ("a (b).md", Some("a (b).md")),
        ("notes/YYYY-MM-DD.md", None),
        ("%C3%A9.md", Some("é.md")),
        ("%FF.md", None),
        ("#part", None),
        ("https://example.com/a.md", None),
        ("mailto:a@example.com", None),
        ("skill://a/b.md", None),
        ("//example.com/a.md", Some("//example.com/a.md")),
        ("/etc/hosts.md", Some("/etc/hosts.md")),
        ("example.com/a.md", None),
        ("www.example/a.md", None),
        ("url", None),
        ("<name>/a.md", None),
        ("{name}/a.md", None),
        ("$HOME/a.md", None),
        ("~/a.md", Some("~/a.md")),
        ("scripts/*.py", None),
        ("a/.../b.md", None),
        ("path/to/file.md", None),
        ("a\\b.md", Some("a/b.md")),
        ("C:\\a\\b.md", None),
        ("a@b.md", None),
    ];
    for (target, expected) in cases {
        assert_eq!(
            path_of(target, Notation::Link).as_deref(),
            expected,
            "{target}"
        );
    }
    assert_eq!(
        path_of("scripts/a.py:12", Notation::Code).as_deref(),
        Some("scripts/a.py")
    );
    assert_eq!(
        path_of("scripts/a.py::test", Notation::Code).as_deref(),
        Some("scripts/a.py")
    );
}

#[test]
fn only_fenced_code_counts_as_code() {
    let text = "guide.md\n```\ntree/\n└── made.md\n```\n`span.md`\n";
    let scanned = scan(text).expect("few steps");
    let names = scanned.names_in_code(text, text.len());
    assert!(names.contains("made.md"));
    assert!(!names.contains("guide.md") && !names.contains("span.md"));
}
