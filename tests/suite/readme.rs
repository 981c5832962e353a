//! The README's commands work when they are pasted in order into a fresh
//! checkout: every `sh` block is run by one shell.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::json;

use crate::project::{LEGACY, Project, copy_tree, finish, workspace};

/// Stands in for cargo, whose builds are tested elsewhere: runs the program
/// under test, and fails for a command that this test does not know.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
    "run --release -- serve") exec skillbundle serve ;;
    "install --path . --locked" | "test --workspace --all-features") ;;
    "build --release") skillbundle compile --check "$SKILLBUNDLE_SKILLS" ;;
    *) echo "unknown: cargo $*" >&2; exit 1 ;;
esac
"#;

/// The `sh` blocks of a Markdown text, in order.
fn shell_blocks(markdown: &str) -> Vec<&str> {
    markdown
        .split("\n```sh\n")
        .skip(1)
        .map(|rest| rest.split("\n```\n").next().unwrap_or(rest))
        .collect()
}

#[test]
fn the_readme_works_when_pasted_in_order() {
    let readme = fs::read_to_string(workspace().join("README.md")).expect("README.md exists");
    let blocks = shell_blocks(&readme);
    assert!(blocks.len() > 6, "only {} blocks", blocks.len());

    let checkout = Project::new();
    copy_tree(&workspace().join("skills"), &checkout.path("skills"));
    checkout.file("bin/cargo", CARGO);
    fs::set_permissions(
        checkout.path("bin/cargo"),
        fs::Permissions::from_mode(0o755),
    )
    .expect("the stand-in can be made executable");
    std::os::unix::fs::symlink(
        env!("CARGO_BIN_EXE_skillbundle"),
        checkout.path("bin/skillbundle"),
    )
    .expect("the program can be linked");

    let ran = finish(
        Command::new("sh")
            .args(["-eux", "-c", &blocks.join("\n")])
            .current_dir(checkout.dir())
            .env("HOME", checkout.dir())
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", checkout.path("bin").display()),
            ),
    );
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// What the README shows of a call is what the program answers.
#[test]
fn the_readme_shows_a_real_answer() {
    let readme = fs::read_to_string(workspace().join("README.md")).expect("README.md exists");
    let skill = readme
        .split("SKILL.md <<'EOF'\n")
        .nth(1)
        .and_then(|rest| rest.split("EOF\n").next())
        .expect("README.md writes a skill");
    let shown = readme
        .split("\n```text\n")
        .nth(1)
        .and_then(|rest| rest.split("\n```\n").next())
        .expect("README.md shows the answer");
    let project = Project::new();
    project.file("my-skills/pdf-forms/SKILL.md", skill);
    let mut session = project.serve(&["my-skills"]);
    session.initialize(LEGACY);
    let answer = session.tool_text("skill", &json!({ "name": "pdf-forms" }));
    let dir = project.path("my-skills").display().to_string();
    assert_eq!(answer.replace(&dir, "/home/me/my-skills").trim_end(), shown);
}
