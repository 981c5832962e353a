//! Fixes of single files, through the door that the program uses: what becomes of a text, and that
//! nothing else changes its meaning.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use skillbundle_testkit::{material, test_with};
use tempfile::TempDir;

use super::*;
use crate::diagnostic::{Code, Span};
use crate::frontmatter;
use crate::profile::Profiles;
use crate::{Root, check};

/// A root with one skill in the folder `pdf`.
fn root(text: &[u8]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("pdf")).unwrap();
    fs::write(dir.path().join("pdf/SKILL.md"), text).unwrap();
    dir
}

fn fixed_in(dir: &Path, most: Applicability) -> Fixed {
    let roots = [Root::project(dir)];
    let options = CheckOptions::new(Profiles::of(&["portable", "spec"]).unwrap());
    let check = |options: &CheckOptions| Ok::<_, Infallible>(check(&roots, options).unwrap());
    match fix(&options, most, check) {
        Ok(fixed) => fixed,
        Err(never) => match never {},
    }
}

/// The text of that skill after fixes.
fn fixed(text: &str, most: Applicability) -> (String, Fixed) {
    let dir = root(text.as_bytes());
    let fixed = fixed_in(dir.path(), most);
    let after = fixed.files.first().map_or(text.as_bytes(), |it| &it.text);
    let after = String::from_utf8(after.to_vec()).unwrap();
    let on_disk = fs::read(dir.path().join("pdf/SKILL.md")).unwrap();
    assert_eq!(on_disk, text.as_bytes(), "nothing is written here");
    (after, fixed)
}

const HEAD: &str = "---\nname: pdf\ndescription: Fills forms. Use it for forms.\n";
const TAIL: &str = "---\nOpen the form.\n";

#[test]
fn each_fix_changes_what_its_finding_is_about() {
    use Applicability::{Safe, Unsafe};
    // Lines of frontmatter before and after, and whether the fix is safe.
    let cases: &[(&str, &str, Applicability)] = &[
        ("license: a: b", "license: \"a: b\"", Safe),
        ("license:MIT", "license: MIT", Safe),
        ("license: 3000", "license: \"3000\"", Safe),
        ("version: 1.10", "version: \"1.10\"", Safe),
        ("my-version: 1.10", "my-version: \"1.10\"", Safe),
        ("user-invocable: yes", "user-invocable: true", Safe),
        ("argument-hint: [topic]", "argument-hint: \"[topic]\"", Safe),
        (
            "metadata:\n  a: 1\n  b: x\n  c: 2026-01-02",
            "metadata:\n  a: \"1\"\n  b: x\n  c: \"2026-01-02\"",
            Safe,
        ),
        ("metadata:\n\ta: x", "metadata:\n  a: x", Safe),
        (
            "allowed-tools: Read, Grep",
            "allowed-tools: Read Grep",
            Safe,
        ),
        (
            "allowed-tools: [Read, \"Bash(git:*)\"]",
            "allowed-tools: Read Bash(git:*)",
            Safe,
        ),
        (
            "allowed-tools:\n  - Read\n  - Grep",
            "allowed-tools: Read Grep",
            Safe,
        ),
        (
            "allowed-tools:\n- Read\n- Grep\nlicense: MIT",
            "allowed-tools: Read Grep\nlicense: MIT",
            Safe,
        ),
        // A comment would be lost.
        (
            "allowed-tools:\n  - Read # why\n  - Grep",
            "allowed-tools:\n  - Read # why\n  - Grep",
            Unsafe,
        ),
        ("licens: MIT", "license: MIT", Safe),
        ("compatability: Linux", "compatibility: Linux", Safe),
        ("lisens: MIT", "license: MIT", Unsafe),
        (
            "license: MIT #1 choice",
            "license: \"MIT #1 choice\"",
            Unsafe,
        ),
        ("license: #1 choice", "license: \"#1 choice\"", Unsafe),
        ("license: M\u{1}IT\u{2}", "license: MIT", Unsafe),
        ("license: M\u{202e}IT", "license: MIT", Unsafe),
    ];
    for (before, after, applicability) in cases {
        let text = |line: &str| format!("{HEAD}{line}\n{TAIL}");
        let (safely, _) = fixed(&text(before), Safe);
        let (unsafely, result) = fixed(&text(before), Unsafe);
        let expected = if *applicability == Safe {
            after
        } else {
            before
        };
        assert_eq!(safely, text(expected), "{before:?}: {:?}", result.refused);
        assert_eq!(unsafely, text(after), "{before:?}");
        assert_eq!(
            result.checked.fixable(),
            (0, 0),
            "{before:?}: {}",
            result.checked.report.render_plain()
        );
        assert!(
            result.refused.is_empty(),
            "{before:?}: {:?}",
            result.refused
        );
    }
}

