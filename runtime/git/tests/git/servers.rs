//! Mirrors of repositories behind a server, which can fail in every way that a network can; and where
//! the token is while that goes on.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use skillbundle_git::{GitError, Location, Mirror, Options};

use crate::kit::{
    GitServer, Origin, Serve, expected, files, git_in, location, mirrored, options,
    options_with_token, sync,
};

const CANARY: &str = "ghp_canary0123456789";

fn behind(server: &GitServer, origin: &Origin, options: Options) -> Mirror {
    let location = Location::parse(&server.url("origin.git"), "main").unwrap();
    Mirror::new(location, origin.room().join("mirror"), options)
}

fn short(options: Options) -> Options {
    Options {
        timeout: Duration::from_secs(2),
        ..options
    }
}

#[test]
fn a_private_repository_is_mirrored_with_its_token() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let server = GitServer::start(origin.room(), Serve::WithToken(CANARY.to_owned()));
    let mirror = behind(&server, &origin, options_with_token(CANARY, &server.host()));
    assert_eq!(sync(&mirror).unwrap().files_changed, 1);
    let head = origin.commit_files(&[("a.md", "2")]);
    let synced = sync(&mirror).unwrap();
    assert_eq!((synced.files_changed, synced.state.commit), (1, head));
    origin.git(&["checkout", "--quiet", "--orphan", "rewritten"]);
    origin.commit_files(&[("a.md", "3")]);
    assert_eq!(sync(&mirror).unwrap().files_changed, 1);
    assert_eq!(files(&mirror.tree()), expected(&[("a.md", "3")]));
    assert_nowhere(origin.room());
}

/// A server chooses the names of its branches, and knows the token that it got.
#[test]
fn names_of_branches_are_shown_without_what_is_invisible_and_without_the_token() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    for name in ["x\u{202e}y", CANARY] {
        origin.git(&[
            "push",
            "--quiet",
            "origin",
            &format!("HEAD:refs/heads/{name}"),
        ]);
    }
    let server = GitServer::start(origin.room(), Serve::Well);
    let with_token = || options_with_token(CANARY, &server.host());
    let url = format!("{}#nope", server.url("origin.git"));
    let location = Location::parse(&url, "main").unwrap();
    let mirror = Mirror::new(location, origin.room().join("mirror"), with_token());
    let error = sync(&mirror).unwrap_err().to_string();
    assert!(
        error.contains("x\\u{202e}y") && error.contains("[redacted]"),
        "{error}"
    );
    assert!(!error.contains(CANARY), "{error}");
    git_in(&origin.bare(), &["update-ref", "-d", "refs/heads/main"]);
    for (head, shown) in [("x\u{202e}y", "x\\u{202e}y"), (CANARY, "[redacted]")] {
        git_in(
            &origin.bare(),
            &["symbolic-ref", "HEAD", &format!("refs/heads/{head}")],
        );
        let synced = sync(&behind(&server, &origin, with_token())).unwrap();
        assert_eq!(synced.state.branch, shown);
    }
}

#[test]
fn without_the_right_token_the_error_says_what_to_do() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let server = GitServer::start(origin.room(), Serve::WithToken("another".to_owned()));
    let other_host = options_with_token(CANARY, "github.com");
    for options in [
        options(),
        other_host,
        options_with_token(CANARY, &server.host()),
    ] {
        let error = sync(&behind(&server, &origin, options)).unwrap_err();
        let help = error.help().unwrap_or_default();
        assert!(
            help.contains("token") || help.contains("TOKEN"),
            "{error}: {help}"
        );
        assert!(!format!("{error} {error:?}").contains(CANARY), "{error:?}");
    }
    // The token is for its host alone.
    let sent = server.heads();
    let with_header = sent
        .iter()
        .filter(|it| it.to_lowercase().contains("authorization"));
    assert_eq!(with_header.count(), 1, "{sent:#?}");
}

