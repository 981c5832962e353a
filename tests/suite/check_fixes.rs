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
fn only_the_file_that_was_named_is_fixed() {
    let project = pdf();
    project.file("team/other/SKILL.md", FIXABLE.replace("pdf", "other"));
    let printed = fix(&project, &["team/pdf/SKILL.md"]);
    assert_eq!(printed["fixed_count"], 1);
    assert_eq!(read(&project, "team/pdf/SKILL.md"), FIXED);
    assert!(read(&project, "team/other/SKILL.md").contains("forms: all"));
}

#[test]
fn a_diff_can_be_applied_by_patch() {
    let project = pdf();
    project.file(
        "team/end/SKILL.md",
        FIXABLE.replace("pdf", "end").trim_end(),
    );
    let ran = project.run(&["check", "team", "--diff"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        read(&project, "team/pdf/SKILL.md"),
        FIXABLE,
        "nothing is written"
    );
    project.file("fix.diff", &ran.stdout);
    let mut git = Command::new("git");
    git.args(["apply", "-p0", "fix.diff"]);
    let applied = finish(git.current_dir(project.path(".")));
    assert_eq!(applied.code, Some(0), "{applied:?}\n{}", ran.stdout);
    assert_eq!(read(&project, "team/pdf/SKILL.md"), FIXED);
    let again = project.run(&["check", "team", "--diff"]);
    assert_eq!((again.code, &*again.stdout), (Some(0), ""));
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