#[test]
fn a_fix_that_does_not_help_is_not_made_again() {
    for line in [
        "license: \n  MIT:",
        "license: \n \tMIT: \t",
        "tags: # a: b\n metadata:",
        "license: \n  MIT:\n  or: GPL:",
    ] {
        let text = format!("{HEAD}{line}\n{TAIL}");
        let (after, result) = fixed(&text, Applicability::Unsafe);
        assert!(!after.contains('\\'), "{after}");
        let count = result.files.first().map_or(0, |it| it.count);
        assert!(count < 2, "{after}");
    }
}

#[test]
fn a_fence_stays_a_fence() {
    for line in [
        "tags: [a, b",
        "license: \"MIT",
        "license: 'MIT",
        "metadata: {a: b",
    ] {
        for body in ["Text\n", "---\nText\n", "---\na: b\n---\n", ""] {
            let text = format!("{HEAD}{line}\n---\n{body}");
            for most in [Applicability::Safe, Applicability::Unsafe] {
                let (after, _) = fixed(&text, most);
                assert!(after.ends_with(&format!("\n---\n{body}")), "{text}{after}");
                assert_eq!(
                    after.matches("\n---\n").count(),
                    text.matches("\n---\n").count()
                );
            }
        }
    }
}

#[test]
fn names_and_whole_files_are_fixed() {
    use Applicability::{Safe, Unsafe};
    for (before, after, most) in [
        (
            "\u{feff}---\nname: pdf\ndescription: It. Use it.\n---\nText\n",
            "---\nname: pdf\ndescription: It. Use it.\n---\nText\n",
            Safe,
        ),
        (
            "---\r\nname: pdf\r\ndescription: It: does. Use it.\r\n---\r\nText\r\n",
            "---\r\nname: pdf\r\ndescription: \"It: does. Use it.\"\r\n---\r\nText\r\n",
            Safe,
        ),
        (
            "---\nname: forms\ndescription: It. Use it.\n---\nText\n",
            "---\nname: pdf\ndescription: It. Use it.\n---\nText\n",
            Unsafe,
        ),
        (
            "---\nname: PDF Forms\ndescription: It. Use it.\n---\nText\n",
            "---\nname: pdf\ndescription: It. Use it.\n---\nText\n",
            Unsafe,
        ),
        (
            "---\nname: pdf\ndescription: It. Use it.\n---\nA\u{0}b\n\u{202e}c\u{1}",
            "---\nname: pdf\ndescription: It. Use it.\n---\nAb\nc",
            Unsafe,
        ),
    ] {
        assert_eq!(fixed(before, most).0, after);
    }
}

/// What `--fix` must leave alone: there is no frontmatter, or it cannot be read. Another tool puts an
/// empty frontmatter before the real one, which hides the name for good.
#[test]
fn a_file_without_readable_frontmatter_gets_none() {
    for text in [
        "Text without a fence\n",
        "---\nname: pdf\ndescription: open\n",
        "---\nname: pdf\ndescription: \"open\nbody\n----\n",
        "Text\n---\nname: pdf\n---\n",
        "```\n---\nname: pdf\n---\n```\n",
        "---\na: &a [x]\nb: *a\n---\nText\n",
        "",
    ] {
        for most in [Applicability::Safe, Applicability::Unsafe] {
            let (after, result) = fixed(text, most);
            assert_eq!(after, text, "{:?}", result.files);
        }
    }
}

