//! Rules about the frontmatter of a `SKILL.md`: what is found where, and how bad it is for whom.

use skillbundle_compiler::{CheckOptions, Profiles, Severity, check};

use crate::kit::{CompileTree, Tree};

/// The findings in a `SKILL.md` with this text, as `severity code line:column`, for one profile; notes and
/// what follows for the skills extension only if `codes` has them.
fn found(text: &str, folder: &str, profile: &str, codes: &[&str]) -> Vec<String> {
    let tree = Tree::new();
    tree.file(&format!("r/{folder}/SKILL.md"), text);
    let profiles = Profiles::of(&[profile]).expect("a known profile");
    let checked = check(&tree.roots(&["r"]), &CheckOptions::new(profiles));
    let report = checked.expect("the root can be read").report;
    let is_asked = |code: &str, severity| codes.contains(&code) || severity != Severity::Info;
    let found = report.diagnostics().iter();
    let found = found.filter(|it| is_asked(it.code.as_str(), it.severity));
    found
        .map(|it| match report.locate(&it.file, it.span) {
            Some(at) => format!("{} {} {}:{}", it.severity, it.code, at.line, at.column),
            None => format!("{} {}", it.severity, it.code),
        })
        .collect()
}

/// A `SKILL.md` with this frontmatter.
fn fenced(yaml: &str) -> String {
    format!("---\n{yaml}---\nBody\n")
}

#[test]
fn what_a_host_refuses_or_cuts_is_an_error_for_it() {
    let named = |more: &str| format!("name: s\ndescription: Use it for tests.\n{more}");
    let described = |text: &str| format!("name: s\ndescription: {text}\n");
    let block = format!("|\n  {}", "d".repeat(1024));
    let spaced = format!("\"{}\"", "d  ".repeat(400));
    let wide = "😀".repeat(600);
    let tagged = format!("\"<b>{}\"", "d".repeat(1022));
    for (yaml, profile, expected) in [
        (described("42"), "opencode", &["error not-text 3:14"][..]),
        (
            described("2026-01-02"),
            "opencode",
            &["error not-text 3:14"],
        ),
        (described("yes"), "opencode", &["warning not-text 3:14"]),
        (described("42"), "claude", &["warning not-text 3:14"]),
        (described("[a]"), "claude", &["error not-text 3:14"]),
        (
            described(&block),
            "spec",
            &["error description-too-long 4:3"],
        ),
        (described(&block), "codex", &[]),
        (
            described(&spaced),
            "spec",
            &["error description-too-long 3:14"],
        ),
        (described(&spaced), "codex", &[]),
        (
            described(&wide),
            "vscode",
            &["error description-too-long 3:14"],
        ),
        (described(&wide), "spec", &[]),
        (
            described(&tagged),
            "vscode",
            &["error description-tag 3:15"],
        ),
        (
            described("\"if a < b and c > d\""),
            "vscode",
            &["error description-tag 3:20"],
        ),
        (described("\"if a < b and c > d\""), "claude", &[]),
        (described("\"a <> b -> c\""), "vscode", &[]),
        (described("a --- b"), "spec", &["error fragile-fence 3:16"]),
        (described("a --- b"), "goose", &["error fragile-fence 3:16"]),
        (described("a --- b"), "codex", &[]),
        (
            described("|\n  a\n  ---\n  b"),
            "codex",
            &["error fragile-fence 5:3"],
        ),
        (described("|\n  a\n  ---\n  b"), "gemini", &[]),
        (
            described("\"a\n  ----\n  b\""),
            "claude",
            &["error fragile-fence 4:3"],
        ),
        (described("|\n  ----\n  b"), "claude", &[]),
        (
            "name: \"a:b\"\ndescription: Use it.\n".to_owned(),
            "gemini",
            &["warning name-characters 2:7"],
        ),
        (named("allowed-tools: Read, Grep\n"), "gh", &[]),
        (
            named("allowed-tools: [Read, Grep]\n"),
            "gh",
            &["error tool-list-shape 4:16"],
        ),
        (
            described("a\u{7}b c"),
            "codex",
            &["error control-character 3:15"],
        ),
        (
            described("a\u{7}b c"),
            "claude",
            &["warning control-character 3:15"],
        ),
        (
            described("a\u{2028}b c"),
            "codex",
            &["error invisible-character 3:15"],
        ),
        (described("\"a\u{2028}b c\""), "codex", &[]),
        (described("a\u{85}b c"), "gemini", &[]),
        (
            "name: \u{ff53}\ndescription: Use it.\n".to_owned(),
            "vscode",
            &["error name-mismatch 2:7"],
        ),
        (
            "name: \u{ff53}\ndescription: Use it.\n".to_owned(),
            "spec",
            &[],
        ),
        (named("license: [MIT]\n"), "spec", &["error not-text 4:10"]),
        (
            named("license: [MIT]\n"),
            "claude",
            &["warning not-text 4:10"],
        ),
        (
            named("compatibility: ''\n"),
            "spec",
            &["error empty-value 4:1"],
        ),
        (
            named("compatibility:\n"),
            "spec",
            &["error empty-value 4:1"],
        ),
        (
            named("allowed-tools: [Read]\n"),
            "spec",
            &["error tool-list-shape 4:16"],
        ),
        (
            named("allowed-tools: Read, Grep\n"),
            "spec",
            &["warning tool-list-shape 4:16"],
        ),
        (
            named("allowed-tools: {Read: true}\n"),
            "gh",
            &["error not-text 4:16"],
        ),
        (
            named("metadata:\n  1: a\n  \"2\": b\n"),
            "spec",
            &["error metadata-shape 5:3"],
        ),
        (
            named("context: frok\n"),
            "claude",
            &["warning unsupported-value 4:10"],
        ),
        (named("context: fork\neffort: high\n"), "claude", &[]),
        (
            named("hooks: later\n"),
            "claude",
            &["warning unsupported-value 4:8"],
        ),
        (
            named("allowed-tools: Grep Raed(a b) mcp__x bash\n"),
            "claude",
            &["warning unsupported-value 4:21"],
        ),
        (
            named("disable-model-invocation: true\nuser-invocable: false\n"),
            "claude",
            &["warning never-invoked 5:1"],
        ),
    ] {
        let text = fenced(&yaml);
        assert_eq!(
            found(&text, "s", profile, &[]),
            expected,
            "{profile}: {yaml}"
        );
    }
}

