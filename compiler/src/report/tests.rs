//! Reports as people see them. `UPDATE_GOLDEN=1` rewrites `golden.txt`; read the
//! difference before you commit it.

use std::path::Path;
use std::sync::Arc;

use super::Report;
use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::frontmatter;

/// Files with one mistake each, by name.
const FILES: &[(&str, &str)] = &[
    (
        "colon/SKILL.md",
        "---\nname: colon\ndescription: Sorts mail in two steps: read, file. Use when: asked\n---\nBody\n",
    ),
    (
        "cjk/SKILL.md",
        "---\nname: cjk\ndescription: 整理日志。触发: '/log'\n---\nBody\n",
    ),
    (
        "twice/SKILL.md",
        "---\nname: twice\nlicense: MIT\n\n\nname: again\n---\nBody\n",
    ),
    (
        "tab/SKILL.md",
        "---\nname: tab\nmetadata:\n\tauthor: someone\n---\nBody\n",
    ),
    ("open/SKILL.md", "---\nname: open\n----\nBody\n"),
    (
        "quote/SKILL.md",
        "---\ndescription: \"never ends\nallowed-tools: Read\n---\nBody\n",
    ),
    (
        "escape/SKILL.md",
        "---\nname: e\u{1b}[2J\u{202e}txt\r\n---\nBody\n",
    ),
    (
        "long/SKILL.md",
        "---\ndescription: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n---\nBody\n",
    ),
    (
        "bomb/SKILL.md",
        "---\na: &a [x, x]\nb: [*a, *a]\n---\nBody\n",
    ),
    ("empty/SKILL.md", "\u{feff}---\nname: empty\n---"),
];

fn report() -> Report {
    let mut found: Vec<_> = FILES
        .iter()
        .flat_map(|(file, text)| frontmatter::parse(file, text.as_bytes()).1)
        .collect();
    found.push(
        Diagnostic::new(Code::NotUtf8, "no/span\u{7}.md", "a file as a whole").help("two\nlines"),
    );
    found.push(
        Diagnostic::new(
            Code::DuplicateKey,
            "elsewhere.md",
            "this file is not at hand",
        )
        .at(Span::from(3..4))
        .related_in("colon/SKILL.md", Span::from(4..15), "but this one is")
        .related_in("gone.md", None, "and this one has no place"),
    );
    Report::new(found, |file| {
        let (_, text) = FILES.iter().find(|(name, _)| *name == file)?;
        Some(Arc::from(text.as_bytes()))
    })
}

#[test]
fn reports_look_like_the_golden_file() {
    let report = report();
    let page = format!("{}{}", report.render_human(false), report.render_plain());
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report/golden.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &page).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap();
    assert_eq!(page, expected, "UPDATE_GOLDEN=1 rewrites it");
}

#[test]
fn control_characters_are_never_printed() {
    let report = report();
    for page in [report.render_human(false), report.render_plain()] {
        let bad: Vec<char> = page
            .chars()
            .filter(|it| *it != '\n' && !super::is_safe(*it))
            .collect();
        assert!(bad.is_empty(), "{bad:?}");
    }
    let colored = report.render_human(true);
    assert!(
        colored.contains("\u{1b}[")
            && !colored.contains("\u{1b}[2J")
            && !colored.contains('\u{202e}')
    );
    assert!(
        !colored.contains("\u{1b}]"),
        "no links: file names would go into them"
    );
}

#[test]
fn a_log_has_no_more_results_than_code_scanning_takes() {
    let (most, more) = (25_000, 7);
    let found = (0..most + more).map(|number| {
        let severity = if number < most {
            Severity::Info
        } else {
            Severity::Error
        };
        let file = format!("{number:05}.md");
        Diagnostic::new(Code::NotUtf8, file, "a file").severity(severity)
    });
    let report = Report::new(found.collect(), |_| None);
    let run = super::Run {
        version: "0.0.0",
        directory: Path::new("/"),
        exit_code: 1,
        exit_reason: None,
    };
    let log = report.to_sarif(run);
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), most);
    let errors = results.iter().filter(|it| it["level"] == "error");
    assert_eq!(errors.count(), more, "the most severe ones stay");
    let said = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
    let text = said["message"]["text"].as_str().unwrap();
    assert!(text.starts_with("7 findings are left out"), "{text}");
}

#[test]
fn positions_are_exact_in_json() {
    let report = report();
    let json = report.to_json();
    let cjk = json
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["file"] == "cjk/SKILL.md")
        .unwrap();
    for (key, value) in [
        ("line", 3),
        ("column", 21),
        ("byte_column", 35),
        ("end_column", 22),
        ("start", 48),
        ("end", 49),
    ] {
        assert_eq!(cjk[key], value, "{key}");
    }
    assert_eq!(
        cjk["fix"]["edits"][0]["replacement"],
        "\"整理日志。触发: '/log'\""
    );
    assert_eq!(report.diagnostics().len(), json.as_array().unwrap().len());
    assert_eq!(report.count(Severity::Info), 1);
    let (all, errors) = (report.diagnostics().len(), report.count(Severity::Error));
    assert!(report.has_errors() && errors < all);
    let serious = report.at_least(Severity::Warning);
    assert_eq!(
        (serious.count(Severity::Info), serious.diagnostics().len()),
        (0, all - 1)
    );
}
