//! A server whose surroundings fail: a stderr that nobody reads, a host that is killed while another
//! process holds the pipes, a working directory that is deleted, a storm of edits, a bundle that is
//! overwritten while it is served, and a cache that cannot be used. Nothing of this may hang the
//! server, end it, orphan it, or fail a call.

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
use skillbundle_testkit::request;

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

/// Each round brings new broken skills with long names, so that its warnings are some eight
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
        for number in 0..20 {
            project.file(&broken(round, number), "---\nname: [\n---\n");
        }
        session.tool_json("refresh_skills", &json!({}));
        text_of_skill(&mut session, "steady");
        for number in 0..20 {
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
fn servers_that_start_together_over_one_cache_give_equal_answers() {
    let project = Project::new();
    for number in 0..50 {
        project.skill(
            &format!("skills/s{number}"),
            &format!("s{number}"),
            "Shared",
        );
    }
    let bundle = project.bundle_file(&["skills"], "live.skb");
    let bundle = bundle.to_str().expect("text");
    let answers: Vec<String> = thread::scope(|scope| {
        let serve = |arguments: [&'static str; 1], place: &str| {
            let mut command = project.command();
            command.arg("serve").args(arguments).arg(place);
            scope.spawn(move || {
                let mut session = opened(command);
                let answer = text_of_skill(&mut session, "s7");
                session.tool_json("refresh_skills", &json!({}));
                let again = text_of_skill(&mut session, "s7");
                assert_eq!(answer, again);
                let ended = session.finish();
                assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
                answer
            })
        };
        let servers =
            (0..8).flat_map(|_| [serve(["--dir"], "skills"), serve(["--bundle"], bundle)]);
        let servers: Vec<_> = servers.collect();
        let answers = servers
            .into_iter()
            .map(|server| server.join().expect("a test"));
        answers.collect()
    });
    // A bundle says nothing of the directory that it was made from.
    for kind in 0..2 {
        let mut answers = answers.iter().skip(kind).step_by(2);
        let first = answers.next().expect("eight servers");
        assert!(answers.all(|answer| answer == first), "{answers:?}");
    }
}

/// Killed at any moment of a publish: what is stored is whole, and the next server is right. At each
/// system call: `tests/faults/run`.
#[test]
fn a_server_that_is_killed_while_it_stores_leaves_a_whole_cache() {
    const KILLS: u32 = 40;
    let project = Project::new();
    let start = || {
        let mut command = with_cache(&project, &project.path("cache"));
        command.args(["serve", "--dir", "skills"]);
        opened(command)
    };
    for number in 0..50 {
        let name = format!("s{number}");
        project.skill(&format!("skills/{name}"), &name, "Filler");
    }
    project.skill("skills/s7", "s7", "version 0,");
    text_of_skill(&mut start(), "s7");
    for kill in 1..=KILLS {
        project.skill("skills/s7", "s7", &format!("version {kill},"));
        let mut session = start();
        let refresh = json!({ "name": "refresh_skills", "arguments": {} });
        session.send(&request(2, "tools/call", refresh));
        sleep(Duration::from_micros(u64::from(kill) * 500));
        let process = i32::try_from(session.id()).ok().and_then(Pid::from_raw);
        kill_process(process.expect("an id"), Signal::KILL).expect("it runs");
        drop(session);
        check_stored(&project);
    }
    await_text(&mut start(), "s7", &format!("version {KILLS},"));
}

/// The files in a directory of a cache, without temporary ones.
fn stored(cache: &Path, directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache.join(directory)).expect("the cache is there");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_temporary = |path: &PathBuf| path.extension().is_some_and(|it| it == "tmp");
    paths.filter(|path| !is_temporary(path)).collect()
}

/// Each bundle in the cache is whole, and each reference names one.
fn check_stored(project: &Project) {
    let cache = project.path("cache");
    let bundles = stored(&cache, "bundles");
    for path in &bundles {
        let verified = project.run(&["verify", path.to_str().expect("text")]);
        assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    }
    let is_there = |named: &str| {
        let mut names = bundles.iter().filter_map(|path| path.file_stem());
        names.any(|name| *name == *named)
    };
    for path in stored(&cache, "references") {
        let named = fs::read(&path).expect("readable");
        let named = String::from_utf8_lossy(&named[..64]).into_owned();
        assert!(is_there(&named), "{} names {named}", path.display());
    }
}