#[test]
fn what_precedes_the_name_matters_to_some_hosts() {
    let text = "---\nname: s\ndescription: Use it for tests.\n---\nBody\n";
    let marked = format!("\u{feff}{text}");
    let spaced = text.replace("---\n", "--- \t\n");
    let closing = text.replace("tests.\n---\n", "tests.\n---  \r\n");
    for (text, profile, expected) in [
        (&marked, "codex", &["error byte-order-mark 1:1"][..]),
        (&marked, "gemini", &["error byte-order-mark 1:1"]),
        (&marked, "spec", &["error byte-order-mark 1:1"]),
        (&marked, "claude", &[]),
        (&spaced, "gemini", &["error fragile-fence 1:4"]),
        (&closing, "gemini", &["error fragile-fence 4:4"]),
        (&spaced, "codex", &[]),
    ] {
        assert_eq!(
            found(text, "s", profile, &[]),
            expected,
            "{profile}: {text:?}"
        );
    }
}

#[test]
fn no_fact_is_reported_twice() {
    let codes = ["number-loses-digits", "metadata-shape", "unknown-key"];
    for (yaml, expected) in [
        (
            "name: s\ndescripton: Use it.\n",
            &["error missing-description 3:1"][..],
        ),
        (
            "NAME: s\nDESCRIPTION: Use it.\n",
            &["error missing-name 2:1", "error missing-description 3:1"],
        ),
        (
            "name: s\ndescription: Use it.\nallowed-tool: Read\n",
            &["warning unknown-key 4:1"],
        ),
        ("name: [s]\ndescription: Use it.\n", &["error not-text 2:7"]),
        (
            "name: s\ndescription: Use it.\nmetadata:\n  version: 1.10\n",
            &["info metadata-shape 5:3"],
        ),
        (
            "name: s\ndescription: Use it.\na: 1.10\nb: 2.0\n",
            &["info number-loses-digits 4:4"],
        ),
        (
            "name: s\ndescription: Use it.\nmetadata:\n\u{a0} a: b\n",
            &["warning unknown-key 5:1"],
        ),
    ] {
        assert_eq!(
            found(&fenced(yaml), "s", "claude", &codes),
            expected,
            "{yaml}"
        );
    }
}

