//! Files, variables and options that set nothing: each is refused at once, with its place, and
//! nothing that a project brings along is taken for the operator's.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{run_with, shown};
use crate::project::{Project, finish};

#[test]
fn mistakes_in_the_operators_file_are_errors_with_their_place() {
    let project = Project::new();
    for (yaml, place, message) in [
        (
            "matching:\n  min_scor: 0.3\n",
            ":2:3",
            "did you mean `min_score`?",
        ),
        ("colour: blue\n", ":1:1", "unknown key `colour`"),
        (
            "matching:\n  min_score: 2\n",
            ":2:14",
            "a number from 0 to 1, but is `2`",
        ),
        (
            "matching:\n  min_score: high\n",
            ":2:14",
            "but is `\"high\"`",
        ),
        (
            "matching:\n  max_results: 1.5\n",
            ":2:16",
            "a whole number from 1 up",
        ),
        ("matching: 3\n", ":1:11", "a set of keys"),
        ("matching: [\n", ":1:11", "error"),
        ("serve:\n  tools: nothing\n", ":2", "nothing"),
        (
            "scripts:\n  runners: bash\n",
            ":2:12",
            "a text for each key",
        ),
        ("scripts:\n  enabled: maybe\n", ":2:12", "true or false"),
        (
            "scripts:\n  enabled: true\n  enabled: false\n",
            ":3:3",
            "duplicate",
        ),
        ("log:\n  level: loud\n", ":2:10", "one of off, error"),
        ("git:\n  token: abcdef\n", ":2:10", "GITHUB_TOKEN"),
        ("analytics:\n  endpoint: ftp://x\n", ":2:13", "a URL"),
        ("skills:\n  paths: here\n", ":2:10", "a list of paths"),
        ("- a\n", ":1:1", "error"),
    ] {
        project.operator(yaml);
        for line in [
            &["list"][..],
            &["config", "show"],
            &["serve"],
            &["cache", "path"],
        ] {
            let ran = project.run(line);
            assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{yaml} {line:?}");
            let said = ran.stderr;
            assert!(
                said.contains(&format!("config.yaml{place}")),
                "{yaml}: {said}"
            );
            assert!(said.contains(message), "{yaml}: {said}");
        }
    }
    // Every mistake is reported, and every setting can be set.
    project.operator("colour: blue\nmatching:\n  min_score: 2\n");
    assert!(project.run(&["list"]).stderr.contains("2 errors"));
}