/// After a power failure a file may have lost what was written last.
#[test]
fn a_damaged_cache_is_replaced_before_a_call_fails() {
    const SKILLS: usize = 12;
    let project = Project::new();
    for number in 0..SKILLS {
        let name = format!("s{number}");
        project.skill(&format!("skills/{name}"), &name, &"Text ".repeat(200));
    }
    project.bundle_file(&["skills"], "live.skb");
    let cache = project.path("cache");
    for source in ["skills", "live.skb"] {
        let start = || {
            let mut command = with_cache(&project, &cache);
            command.args(["serve", source]);
            opened(command)
        };
        // Of 10,000: the head, tables, texts, all.
        for (from, to) in [(0, 200), (500, 2_000), (8_000, 9_900), (200, 10_000)] {
            let mut session = start();
            text_of_skill(&mut session, "s0");
            assert_eq!(session.finish().code, Some(0));
            for path in stored(&cache, "bundles") {
                let mut bytes = fs::read(&path).expect("readable");
                let at = |part| bytes.len() * part / 10_000;
                let range = at(from)..at(to);
                bytes[range].fill(0);
                fs::remove_file(&path).expect("writable");
                fs::write(&path, bytes).expect("writable");
                fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("ours");
            }
            let mut session = start();
            for number in 0..SKILLS {
                text_of_skill(&mut session, &format!("s{number}"));
            }
            session.tool_text("skills_search", &json!({ "query": "text" }));
            let ended = session.finish();
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            assert!(ended.stderr.lines().count() <= 1, "{}", ended.stderr);
            check_stored(&project);
        }
    }
}

#[cfg(target_os = "linux")]
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

/// Makes a directory unfit to be a cache.
type Spoil = fn(&Project) -> PathBuf;

/// A cache that cannot be trusted or written to is reported once, and everything works without it.
#[test]
fn without_a_usable_cache_there_is_one_warning_and_every_call_works() {
    const SPOILED: [(&str, Spoil); 4] = [
        ("a directory that others can write to", |project| {
            let open = project.path("open");
            fs::create_dir(&open).expect("writable");
            fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).expect("ours");
            open
        }),
        ("a link", |project| {
            let place = project.path("link");
            fs::create_dir(project.path("target")).expect("writable");
            std::os::unix::fs::symlink(project.path("target"), &place).expect("writable");
            place
        }),
        ("a file", |project| {
            project.file("occupied", "");
            project.path("occupied")
        }),
        ("a directory in a file", |project| {
            project.file("occupied", "");
            project.path("occupied/cache")
        }),
    ];
    for (what, spoil) in SPOILED {
        let project = Project::new();
        project.skill("skills/steady", "steady", "Steady");
        let cache = spoil(&project);
        check_warned_once(
            &project,
            what,
            with_cache(&project, &cache),
            "cannot use the cache",
        );
    }
}

/// A limit on the size of files stands for a full disk.
#[test]
fn a_full_disk_is_reported_once_and_every_call_works() {
    let project = Project::new();
    project.skill("skills/steady", "steady", &"Steady ".repeat(100));
    for number in 0..100 {
        project.skill(
            &format!("skills/s{number}"),
            &format!("s{number}"),
            "Filler",
        );
    }
    project.bundle_file(&["skills"], "live.skb");
    for source in ["skills", "live.skb"] {
        let mut command = shell(&project);
        command
            .env("SKILLBUNDLE_CACHE", project.path("cache"))
            // Blocks of 512 or 1024 bytes, by shell.
            .args([
                "-c",
                r#"ulimit -f 2; exec "$0" serve "$1""#,
                PROGRAM,
                source,
            ]);
        let mut session = opened(command);
        for _ in 0..3 {
            text_of_skill(&mut session, "steady");
            session.tool_json("refresh_skills", &json!({}));
        }
        let ended = session.finish();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let warnings = ended.stderr.lines().count();
        assert_eq!(warnings, 1, "{source}: {}", ended.stderr);
        assert!(ended.stderr.contains("in memory"), "{}", ended.stderr);
    }
}

fn check_warned_once(project: &Project, what: &str, mut command: Command, warning: &str) {
    command.args(["serve", "--dir", "skills"]);
    let mut session = opened(command);
    for text in ["Steady", "Changed", "Again"] {
        project.skill("skills/steady", "steady", text);
        await_text(&mut session, "steady", text);
    }
    let ended = session.finish();
    assert_eq!(ended.code, Some(0), "{what}: {}", ended.stderr);
    let lines = ended.stderr.lines().count();
    assert!(
        lines == 1 && ended.stderr.contains(warning),
        "{what}: {}",
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
