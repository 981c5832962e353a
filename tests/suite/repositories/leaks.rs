//! The token through everything that can happen: it is in no output, no file, and nobody's environment
//! but git's own.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{ALLOW, one_skill, refresh, skill};
use crate::project::{LEGACY, PATIENCE, Project, Session, base64, finish};
use skillbundle_testkit::{GitServer, Serve};

const CANARY: &str = "ghp_canary0123456789abcdef";

/// Every spelling of it.
fn spellings() -> [String; 2] {
    [
        CANARY.to_owned(),
        base64(format!("x-access-token:{CANARY}").as_bytes()),
    ]
}

fn assert_clean(what: &str, text: &[u8]) {
    for spelling in spellings() {
        let found = text
            .windows(spelling.len())
            .any(|it| it == spelling.as_bytes());
        assert!(!found, "{what} has {spelling}");
    }
}

fn assert_clean_below(directory: &Path) {
    for entry in fs::read_dir(directory).expect("readable") {
        let path = entry.expect("an entry").path();
        assert_clean("a name", path.display().to_string().as_bytes());
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            assert_clean_below(&path);
        } else if let Ok(bytes) = fs::read(&path) {
            assert_clean(&path.display().to_string(), &bytes);
        }
    }
}

#[test]
fn the_token_is_nowhere_through_success_and_failure() {
    let (origin, _) = one_skill();
    let tool = "---\nname: tool\ndescription: Shows the environment\nscripts:\n  - file: env.sh\n    execution: server\n---\nText\n";
    let script = "env; cat /proc/$PPID/environ 2>/dev/null; true\n";
    origin.commit_files(&[
        ("skills/tool/SKILL.md", tool),
        ("skills/tool/env.sh", script),
    ]);
    let server = GitServer::start(origin.room(), Serve::WithToken(CANARY.to_owned()));
    let project = Project::new();
    let mut command = project.command();
    command
        .arg("serve")
        .args(ALLOW)
        .args(["--set", "log.level=trace", "--set", "git.timeout_seconds=2"])
        .args([
            "--set",
            "journal.calls=true",
            "--set",
            "analytics.enabled=true",
        ])
        .env("SKILLS_REPO", server.url("origin.git"))
        .env("GITHUB_TOKEN", CANARY)
        .env("GIT_TRACE", "1")
        .env("GIT_TRACE_CURL", "1")
        .env("GIT_CURL_VERBOSE", "1")
        .env("GIT_TRACE2", project.path("trace2"))
        .env("GIT_TRACE_REDACT", "0")
        .env("RUST_BACKTRACE", "1");
    let mut session = Session::start(command);
    let mut replies = vec![session.initialize(LEGACY)];
    let found = session.tool_text("skill", &json!({ "name": "pdf" }));
    assert!(found.contains("first"), "the token was sent: {found}");
    refresh(&mut session);
    origin.commit_files(&[("skills/pdf/SKILL.md", &skill("pdf", "second"))]);
    for (serve, succeeds) in [
        (Serve::Status(500), false),
        (Serve::WithToken("another".to_owned()), false),
        (Serve::Nothing, false),
        (Serve::Until(0), false),
        (Serve::Until(300), false),
        // A server that says it itself.
        (Serve::RedirectTo(format!("http://{CANARY}.invalid")), false),
        (Serve::WithToken(CANARY.to_owned()), true),
    ] {
        server.set(serve.clone());
        let answer = refresh(&mut session);
        assert_eq!(answer["success"], succeeds, "{serve:?}: {answer}");
        replies.push(answer);
    }
    let script = json!({ "skill_path": "tool", "file": "env.sh" });
    let ran = session.tool("run_script", &script);
    let stdout = ran["structuredContent"]["stdout"]
        .as_str()
        .unwrap_or_default();
    assert!(stdout.contains("PATH="), "{ran}");
    replies.push(ran);
    for reply in &replies {
        assert_clean("a reply", reply.to_string().as_bytes());
    }
    let ended = session.finish();
    assert!(ended.stderr.contains("git"), "the log was looked at");
    assert_clean("stderr", ended.stderr.as_bytes());
    // Caches, journal, and whatever git was told to trace into.
    assert_clean_below(project.dir());
    assert_clean_below(&project.cache());
    assert_clean_below(origin.room());
    assert!(!project.path("trace2").exists());
}

/// No answer at all, where the address is the only thing to talk about.
#[test]
fn the_token_is_not_in_the_error_of_a_host_that_cannot_be_reached() {
    let project = Project::new();
    let mut list = super::command(&project, &["list"], "https://127.0.0.1:1/r.git");
    list.args(["--set", "git.protocols=https"]);
    list.args(["--set", "git.token_hosts=127.0.0.1:1"])
        .env("GITHUB_TOKEN", CANARY);
    let listed = finish(&mut list);
    assert_eq!(
        (listed.code, &*listed.stdout),
        (Some(2), ""),
        "{}",
        listed.stderr
    );
    assert!(
        listed.stderr.contains("git ls-remote: unable to access"),
        "{}",
        listed.stderr
    );
    assert_clean("stderr", listed.stderr.as_bytes());
}

/// A server that is told to stop while git hangs leaves no git behind.
#[cfg(target_os = "linux")]
#[test]
fn a_server_that_ends_takes_its_git_along() {
    let (origin, _) = one_skill();
    let server = GitServer::start(origin.room(), Serve::Nothing);
    let project = Project::new();
    let url = server.url("origin.git");
    let mut session = Session::start(super::command(&project, &["serve"], &url));
    session.initialize(LEGACY);
    // Until git has begun to ask.
    while server.heads().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    session.finish();
    // What was killed needs a moment to be gone.
    let patience = Instant::now() + PATIENCE;
    while !gits_with(&url).is_empty() && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(gits_with(&url), []);
}

/// Two gits that work in one mirror damage it.
#[cfg(target_os = "linux")]
#[test]
fn a_git_that_outlives_a_killed_server_keeps_others_out_of_its_mirror() {
    let (origin, _) = one_skill();
    let server = GitServer::start(origin.room(), Serve::NoObjects);
    let project = Project::new();
    let url = server.url("origin.git");
    let mut session = Session::start(super::command(&project, &["serve"], &url));
    session.initialize(LEGACY);
    while !gits_with(&url).iter().any(|it| it.1.contains(" fetch ")) {
        std::thread::sleep(Duration::from_millis(5));
    }
    // With SIGKILL.
    drop(session.into_peer());
    let mirrors = project.cache().join("skillbundle/git");
    let mut mirrors = fs::read_dir(mirrors).expect("readable");
    let mirror = mirrors.next().expect("one").expect("an entry").path();
    let lock = fs::File::open(mirror.join("sync.lock")).expect("readable");
    assert!(lock.try_lock().is_err(), "git runs, and has the lock");
    for (id, _) in gits_with(&url) {
        // It may have ended with another one.
        let _ = kill_process(Pid::from_raw(id).expect("an id"), Signal::KILL);
    }
    server.set(Serve::Well);
    let listed = finish(&mut super::command(&project, &["list"], &url));
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
}

/// The ids and command lines of all programs that name this URL.
#[cfg(target_os = "linux")]
fn gits_with(url: &str) -> Vec<(i32, String)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = processes.filter_map(|it| {
        let id = it.file_name().to_str()?.parse().ok()?;
        let line = fs::read(it.path().join("cmdline")).ok()?;
        Some((id, String::from_utf8_lossy(&line).replace('\0', " ")))
    });
    lines.filter(|it| it.1.contains(url)).collect()
}