#[test]
fn edits_that_change_something_else_are_refused() {
    let source = "---\nname: pdf\ndescription: It\nlicense: MIT\n---\nText\n";
    let at = |text: &str| source.find(text).unwrap();
    let edit = |start: usize, end: usize, text: &str| Edit {
        span: Span::from(start..end),
        replacement: text.to_owned(),
    };
    for (edits, reason) in [
        // An empty frontmatter before the real one.
        (edit(0, 0, "---\n---\n"), "remove `description`"),
        (edit(0, 3, "--"), "not be where it was"),
        (
            edit(at("MIT"), at("MIT") + 3, "\"MIT"),
            "make another error",
        ),
        (edit(at("It\n"), at("It\n") + 2, "|\n  It"), ""),
        (
            edit(at("It\n"), at("It\n") + 2, "It\nextra: 1"),
            "add a value",
        ),
        (edit(at("It\n") + 2, at("MIT"), ", "), "remove a value"),
        (
            edit(at("pdf"), at("pdf") + 3, "x\n---"),
            "remove `description`",
        ),
        (edit(at("Text"), at("Text") + 4, "Other"), ""),
        (edit(at("MIT"), at("MIT") + 3, "a: b"), "make another error"),
    ] {
        let found = attempt(
            "pdf/SKILL.md",
            source.as_bytes(),
            std::slice::from_ref(&edits),
        );
        match found {
            Ok(text) => assert_eq!(reason, "", "{edits:?}: {}", String::from_utf8_lossy(&text)),
            Err(found) => assert!(
                found.contains(reason) && !reason.is_empty(),
                "{edits:?}: {found}"
            ),
        }
    }
}

#[test]
fn of_fixes_that_overlap_the_first_wins() {
    let fixes = |spans: &[(usize, usize, &str)]| -> Vec<Diagnostic> {
        let it = |(start, end, text): &(usize, usize, &str)| {
            Diagnostic::new(Code::NotText, "notes.txt", format!("{start} {text}"))
                .at(Span::from(*start..*end))
                .fix(Span::from(*start..*end), *text)
        };
        spans.iter().map(it).collect()
    };
    let on_disk = FileOnDisk {
        path: "notes.txt".into(),
        bytes: Arc::from(&b"abcdef"[..]),
        has_other_names: false,
    };
    for (spans, count, expected) in [
        (&[(0, 1, "X"), (2, 3, "Y")][..], 2, "XbYdef"),
        (&[(0, 3, "X"), (2, 4, "Y")], 1, "Xdef"),
        (&[(0, 2, "X"), (2, 4, "Y")], 1, "Xcdef"),
        (&[(1, 1, "X"), (1, 1, "Y")], 1, "aXbcdef"),
        (&[(1, 2, "X"), (1, 2, "X")], 2, "aXcdef"),
        (&[(4, 9, "X")], 0, "abcdef"),
    ] {
        let found = fixes(spans);
        let mut rounds = Rounds::default();
        let (done, text) = rounds.fix_file(found.iter(), &on_disk);
        assert_eq!((done, &*text), (count, expected.as_bytes()), "{spans:?}");
        assert_eq!(rounds.refused.is_empty(), count > 0);
    }
}

