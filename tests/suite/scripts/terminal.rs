//! `skillbundle run`: exit codes, output as it comes, and that nothing survives it.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{LONG, is_alive, own_time, skill, wait_until, with_script};
use crate::project::{Project, finish};
use skillbundle_testkit::Client;

const NEEDS: &str = "    args:\n      - name: target\n        required: true\n";

/// Scripts of several skills in `content`.
fn scripts() -> Project {
    let project = with_script("echo out $SKILL_ARG_A; echo err >&2\n");
    skill(&project, "content", "fails", "", "echo why >&2; exit 7\n");
    skill(&project, "content", "dies", "", "kill -KILL $$\n");
    skill(
        &project,
        "content",
        "needs",
        NEEDS,
        "echo $SKILL_ARG_TARGET\n",
    );
    project
}

/// A command line after `skillbundle run`, its exit code, stdout, and words on stderr.
const RUNS: &[(&str, i32, &str, &[&str])] = &[
    ("it run.sh content", 0, "out\n", &["err"]),
    ("it run.sh a=1 content", 0, "out 1\n", &["err"]),
    ("it run.sh content a=1", 0, "out 1\n", &["err"]),
    ("it run.sh content a=1=2", 0, "out 1=2\n", &["err"]),
    ("it run.sh content a=", 0, "out\n", &["err"]),
    ("it run.sh --dir content a=1", 0, "out 1\n", &["err"]),
    ("it run.sh -- content a=1", 0, "out 1\n", &["err"]),
    ("it ./run.sh content", 0, "out\n", &["err"]),
    (
        "fails run.sh content",
        1,
        "",
        &["why", "ended with exit code 7"],
    ),
    ("dies run.sh content", 1, "", &["was ended by SIGKILL"]),
    ("gone run.sh content", 2, "", &["no skill `gone`"]),
    ("it gone.sh content", 2, "", &["script not declared"]),
    ("it ../run.sh content", 2, "", &["path traversal"]),
    (
        "needs run.sh content",
        2,
        "",
        &["missing arguments", "NAME=VALUE"],
    ),
    (
        "needs run.sh traget=1 content",
        2,
        "",
        &["did you mean `target`?"],
    ),
    (
        "it run.sh content a-b=1 a_b=2",
        2,
        "",
        &["the same variable"],
    ),
    ("it run.sh nowhere", 2, "", &["nowhere"]),
    ("it run.sh content --cwd nowhere", 2, "", &["--cwd nowhere"]),
    (
        "it run.sh content --set scripts.enabled=false",
        2,
        "",
        &["scripts are disabled"],
    ),
    ("it", 2, "", &["SCRIPT"]),
];

#[test]
fn the_exit_code_says_whether_the_script_succeeded_failed_or_could_not_run() {
    let project = scripts();
    for (line, code, stdout, stderr) in RUNS {
        let words: Vec<&str> = ["run"].into_iter().chain(line.split(' ')).collect();
        let ran = project.run(&words);
        assert_eq!(ran.code, Some(*code), "{line}: {ran:?}");
        assert_eq!(ran.stdout, *stdout, "{line}: {ran:?}");
        for part in *stderr {
            assert!(ran.stderr.contains(part), "{line}: {part}: {ran:?}");
        }
    }
}

/// A word with an equals sign is an argument; as `./a=b` it is a directory.
#[test]
fn a_directory_with_an_equals_sign_is_named_by_its_path() {
    let project = Project::new();
    skill(&project, "a=b", "it", "", "echo $SKILL_ARG_A\n");
    let ran = project.run(&["run", "it", "run.sh", "./a=b", "a=b"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "b\n"), "{ran:?}");
}