#[test]
fn whatever_a_server_does_a_sync_ends_and_what_there_was_stays() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let elsewhere = Origin::new();
    elsewhere.commit_files(&[("b.md", "1")]);
    let other = GitServer::start(elsewhere.room(), Serve::Well);
    let server = GitServer::start(origin.room(), Serve::Well);
    let whole = || options_with_token(CANARY, &server.host());
    sync(&behind(&server, &origin, whole())).unwrap();
    let head = origin.commit_files(&[("a.md", "2")]);
    let before = behind(&server, &origin, whole()).state();
    for (serve, expected) in [
        (Serve::Nothing, "not done after 2 s"),
        (Serve::Slowly, "not done after 2 s"),
        (Serve::Until(0), "git fetch: "),
        (Serve::Until(200), "git fetch: "),
        (Serve::Until(420), "git fetch: "),
        (Serve::Status(500), "git ls-remote: "),
        (Serve::Status(404), "git ls-remote: "),
        (Serve::RedirectTo(other.url("")), "git ls-remote: "),
        (
            Serve::RedirectTo("file:///etc".to_owned()),
            "git ls-remote: ",
        ),
    ] {
        server.set(serve.clone());
        let mirror = behind(&server, &origin, short(whole()));
        let began = Instant::now();
        let error = sync(&mirror).unwrap_err().to_string();
        // The limit, and time to end what runs on a busy machine.
        assert!(began.elapsed() < Duration::from_secs(30), "{serve:?}");
        assert!(error.starts_with(expected), "{serve:?}: {error}");
        assert!(!error.contains(CANARY), "{error}");
        assert_eq!(mirror.state(), before, "{serve:?}");
    }
    // Not even its name reached the other server.
    assert_eq!(other.heads(), Vec::<String>::new());
    server.set(Serve::Well);
    assert_eq!(
        sync(&behind(&server, &origin, whole()))
            .unwrap()
            .state
            .commit,
        head
    );
    assert_nowhere(origin.room());
}

#[test]
fn what_is_larger_than_allowed_is_not_kept() {
    let origin = Origin::new();
    // Random enough that it does not shrink on its way.
    let numbers = std::iter::successors(Some(1u64), |it| {
        Some(it.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1))
    });
    let texts: Vec<String> = numbers
        .take(1 << 19)
        .map(|it| format!("{it:016x}"))
        .collect();
    let text = texts.concat();
    origin.commit_files(&[("a.md", "1")]);
    let small = || Options {
        max_bytes: 1 << 20,
        ..options()
    };
    let location = location(&origin, "");
    let mirror = Mirror::new(location, origin.room().join("mirror"), small());
    let before = sync(&mirror).unwrap().state;
    origin.commit_files(&[("large.md", &text)]);
    let error = sync(&mirror).unwrap_err();
    assert!(matches!(error, GitError::TooLarge { .. }), "{error}");
    assert_eq!(mirror.state(), Some(before));
}

/// Several processes of one user can have one mirror; here they are threads.
#[test]
fn those_who_synchronise_at_once_do_it_one_after_the_other() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let server = GitServer::start(origin.room(), Serve::Well);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| sync(&behind(&server, &origin, options())).unwrap());
        }
    });
    assert_eq!(server.most_at_once(), 1);
}

#[test]
fn readers_see_one_commit_at_a_time() {
    let origin = Origin::new();
    let commit = |round: u32| {
        let text = round.to_string();
        let names: Vec<String> = (0..20).map(|it| format!("{it}.md")).collect();
        let files: Vec<_> = names
            .iter()
            .map(|it| (it.as_str(), text.as_str()))
            .collect();
        origin.commit_files(&files);
    };
    commit(0);
    let mirror = mirrored(&origin, "");
    sync(&mirror).unwrap();
    let is_done = AtomicBool::new(false);
    let reads = thread::scope(|scope| {
        let readers = (0..3).map(|_| {
            scope.spawn(|| {
                let mut reads = 0;
                while !is_done.load(Ordering::SeqCst) {
                    let reading = mirror.read().unwrap().expect("it is there");
                    let all = files(&mirror.tree());
                    drop(reading);
                    let texts: std::collections::BTreeSet<_> = all.values().collect();
                    assert_eq!((all.len(), texts.len()), (20, 1), "{all:?}");
                    reads += 1;
                }
                reads
            })
        });
        let readers: Vec<_> = readers.collect();
        // Also if something fails here, which then fails the test.
        let done = Done(&is_done);
        for round in 1..15 {
            commit(round);
            assert_eq!(sync(&mirror).unwrap().files_changed, 20);
        }
        drop(done);
        readers
            .into_iter()
            .map(|it| it.join().unwrap())
            .sum::<u32>()
    });
    assert!(reads > 0);
}

