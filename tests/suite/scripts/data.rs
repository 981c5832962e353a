//! The data directory: what a script finds again, and who says where.

use serde_json::{Value, json};

use super::{call, levels, once, ran, refused, serve, skill, start, with_script};
use crate::project::{Project, finish};

/// A script that counts its runs, as far as it can.
const COUNT: &str = "echo ${SKILL_DATA-none}\n[ -z \"$SKILL_DATA\" ] || { echo x >> $SKILL_DATA/count; wc -l < $SKILL_DATA/count; }\n";

/// What the script prints when it runs for the nth time with this directory.
fn counted(project: &Project, directory: &str, times: usize) -> String {
    let real = project.dir().canonicalize().expect("it exists");
    format!("{}\n{times}\n", real.join(directory).display())
}

#[test]
fn scripts_find_again_what_they_have_kept() {
    let project = with_script(COUNT);
    skill(&project, "content", "other", "", COUNT);
    for level in levels() {
        let set = format!("scripts.isolation={level}");
        let directory = format!("data-{level}");
        let options = ["--set", &set, "--script-data", &directory];
        for times in [1, 3] {
            let mut session = serve(&project, &options);
            for (name, times) in [("it", times), ("other", times + 1)] {
                let result = ran(&mut session, &call(name, &json!({})));
                let expected = counted(&project, &directory, times);
                assert_eq!(result["stdout"], expected, "{level}: {result}");
            }
            session.finish();
        }
        let none = once(&project, &["--set", &set]);
        assert_eq!(none["stdout"], "none\n", "{level}: {none}");
    }
}

#[test]
fn one_that_is_not_meant_for_it_is_refused() {
    let project = with_script(COUNT);
    project.file("file", "").file("full/file", "");
    project.link("link", project.path("empty"));
    std::fs::create_dir(project.path("empty")).expect("made");
    for (directory, words) in [
        ("file", "it is not a directory"),
        ("link", "it is a symbolic link"),
        ("missing/data", "make that directory first"),
        ("full", "full cannot be a data directory"),
    ] {
        let mut session = serve(&project, &["--script-data", directory]);
        let arguments = call("it", &json!({}));
        refused(&mut session, &arguments, "data_directory_refused", words);
        session.finish();
    }
    let made = std::fs::read_dir(project.path("full")).expect("it is there");
    assert_eq!(made.count(), 1);
}

#[test]
fn a_terminal_says_which_it_is_and_makes_it_only_to_run() {
    let project = with_script(COUNT);
    let line = ["run", "it", "run.sh", "content", "--script-data", "data"];
    let dry = project.run(&[&line[..], &["--dry-run"]].concat());
    let path = counted(&project, "data", 0);
    let path = path.lines().next().expect("a path");
    assert!(
        dry.stdout.contains(&format!("writable    {path}\n")),
        "{dry:?}"
    );
    assert!(
        dry.stdout.contains(&format!("SKILL_DATA={path}\n")),
        "{dry:?}"
    );
    let json = project.run(&[&line[..], &["--dry-run", "--json"]].concat());
    let plan: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(plan["plan"]["writable"], json!([path]));
    assert!(!project.path("data").exists());
    for times in [1, 2] {
        let done = project.run(&line);
        assert_eq!(done.stdout, counted(&project, "data", times), "{done:?}");
    }
}

/// A relative path in a file is relative to the file; `SKILL_DATA` of the server itself means nothing.
#[test]
fn the_setting_does_the_same_and_content_has_no_say() {
    let project = with_script(COUNT);
    project.file("content/config.yaml", "scripts:\n  data_directory: kept\n");
    let mut command = project.command();
    command.env("SKILL_DATA", project.dir());
    let mut session = start(command, &["content"]);
    let result = ran(&mut session, &call("it", &json!({})));
    assert_eq!(result["stdout"], "none\n", "{result}");
    session.finish();
    let mut command = project.command();
    let set = format!(
        "scripts.data_directory={}",
        project.path("content/../kept").display()
    );
    let line = ["run", "it", "run.sh", "content", "--set", &set];
    let done = finish(command.args(line));
    assert_eq!(done.stdout, counted(&project, "kept", 1), "{done:?}");
    project.operator("scripts:\n  data_directory: beside\n");
    let done = project.run(&["run", "it", "run.sh", "content"]);
    let first = done.stdout.lines().next().unwrap_or_default();
    assert!(
        first.starts_with('/') && first.ends_with("/beside"),
        "{done:?}"
    );
}
