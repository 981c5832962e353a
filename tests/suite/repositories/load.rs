//! A server whose repository moves while clients call.

#![cfg(feature = "http")]

use std::env;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::{ALLOW, skill};
use crate::http::Running;
use crate::project::{Project, say};
use skillbundle_testkit::{GitServer, HttpClient, Origin, Serve};

/// Synchronisations and clients: `SYNCS/CLIENTS` in the variable asks for more.
const USUAL: (usize, usize) = (12, 4);
const VARIABLE: &str = "SKILLBUNDLE_SYNCS";

/// Skills of the repository.
const SKILLS: usize = 5;

fn wanted() -> (usize, usize) {
    let Ok(text) = env::var(VARIABLE) else {
        return USUAL;
    };
    let parts = text
        .split_once('/')
        .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    parts.unwrap_or_else(|| panic!("{VARIABLE} is SYNCS/CLIENTS, such as 200/8"))
}

fn commit(origin: &Origin, round: usize) {
    let names: Vec<_> = (0..SKILLS)
        .map(|it| (format!("skills/s{it}/SKILL.md"), format!("s{it}")))
        .collect();
    let texts: Vec<_> = names
        .iter()
        .map(|(_, name)| skill(name, &format!("round {round}")))
        .collect();
    let files: Vec<_> = names
        .iter()
        .zip(&texts)
        .map(|((path, _), text)| (path.as_str(), text.as_str()))
        .collect();
    origin.commit_files(&files);
}

fn call(client: &mut HttpClient, tool: &str, arguments: &Value) -> Value {
    let message = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": { "name": tool, "arguments": arguments },
    });
    let headers = ["MCP-Protocol-Version: 2025-11-25"];
    client
        .ask("POST /mcp", &headers, &message.to_string())
        .json()["result"]
        .clone()
}

/// The number in `round 7`.
fn round_of(text: &str) -> Option<usize> {
    let (_, rest) = text.split_once("round ")?;
    rest.split_whitespace().next()?.parse().ok()
}

/// A repository with its first commit, its server, and a server of ours for it.
fn serving() -> (Origin, GitServer, Project, Running) {
    let origin = Origin::new();
    commit(&origin, 0);
    let repository = GitServer::start(origin.room(), Serve::Well);
    let project = Project::new();
    let mut command = project.command();
    command.args(["serve", "--http", "127.0.0.1:0"]).args(ALLOW);
    command.args(["--repo", &repository.url("origin.git")]);
    let server = Running::start(command);
    (origin, repository, project, server)
}

#[test]
fn while_a_repository_moves_every_answer_is_of_one_of_its_commits() {
    let (syncs, clients) = wanted();
    let (origin, repository, project, server) = serving();
    let mut operator = server.connect();
    // The first one may be what the server does at its start.
    let mut refresh = |expected: &[usize]| loop {
        let answer = call(&mut operator, "refresh_skills", &json!({}))["structuredContent"].clone();
        if answer["success"] == true {
            let changed = expected.iter().any(|it| answer["files_changed"] == *it);
            assert!(changed, "{answer}");
            return;
        }
        assert_eq!(answer["message"], "Another refresh is under way.");
    };
    refresh(&[0, SKILLS]);
    let (published, is_done, calls) = (
        AtomicUsize::new(0),
        AtomicBool::new(false),
        AtomicUsize::new(0),
    );
    let mut disk = Vec::new();
    thread::scope(|scope| {
        for number in 0..clients {
            let (server, published, is_done, calls) = (&server, &published, &is_done, &calls);
            scope.spawn(move || {
                let mut client = server.connect();
                let mut newest = 0;
                while !is_done.load(Ordering::SeqCst) {
                    let least = published.load(Ordering::SeqCst);
                    let name = format!("s{}", number % SKILLS);
                    let answer = call(&mut client, "skill", &json!({ "name": name }));
                    let text = answer["content"][0]["text"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned();
                    let most = published.load(Ordering::SeqCst) + 1;
                    let round = round_of(&text).unwrap_or_else(|| panic!("no answer: {answer}"));
                    assert!(
                        (least..=most).contains(&round),
                        "{round} is not in {least}..={most}"
                    );
                    assert!(round >= newest, "went back from {newest} to {round}");
                    newest = round;
                    calls.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        // Also if something fails here, which then fails the test.
        let done = Done(&is_done);
        for round in 1..=syncs {
            commit(&origin, round);
            refresh(&[SKILLS]);
            published.store(round, Ordering::SeqCst);
            disk.push(files_below(&project.cache().join("skillbundle/git")));
        }
        drop(done);
    });
    assert_eq!(repository.most_at_once(), 1);
    let (first, last) = (disk[0], disk[disk.len() - 1]);
    // Up to eight packs, each with two indices.
    assert!(last <= first + 30, "{disk:?}");
    say(&format!(
        "{syncs} synchronisations, {clients} clients, {} calls",
        calls.into_inner()
    ));
}

/// A cache that is cleaned costs a new copy, and never a skill.
#[test]
fn while_the_cache_is_cleaned_every_answer_has_its_skill() {
    let (_origin, _repository, project, server) = serving();
    let mut operator = server.connect();
    // Until the skills are loaded: there is something to keep from then on.
    while call(&mut operator, "refresh_skills", &json!({}))["structuredContent"]["success"] != true
    {
    }
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (server, project, is_done) = (&server, &project, &is_done);
        for name in 0..2 {
            scope.spawn(move || {
                let mut client = server.connect();
                while !is_done.load(Ordering::SeqCst) {
                    let name = format!("s{name}");
                    let answer = call(&mut client, "skill", &json!({ "name": name }));
                    let text = answer["content"][0]["text"].as_str().unwrap_or_default();
                    assert!(round_of(text).is_some(), "{answer}");
                }
            });
        }
        scope.spawn(move || {
            while !is_done.load(Ordering::SeqCst) {
                let cleaned = project.run(&["cache", "clean", "--all"]);
                assert_eq!(cleaned.code, Some(0), "{}", cleaned.stderr);
            }
        });
        let done = Done(is_done);
        let mut refreshes = 0;
        while refreshes < 10 {
            let answer = call(&mut operator, "refresh_skills", &json!({}));
            let answer = &answer["structuredContent"];
            let message = answer["message"].as_str().unwrap_or_default();
            refreshes += usize::from(answer["success"] == true);
            let is_explained = ["was removed", "under way"]
                .iter()
                .any(|it| message.contains(it));
            assert!(answer["success"] == true || is_explained, "{answer}");
        }
        drop(done);
    });
}

/// Ends the clients.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn files_below(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let counts = entries.map(|it| match it.file_type() {
        Ok(kind) if kind.is_dir() => files_below(&it.path()),
        _ => 1,
    });
    counts.sum()
}
