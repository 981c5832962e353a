//! Frontmatter, end to end: each table row is one file and what becomes of it.

mod corpus;
mod fields;
mod properties;

use serde_json::json;

use super::*;
use crate::report::Location;

/// Reads a file and names its diagnostics as `code line:column`, in order.
fn read(text: &str) -> (Option<Document>, Vec<String>) {
    let (document, found) = parse("SKILL.md", text.as_bytes());
    (document, names(text, &found))
}

/// Diagnostics as `code line:column`.
fn names(source: &str, found: &[Diagnostic]) -> Vec<String> {
    found.iter().map(|it| name(source, it)).collect()
}

fn name(source: &str, found: &Diagnostic) -> String {
    let at = found.span.map(|span| Location::of(source.as_bytes(), span));
    let at = at.map_or(String::new(), |at| format!(" {}:{}", at.line, at.column));
    format!("{}{at}", found.code)
}

/// The frontmatter of lines between fences, with a body.
fn fenced(yaml: &str) -> String {
    format!("---\n{yaml}---\nBody\n")
}

fn json_of(document: &Document) -> serde_json::Value {
    serde_json::from_str(&document.to_json()).unwrap()
}

#[test]
fn the_body_begins_after_the_closing_fence() {
    // file, whether it has a frontmatter, body, findings
    for (text, fenced, body, findings) in [
        ("---\nname: a\n---\nBody\n", true, "Body\n", &[][..]),
        ("---\r\nname: a\r\n---\r\nBody\r\n", true, "Body\r\n", &[]),
        (
            "---\nname: a\r\n---\r\none\ntwo\r\n",
            true,
            "one\ntwo\r\n",
            &[],
        ),
        ("---\r\nname: a\n---\nBody", true, "Body", &[]),
        ("--- \t\nname: a\n---  \r\n\nBody", true, "\nBody", &[]),
        ("---\nname: a\n---", true, "", &["empty-body 3:1"]),
        ("---\nname: a\n---\n", true, "", &["empty-body 3:1"]),
        (
            "---\nname: a\n---\n \n\n",
            true,
            " \n\n",
            &["empty-body 3:1"],
        ),
        (
            "---\nname: a\n---\n---\nnot yaml: [\n---\n",
            true,
            "---\nnot yaml: [\n---\n",
            &[],
        ),
        ("---\n---\nBody", true, "Body", &[]),
        ("---\n# a comment\n---\nBody", true, "Body", &[]),
        (
            "---\nname: a\ntext: |\n  one\n---\n  two\n---\nBody",
            true,
            "  two\n---\nBody",
            &[],
        ),
        ("# Title\n", false, "# Title\n", &[]),
        ("", false, "", &[]),
        (" ---\nname: a\n---\n", false, " ---\nname: a\n---\n", &[]),
        ("----\nname: a\n----\n", false, "----\nname: a\n----\n", &[]),
        (
            "\n\n---\nname: a\n---\nB",
            true,
            "B",
            &["late-frontmatter 3:1"],
        ),
        (
            "<!-- a\nb -->\r\n\r\n# c\n---\r\nname: a\n---\nB",
            true,
            "B",
            &["late-frontmatter 5:1"],
        ),
        (
            "\u{feff}# c\n---\n\"keywords\" : [a]\n---\nB",
            true,
            "B",
            &["byte-order-mark 1:1", "late-frontmatter 2:1"],
        ),
        (
            "\u{feff}---\nname: a\n---\nB",
            true,
            "B",
            &["byte-order-mark 1:1"],
        ),
        (
            "\u{feff}# Title",
            false,
            "# Title",
            &["byte-order-mark 1:1"],
        ),
        (
            "\u{feff}\u{feff}---\nname: a\n---\n",
            false,
            "\u{feff}---\nname: a\n---\n",
            &["byte-order-mark 1:1", "invisible-character 1:1"],
        ),
    ] {
        let (document, found) = read(text);
        let document = document.unwrap_or_else(|| panic!("{text:?} has no document: {found:?}"));
        assert_eq!(document.has_frontmatter(), fenced, "{text:?}");
        assert_eq!(&text[document.body.clone()], body, "{text:?}");
        assert_eq!(document.body.end, text.len(), "{text:?}");
        assert_eq!(found, findings, "{text:?}");
        assert_eq!(
            document.text_start,
            if text.starts_with('\u{feff}') { 3 } else { 0 }
        );
    }
}

