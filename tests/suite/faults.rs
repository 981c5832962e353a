//! A server whose surroundings fail: a stderr that nobody reads, a host that is killed while another
//! process holds the pipes, a working directory that is deleted, a storm of edits, a bundle that is
//! overwritten while it is served, and a cache that cannot be used. Nothing of this may hang the
//! server, end it, orphan it, or fail a call.

mod cache;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
#[cfg(target_os = "linux")]
use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
use serde_json::json;

use crate::project::{Client, LEGACY, PATIENCE, Project, Session};

/// The program as an argument of a shell.
const PROGRAM: &str = env!("CARGO_BIN_EXE_skillbundle");

/// Longer than a server takes to accept its parent as the host.
const SETTLED: Duration = Duration::from_secs(8);

/// Longer than a server waits for messages after its host is gone.
const FORSAKEN: Duration = Duration::from_secs(10);

fn opened(command: Command) -> Session {
    let mut session = Session::start(command);
    session.initialize(LEGACY);
    session
}

fn text_of_skill(session: &mut Session, name: &str) -> String {
    session.tool_text("skill", &json!({ "name": name }))
}

/// Calls until the skill has this text.
fn await_text(session: &mut Session, name: &str, expected: &str) {
    let began = Instant::now();
    while !text_of_skill(session, name).contains(expected) {
        assert!(began.elapsed() < PATIENCE, "{name} never says {expected}");
        sleep(Duration::from_millis(20));
    }
}

/// Each round brings new broken skills with long names, so that its warnings are some sixteen
/// kilobytes: all rounds together fill the pipe and the queue before it.
#[test]
fn a_stderr_that_is_never_read_holds_back_no_call() {
    const ROUNDS: usize = 80;
    let project = Project::new();
    project.skill("skills/steady", "steady", "Steady");
    let mut command = project.command();
    command
        .args(["serve", "--dir", "skills"])
        .stderr(Stdio::piped());
    // The pipe of stderr stays open and unread.
    let mut session = Session::over(Client::start_measured(command));
    session.initialize(LEGACY);
    let broken = |round: usize, number: usize| {
        format!("skills/{}-{round}-{number}/SKILL.md", "x".repeat(200))
    };
    for round in 0..ROUNDS {
        for number in 0..40 {
            project.file(&broken(round, number), "---\nname: [\n---\n");
        }
        session.tool_json("refresh_skills", &json!({}));
        text_of_skill(&mut session, "steady");
        for number in 0..40 {
            let directory = project.path(&broken(round, number));
            let directory = directory.parent().expect("a directory");
            fs::remove_dir_all(directory).expect("it was there");
        }
    }
    session.close();
    assert_eq!(session.wait().code, Some(0));
}

/// How a shell starts a server, and whether that server is alive after the shell was killed.
struct Host {
    script: &'static str,
    flag: Option<&'static str>,
    survives: bool,
}

/// This test holds both pipes, as another child of the host would.
#[test]
fn a_server_whose_host_is_gone_ends_though_its_pipes_are_open() {
    // A job in the background has no stdin unless it is given one.
    const STAYS: &str = r#"exec 3<&0; "$@" <&3 3<&- & wait"#;
    const LEAVES: &str = r#"exec 3<&0; "$@" <&3 3<&- &"#;
    const HOSTS: [Host; 3] = [
        Host {
            script: STAYS,
            flag: None,
            survives: false,
        },
        Host {
            script: STAYS,
            flag: Some("--no-parent-watch"),
            survives: true,
        },
        // Only launches the server.
        Host {
            script: LEAVES,
            flag: None,
            survives: true,
        },
    ];
    let project = Project::new();
    project.skill("skills/steady", "steady", "Steady");
    let start = |host: &Host| {
        let mut command = shell(&project);
        command
            .args(["-c", host.script, "sh", PROGRAM, "serve", "--dir", "skills"])
            .args(host.flag);
        opened(command)
    };
    let mut sessions: Vec<Session> = HOSTS.iter().map(start).collect();
    sleep(SETTLED);
    for (host, session) in HOSTS.iter().zip(&mut sessions) {
        text_of_skill(session, "steady");
        if host.script == STAYS {
            let shell = i32::try_from(session.id()).ok().and_then(Pid::from_raw);
            kill_process(shell.expect("an id"), Signal::KILL).expect("it runs");
        }
    }
    sleep(FORSAKEN);
    for (host, mut session) in HOSTS.iter().zip(sessions) {
        if host.survives {
            text_of_skill(&mut session, "steady");
            session.close();
        }
        while let Some(message) = session.message() {
            assert!(message.get("id").is_none(), "{message}");
        }
    }
}

