//! What the typed questions answer, and what they say about it.

use super::{fenced, names, read};

#[test]
fn text_keeps_what_was_written() {
    // value as written, text, findings
    for (written, text, findings) in [
        ("word", Some("word"), &[][..]),
        ("3000", Some("3000"), &["not-text 2:4"]),
        ("007", Some("007"), &["not-text 2:4"]),
        ("1e3", Some("1e3"), &["not-text 2:4"]),
        ("1.10", Some("1.10"), &["not-text 2:4"]),
        ("2026-01-02", Some("2026-01-02"), &["not-text 2:4"]),
        ("on", Some("on"), &["not-text 2:4"]),
        ("True", Some("True"), &["not-text 2:4"]),
        ("\"3000\"", Some("3000"), &[]),
        ("'it''s'", Some("it's"), &[]),
        ("\"a\\tb\\u00e9\"", Some("a\tbé"), &[]),
        (
            "[topic: foo | bar]",
            Some("[topic: foo | bar]"),
            &["not-text 2:4"],
        ),
        ("[file]", Some("[file]"), &["not-text 2:4"]),
        ("{{ name }}", Some("{{ name }}"), &["not-text 2:4"]),
        ("\n  - a\n  - b", Some("- a\n  - b"), &["not-text 3:3"]),
        ("|-\n  one\n  two", Some("one\ntwo"), &[]),
        (">2-  # folded\n    more\n  less", Some("  more\nless"), &[]),
        ("|+\n  keep\n", Some("keep\n\n"), &[]),
        ("one\n  two", Some("one two"), &[]),
        ("", None, &[]),
        ("~", None, &[]),
        ("null", None, &[]),
        ("\"\"", Some(""), &[]),
        ("#1 choice", None, &["text-lost-to-comment 2:4"]),
        (
            "fixes #12 now",
            Some("fixes"),
            &["text-lost-to-comment 2:10"],
        ),
        ("word # a comment", Some("word"), &[]),
        ("C#", Some("C#"), &[]),
        ("!!str 12", Some("12"), &[]),
    ] {
        let file = fenced(&format!("v: {written}\n"));
        let (document, found) = read(&file);
        let document = document.unwrap_or_else(|| panic!("{written:?} is lost: {found:?}"));
        assert_eq!(found, &[] as &[&str], "{written:?}");
        let mut out = Vec::new();
        assert_eq!(
            document.fields().text("v", &mut out).as_deref(),
            text,
            "{written:?}"
        );
        assert_eq!(names(&file, &out), findings, "{written:?}");
    }
}

#[test]
fn booleans_numbers_and_lists_report_what_they_expected() {
    let yaml = "yes1: true\nyes2: 'True'\nno1: off\nno2: 0\nbad: maybe\nint: 12\nneg: -1.5\nquoted: \"3\"\n\
                inf: .inf\nlist: [a, 2, on]\nblock:\n- x\none: a, b\nempty:\n";
    let (document, _) = read(&fenced(yaml));
    let document = document.unwrap();
    let fields = document.fields();
    let mut out = Vec::new();
    for (key, expected) in [
        ("yes1", Some(true)),
        ("yes2", Some(true)),
        ("no1", Some(false)),
        ("no2", Some(false)),
        ("bad", None),
        ("list", None),
        ("gone", None),
        ("empty", None),
    ] {
        assert_eq!(fields.bool(key, &mut out), expected, "{key}");
    }
    for (key, expected) in [
        ("int", Some(12.0)),
        ("neg", Some(-1.5)),
        ("quoted", Some(3.0)),
        ("inf", None),
        ("bad", None),
        ("gone", None),
    ] {
        assert_eq!(fields.number(key, &mut out), expected, "{key}");
    }
    let list = |items: &[&str]| Some(items.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
    for (key, expected) in [
        ("list", list(&["a", "2", "on"])),
        ("block", list(&["x"])),
        ("one", None),
        ("empty", None),
        ("gone", None),
    ] {
        assert_eq!(fields.list(key, &mut out), expected, "{key}");
    }
    let found = names(&fenced(yaml), &out);
    assert_eq!(
        found,
        [
            "not-a-boolean 3:7",
            "not-a-boolean 4:6",
            "not-a-boolean 5:6",
            "not-a-boolean 6:6",
            "not-a-boolean 11:7",
            "not-a-number 9:9",
            "not-a-number 10:6",
            "not-a-number 6:6",
            "not-text 11:11",
            "not-a-list 14:6",
        ]
    );
}

#[test]
fn tools_are_one_list_in_every_shape() {
    let tools = ["Bash(git *)", "Read", "mcp__x__y"];
    for (written, findings) in [
        ("Bash(git *) Read mcp__x__y", &[][..]),
        ("\"Bash(git *) Read mcp__x__y\"", &[]),
        (">\n  Bash(git *)\n  Read mcp__x__y", &[]),
        ("Bash(git *), Read,mcp__x__y", &["tool-list-shape 2:4"]),
        ("[Bash(git *), Read, mcp__x__y]", &["tool-list-shape 2:4"]),
        (
            "[ \"Bash(git *)\", 'Read', mcp__x__y ]",
            &["tool-list-shape 2:4"],
        ),
        (
            "\n  - Bash(git *)\n  - Read\n  - mcp__x__y",
            &["tool-list-shape 3:3"],
        ),
    ] {
        let file = fenced(&format!("v: {written}\n"));
        let (document, found) = read(&file);
        assert_eq!(found, &[] as &[&str], "{written:?}");
        let mut out = Vec::new();
        let document = document.unwrap();
        assert_eq!(
            document.fields().tool_list("v", &mut out).unwrap(),
            tools,
            "{written:?}"
        );
        assert_eq!(names(&file, &out), findings, "{written:?}");
    }
}

#[test]
fn known_keys_have_a_shape_and_typos_are_reported() {
    for (yaml, findings) in [
        ("license: 2.0\n", &["not-text 2:10"][..]),
        ("version: 1.10\n", &["not-text 2:10"]),
        ("version: 1.1.0\n", &[]),
        ("argument-hint: [file]\n", &["not-text 2:16"]),
        ("user-invocable: no\n", &["not-a-boolean 2:17"]),
        ("allowed-tools: [Read]\n", &["tool-list-shape 2:16"]),
        ("allowed-tools: {a: b}\n", &["not-text 2:16"]),
        ("allowed_tools: Read\n", &["unknown-key 2:1"]),
        ("Description: x\n", &["unknown-key 2:1"]),
        ("desciption: x\n", &["unknown-key 2:1"]),
        ("desciption: x\ndescription: y\n", &[]),
        (
            "mode: x\ntags: [a]\nauthor: y\nversions: 1\n",
            &["unknown-key 5:1"],
        ),
        ("metadata: {license: 2.0}\nmodel:\n", &[]),
    ] {
        let (document, found) = read(&fenced(yaml));
        assert!(document.is_some(), "{yaml:?}");
        assert_eq!(found, findings, "{yaml:?}");
    }
}
