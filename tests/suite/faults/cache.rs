//! A cache that is shared, damaged, unfit or full, and servers that are killed while they store.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, sleep};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use skillbundle_testkit::request;

use super::{PROGRAM, await_text, opened, shell, text_of_skill, with_cache};
use crate::project::Project;

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