#[test]
fn calls_go_on_after_the_working_directory_is_deleted() {
    let project = Project::new();
    project.skill("work/skills/steady", "steady", "Steady");
    project.bundle_file(&["work/skills"], "work/live.skb");
    let serve = |arguments: &[&str]| {
        let mut command = project.command();
        command.current_dir(project.path("work"));
        opened({
            command.arg("serve").args(arguments);
            command
        })
    };
    let mut sessions = [
        serve(&["--dir", "skills"]),
        serve(&["--bundle", "live.skb"]),
    ];
    for session in &mut sessions {
        text_of_skill(session, "steady");
    }
    fs::remove_dir_all(project.path("work")).expect("it was there");
    for mut session in sessions {
        for _ in 0..20 {
            text_of_skill(&mut session, "steady");
            let _ = session.tool("refresh_skills", &json!({}));
        }
        let ended = session.finish();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
}

#[test]
fn a_storm_of_edits_holds_back_no_call_and_ends_with_the_last_state() {
    const SKILLS: usize = 20;
    let project = Project::new();
    let edit = |number: usize, text: &str| {
        let name = format!("s{number}");
        project.skill(&format!("skills/{name}"), &name, text);
    };
    (0..SKILLS).for_each(|number| edit(number, "edit 0,"));
    let mut session = project.serve(&["--dir", "skills"]);
    session.initialize(LEGACY);
    let edits = AtomicU32::new(0);
    thread::scope(|scope| {
        let storm = scope.spawn(|| {
            let end = Instant::now() + Duration::from_secs(3);
            while Instant::now() < end {
                let number = edits.fetch_add(1, Ordering::Relaxed);
                edit(number as usize % SKILLS, &format!("edit {number},"));
                sleep(Duration::from_millis(2));
            }
        });
        while !storm.is_finished() {
            text_of_skill(&mut session, "s7");
        }
    });
    edit(7, "the last edit");
    await_text(&mut session, "s7", "the last edit");
    let ended = session.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// What operators and other programs do to a bundle file that is served. The file that they put in
/// its place is `next`, whole; `other` is a path beside it.
fn attack(live: &Path, next: &[u8], round: u32) {
    let beside = live.with_extension("next");
    let pause = || sleep(Duration::from_millis(3));
    let write = |path: &Path, bytes: &[u8]| fs::write(path, bytes).expect("writable");
    match round % 6 {
        // `cp new.skb live.skb`
        0 => write(live, next),
        // `rsync --inplace` over a slow network
        1 => {
            let mut file = fs::File::options()
                .write(true)
                .open(live)
                .expect("the file is there");
            for piece in next.chunks(next.len() / 4 + 1) {
                file.write_all(piece).expect("writable");
                pause();
            }
            file.set_len(next.len() as u64).expect("writable");
        }
        2 => {
            write(&beside, next);
            fs::rename(&beside, live).expect("the same directory");
        }
        3 => {
            write(live, b"");
            pause();
            write(live, next);
        }
        4 => {
            fs::remove_file(live).expect("it is there");
            pause();
            write(live, next);
        }
        _ => {
            let file = fs::File::options()
                .write(true)
                .open(live)
                .expect("the file is there");
            file.set_len(next.len() as u64 / 2).expect("writable");
            pause();
            write(live, next);
        }
    }
}

/// The environment of a server, and whether it has a cache.
fn with_cache(project: &Project, cache: &Path) -> Command {
    let mut command = project.command();
    command.env("SKILLBUNDLE_CACHE", cache);
    command
}

#[test]
fn whatever_happens_to_a_bundle_file_no_call_fails() {
    let project = Project::new();
    for version in ["one", "two"] {
        project.skill(
            &format!("{version}/steady"),
            "steady",
            &format!("version {version},"),
        );
        // Not all of the bundle is in one page, nor touched by one call.
        for number in 0..100 {
            let text = format!("version {version}, {}", "more text ".repeat(100));
            project.skill(
                &format!("{version}/s{number}"),
                &format!("s{number}"),
                &text,
            );
        }
    }
    let versions = ["one", "two"].map(|version| {
        let path = project.bundle_file(&[version], &format!("{version}.skb"));
        fs::read(path).expect("a bundle")
    });
    project.file("file", "");
    let sealed = project.path("sealed");
    fs::create_dir(&sealed).expect("writable");
    fs::set_permissions(&sealed, fs::Permissions::from_mode(0o500)).expect("ours");
    let caches = [
        project.path("cache"),
        PathBuf::from("off"),
        sealed.join("cache"),
        // For the superuser nothing is read-only, but this is no directory.
        project.path("file/cache"),
    ];
    thread::scope(|scope| {
        for (at, cache) in caches.iter().enumerate() {
            let (project, versions) = (&project, &versions);
            scope.spawn(move || {
                let live = project.path(&format!("live{at}.skb"));
                fs::write(&live, &versions[0]).expect("writable");
                let mut command = with_cache(project, cache);
                command.args(["serve", "--bundle"]).arg(&live);
                let mut session = opened(command);
                text_of_skill(&mut session, "steady");
                let done = AtomicBool::new(false);
                thread::scope(|scope| {
                    scope.spawn(|| {
                        for round in 0..120 {
                            let next = &versions[usize::from(round / 6 % 2 == 0)];
                            attack(&live, next, round);
                        }
                        done.store(true, Ordering::Relaxed);
                    });
                    for number in (0..100).cycle() {
                        if done.load(Ordering::Relaxed) {
                            break;
                        }
                        text_of_skill(&mut session, "steady");
                        text_of_skill(&mut session, &format!("s{number}"));
                    }
                });
                fs::write(&live, &versions[1]).expect("writable");
                await_text(&mut session, "steady", "version two,");
                let ended = session.finish();
                assert_eq!(ended.code, Some(0), "{cache:?}: {}", ended.stderr);
            });
        }
    });
    fs::set_permissions(&sealed, fs::Permissions::from_mode(0o700)).expect("ours");
}

#[test]
fn without_descriptors_calls_are_answered_from_the_skills_before() {
    let project = Project::new();
    project.skill("skills/steady", "steady", "version 0,");
    let mut session = project.serve(&["--dir", "skills"]);
    session.initialize(LEGACY);
    await_text(&mut session, "steady", "version 0,");
    let process = i32::try_from(session.id()).ok().and_then(Pid::from_raw);
    let inherited = getrlimit(Resource::Nofile);
    let limit = |current| {
        let limit = Rlimit {
            current,
            ..inherited
        };
        prlimit(process, Resource::Nofile, limit).expect("it runs");
    };
    for version in 1..4 {
        let open = PathBuf::from(format!("/proc/{}/fd", session.id()));
        let first_free =
            (0..1 << 20).find(|number: &u64| !open.join(number.to_string()).is_symlink());
        limit(first_free);
        project.skill("skills/steady", "steady", &format!("version {version},"));
        for _ in 0..10 {
            let text = text_of_skill(&mut session, "steady");
            let known = [version - 1, version].map(|it| format!("version {it},"));
            assert!(known.iter().any(|it| text.contains(it)), "{text}");
        }
        limit(inherited.current);
        await_text(&mut session, "steady", &format!("version {version},"));
    }
    let ended = session.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("Too many open files"),
        "{}",
        ended.stderr
    );
}

/// A shell with the environment of the program.
fn shell(project: &Project) -> Command {
    let program = project.command();
    let variables = program.get_envs();
    let mut shell = Command::new("sh");
    shell
        .envs(variables.filter_map(|(name, value)| Some((name, value?))))
        .current_dir(project.dir());
    shell
}