/// As with `cache clean --all` while servers and commands run.
#[test]
fn a_mirror_that_is_removed_all_the_time_is_made_anew_and_read_whole_or_not_at_all() {
    let origin = Origin::new();
    let names: Vec<_> = (0..20).map(|it| format!("{it}.md")).collect();
    let all: Vec<_> = names.iter().map(|it| (it.as_str(), "x")).collect();
    origin.commit_files(&all);
    let mirrors = origin.room().join("mirrors");
    let mirror = || Mirror::new(location(&origin, ""), mirrors.join("one"), options());
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    for kept in skillbundle_git::kept(&mirrors).unwrap() {
                        kept.remove(Duration::ZERO).unwrap();
                    }
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    if let Some(_reading) = mirror().read().unwrap() {
                        assert_eq!(files(&mirror().tree()).len(), all.len());
                    }
                }
            });
        }
        let done = Done(&is_done);
        let syncs = (0..2).map(|_| {
            scope.spawn(|| {
                for _ in 0..10 {
                    sync(&mirror()).unwrap();
                }
            })
        });
        let syncs: Vec<_> = syncs.collect();
        for it in syncs {
            it.join().unwrap();
        }
        drop(done);
    });
}

/// A command whose output is being looked at reads for as long as that takes.
#[test]
fn a_reader_that_stays_keeps_out_no_other_reader() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let mirror = mirrored(&origin, "");
    sync(&mirror).unwrap();
    origin.commit_files(&[("a.md", "2")]);
    thread::scope(|scope| {
        let reading = mirror.read().unwrap().expect("it is there");
        let replacing = scope.spawn(|| sync(&mirror).unwrap());
        // It has come to where it waits for readers, or is about to.
        let new = origin.room().join("mirror/trees/new");
        while !new.join("a.md").exists() {
            thread::sleep(Duration::from_millis(1));
        }
        for _ in 0..5 {
            assert!(mirror.read().unwrap().is_some());
            assert_eq!(files(&mirror.tree())["a.md"], "1");
        }
        drop(reading);
        replacing.join().unwrap();
        assert_eq!(files(&mirror.tree())["a.md"], "2");
    });
    let short = Mirror::new(
        location(&origin, ""),
        origin.room().join("mirror"),
        Options {
            timeout: Duration::from_secs(2),
            ..options()
        },
    );
    origin.commit_files(&[("a.md", "3")]);
    let reading = mirror.read().unwrap();
    let error = sync(&short).unwrap_err();
    assert!(matches!(error, GitError::InUse(_)), "{error}");
    drop(reading);
}

/// Ends the readers.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Asserts that no file below has the canary, and no name either.
fn assert_nowhere(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let shown = path.display().to_string();
        assert!(!shown.contains(CANARY), "{shown}");
        if path.is_dir() && !path.is_symlink() {
            assert_nowhere(&path);
        } else if let Ok(bytes) = fs::read(&path) {
            let encoded =
                skillbundle_testkit::base64(format!("x-access-token:{CANARY}").as_bytes());
            let has = |needle: &str| {
                bytes
                    .windows(needle.len())
                    .any(|it| it == needle.as_bytes())
            };
            assert!(!has(CANARY) && !has(&encoded), "{shown}");
        }
    }
}