#[test]
fn rules_of_a_page_are_no_frontmatter() {
    for text in [
        "# Title\n\n---\n\nText\n\n---\n",
        "\n---\nname: a\n",
        "\n---\nnames: a\n---\n",
        "Text\n---\nname: a\n---\n",
        "<!-- open\n---\nname: a\n---\n",
        "<!-- closed --> text\n---\nname: a\n---\n",
    ] {
        let (document, found) = read(text);
        let document = document.expect("a document");
        assert!(!document.has_frontmatter(), "{text:?}");
        assert_eq!(&text[document.body], text);
        assert_eq!(found, [""; 0], "{text:?}");
    }
}

#[test]
fn lookalikes_do_not_close_the_frontmatter() {
    for (yaml, key, value) in [
        ("text: \"one\n  ----\n  two\"\n", "text", "one ---- two"),
        ("text: |\n  one\n  ---\n  two\n", "text", "one\n---\ntwo\n"),
        ("text: >-\n  one\n   ---\n", "text", "one\n ---"),
        ("text: one\n  ---notes\n", "text", "one ---notes"),
        ("text: one --- two\n", "text", "one --- two"),
        ("text: 'one\n\n  --- two'\n", "text", "one\n--- two"),
    ] {
        let (document, found) = read(&fenced(yaml));
        assert_eq!(found, &[] as &[&str], "{yaml:?}");
        assert_eq!(
            document
                .unwrap()
                .fields()
                .text(key, &mut Vec::new())
                .unwrap(),
            value,
            "{yaml:?}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_served_says_where_and_why() {
    let deep = format!("a: {}\n", "[".repeat(40));
    let wide = format!("a: [{}]\n", "x,".repeat(9000));
    let large = format!("a: {}\n", "x".repeat(70_000));
    let binary = format!("a: {}\n", "\u{1}".repeat(2000));
    // frontmatter lines, findings
    for (yaml, findings) in [
        ("a: &a [x, x]\nb: [*a, *a]\n", &["yaml-feature 2:4"][..]),
        ("a: &a word\nb: *a\n", &["yaml-feature 2:4"]),
        ("a:\n  <<: {x: y}\n", &["yaml-feature 3:3"]),
        ("a: !ruby/object {x: y}\n", &["yaml-feature 2:4"]),
        ("%YAML 1.2\na: b\n", &["yaml-feature 2:1"]),
        (&deep, &["too-deep 2:36"]),
        (&wide, &["frontmatter-too-large 2:8195"]),
        (&large, &["frontmatter-too-large 2:1"]),
        (&binary, &["invalid-yaml 2:4"]),
        ("- a\n- b\n", &["not-a-mapping 2:1"]),
        ("just a sentence\nof two lines\n", &["not-a-mapping 2:1"]),
        ("name: x\n...\nother: y\n", &["invalid-yaml 4:1"]),
        ("a: b\n--- c\n", &["invalid-yaml 3:1"]),
        // A key must not disappear into the text above it.
        ("name: x\n allowed-tools: Read\n", &["invalid-yaml 3:15"]),
        (
            "about: \"never closed\n  allowed-tools: Read\nb: c\n",
            &["invalid-yaml 2:8"],
        ),
        ("about: x\nallowed-tools Read\n", &["invalid-yaml 3:1"]),
        ("a:\n    b: c\n  d: e\n", &["invalid-yaml 4:3"]),
    ] {
        let (document, found) = read(&fenced(yaml));
        assert!(
            document.is_none(),
            "{yaml:.60?} should not be served: {found:?}"
        );
        assert_eq!(found, findings, "{yaml:?}");
    }
    for (text, findings) in [
        ("---\nname: a\n", &["unclosed-frontmatter 1:1"]),
        ("---", &["unclosed-frontmatter 1:1"]),
        ("---\nname: a\n --- \n----\n", &["unclosed-frontmatter 1:1"]),
    ] {
        let (document, found) = read(text);
        assert!(document.is_none(), "{text:?}");
        assert_eq!(found, findings, "{text:?}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_named() {
    for (source, place, word) in [
        (&b"---\nname: caf\xE9\n---\n"[..], (2, 10, 13), "0xE9"),
        (b"\xFF\xFE-\0-\0-\0", (1, 1, 0), "0xFF"),
        (b"---\n\xC3\n", (2, 1, 4), "0xC3"),
        ("---\näö\n".as_bytes().split_at(7).0, (2, 2, 6), "0xC3"),
    ] {
        let (document, found) = parse("SKILL.md", source);
        assert!(document.is_none());
        let [found] = &found[..] else {
            panic!("one finding expected: {found:?}")
        };
        let span = found.span.unwrap();
        let at = Location::of(source, span);
        assert_eq!(found.code, Code::NotUtf8);
        assert_eq!((at.line, at.column, span.start), place, "{source:?}");
        assert!(found.message.contains(word), "{}", found.message);
    }
}

#[test]
fn values_that_need_quotes_are_recovered_whole() {
    // the line as written, the value, the finding
    for (yaml, value, finding) in [
        (
            "v: Sort, then cut: two steps: done\n",
            "Sort, then cut: two steps: done",
            "unquoted-value 2:18",
        ),
        (
            "v: 整理日志 — 先读。 触发: '/log', '/l'\n",
            "整理日志 — 先读。 触发: '/log', '/l'",
            "unquoted-value 2:17",
        ),
        (
            "v: ends with a colon:\n",
            "ends with a colon:",
            "unquoted-value 2:21",
        ),
        (
            "v: \"quoted\" and more\n",
            "\"quoted\" and more",
            "unquoted-value 2:13",
        ),
        (
            "v: 'quoted': more\n",
            "'quoted': more",
            "unquoted-value 2:12",
        ),
        (
            "v: @scope/package\n",
            "@scope/package",
            "unquoted-value 2:4",
        ),
        ("v: `cmd` runs\n", "`cmd` runs", "unquoted-value 2:4"),
        ("v: %TEMP% folder\n", "%TEMP% folder", "unquoted-value 2:4"),
        ("v: *bold* words\n", "*bold* words", "unquoted-value 2:4"),
        (
            "v: **very bold** words: yes\n",
            "**very bold** words: yes",
            "unquoted-value 2:4",
        ),
        (
            "v: &co makes things\n",
            "&co makes things",
            "unquoted-value 2:4",
        ),
        ("v: & more\n", "& more", "unquoted-value 2:4"),
        (
            "v: !important rule\n",
            "!important rule",
            "unquoted-value 2:4",
        ),
        ("v: ! rule\n", "! rule", "unquoted-value 2:4"),
        ("v: ![image](url)\n", "![image](url)", "unquoted-value 2:4"),
        ("v: [topic\n", "[topic", "unquoted-value 2:4"),
        ("v: [file] [line]\n", "[file] [line]", "unquoted-value 2:11"),
        (
            "v: [a](b) is a link\n",
            "[a](b) is a link",
            "unquoted-value 2:7",
        ),
        (
            "v: {var} is replaced\n",
            "{var} is replaced",
            "unquoted-value 2:10",
        ),
        ("v: {open\n", "{open", "unquoted-value 2:4"),
        (
            "v: \"never closed\n",
            "\"never closed",
            "unquoted-value 2:4",
        ),
        (
            "v: 'tis never closed\n",
            "'tis never closed",
            "unquoted-value 2:4",
        ),
        (
            "v: \"C:\\Users\\me\"\n",
            "\"C:\\Users\\me\"",
            "unquoted-value 2:4",
        ),
        (
            "v: > quoted like mail\n",
            "> quoted like mail",
            "unquoted-value 2:4",
        ),
        ("v: | a | b |\n", "| a | b |", "unquoted-value 2:4"),
        ("v: - a dash\n", "- a dash", "unquoted-value 2:4"),
        ("v: ? really\n", "? really", "unquoted-value 2:4"),
        ("v: , a comma\n", ", a comma", "unquoted-value 2:4"),
        ("v: ] a bracket\n", "] a bracket", "unquoted-value 2:4"),
        (
            "v: one\n  and two: three\n  and four\n",
            "one and two: three and four",
            "unquoted-value 3:10",
        ),
        (
            "v: one\n\n  two: three\n",
            "one\ntwo: three",
            "unquoted-value 4:6",
        ),
        ("v: a: b # said so\n", "a: b", "unquoted-value 2:5"),
        ("v: a: see #12\n", "a: see #12", "unquoted-value 2:5"),
        (
            "v: a: \"b\" \\ 'c'\n",
            "a: \"b\" \\ 'c'",
            "unquoted-value 2:5",
        ),
        ("\"v\": a: b\n", "a: b", "unquoted-value 2:7"),
    ] {
        for ends in ["\n", "\r\n"] {
            let text = format!("---\n{yaml}next: 1\n---\nBody\n").replace('\n', ends);
            let (document, found) = read(&text);
            let document = document.unwrap_or_else(|| panic!("{yaml:?} is lost: {found:?}"));
            let fields = document.fields();
            assert_eq!(
                fields.text("v", &mut Vec::new()).as_deref(),
                Some(value),
                "{yaml:?}"
            );
            assert_eq!(found, [finding], "{yaml:?}");
            assert!(fields.has("next"), "{yaml:?}");
        }
    }
}

#[test]
fn applying_the_fixes_leaves_no_diagnostic() {
    for yaml in [
        "v: a: b: c\n",
        "v: @x\nw: `y`\n",
        "v: \"q\" tail\n",
        "v: one\n  two: three\n",
        "v:\n\ta: b\n\tc: d\n",
        "v:\n    a: b\n\tc: d\n",
        "v:\n  - \"q\" tail\n  - Use when: asked: twice\n",
        "v: \"text\ngoes on\"\n",
        "v: [a\nw: \"b\nu: c: d\n",
    ] {
        let text = fenced(yaml);
        let (document, found) = parse("f", text.as_bytes());
        let document = document.unwrap_or_else(|| panic!("{yaml:?} is lost: {found:?}"));
        assert!(!found.is_empty(), "{yaml:?}");
        let mut fixes: Vec<_> = found
            .iter()
            .flat_map(|it| it.fix.clone().expect("a fix").edits)
            .collect();
        fixes.sort_by_key(|fix| std::cmp::Reverse(fix.span.start));
        let mut repaired = text.clone();
        for fix in fixes {
            repaired.replace_range(fix.span.range(), &fix.replacement);
        }
        let (again, findings) = read(&repaired);
        assert_eq!(findings, &[] as &[&str], "{repaired}");
        assert_eq!(again.unwrap().to_json(), document.to_json(), "{yaml:?}");
    }
}

#[test]
fn lines_that_are_not_yaml_are_repaired_one_by_one() {
    // frontmatter, its JSON, findings
    for (yaml, expected, findings) in [
        (
            "a:\n\tb: c\n",
            json!({"a": {"b": "c"}}),
            &["tab-indentation 3:1"][..],
        ),
        (
            "a:\n\tb: c\n\td:\n\t\te: f\n",
            json!({"a": {"b": "c", "d": {"e": "f"}}}),
            &[
                "tab-indentation 3:1",
                "tab-indentation 4:1",
                "tab-indentation 5:1",
            ],
        ),
        (
            "a:\n\t- b\n\t- c\n",
            json!({"a": ["b", "c"]}),
            &["tab-indentation 3:1", "tab-indentation 4:1"],
        ),
        (
            "b: 'c''d\ne : f\n",
            json!({"b": "'c''d", "e": "f"}),
            &["unquoted-value 2:4"],
        ),
        (
            "b: \"c\ngoes on\"\nd: e\n",
            json!({"b": "c goes on", "d": "e"}),
            &["loose-indentation 3:1"],
        ),
        (
            "k:\n  - Use when: asked: twice\n  - b\n",
            json!({"k": ["Use when: asked: twice", "b"]}),
            &["unquoted-value 3:20"],
        ),
        (
            "k:\n  - name: a: b\n    x: y\n",
            json!({"k": [{"name": "a: b", "x": "y"}]}),
            &["unquoted-value 3:12"],
        ),
        (
            "k:\n  - x: y\n    name: a: b\n",
            json!({"k": [{"x": "y", "name": "a: b"}]}),
            &["unquoted-value 4:12"],
        ),
        (
            "m:\n  a: b: c\n  d: @e\n",
            json!({"m": {"a": "b: c", "d": "@e"}}),
            &["unquoted-value 3:7", "unquoted-value 4:6"],
        ),
        (
            "a: [b\nc: \"d\ne: f: g\n",
            json!({"a": "[b", "c": "\"d", "e": "f: g"}),
            &[
                "unquoted-value 2:4",
                "unquoted-value 3:4",
                "unquoted-value 4:5",
            ],
        ),
        (
            "a: b\na: c\nd: {e: 1, e: 2}\n",
            json!({"a": "b", "d": {"e": 1}}),
            &["duplicate-key 3:1", "duplicate-key 4:11"],
        ),
        (
            "a: x\u{80}y\n",
            json!({"a": "x\u{80}y"}),
            &["control-character 2:5"],
        ),
        (
            "a: \"x\0y\"\nb: c: \u{7}\n",
            json!({"a": "x\0y", "b": "c: \u{7}"}),
            &["unquoted-value 3:5", "control-character 2:6"],
        ),
    ] {
        let (document, found) = read(&fenced(yaml));
        let document = document.unwrap_or_else(|| panic!("{yaml:?} is lost: {found:?}"));
        assert_eq!(json_of(&document), expected, "{yaml:?}");
        assert_eq!(found, findings, "{yaml:?}");
    }
}

#[test]
fn mistakes_that_real_files_have_not_are_errors_with_a_fix() {
    // frontmatter, findings, the frontmatter after all fixes
    for (yaml, findings, fixed) in [
        (
            "name:x\nb: c\n",
            &["missing-space 2:5"][..],
            "name: x\nb: c\n",
        ),
        ("b: c\nname:x\n", &["missing-space 3:5"], "b: c\nname: x\n"),
        ("name：x\nb: c\n", &["missing-space 2:5"], "name: x\nb: c\n"),
        (
            "b: c\r\nname:\u{a0}\u{3000}x\r\n",
            &["missing-space 3:5"],
            "b: c\r\nname: x\r\n",
        ),
        (
            "b: c\ngoes on\nand on\nd: e\n",
            &["unindented-text 3:1", "unindented-text 4:1"],
            "b: c\n  goes on\n  and on\nd: e\n",
        ),
        (
            "k: [@a, b, *c]\nd: e: f\n",
            &[
                "unquoted-value 2:5",
                "unquoted-value 2:12",
                "unquoted-value 3:5",
            ],
            "k: [\"@a\", b, \"*c\"]\nd: \"e: f\"\n",
        ),
    ] {
        let text = fenced(yaml);
        let (document, found) = parse("SKILL.md", text.as_bytes());
        assert!(document.is_none(), "{yaml:?}");
        assert_eq!(names(&text, &found), findings, "{yaml:?}");
        let edits = found
            .iter()
            .flat_map(|it| it.fix.clone().expect("a fix").edits);
        let mut edits: Vec<_> = edits.collect();
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
        let mut repaired = text.clone();
        for edit in edits {
            repaired.replace_range(edit.span.range(), &edit.replacement);
        }
        assert_eq!(repaired, fenced(fixed), "{yaml:?}");
        let (document, found) = read(&repaired);
        assert!(document.is_some() && found.is_empty(), "{found:?}");
    }
}

#[test]
fn a_repeated_key_points_to_both() {
    let text = fenced("a: 1\nb: 2\na: 3\n");
    let (_, found) = parse("f", text.as_bytes());
    let [found] = &found[..] else {
        panic!("one finding expected: {found:?}")
    };
    let spans = [found.span.unwrap(), found.related[0].span.unwrap()];
    assert_eq!(spans.map(|it| it.start), [14, 4]);
    let many: Vec<_> = (0..100)
        .map(|at| {
            format!(
                "k{at}: 1
k{at}: 2
"
            )
        })
        .collect();
    let many = many.concat();
    let (document, found) = parse("f", fenced(&many).as_bytes());
    assert_eq!(document.unwrap().fields().entries().len(), 100);
    assert!(
        found.len() < 20 && found.last().unwrap().message.contains("84 more"),
        "{}",
        found.len()
    );
}

#[test]
fn json_has_every_key_in_order_and_typed() {
    let yaml = "z: 1.10\na: [yes, No, true, ~, 0x1F, 007]\n1: {k: .inf, \"q\": \"1\"}\nd: 2026-01-02\n? [c, d]\n: e\nt: |\n  x\n";
    let (document, found) = read(&fenced(yaml));
    assert_eq!(found, &[] as &[&str]);
    assert_eq!(
        document.unwrap().to_json(),
        "{\"z\":1.10,\"a\":[\"yes\",\"No\",true,null,31,7],\"1\":{\"k\":\".inf\",\"q\":\"1\"},\
         \"d\":\"2026-01-02\",\"[c, d]\":\"e\",\"t\":\"x\\n\"}"
    );
}

#[test]
fn keys_and_values_have_exact_positions() {
    let text = "\u{feff}---\r\nnäme: \"ü\" # c\r\nlist:\r\n  - eins\r\n  - {a: b}\r\n---\r\n";
    let (document, _) = read(text);
    let document = document.unwrap();
    let fields = document.fields();
    let at = |span: Option<Span>| Location::of(text.as_bytes(), span.unwrap());
    let key = at(fields.key_span("näme"));
    assert_eq!(
        (key.line, key.column, key.end_column, key.byte_column),
        (2, 1, 5, 1)
    );
    let span = fields.value_span("näme");
    let value = at(span);
    assert_eq!(
        (
            value.line,
            value.column,
            value.byte_column,
            value.end_column
        ),
        (2, 7, 8, 10)
    );
    assert_eq!(&text[span.unwrap().range()], "\"ü\"");
    let items = fields.get("list").unwrap().items().unwrap();
    assert_eq!(document.source(&items[0].range), "eins");
    assert_eq!(document.source(&items[1].range), "{a: b}");
    let inner = document.fields_of(&items[1]).unwrap();
    assert_eq!(at(inner.value_span("a")).column, 9);
    assert_eq!(document.top().range(), 3..6);
}

#[test]
fn a_yaml_file_is_read_by_the_same_rules() {
    let source = "a: b: c\nd:\n  e: 1\n";
    let (document, found) = parse_yaml("c.yaml", source.as_bytes());
    assert_eq!(names(source, &found), ["unquoted-value 1:5"]);
    let document = document.unwrap();
    assert_eq!(json_of(&document), json!({"a": "b: c", "d": {"e": 1}}));
    assert!(document.body.is_empty());
    for empty in [&b""[..], b"\n# nothing\n", b"---\n"] {
        let (document, found) = parse_yaml("c.yaml", empty);
        assert_eq!(
            (document.unwrap().to_json().as_str(), found.len()),
            ("{}", 0),
            "{empty:?}"
        );
    }
}
