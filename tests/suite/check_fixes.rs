//! `check --fix` on files: what is written, what is never written, and that a file is whole or as it
//! was. What fixes do to a text is in `compiler/src/fix/tests.rs`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::cli::transcript;
use crate::project::{Project, finish};

/// A text with a safe fix.
const FIXABLE: &str =
    "---\nname: pdf\ndescription: Fills forms: all. Use it for forms.\n---\nOpen.\n";

/// The same with the fix.
const FIXED: &str =
    "---\nname: pdf\ndescription: \"Fills forms: all. Use it for forms.\"\n---\nOpen.\n";

fn pdf() -> Project {
    let project = Project::new();
    project.file("team/pdf/SKILL.md", FIXABLE);
    project
}

fn read(project: &Project, file: &str) -> String {
    fs::read_to_string(project.path(file)).expect("the file is there")
}

/// Runs a check with `--fix` and returns what it prints as JSON.
fn fix(project: &Project, words: &[&str]) -> Value {
    let ran = project.run(&[&["check"], words, &["--fix", "--json"]].concat());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// The reasons for what was not fixed.
fn reasons(printed: &Value) -> Vec<&str> {
    let left = printed["not_fixed"].as_array().expect("a list");
    left.iter().filter_map(|it| it["reason"].as_str()).collect()
}

/// Everything in a directory, so that no temporary file is left behind.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("it can be read");
    let name = |it: std::io::Result<fs::DirEntry>| it.expect("an entry").file_name();
    let mut names: Vec<_> = entries
        .map(|it| name(it).to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_person_sees_what_is_fixed_and_what_is_left() {
    let project = Project::new();
    project
        .file("team/pdf/SKILL.md", "---\nname: PDF\ndescription: Fills forms: all. Use it for forms.\nversion: 1.10\nallowed-tools: [Read, Grep]\n---\nOpen.\n")
        .file("team/mail/SKILL.md", "\u{feff}---\r\nname: mail\r\ndescription: Sends mail. Use it for mail. #1 choice\r\nmetadata:\r\n  since: 2026-01-02\r\n---\r\nSend.\r\n")
        .file("team/none/SKILL.md", "---\nname: none\n---\nNothing can be fixed here.\n");
    transcript::check(&project, "check-fixes", str::to_owned);
    assert_eq!(
        read(&project, "team/mail/SKILL.md"),
        "---\r\nname: mail\r\ndescription: \"Sends mail. Use it for mail. #1 choice\"\r\nmetadata:\r\n  since: \"2026-01-02\"\r\n---\r\nSend.\r\n"
    );
}

#[test]
fn a_second_run_finds_nothing_to_fix() {
    let project = pdf();
    let first = fix(&project, &["team"]);
    assert_eq!(
        (&first["fixed_count"], &first["error_count"]),
        (&1.into(), &0.into())
    );
    assert_eq!(read(&project, "team/pdf/SKILL.md"), FIXED);
    let second = fix(&project, &["team"]);
    assert_eq!(
        (&second["fixed_count"], &second["fixable_count"]),
        (&0.into(), &0.into())
    );
    assert_eq!(names(&project.path("team/pdf")), ["SKILL.md"]);
}

#[test]
fn what_was_refused_is_not_offered_again() {
    let project = Project::new();
    project.file(
        "team/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Fills forms. Use it for forms.\ncontext: \"a\" # b\n Description: `y`\n---\nOpen.\n",
    );
    let before = project.run(&["check", "team"]).stdout;
    assert!(
        before.contains("can be fixed: 1 finding with --fix"),
        "{before}"
    );
    let printed = fix(&project, &["team"]);
    assert_eq!(reasons(&printed).len(), 1, "{printed}");
    assert_eq!(printed["fixable_count"], 0, "{printed}");
    let after = project.run(&["check", "team", "--fix"]).stdout;
    assert!(!after.contains("can be fixed"), "{after}");
}

#[test]
fn only_the_file_that_was_named_is_fixed() {
    let project = pdf();
    project.file("team/other/SKILL.md", FIXABLE.replace("pdf", "other"));
    let printed = fix(&project, &["team/pdf/SKILL.md"]);
    assert_eq!(printed["fixed_count"], 1);
    assert_eq!(read(&project, "team/pdf/SKILL.md"), FIXED);
    assert!(read(&project, "team/other/SKILL.md").contains("forms: all"));
}

/// Applies a diff in a directory with the commands that people have for it.
fn apply(diff: &str, dir: &Path) -> Vec<String> {
    let commands: [&[&str]; 2] = [
        &["git", "apply", "--check", "fix.diff"],
        &["patch", "-p1", "--fuzz=0", "--input=fix.diff"],
    ];
    fs::write(dir.join("fix.diff"), diff).expect("writable");
    let mut failures = Vec::new();
    for words in commands {
        let applied = finish(Command::new(words[0]).args(&words[1..]).current_dir(dir));
        if applied.code != Some(0) {
            failures.push(format!("{words:?}: {applied:?}"));
        }
    }
    failures
}

#[test]
fn a_diff_can_be_applied_and_does_what_the_fix_does() {
    let texts = [
        ("end", FIXABLE.trim_end().to_owned()),
        ("crlf", FIXABLE.replace('\n', "\r\n")),
        ("mark", format!("\u{feff}{FIXABLE}")),
        // Line ends for some, and for nobody who applies a diff.
        (
            "others",
            FIXABLE.replace("Open.", "One\rtwo\u{2028}three\u{85}four\u{c}"),
        ),
        ("last", format!("{FIXABLE}One\r")),
        ("short", FIXABLE.replace("---\nOpen.\n", "---")),
        ("a b", FIXABLE.to_owned()),
        ("d\u{e9}tail", FIXABLE.to_owned()),
        ("quote\"d", FIXABLE.to_owned()),
    ];
    for (name, text) in texts {
        let project = Project::new();
        let file = format!("team/{name}/SKILL.md");
        project.file(&file, &text);
        let path = project.path("team");
        let absolute = path.to_str().expect("a name in UTF-8");
        for typed in ["team", "./team", absolute] {
            project.file(&file, &text);
            let ran = project.run(&["check", typed, "--diff"]);
            assert_eq!(ran.code, Some(1), "{name}: {ran:?}");
            assert!(
                ran.stderr.ends_with("exit code 1: files would change\n"),
                "{name}: {ran:?}"
            );
            assert_eq!(read(&project, &file), text, "nothing is written");
            let failures = apply(&ran.stdout, &project.path("."));
            assert!(failures.is_empty(), "{failures:#?}\n{}", ran.stdout);
            let patched = read(&project, &file);
            project.file(&file, &text);
            fix(&project, &["team"]);
            assert_eq!(patched, read(&project, &file), "{name}");
            let again = project.run(&["check", typed, "--diff"]);
            assert_eq!(again.stdout, "", "{name}");
        }
        // From elsewhere, names begin at the root of the file system.
        project.file(&file, &text);
        let elsewhere = Project::new();
        let ran = elsewhere.run(&["check", absolute, "--diff"]);
        let name = path.join(name);
        assert!(!ran.stdout.contains("--- /"), "{name:?}: {}", ran.stdout);
    }
}

#[test]
fn fixes_that_are_a_part_of_another_one_are_counted() {
    let project = Project::new();
    // The folder's name is what both findings ask for.
    project.file(
        "team/pdf/SKILL.md",
        "---\nname: PDF\ndescription: Fills forms. Use it for forms.\n---\nOpen.\n",
    );
    let before = project.run(&["check", "team", "--json"]);
    let before: Value = serde_json::from_str(&before.stdout).expect("JSON");
    assert_eq!(before["unsafe_fixable_count"], 2, "{before}");
    let printed = fix(&project, &["team", "--unsafe"]);
    assert_eq!(printed["fixed_count"], 2, "{printed}");
    assert_eq!(printed["unsafe_fixable_count"], 0, "{printed}");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_keeps_its_mode_and_what_is_read_only_stays() {
        let project = pdf();
        project
            .mode("team/pdf/SKILL.md", 0o751)
            .file("team/ro/SKILL.md", FIXABLE.replace("pdf", "ro"))
            .mode("team/ro/SKILL.md", 0o444);
        let printed = fix(&project, &["team"]);
        assert_eq!(printed["fixed_count"], 1);
        assert_eq!(reasons(&printed), ["it is read-only"]);
        assert_eq!(printed["fixable_count"], 1, "what stays is still reported");
        let mode = |file: &str| {
            let metadata = fs::metadata(project.path(file)).expect("the file is there");
            metadata.permissions().mode() & 0o777
        };
        assert_eq!(mode("team/pdf/SKILL.md"), 0o751);
        assert_eq!(read(&project, "team/pdf/SKILL.md"), FIXED);
        assert!(read(&project, "team/ro/SKILL.md").contains("forms: all"));
    }

    #[test]
    fn a_diff_has_only_what_would_be_written() {
        let project = pdf();
        project
            .file("outside/SKILL.md", FIXABLE.replace("pdf", "linked"))
            .file("team/ro/SKILL.md", FIXABLE.replace("pdf", "ro"))
            .mode("team/ro/SKILL.md", 0o444)
            .link("team/linked", "../outside");
        let ran = project.run(&["check", "team", "--diff"]);
        assert_eq!(ran.stdout.matches("+++ ").count(), 1, "{}", ran.stdout);
        assert!(
            ran.stdout.contains("+++ b/team/pdf/SKILL.md\n"),
            "{}",
            ran.stdout
        );
        for expected in [
            "team/ro/SKILL.md: it is read-only",
            "team/linked/SKILL.md: it lies outside",
            "1 finding in 1 file can be fixed; nothing was written",
        ] {
            assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        }
    }

    #[test]
    fn a_file_keeps_its_owner() {
        let project = pdf();
        let file = project.path("team/pdf/SKILL.md");
        // Only the superuser may do this; for others there is nothing to see.
        if std::os::unix::fs::chown(&file, Some(65534), Some(65534)).is_err() {
            return;
        }
        fix(&project, &["team"]);
        let owner = fs::metadata(&file).expect("it is there");
        assert_eq!((owner.uid(), owner.gid()), (65534, 65534));
        assert_eq!(read(&project, "team/pdf/SKILL.md"), FIXED);
    }

    #[test]
    fn a_link_stays_a_link_and_nothing_outside_is_written() {
        let project = pdf();
        project
            .file("outside/SKILL.md", FIXABLE.replace("pdf", "linked"))
            .file("team/shared.md", FIXABLE.replace("pdf", "inner"));
        fs::create_dir_all(project.path("team/linked")).expect("a folder can be made");
        fs::create_dir_all(project.path("team/inner")).expect("a folder can be made");
        symlink(
            "../../outside/SKILL.md",
            project.path("team/linked/SKILL.md"),
        )
        .expect("a link");
        symlink("../shared.md", project.path("team/inner/SKILL.md")).expect("a link");
        fix(&project, &["team"]);
        assert!(read(&project, "outside/SKILL.md").contains("forms: all. Use"));
        assert!(!read(&project, "outside/SKILL.md").contains('"'));
        let is_link = |file: &str| {
            let metadata = fs::symlink_metadata(project.path(file)).expect("it is there");
            metadata.is_symlink()
        };
        assert!(is_link("team/inner/SKILL.md") && is_link("team/linked/SKILL.md"));
        assert!(read(&project, "team/shared.md").contains("\"Fills forms: all."));
    }

    #[test]
    fn a_further_name_of_a_file_is_not_changed_without_a_word() {
        let project = pdf();
        let (file, other) = (project.path("team/pdf/SKILL.md"), project.path("other.md"));
        fs::hard_link(&file, &other).expect("a hard link");
        let ran = project.run(&["check", "team", "--fix"]);
        assert!(ran.stdout.contains("hard links"), "{}", ran.stdout);
        assert_eq!(read(&project, "team/pdf/SKILL.md"), FIXED);
        assert_eq!(read(&project, "other.md"), FIXABLE);
        assert_eq!(fs::metadata(&other).expect("it is there").nlink(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_reported_and_the_file_is_whole() {
        let project = pdf();
        project.file("team/mail/SKILL.md", FIXABLE.replace("pdf", "mail"));
        let locked = project.path("team/pdf");
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).expect("a mode can be set");
        // Who may do anything is not stopped by a mode.
        let is_stopped = fs::write(locked.join("probe"), "").is_err();
        let printed = fix(&project, &["team"]);
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).expect("a mode can be set");
        let expected = if is_stopped { FIXABLE } else { FIXED };
        assert_eq!(read(&project, "team/pdf/SKILL.md"), expected);
        assert_eq!(
            reasons(&printed).len(),
            usize::from(is_stopped),
            "{printed}"
        );
        assert!(read(&project, "team/mail/SKILL.md").contains('"'));
    }
}