#[test]
fn advice_about_a_name_does_not_contradict_itself() {
    for (name, folder, advice) in [
        ("PDF", "pdf", &["name: pdf", "name: pdf"][..]),
        ("PDF", "PDF", &["name: pdf"]),
        ("pdf", "PDF", &["call the folder `pdf`"]),
        ("a_b", "c", &["name: c", "name: c"]),
    ] {
        let tree = Tree::new();
        let text = fenced(&format!("name: {name}\ndescription: Use it.\n"));
        tree.file(&format!("r/{folder}/SKILL.md"), text);
        let options = CheckOptions::new(Profiles::portable());
        let checked = check(&tree.roots(&["r"]), &options).expect("the root can be read");
        let found = checked.report;
        let found = found.diagnostics().iter();
        let about = found.filter(|it| it.code.as_str().starts_with("name-"));
        let helps: Vec<&str> = about.filter_map(|it| it.help.as_deref()).collect();
        assert_eq!(helps.len(), advice.len(), "{helps:?}");
        for (help, expected) in helps.iter().zip(advice) {
            assert!(help.contains(expected), "{name} in {folder}: {help}");
        }
    }
}

#[test]
fn pages_are_judged_for_this_program_alone() {
    let tree = Tree::new();
    tree.file(
        "r/_root.md",
        "\u{feff}---\ndescription: a --- b\nkeywords: [rules]\n---\nBody\n",
    );
    let options = CheckOptions::new(Profiles::portable());
    let checked = check(&tree.roots(&["r"]), &options).expect("the root can be read");
    assert_eq!(checked.report.count(Severity::Error), 0);
    assert_eq!(checked.report.count(Severity::Info), 1);
}

#[test]
fn a_description_of_open_tags_is_read_once() {
    // Read again for each of them, this takes minutes.
    let text = format!("name: s\ndescription: \"{}\"\n", "<a ".repeat(20_000));
    let found = found(&fenced(&text), "s", "vscode", &[]);
    assert_eq!(found, ["error description-too-long 3:14"]);
}

#[test]
fn a_comment_that_allows_nothing_says_why() {
    let text = |comment: &str| {
        format!(
            "---\nname: s\ndescription: Use it for tests.\n---\n{comment}\n[a](x.md)\n{}",
            "line\n".repeat(500)
        )
    };
    for (comment, expected) in [
        (
            "<!-- skillbundle: allow long-text: it is a table -->",
            "whole file|allow-file long-text",
        ),
        (
            "<!--\nskillbundle: allow broken-reference: made later\n-->",
            "several lines|on one line",
        ),
        ("```\n<!--\nskillbundle: allow x: y\n-->\n```", ""),
        ("text\nskillbundle: allow x: y\n", ""),
    ] {
        let tree = Tree::new();
        tree.file("r/s/SKILL.md", text(comment));
        let options = CheckOptions::new(Profiles::own());
        let checked = check(&tree.roots(&["r"]), &options).expect("the root can be read");
        let found = checked.report;
        let found = found.diagnostics().iter();
        let about: Vec<_> = found
            .filter(|it| it.code.as_str().ends_with("-suppression"))
            .collect();
        assert_eq!(about.len(), usize::from(!expected.is_empty()), "{about:?}");
        for it in about {
            let said = format!("{} {}", it.message, it.help.as_deref().unwrap_or_default());
            let mut parts = expected.split('|');
            assert!(parts.all(|part| said.contains(part)), "{said}");
        }
    }
}