/// The texts of all values, without regard to how they are written: a list of tools is its names.
fn texts(text: &[u8]) -> Option<BTreeMap<String, String>> {
    let (document, _) = frontmatter::parse("SKILL.md", text);
    let document = document?;
    let fields = document.fields();
    let text = |key: &str| {
        let mut out = Vec::new();
        if key == "allowed-tools" {
            fields.tool_list(key, &mut out).map(|it| it.join(" "))
        } else {
            fields.text(key, &mut out)
        }
    };
    let entries = fields.entries().iter();
    // The text of a list is its source, quotes and indentation with it.
    let plain = |value: &str| {
        let words = value.replace(['"', '\''], "");
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    Some(
        entries
            .map(|it| {
                (
                    it.key.text.clone(),
                    plain(&text(&it.key.text).unwrap_or_default()),
                )
            })
            .collect(),
    )
}

/// Fixes a text twice and compares: the second time there is nothing left, and a safe fix changes the
/// text of no value but a boolean's, and no byte of the body.
fn holds(text: &str) -> Result<(), TestCaseError> {
    let (after, result) = fixed(text, Applicability::Safe);
    let refused = result.refused.len();
    let (again, second) = fixed(&after, Applicability::Safe);
    prop_assert_eq!(&again, &after);
    prop_assert!(second.files.is_empty());
    prop_assert_eq!(
        second.checked.fixable().0,
        refused.min(second.checked.fixable().0)
    );
    let (before, now) = (texts(text.as_bytes()), texts(after.as_bytes()));
    prop_assert!(
        before.is_none() || now.is_some(),
        "{:?} became {:?}",
        text,
        after
    );
    for (key, value) in before.into_iter().flatten() {
        let kept = now.as_ref().and_then(|it| it.get(&key));
        let renamed = frontmatter::keys::is_known(&key);
        let is_boolean = kept.is_some_and(|it| it == "true" || it == "false");
        if renamed && !is_boolean {
            prop_assert_eq!(
                kept,
                Some(&value),
                "`{}` of {:?} became {:?}",
                key,
                text,
                &after
            );
        }
    }
    let is_fence = |line: &&str| line.trim_start_matches('\u{feff}') == "---";
    let fences = |text: &str| text.lines().filter(is_fence).count();
    prop_assert_eq!(
        fences(text),
        fences(&after),
        "{:?} became {:?}",
        text,
        after
    );
    let body = |text: &str| {
        let (document, _) = frontmatter::parse("SKILL.md", text.as_bytes());
        document.map(|it| text[it.body].to_owned())
    };
    if let Some(before) = body(text) {
        prop_assert_eq!(Some(before), body(&after));
    }
    let (unsafely, _) = fixed(text, Applicability::Unsafe);
    let (again, _) = fixed(&unsafely, Applicability::Unsafe);
    prop_assert_eq!(again, unsafely);
    Ok(())
}

fn line() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "license",
        "licens",
        "compatibility",
        "metadata",
        "allowed-tools",
        "version",
        "user-invocable",
        "my-key",
        "argument-hint",
        "descripton",
        "model",
    ]);
    let value = prop::sample::select(vec![
        "MIT",
        "a: b",
        "1.10",
        "yes",
        "[a, 1]",
        "{a: 1, b: 'x'}",
        "Read, Grep",
        "#1 x",
        "x #2 y",
        "'it''s",
        "\"open",
        "\n  a: 1\n  b: 1.0",
        "\n  - Read\n  - 3",
        "\n  sub:",
        "# only\n \tsub: ",
        "\n- x\n- y",
        "|\n  text\n  more",
        "\u{feff}x",
        "a\u{1}b",
        "\u{202e}",
        "# only",
        "@at",
        "*star",
        "",
        "~",
        "2026-01-02",
        "\ttab",
        "long\n  folded: x",
        "é日本: x",
    ]);
    let space = prop::sample::select(vec![": ", ":", ":  ", " : ", ":\t"]);
    (key, space, value).prop_map(|(key, space, value)| format!("{key}{space}{value}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn fixes_are_stable_and_keep_the_meaning(
        bom in prop::sample::select(vec!["", "\u{feff}"]),
        name in prop::sample::select(vec!["pdf", "PDF Forms", "3000", "'pdf'", "p: df"]),
        lines in prop::collection::vec(line(), 0..5),
        end in prop::sample::select(vec!["\n", "\r\n"]),
        body in prop::sample::select(vec!["Text\n", "", "---\na: b\n---\n", "A\u{2}b"]),
    ) {
        let lines = lines.join("\n");
        let text = format!("{bom}---\nname: {name}\ndescription: Fills forms. Use it for forms.\n{lines}\n---\n{body}");
        holds(&text.replace('\n', end))?;
    }
}

/// Real skills: fixing them twice is fixing them once, and their texts stay.
#[test_with(corpus)]
fn fixes_keep_the_meaning_of_real_skills() {
    let mut todo = vec![material("corpus")];
    let mut count = 0;
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else if path.file_name().is_some_and(|name| name == "SKILL.md") {
                let text = fs::read(&path).unwrap();
                if let Ok(text) = str::from_utf8(&text) {
                    holds(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                    count += 1;
                }
            }
        }
    }
    assert!(count > 0, "the corpus has no skill");
}