#[test]
fn scripts_of_the_project_need_a_flag() {
    let project = scripts();
    project.file("content/.git/HEAD", "ref: refs/heads/main\n");
    let run = |more: &[&str]| {
        let mut command = project.command();
        command.current_dir(project.path("content"));
        finish(command.args(["run", "it", "run.sh", "."]).args(more))
    };
    let refused = run(&[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("help: read it, and if you trust it, add --allow-project-scripts"),
        "{refused:?}"
    );
    let allowed = run(&["--allow-project-scripts"]);
    assert_eq!(
        (allowed.code, &*allowed.stdout),
        (Some(0), "out\n"),
        "{allowed:?}"
    );
}

#[test]
fn output_passes_through_while_the_script_runs() {
    let project = with_script("echo one; while [ ! -e gate ]; do sleep 0.05; done; echo two\n");
    project.file("place/unused", "");
    let mut command = project.command();
    command.args(["run", "it", "run.sh", "content", "--cwd", "place"]);
    let mut client = Client::start(command);
    assert_eq!(client.line().as_deref(), Some(&b"one\n"[..]));
    project.file("place/gate", "");
    assert_eq!(client.line().as_deref(), Some(&b"two\n"[..]));
    assert_eq!(client.line(), None);
    assert_eq!(client.wait().code(), Some(0));
}

#[test]
fn bytes_pass_through_as_they_are_and_without_a_limit() {
    let project = with_script("printf '\\377\\000\\n'; head -c 3000000 /dev/zero\n");
    let mut command = project.command();
    command.args([
        "run",
        "it",
        "run.sh",
        "content",
        "--set",
        "scripts.max_output_bytes=10",
    ]);
    let ran = command.stdin(Stdio::null()).output().expect("it starts");
    assert_eq!(
        ran.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert_eq!(ran.stdout.len(), 3 + 3_000_000);
    assert_eq!(ran.stdout[..4], *b"\xff\0\n\0");
}

#[test]
fn a_dry_run_shows_what_would_run_and_runs_nothing() {
    let project = Project::new();
    // As root, scripts are somebody else.
    let canary = project.mode("", 0o777).path("canary");
    skill(
        &project,
        "content",
        "it",
        "",
        &format!("touch {}\n", canary.display()),
    );
    let weak = ["--set", "scripts.isolation=weak"];
    let run = |more: &[&str]| {
        let words = [
            "run", "it", "run.sh", "content", "a=1 2", "--cwd", "content",
        ];
        project.run(&[&words[..], &weak, more].concat())
    };
    let text = run(&["--dry-run"]);
    assert_eq!((text.code, &*text.stderr), (Some(0), ""), "{text:?}");
    for part in [
        "run.sh of it",
        "bash",
        "/content",
        "SKILL_ARG_A=1 2",
        "60 s",
        "weak",
    ] {
        assert!(text.stdout.contains(part), "{part}: {}", text.stdout);
    }
    let json = run(&["--dry-run", "--json"]);
    let printed: Value = serde_json::from_str(&json.stdout).expect("JSON");
    let environment = printed["plan"]["environment"].as_array();
    let environment: Vec<&Value> = environment.into_iter().flatten().collect();
    for entry in ["SKILL_ARG_A=1 2", "LANG=C.UTF-8"] {
        assert!(environment.iter().any(|it| *it == entry), "{printed}");
    }
    assert!(!canary.exists(), "a dry run has run");
    assert_eq!(run(&[]).code, Some(0));
    assert!(canary.exists());
}

#[test]
fn json_holds_the_whole_result_and_nothing_else_is_printed() {
    let project = scripts();
    for (skill, code) in [("it", 0), ("fails", 1)] {
        let ran = project.run(&["run", skill, "run.sh", "content", "--json"]);
        assert_eq!((ran.code, &*ran.stderr), (Some(code), ""), "{ran:?}");
        let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(printed["result"]["success"], code == 0, "{printed}");
    }
}

fn stubborn(time: &str) -> String {
    format!("trap '' TERM INT\nsetsid sleep {time} &\necho ready\nsleep {time}\n")
}

fn started(project: &Project) -> Client {
    let mut command: Command = project.command();
    command.args(["run", "it", "run.sh", "content"]).args(LONG);
    Client::start_inline(command)
}

#[test]
#[cfg(target_os = "linux")]
fn a_signal_ends_the_script_with_all_it_started() {
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let time = own_time();
        let project = with_script(&stubborn(&time));
        let mut client = started(&project);
        assert_eq!(client.line().as_deref(), Some(&b"ready\n"[..]));
        wait_until("it runs", || is_alive(&time));
        let id = i32::try_from(client.id()).expect("an id");
        kill_process(Pid::from_raw(id).expect("an id"), signal).expect("it runs");
        assert_ne!(client.wait().code(), Some(0), "{signal:?}");
        wait_until("the script is gone", || !is_alive(&time));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_reader_that_has_enough_ends_the_script() {
    let time = own_time();
    let project = with_script(&format!(
        "setsid sleep {time} &\nwhile :; do echo line; done\n"
    ));
    let mut client = started(&project);
    assert_eq!(client.line().as_deref(), Some(&b"line\n"[..]));
    client.close_stdout();
    let code = client.wait().code();
    assert_eq!((code, &*client.stderr_so_far()), (Some(0), ""));
    wait_until("the script is gone", || !is_alive(&time));
}