#[cfg(unix)]
#[test]
fn a_configuration_that_is_no_small_text_file_is_refused_at_once() {
    let project = Project::new();
    let file = project.operator("");
    let made = Command::new("mkfifo").arg(project.path("pipe")).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    fs::create_dir(project.path("folder")).expect("writable");
    project
        .file("latin", b"log:\n  level: \xe9\n")
        .file("utf16", b"\xff\xfel\0o\0g\0")
        .file("huge", vec![b'#'; 2 << 20])
        .file("deep", "a: ".to_owned() + &"[".repeat(100_000))
        .file("secret", "");
    for (name, message) in [
        ("pipe", "not a regular file"),
        ("folder", "not a regular file"),
        ("latin", "not UTF-8"),
        ("utf16", "UTF-16"),
        ("huge", "limit"),
        ("deep", "error"),
        ("nowhere", "No such file"),
        ("/dev/zero", "not a regular file"),
    ] {
        let began = Instant::now();
        let ran = project.run(&["list", "--config", name]);
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{name}: {}", ran.stderr);
        assert!(began.elapsed() < Duration::from_secs(10), "{name}");
    }
    fs::remove_file(&file).expect("it is there");
    fs::create_dir(&file).expect("a directory in its place");
    assert_eq!(project.run(&["list"]).code, Some(2));
    assert_eq!(project.run(&["serve"]).code, Some(2));
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_an_error_but_the_home_of_another_user_is_not() {
    use std::os::unix::process::CommandExt;
    /// `nobody`, since the superuser can read everything.
    const USER: u32 = 65_534;
    let project = Project::new();
    let binary = project.path("skillbundle");
    // Not by this process: a child that another test starts meanwhile would hold it open for writing.
    let copied = Command::new("cp")
        .args([env!("CARGO_BIN_EXE_skillbundle"), "skillbundle"])
        .current_dir(project.dir())
        .status();
    assert!(copied.is_ok_and(|status| status.success()), "cp");
    project
        .file("config/skillbundle/config.yaml", "")
        .mode("config/skillbundle/config.yaml", 0o000);
    let superuser = fs::read(project.path("config/skillbundle/config.yaml")).is_ok();
    project.mode("", 0o755).mode("skillbundle", 0o755);
    let list = || {
        let mut command = Command::new(&binary);
        command
            .current_dir(project.dir())
            .env_clear()
            .env("XDG_CONFIG_HOME", project.path("config"))
            .env("HOME", project.dir())
            .arg("list");
        if superuser {
            command.uid(USER).gid(USER);
        }
        finish(&mut command)
    };
    let unreadable = list();
    assert_eq!(unreadable.code, Some(2));
    assert!(
        unreadable.stderr.contains("Permission denied"),
        "{}",
        unreadable.stderr
    );
    project.mode("config", 0o000);
    let foreign = list();
    project.mode("config", 0o755);
    assert_eq!(foreign.code, Some(0), "{}", foreign.stderr);
}

/// A repository that was just cloned must not be able to speak for the operator.
#[test]
fn no_file_of_a_project_is_taken_for_the_operators() {
    let project = Project::new();
    let hostile = "skills:\n  paths: [/etc]\nscripts:\n  runners: {.sh: evil}\nmistake: 1\n";
    for path in [
        "config.yaml",
        "skillbundle.yaml",
        "skillbundle/config.yaml",
        ".skillbundle/config.yaml",
        "work/.config/skillbundle/config.yaml",
        "work/config.yaml",
        "work/skillbundle/config.yaml",
    ] {
        project.file(path, hostile);
    }
    for home in ["", ".", "work", "skillbundle/.."] {
        let mut command = project.command();
        command
            .current_dir(project.path("work"))
            .env("XDG_CONFIG_HOME", home)
            .env("HOME", "/nonexistent")
            .args(["config", "show", "--json"]);
        let ran = finish(&mut command);
        assert_eq!(ran.code, Some(0), "{home:?}: {}", ran.stderr);
        let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(printed["config_file"], Value::Null, "{home:?}");
    }
}

#[test]
fn a_variable_with_a_wrong_value_is_named() {
    let project = Project::new();
    for (name, value) in [
        ("REFRESH_INTERVAL_MINUTES", "soon"),
        ("REFRESH_INTERVAL_MINUTES", "0"),
        ("REFRESH_INTERVAL_MINUTES", "-1"),
        ("REFRESH_INTERVAL_MINUTES", "1.5"),
        ("REFRESH_INTERVAL_MINUTES", "99999999999999999999"),
        ("REFRESH_INTERVAL_MINUTES", "\u{1b}[31m5"),
        ("ANALYTICS_ENDPOINT", "nonsense"),
        ("ANALYTICS_ENDPOINT", "file:///etc/passwd"),
        ("ANALYTICS_ENDPOINT", "https://user:pass@example.com/"),
        ("ANALYTICS_ENDPOINT", "https://"),
        ("SKILLBUNDLE_LOG", "loud"),
        ("SKILLS_DIR", "nowhere"),
    ] {
        for line in [&["list"][..], &["serve"]] {
            let ran = run_with(&project, &[(name, value)], line);
            assert_eq!(ran.code, Some(2), "{name}={value}");
            assert!(ran.stderr.contains(name), "{name}={value}: {}", ran.stderr);
            assert!(!ran.stderr.contains('\u{1b}'), "{name}: {:?}", ran.stderr);
            assert!(!ran.stderr.contains("pass@"), "{}", ran.stderr);
        }
        // Empty counts as not set.
        assert_eq!(run_with(&project, &[(name, "")], &["list"]).code, Some(0));
    }
    for (option, message) in [
        ("matching.min_score", "has no value"),
        ("matching.min_score=2", "a number from 0 to 1, found `2`"),
        (
            "matching.min_scor=0.2",
            "did you mean `matching.min_score`?",
        ),
        ("min_score=0.2", "did you mean"),
        ("git.token=abc", "GITHUB_TOKEN"),
        ("scripts.runners=bash", "a text for each key"),
    ] {
        let ran = project.run(&["list", "--set", option]);
        assert_eq!(ran.code, Some(2), "{option}");
        let found = ran.stderr.contains(message) || message == "did you mean";
        assert!(found, "{option}: {}", ran.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_text_is_named() {
    use std::os::unix::ffi::OsStrExt;
    let project = Project::new();
    let value = std::ffi::OsStr::from_bytes(b"\xff");
    for name in ["SKILLS_BRANCH", "GITHUB_TOKEN", "REFRESH_INTERVAL_MINUTES"] {
        let mut command = project.command();
        let ran = finish(command.env(name, value).arg("list"));
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(name), "{}", ran.stderr);
    }
}

#[test]
fn secrets_are_shown_as_set_and_never_printed() {
    let project = Project::new();
    let variables = [
        ("GITHUB_TOKEN", "canary-one"),
        ("SKILLBUNDLE_TOKEN", "canary-two-which-is-long-enough"),
        (
            "ANALYTICS_ENDPOINT",
            "https://hooks.example/T0/canary-three",
        ),
        (
            "SKILLS_REPO",
            "https://someone:canary-four@example.com/skills.git",
        ),
    ];
    for line in [
        &["config", "show", "--json"][..],
        &["config", "show"],
        &["list"],
        &["list", "--json"],
        &["serve"],
    ] {
        let ran = run_with(&project, &variables, line);
        let all = ran.stdout.clone() + &ran.stderr;
        assert!(!all.contains("canary"), "{line:?}: {all}");
        if line.contains(&"--json") && line.contains(&"config") {
            assert_eq!(
                shown(&ran, "git.token"),
                ("set".into(), "GITHUB_TOKEN".to_owned())
            );
            assert_eq!(
                shown(&ran, "analytics.endpoint").0,
                "https://hooks.example/…"
            );
            assert_eq!(shown(&ran, "analytics.enabled").0, true);
            assert_eq!(shown(&ran, "git.repository").0, "https://example.com/…");
        }
    }
    let ran = project.run(&["config", "show", "--json"]);
    assert_eq!(
        shown(&ran, "git.token"),
        (Value::Null, "default".to_owned())
    );
}
