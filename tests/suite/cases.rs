//! Literate compiler cases: each Markdown file in `tests/cases` is a suite, each
//! heading a test. `parse.rs` reads the files, `check.rs` runs a test.
//!
//! A fence whose info string holds `path=` is a file of the test's folder, the
//! folder below `skills/` is compiled, and the fence `expect` says what must come
//! of it. Around them stands prose that says why. A fence may have any number of
//! backticks, so that a file can hold fences of its own.
//!
//! | info string | meaning |
//! |---|---|
//! | `md path=skills/a/SKILL.md` | a file; the first word only colours it |
//! | `… crlf` | every line ends in CR LF |
//! | `… bom` | it begins with a byte order mark |
//! | `… no-newline` | the last line has no line end |
//! | `… escapes` | `\r` `\n` `\t` `\0` `\\`, `\x80` (a byte), `\u{301}` (a character), `\{20:ab}` (repeated) |
//! | `… mode=755` | permission bits |
//! | `link path=skills/b to=../store/b` | a symbolic link |
//! | `expect` | what is served and what is found, complete and in order |
//! | `expect roots=one,two` | the folders to compile, highest priority first |
//! | `report` | the findings as a person reads them, complete |
//!
//! Lines of `expect`:
//!
//! ```text
//! skill report-maker               a served skill, in listing order
//!   description "Builds reports"   a fact about it, as JSON; only those named are checked
//! lookup "Report-Maker" "report-maker"   the path that a typed name leads to, or null
//! warning skills/a/SKILL.md:3:1 not-text  a finding: severity, place, code
//! ```
//!
//! `check.rs` lists the facts: fields of a skill, `published`, `frontmatter:KEY`, `file:PATH`,
//! `bytes:PATH`, and `setting:KEY` of the bundle.
//!
//! `UPDATE_GOLDEN=1` rewrites the `expect` and `report` fences, with the facts
//! that they name: read the difference before you commit it.

mod check;
mod parse;

use std::collections::BTreeSet;
use std::fs;

use crate::project::{files_in, updating, workspace};

macro_rules! suites {
    ($($name:ident)*) => {
        /// Every suite that has a test below.
        const SUITES: &[&str] = &[$(stringify!($name)),*];

        $(#[test] fn $name() { run(stringify!($name)); })*
    };
}

suites! {
    frontmatter yaml discovery links names files references declarations tree settings published
    contracts
}

#[test]
fn every_file_of_cases_is_run() {
    let listed: BTreeSet<String> = SUITES.iter().map(|s| format!("{s}.md")).collect();
    let found = files_in("tests/cases");
    assert_eq!(found, listed, "add or remove the name in cases.rs");
}

/// Runs every test of one Markdown file and reports all failures together.
fn run(suite: &str) {
    let path = workspace().join(format!("tests/cases/{suite}.md"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let tests = parse::parse(suite, &text);
    assert!(!tests.is_empty(), "{suite}.md holds no test");
    let mut failures = Vec::new();
    let mut edits = Vec::new();
    for test in &tests {
        match check::check(test) {
            Ok(found) => edits.extend(found),
            Err(failure) => failures.push(failure),
        }
    }
    if updating() {
        fs::write(&path, parse::rewrite(&text, edits)).expect("the suite can be rewritten");
    }
    assert!(
        failures.is_empty(),
        "{} of {} tests of {suite}.md failed\n\n{}",
        failures.len(),
        tests.len(),
        failures.join("\n")
    );
}
