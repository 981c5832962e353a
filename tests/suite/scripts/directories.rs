//! Directories of the machine that scripts may read and start in: those that the operator names.

use serde_json::{Value, json};

use super::{levels, ran, refused, serve, start, with_script};
use crate::project::Project;

/// A script that says where it is and what it can read there.
const WHERE: &str = "pwd; cat here.txt 2>/dev/null\n";

/// `data` and `more` are opened to scripts, `secret` is not.
fn machine() -> Project {
    let project = with_script(WHERE);
    project
        .file("data/here.txt", "data\n")
        .file("data/sub/here.txt", "sub\n")
        .file("data/sub/file", "")
        .file("more/here.txt", "more\n")
        .file("secret/here.txt", "secret\n")
        .link("data/out", project.path("secret"))
        .link("data/up", "..")
        .link("data/in", "sub")
        .link("data/across", project.path("more"));
    project
}

fn opened(project: &Project) -> String {
    let paths = ["data", "more", "missing"].map(|it| project.path(it));
    format!("scripts.directories={}", json!(paths))
}

fn at(directory: impl Into<Value>) -> Value {
    json!({ "skill_path": "it", "file": "run.sh", "cwd": directory.into() })
}

#[test]
fn a_script_starts_in_a_directory_that_is_open_to_it() {
    let project = machine();
    let real = project.dir().canonicalize().expect("it exists");
    for level in levels() {
        let set = format!("scripts.isolation={level}");
        let mut session = serve(&project, &["--set", &opened(&project), "--set", &set]);
        for (cwd, place, text) in [
            (project.path("data").display().to_string(), "data", "data\n"),
            (
                project.path("data/sub").display().to_string(),
                "data/sub",
                "sub\n",
            ),
            (project.path("more").display().to_string(), "more", "more\n"),
            (
                project.path("data/../data/sub/..").display().to_string(),
                "data",
                "data\n",
            ),
            (".".to_owned(), "data", "data\n"),
            ("sub".to_owned(), "data/sub", "sub\n"),
            ("in".to_owned(), "data/sub", "sub\n"),
            ("across".to_owned(), "more", "more\n"),
        ] {
            let result = ran(&mut session, &at(cwd.as_str()));
            let expected = format!("{}\n{text}", real.join(place).display());
            assert_eq!(result["stdout"], expected, "{level}: {cwd}: {result}");
        }
        session.finish();
    }
}

/// The answer is the same whether there is such a directory or not.
#[test]
fn any_other_directory_is_refused_without_a_word_about_it() {
    let project = machine();
    let mut session = serve(&project, &["--set", &opened(&project)]);
    let mut messages = Vec::new();
    for cwd in [
        project.path("secret").display().to_string(),
        project.path("no-such").display().to_string(),
        project.dir().display().to_string(),
        project.path("data-too").display().to_string(),
        project.path("data/../secret").display().to_string(),
        "/".to_owned(),
        "/etc".to_owned(),
        "/proc/self/cwd".to_owned(),
        "..".to_owned(),
        "../secret".to_owned(),
        "out".to_owned(),
        "up".to_owned(),
        "up/secret".to_owned(),
        "no-such".to_owned(),
        "sub/file".to_owned(),
        "missing".to_owned(),
        "~".to_owned(),
        "data\u{0}".to_owned(),
    ] {
        let (result, is_error) = super::run(&mut session, &at(cwd.as_str()));
        assert!(is_error, "{cwd}: {result}");
        assert_eq!(result["code"], "directory_not_allowed", "{cwd}: {result}");
        let message = result["error"].as_str().expect("a message");
        messages.push(message.replacen(&cwd, "<cwd>", 1));
    }
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
    session.finish();
}

#[test]
fn without_a_directory_a_script_starts_in_a_scratch_directory_and_can_read_the_open_ones() {
    let project = machine();
    let script = format!(
        "[ \"$PWD\" = \"$HOME\" ] && echo scratch; cat {0}/data/here.txt; echo x > note && cat note; echo y 2>/dev/null > {0}/data/new || echo read-only\n",
        project.dir().canonicalize().expect("it exists").display()
    );
    project.file("content/it/run.sh", script);
    for level in levels().into_iter().filter(|it| *it != "weak") {
        let set = format!("scripts.isolation={level}");
        let mut session = serve(&project, &["--set", &opened(&project), "--set", &set]);
        let result = ran(
            &mut session,
            &json!({ "skill_path": "it", "file": "run.sh" }),
        );
        assert_eq!(
            result["stdout"], "scratch\ndata\nx\nread-only\n",
            "{level}: {result}"
        );
        session.finish();
    }
    assert!(!project.path("data/new").exists());
}

#[test]
fn relative_directories_are_those_of_the_command_line_or_of_the_file_that_names_them() {
    let project = machine();
    let real = project.dir().canonicalize().expect("it exists");
    let expected = |place: &str, text: &str| format!("{}\n{text}", real.join(place).display());
    for set in [
        "scripts.directories=data",
        "scripts.directories=[\"data\"]",
        "scripts.directories=./data/../data",
    ] {
        let mut session = serve(&project, &["--set", set]);
        assert_eq!(
            ran(&mut session, &at("."))["stdout"],
            expected("data", "data\n"),
            "{set}"
        );
        session.finish();
    }
    project.file(
        "operator/config.yaml",
        "scripts:\n  directories: [../more]\n",
    );
    let mut session = serve(&project, &["--config", "operator/config.yaml"]);
    assert_eq!(
        ran(&mut session, &at("."))["stdout"],
        expected("more", "more\n")
    );
    session.finish();
}

#[test]
fn a_directory_that_appears_later_is_open_from_then_on() {
    let project = machine();
    let set = format!("scripts.directories={}", json!([project.path("later")]));
    let mut session = start(project.command(), &["content", "--set", &set]);
    refused(
        &mut session,
        &at("."),
        "directory_not_allowed",
        "scripts.directories",
    );
    project.file("later/here.txt", "later\n");
    let result = ran(&mut session, &at("."));
    assert!(
        result["stdout"]
            .as_str()
            .expect("text")
            .ends_with("/later\nlater\n"),
        "{result}"
    );
    session.finish();
}
